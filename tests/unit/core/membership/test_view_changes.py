"""Members come, go and crash; the survivors agree on who is there and on what was delivered (G4, G5)."""

from __future__ import annotations

from typing import cast

import pytest

from ringcast.core import Packet, Run
from ringcast.core.control import Join, MergeId, NewView, Refusal, RollCallId
from ringcast.core.deadlines import Deadlines
from ringcast.core.membership import Phase
from ringcast.core.membership.coordinator import Coordinator
from ringcast.core.membership.follower import Follower, Streams
from ringcast.core.membership.primary_record import PrimaryRecord
from ringcast.core.membership.suspicions import Suspicions
from ringcast.core.state.providers import PendingStates
from ringcast.model import MS, SECOND, Address, Entry, Kind, Terms, View, ViewId, profile
from ringcast.sim import FrameRule, delay
from ringcast.sim.network import kind_of
from simulation.members import Members, excluded, told
from unit.core.calls import carried_out, neighbour

A, B = (Address(name, 1, f"mem:{name}") for name in "AB")


def numbered(name: str, first: int, last: int) -> list[bytes]:
    return [f"{name}{n}".encode() for n in range(first, last + 1)]


def suspects(world: Members, name: str) -> list[Address]:
    coordination = world[name].node.coordination
    assert coordination is not None
    return list(coordination.membership.suspicions.members)


def test_a_crashed_member_is_excluded() -> None:
    world = Members()
    world.gather("ABC")
    world.crash("C")
    assert world.is_soon_one("AB")
    assert world.verdict() == []


def test_a_crashed_coordinator_is_followed_by_the_next() -> None:
    world = Members()
    world.gather("ABC")
    world.crash("A")
    assert world.is_soon_one("BC")
    assert world["B"].node.view.coordinator == world["B"].address
    assert world.verdict() == []


@pytest.mark.parametrize("seed", range(5))
def test_a_join_under_load_starts_at_exact_offsets_x1(seed: int) -> None:
    """X1: everybody sends all the time; the joiner gets a true start of each stream, without a hole."""
    world = Members(seed, loss=0.05)
    world.gather("ABC")
    for name in "ABC":
        world.send(name, *numbered(name, 1, 800))
    world.run_for(20 * MS)
    world.start("J")
    assert world.is_soon_one("ABCJ")
    assert all(world.application(name).outbox for name in "ABC")
    assert world.run_until(lambda: all(len(world.messages("A", name)) == 800 for name in "ABC"))
    world.run_for(200 * MS)
    for name in "ABC":
        got = world.messages("J", name)
        assert got and got == numbered(name, 801 - len(got), 800)
    assert world.verdict() == []


def last_run_only_to(world: Members, sender: str, receiver: str, payload: bytes) -> None:
    """From now on runs of `sender` that carry `payload` reach nobody but `receiver`."""

    def is_lost(source: str, to: str, packet: Packet) -> bool:
        return source == sender and to != receiver and isinstance(packet, Run) and payload in packet.items

    world.network.snares.append(is_lost)


def test_what_a_crashed_sender_gave_to_one_reaches_all_x7() -> None:
    """X7: the sender crashes, its last message reached only B; B and C agree before the next view."""
    world = Members()
    world.gather("ABC")
    last_run_only_to(world, "A", "B", b"last")
    world.send("A", b"first", b"last")
    world.run_for(3 * MS)
    assert world.messages("C", "A") == [b"first"]
    world.crash("A")
    assert world.is_soon_one("BC")
    assert world.messages("B", "A") == world.messages("C", "A") == [b"first", b"last"]
    assert world.verdict() == []


def test_what_nobody_has_is_dropped_by_all_x7() -> None:
    world = Members()
    world.gather("ABC")
    world.fault("loss", amount=1.0)
    world.send("A", b"lost")
    world.crash("A")
    world.mend()
    assert world.is_soon_one("BC")
    assert world.messages("B", "A") == world.messages("C", "A") == []
    assert world.verdict() == []


def test_a_silent_member_blocks_a_sender_until_a_view_without_it_p12() -> None:
    """P12: capacity 5, D silent; A sends 10 and blocks; the view without D frees it."""
    world = Members(config=profile("test", capacity=5))
    world.gather("ABCD")
    world.crash("D")
    world.send("A", *numbered("A", 1, 10))
    world.run_for(50 * MS)
    assert len(world.application("A").outbox) == 5
    assert world.is_soon_one("ABC")
    assert world.run_until(lambda: all(world.messages(n, "A") == numbered("A", 1, 10) for n in "ABC"))
    assert world.messages("D", "A") == []
    assert world.verdict() == []


def test_leave_and_rejoin_give_exactly_what_was_sent_meanwhile_p16() -> None:
    """P16: A sends 1-10, leaves, rejoins, sends 11-20; then A leaves, B sends 21-30, A rejoins, B sends 31-40."""
    world = Members()
    world.gather("ABC")
    world.send("A", *numbered("A", 1, 10))
    world.leave("A")
    assert world.is_soon_one("BC") and world.run_until(lambda: world.has_left("A"))
    world.start("A")
    assert world.is_soon_one("BCA")
    world.send("A", *numbered("A", 11, 20))
    assert world.run_until(lambda: all(world.messages(n, "A") == numbered("A", 1, 20) for n in "BC"))
    world.leave("A")
    assert world.is_soon_one("BC") and world.run_until(lambda: world.has_left("A"))
    world.send("B", *numbered("B", 21, 30))
    world.run_for(100 * MS)
    world.start("A")
    assert world.is_soon_one("BCA")
    world.send("B", *numbered("B", 31, 40))
    assert world.run_until(lambda: world.messages("A", "B") == numbered("B", 31, 40))
    assert world.verdict() == []


def test_the_smallest_windows_are_agreed_with_the_view() -> None:
    wide, narrow = (profile("test", capacity=c, window_bytes=w) for c, w in ((32, 5_000), (8, 9_000)))
    world = Members(configs={"A": wide, "B": narrow})
    world.gather("AB")
    assert (world["A"].node.view.capacity, world["A"].node.view.window_bytes) == (8, 5_000)
    world.send("A", *numbered("A", 1, 100))
    assert world.run_until(lambda: world.messages("B", "A") == numbered("A", 1, 100))
    world.leave("B")
    assert world.is_soon_one("A")
    assert world["A"].node.view.capacity == 32
    assert world.verdict() == []


def test_a_coordinator_with_a_narrow_window_for_messages_changes_views_as_others_do() -> None:
    """Simulated seed 20579: what a view change says did not fit the window, so members that live were excluded."""
    world = Members(configs={"A": profile("test", window_bytes=100)})
    world.gather("ABCD")
    world.crash("D")
    world.start("D")
    assert world.is_soon_one("ABCD")
    assert [member.incarnation for member in world["A"].node.view.members] == [1, 1, 1, 2]
    assert world.verdict() == []


def test_an_observer_never_coordinates() -> None:
    world = Members(observers=["O"])
    world.gather("AOB")
    world.crash("A")
    assert world.is_soon_one("OB")
    assert world["B"].node.view.coordinator == world["B"].address
    assert world["B"].node.view.observers == (world["O"].address,)
    assert world.verdict() == []


def test_a_process_that_restarts_at_the_same_place_is_a_new_incarnation() -> None:
    world = Members()
    world.gather("ABC")
    world.crash("B")
    old = world["B"].address
    world.start("B")
    before = world.clock.now_ns
    assert world.is_soon_one("ACB")
    assert world["B"].address.is_successor_of(old)
    assert world.clock.now_ns - before < 400 * MS  # not after a suspicion by silence
    assert world.verdict() == []


@pytest.mark.parametrize("seed", range(5))
def test_sole_members_and_pairs_leave_v09_v10(seed: int) -> None:
    """V09: the sole member leaves. V10: the only two members leave together."""
    world = Members(seed)
    world.gather("A")
    world.leave("A")
    assert world.run_until(lambda: world.has_left("A"))
    pair = Members(seed, loss=0.1)
    pair.gather("AB")
    pair.leave("A")
    pair.leave("B")
    assert pair.run_until(lambda: pair.has_left("A") and pair.has_left("B"))
    assert pair.verdict() == []


@pytest.mark.parametrize("seed", range(3))
def test_the_first_of_ten_leave_in_many_ways_v07(seed: int) -> None:
    """V07: the first two close together; then coordinators leave in turn, down to five, and the rest agree."""
    world = Members(seed, loss=0.02)
    names = "ABCDEFGHIJ"
    world.start_together(names)
    assert world.is_soon_one(names)
    order = [member.name for member in world["A"].node.view.members]
    for name in order[:2]:
        world.send(name, *numbered(name, 1, 50))
        world.leave(name)
    assert world.is_soon_one(order[2:])
    assert all(world.messages(n, order[0]) == numbered(order[0], 1, 50) for n in order[2:])
    assert all(world.messages(n, order[1]) == numbered(order[1], 1, 50) for n in order[2:])
    for name in order[2:5]:
        assert world[order[-1]].node.view.coordinator == world[name].address
        world.leave(name)
        assert world.run_until(lambda name=name: world.has_left(name))
    assert world.is_soon_one(order[5:])
    assert world.verdict() == []


def test_half_of_the_group_leaves_at_once() -> None:
    world = Members(3)
    world.gather("ABCDEF")
    for name in "ABC":
        world.leave(name)
    assert world.is_soon_one("DEF")
    assert world.run_until(lambda: all(world.has_left(name) for name in "ABC"))
    assert world.verdict() == []


def test_half_of_the_group_crashes_at_once_under_load() -> None:
    world = Members(4, loss=0.05)
    world.gather("ABCDEF")
    for name in "ABCDEF":
        world.send(name, *numbered(name, 1, 300))
    world.run_for(15 * MS)
    assert all(world.application(name).outbox for name in "ABCDEF")
    for name in "ABC":
        world.crash(name)
    assert world.is_soon_one("DEF")
    assert world.run_until(lambda: not any(world.application(n).outbox for n in "DEF"))
    world.run_for(200 * MS)
    for dead in "ABC":
        assert world.messages("D", dead) == world.messages("E", dead) == world.messages("F", dead)
    assert world.verdict() == []


@pytest.mark.parametrize("seed", range(5))
def test_a_frozen_member_is_excluded_and_learns_of_it(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    world = Members(seed)
    world.gather("ABCD")
    world["B"].freeze()
    assert world.is_soon_one("ACD")
    world["B"].thaw()
    assert world.run_until(lambda: excluded(caplog) == ["B#1"])


@pytest.mark.parametrize("join_retry_ms", [100, 200, 500])
def test_a_join_request_that_is_late_still_joins_v11(join_retry_ms: int) -> None:
    """V11: what the joiner says reliably takes 1 s; it joins soon after, however short its patience is."""
    world = Members(configs={"B": profile("test", join_retry_ns=join_retry_ms * MS)})
    world.gather("A")
    late = FrameRule(world.network, delay(world.clock, 1 * SECOND), "control", "B", "A")
    world.clock.after(2 * SECOND, late.end)
    world.start("B")
    assert world.is_soon_one("AB", 5 * SECOND)
    assert world.verdict() == []


def test_large_messages_survive_the_crash_of_their_sender() -> None:
    world = Members(7, loss=0.1)
    world.gather("ABCD")
    world.send("A", *[bytes([n]) * 9_000 for n in range(5)])
    world.run_for(4 * MS)
    world.crash("A")
    assert world.is_soon_one("BCD")
    assert world.messages("B", "A") == world.messages("C", "A") == world.messages("D", "A")
    assert world.verdict() == []


def test_a_false_suspicion_is_withdrawn_everywhere_v17() -> None:
    """V17: one of five is not heard for a while, but answers the direct question: no suspicion stays, nobody goes."""
    world = Members(6)
    world.gather("ABCDE")
    world.fault("mute", "C")
    assert world.run_until(lambda: any(suspects(world, n) for n in "ABDE"), 1 * SECOND)
    world.mend()
    assert world.run_until(lambda: not any(suspects(world, n) for n in "ABCDE"), 10 * SECOND)
    assert world.is_soon_one("ABCDE", 10 * SECOND)
    assert world.verdict() == []


@pytest.mark.parametrize("seed", range(5))
def test_a_message_before_the_join_is_complete_may_be_answered_p21(seed: int) -> None:
    """P21: runs of the new view reach the joiner before the view does; what it sends in reply goes out later."""
    world = Members(seed, jitter_ns=29 * MS)
    world.gather("AB")
    world.start("J")
    world.send("J", b"reply")  # waits for the first view
    world.send("A", *numbered("A", 1, 200))
    assert world.is_soon_one("ABJ")
    assert world.run_until(lambda: all(world.messages(n, "J") == [b"reply"] for n in "ABJ"))
    assert world.run_until(lambda: not world.application("A").outbox and world.messages("J", "A")[-1:] == [b"A200"])
    assert world.verdict() == []


def test_a_view_that_was_overtaken_is_waited_for_no_longer() -> None:
    """Whoever made it would else suspect those who had not shown it, though all are in the next one by now."""
    config, deadlines = profile("test"), Deadlines()
    first, second = View(ViewId(1, A), (A, B)), View(ViewId(2, A), (A, B))
    parts = (neighbour(), PrimaryRecord(A, None))
    follower = Follower(A, config, first, cast("Streams", None), *parts, lambda member: True, deadlines=deadlines)
    owner = neighbour()
    coordinator = Coordinator(A, config, follower, Suspicions(A), PendingStates(False), owner, neighbour(), deadlines)
    limits, nothing = (config.capacity, config.window_bytes), (Entry(0, 0, 0),) * 2
    coordinator.call_for_merge(0, MergeId(A, 1), (A, B))
    change = coordinator.change
    assert change is not None
    message = NewView(change.roll_call.id, second.id, second.members, (), (), *limits, nothing, (0, 0))
    change.spread(0, message, coordinator)
    assert change.spreading is not None
    by_b = RollCallId(second.id, 1, 1)
    coordinator.on_view(1, NewView(by_b, ViewId(3, B), second.members, (), (), *limits, nothing, (0, 0)))
    assert coordinator.change is None
    carried_out(coordinator.on_time(config.view_limit_ns * 2))
    assert owner.made == []


def test_the_end_of_one_change_is_not_the_end_of_the_next() -> None:
    """The limit of a view and the next batch of requests may come in one moment, at a coordinator that woke late: the
    roll call that had just begun was thrown away, and nobody cancelled what was held."""
    world = Members(jitter_ns=0, config=profile("test"))
    world.gather("ABC")
    world.cut("AB", "C")
    assert world.is_soon_one("AB") and world.is_soon_one("C")
    leading = world["A"].node.coordination
    assert leading is not None and leading.membership.as_coordinator is not None
    coordinator = leading.membership.as_coordinator

    def merges() -> bool:
        change = coordinator.change
        return change is not None and change.merge_id is not None and change.spreading is not None

    world.network.snares.append(lambda sender, to, packet: to == "B" and kind_of(packet) == "control" and merges())
    world.mend()
    assert world.run_until(merges, look_every_ns=MS // 10)
    limit_ns = coordinator._timer.at_ns
    assert limit_ns is not None
    world.network.cut([(name, "B") for name in "AC"], ("control",))
    world.run_to(limit_ns - 16 * MS)
    world.start("D")
    assert world.run_until(lambda: len(coordinator.handler.queue) > 0, look_every_ns=MS // 5)
    world.fault("freeze", "A")
    world.run_to(limit_ns + 15 * MS)
    world.mend()
    world.network.mend_all()
    assert world.is_soon_one("ABCD")
    assert world.verdict() == []


def answer_to_a_second_join(world: Members, name: str, *, late_ns: int = 0) -> str:
    """What A answers to a JOIN of a new process in the place of member `name`, if A reads it so much later."""
    old, config = world[name].address, world["A"].node.config
    again = old._replace(incarnation=old.incarnation + 1)
    join = Join(False, False, config.capacity, config.window_bytes, Terms.of(config, primary=False, reunites=False))
    world.into("A", told(again, join, later_ns=late_ns))
    (asked,) = [event for event in world.events("A") if event.kind is Kind.REQUESTED and event.peer == again]
    return str((asked.detail or {})["answer"])


def test_a_join_that_ends_a_late_roll_call_is_taken_and_not_told_busy() -> None:
    """B runs again while A's roll call waits for its old self, and A slept past the limit of that roll call. The JOIN
    shows that the old B is gone, which fails the roll call; by then A is free, so it must not send the joiner away."""
    world = Members(jitter_ns=0)
    world.gather("ABC")
    handler = world.handler("A")
    assert world.run_until(lambda: handler.phase is Phase.IDLE)
    world.network.cut([("B", "A"), ("C", "A")], ("control",))  # Nobody answers the roll call.
    world.start("D")
    assert world.run_until(lambda: handler.phase is Phase.CHANGING, look_every_ns=MS)
    since_ns = world.clock.now_ns
    assert answer_to_a_second_join(world, "B", late_ns=world["A"].node.config.view_change_ns) == "queued"
    assert world.resumed("A", since_ns) == ["view-failed"]
    assert handler.phase is Phase.GATHERING


def test_a_join_that_ends_the_spreading_of_a_view_is_taken_and_not_told_busy() -> None:
    """A's view waits only for B to show it, and B runs again. The JOIN shows that the old B is gone, which ends that
    wait; by then A is free, so it must not send the joiner away."""
    world = Members(jitter_ns=0)
    world.gather("ABC")
    handler, coordination = world.handler("A"), world["A"].node.coordination
    assert coordination is not None and coordination.membership.as_coordinator is not None
    coordinator = coordination.membership.as_coordinator
    assert world.run_until(lambda: handler.phase is Phase.IDLE)

    def is_spreading() -> bool:
        return coordinator.change is not None and coordinator.change.spreading is not None

    world.start("D")
    assert world.run_until(is_spreading, look_every_ns=MS // 10)
    world.network.cut([("B", "A")])
    world.run_for(10 * MS)  # C and D show the view.
    assert is_spreading()
    since_ns = world.clock.now_ns
    assert answer_to_a_second_join(world, "B") == "queued"
    assert world.resumed("A", since_ns) == ["view-installed"]
    assert handler.phase is Phase.GATHERING


@pytest.mark.parametrize("gather_ns", [0, profile("test").gather_ns])
def test_a_late_roll_call_is_recorded_as_over_before_what_follows_from_its_end(gather_ns: int) -> None:
    """B has gone on without A, whose roll call is past its limit: A is free again before it suspects B, so the next
    suspension is recorded after the end of the one before."""
    world = Members(jitter_ns=0, config=profile("test", gather_ns=gather_ns))
    world.gather("ABC")
    handler, coordination = world.handler("A"), world["A"].node.coordination
    assert coordination is not None and coordination.membership.as_coordinator is not None
    leading = coordination.membership.as_coordinator
    assert world.run_until(lambda: handler.phase is Phase.IDLE)
    world.network.cut([("B", "A"), ("C", "A")], ("control",))
    world.start("D")
    assert world.run_until(lambda: handler.phase is Phase.CHANGING, look_every_ns=MS)
    assert leading.change is not None
    refusal = Refusal(leading.change.roll_call.id, "already in B#1|9", gone=True)
    since_ns, late_ns = world.clock.now_ns, world["A"].node.config.view_change_ns
    world.into("A", told(world["B"].address, refusal, later_ns=late_ns))
    kinds = (Kind.RESUME, Kind.SUSPECT, Kind.SUSPEND)
    found = [event.kind for event in world.events("A") if event.t_ns > since_ns and event.kind in kinds]
    assert found[:2] == [Kind.RESUME, Kind.SUSPECT]
