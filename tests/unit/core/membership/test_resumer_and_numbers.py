"""The Resumer does not end a suspension while its view is on the way, and no id is given to two views (G4, G6)."""

import pytest

from ringcast.core.control import Answer, Holding, MergeDigest, MergeId, MergeRsp
from ringcast.core.membership.roll_call import RollCall
from ringcast.core.merge import MergeLeader, Party
from ringcast.model import MS, Address, Entry, View, ViewId, ViewNumbers, profile
from simulation.members import Members
from unit.core.calls import neighbour

A, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")
CONFIG = profile("test")
OURS, THEIRS = View(ViewId(8, A), (A, B)), View(ViewId(5, C), (C,))


class Fixed:
    def random(self) -> float:
        return 0.5


def freeze_when_spreading(world: Members, name: str) -> None:
    """This process stops when it has put out a view that not everybody has shown yet."""
    process = world[name]

    def look() -> None:
        coordination = process.node.coordination
        leading = None if coordination is None else coordination.membership.as_coordinator
        if leading is not None and leading.change is not None and leading.change.spreading is not None:
            process.freeze()

    world.on_frame(name, look)


@pytest.mark.parametrize("slept_ns", [CONFIG.view_limit_ns + 1, CONFIG.resumer_ns + 1])
def test_a_coordinator_that_slept_past_all_limits_ends_its_view_before_the_resumer_ends_its_suspension(
    slept_ns: int,
) -> None:
    """It installed the view and told it; when it wakes, those who have not shown it are suspected, then it goes on."""
    world = Members()
    world.gather("ABC")
    world.run_for(50 * MS)
    freeze_when_spreading(world, "A")
    began_ns = world.clock.now_ns
    world.start("D")
    assert world.run_until(lambda: world["A"].is_frozen)
    world.run_for(slept_ns)
    world.network.snares.clear()
    world["A"].thaw()
    world.run_for(0)
    assert world.resumed("A", began_ns) == ["view-installed"]
    assert world.is_soon_one("ABCD")
    assert world.verdict() == []


def test_two_ordinary_views_never_share_an_id() -> None:
    """The first was proposed to all who fill up, and some may have it; it failed here, and another one is made (G4)."""
    numbers = ViewNumbers()
    first = _proposed(RollCall(A, CONFIG, OURS, 1, neighbour(), numbers=numbers))
    second = _proposed(RollCall(A, CONFIG, OURS, 2, neighbour(), going=(B,), numbers=numbers))
    assert (first, second) == (ViewId(9, A), ViewId(10, A))


def _proposed(roll_call: RollCall) -> ViewId | None:
    """Everybody who is asked answers that it knows nothing beyond the base view."""
    roll_call.begin(0)
    for member in roll_call.asked:
        holdings = tuple(Holding(gone, 0, 0) for gone in roll_call.going)
        roll_call.on_answer(0, member, Answer(roll_call.id, Entry(0, 0, 0), holdings, 8, 64, 1000))
    return roll_call.next_id


def test_a_view_after_a_merge_that_was_kept_elsewhere_only_has_another_id() -> None:
    """The leader's own part of the merge was ended by the Resumer: C has the view, the leader has not."""
    numbers = ViewNumbers()
    numbers.note(8)
    leader = MergeLeader(A, CONFIG, Fixed(), neighbour(may_lead_merge=True), numbers=numbers)
    merge_id = MergeId(A, 1)
    leader.on_raised(0, [Party(A, OURS, (A, B)), Party(C, THEIRS, (C,))])
    for coordinator in (C, A):
        leader.on_merge_rsp(0, coordinator, MergeRsp(merge_id, True))
    for coordinator, members in ((C, (C,)), (A, (A, B))):
        entries = tuple(Entry(0, 0, 0) for _ in members)
        leader.on_merge_digest(0, coordinator, MergeDigest(merge_id, members, members, entries, (), 8, 64, 1000))
    assert leader.attempt is not None and leader.attempt.outcome == ViewId(9, A)
    assert _proposed(RollCall(A, CONFIG, OURS, 2, neighbour(), going=(B,), numbers=numbers)) == ViewId(10, A)
