"""The Resumer does not end a suspension while its view is on the way, and no id is given to two views (G4, G6)."""

from ringcast.core.control import Answer, Holding, MergeDigest, MergeId, MergeRsp
from ringcast.core.membership import Phase, Request, RequestKind, ViewHandler
from ringcast.core.membership.roll_call import RollCall
from ringcast.core.merge import MergeLeader, Party
from ringcast.core.numbers import ViewNumbers
from ringcast.model import Address, Entry, View, ViewId, profile

A, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")
CONFIG = profile("test")
OURS, THEIRS = View(ViewId(8, A), (A, B)), View(ViewId(5, C), (C,))


class Fixed:
    def random(self) -> float:
        return 0.5


def test_the_resumer_waits_for_a_view_that_is_on_its_way() -> None:
    """The roll call took nearly all of its time: then the view still has its own limit."""
    handler = ViewHandler(A, CONFIG)
    handler.on_view(0, OURS)
    handler.on_request(0, Request(RequestKind.JOIN, C))
    handler.on_time(CONFIG.gather_ns)
    late = CONFIG.gather_ns + CONFIG.resumer_ns - 1
    handler.on_spreading(late + CONFIG.view_limit_ns)
    assert handler.on_time(late + 1) == []
    assert handler.on_time(late + CONFIG.view_limit_ns) == []
    assert handler.phase is Phase.CHANGING
    handler.on_time(late + CONFIG.view_limit_ns + 1)
    assert handler.phase is not Phase.CHANGING


def test_the_resumer_is_not_moved_by_a_view_that_ends_before_it() -> None:
    handler = ViewHandler(A, CONFIG)
    handler.on_view(0, OURS)
    handler.on_request(0, Request(RequestKind.JOIN, C))
    handler.on_time(CONFIG.gather_ns)
    before = handler.resumer.deadline_ns
    handler.on_spreading(CONFIG.gather_ns + CONFIG.view_limit_ns)
    assert handler.resumer.deadline_ns == before


def test_a_view_after_a_merge_that_was_kept_elsewhere_only_has_another_id() -> None:
    """The leader's own part of the merge was ended by the Resumer: C has the view, the leader has not."""
    numbers = ViewNumbers()
    numbers.note(8)
    leader = MergeLeader(A, CONFIG, Fixed(), numbers=numbers)
    merge_id = MergeId(A, 1)
    leader.on_raised(0, [Party(A, OURS, (A, B)), Party(C, THEIRS, (C,))])
    leader.begin(0, merge_id)
    for coordinator in (C, A):
        leader.on_merge_rsp(0, coordinator, MergeRsp(merge_id, True))
    for coordinator, members in ((C, (C,)), (A, (A, B))):
        entries = tuple(Entry(0, 0, 0) for _ in members)
        leader.on_merge_digest(0, coordinator, MergeDigest(merge_id, members, members, entries, (), 8, 64, 1000))
    assert leader.attempt is not None and leader.attempt.outcome == ViewId(9, A)
    roll_call = RollCall(A, CONFIG, OURS, 2, going=(B,), numbers=numbers)
    roll_call.begin(0)
    answer = Answer(roll_call.id, Entry(0, 0, 0), (Holding(B, 0, 0),), 8, 64, 1000)
    roll_call.on_answer(0, A, answer)
    assert roll_call.next_id == ViewId(10, A)
