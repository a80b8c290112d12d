"""Settling at a view change: crashed sender, crashed coordinator, both; joins; what is dropped is dropped by all."""

from ringcast.core.control import Carried, Settlement, Survivor
from ringcast.core.ordering.delivery_queue import Destination, Parcels
from ringcast.core.ordering.envelope import Parcel, Stub
from ringcast.core.ordering.sender_queue import Batch, SenderQueue
from ringcast.core.ordering.settlement import MOST_RANGES, Settling, plan, report
from ringcast.model import Kind, View, ViewId
from ringcast.order import Stamp
from unit.core.ordering.world import World, address

A, B, C, D = map(address, "ABCD")
VIEW = View(ViewId(1, A), (A, B, C, D))


def same(world: World, names: str) -> list[bytes]:
    """What these have read, which must be the same."""
    read = world.payloads(names[0])
    assert all(world.payloads(name) == read for name in names), {name: world.payloads(name) for name in names}
    return read


def test_what_is_not_announced_at_the_end_of_a_view_is_ordered_alike_by_all() -> None:
    world = World("ABC")
    for name in "ABC":
        world.queue(name, name.encode())
    world.change_view("ABC")
    assert sorted(same(world, "ABC")) == [b"A", b"B", b"C"]
    assert all(world.members[name].finished[1].view == 1 for name in "ABC")


def test_a_crashed_coordinators_announcement_that_one_survivor_has_is_used_by_all() -> None:
    world = World("ABC")
    world.queue("C", b"c")
    world.queue("B", b"b")
    for sender, receiver in ["CA", "CB", "BA", "BC"]:
        world.arrive(sender, receiver)
    for name in "BCA":
        world.flush(name)
        world.arrive_ack(name)
    world.flush("A")
    world.arrive("A", "C")  # Only C has it.
    known = [stamp for stamp, *_ in world.members["C"].read]
    world.change_view("BC")
    assert [stamp for stamp, *_ in world.members["B"].read][: len(known)] == known
    assert len(same(world, "BC")) == 2


def test_o02_a_coordinator_that_crashes_leaves_the_same_messages_at_all_survivors() -> None:
    world = World("ABC")
    for number in range(50):
        world.queue("BC"[number % 2], str(number).encode())
        if number == 20:
            world.change_view("BC")
        world.step()
    world.settle_down()
    assert sorted(map(int, same(world, "BC"))) == list(range(50))


def test_a_crashed_senders_message_that_one_destination_holds_is_forwarded_and_ordered() -> None:
    world = World("ABCD")
    world.queue("D", b"x", to="BC")
    world.arrive("D", "A")
    world.arrive_parcel("D", "B")
    world.change_view("ABC")
    assert same(world, "BC") == [b"x"] and world.payloads("A") == []


def test_from_the_first_message_nobody_holds_on_a_crashed_senders_are_dropped_by_all() -> None:
    world = World("ABCD")
    world.queue("D", b"kept")
    world.queue("D", b"lost", to="BC")
    world.queue("D", b"behind it")
    for _ in range(3):
        world.arrive("D", "A")
    world.change_view("ABC")
    assert same(world, "ABC") == [b"kept"]
    aborted = [(e.peer, e.first) for e in world.members["B"].events if e.kind is Kind.ABORTED]
    assert aborted == [(D, 2), (D, 3)]


def test_a_message_of_which_no_destination_goes_on_drops_nothing_behind_it() -> None:
    world = World("ABCD")
    world.queue("D", b"only for C", to="C")
    world.queue("D", b"for all")
    world.arrive("D", "A")
    world.arrive("D", "A")
    world.change_view("AB")
    assert same(world, "AB") == [b"for all"]


def test_a_stub_above_the_cut_takes_its_parcel_with_it() -> None:
    """The parcel reached B, the stub reached nobody: the message is nowhere, for all."""
    world = World("ABCD")
    world.queue("D", b"x", to="BC")
    world.arrive_parcel("D", "B")
    world.change_view("ABC")
    assert same(world, "ABC") == []
    world.queue("A", b"y")
    world.settle_down()
    assert same(world, "ABC") == [b"y"]


def test_sender_and_coordinator_crash_together() -> None:
    world = World("ABCD")
    world.queue("A", b"a", to="CD")
    world.queue("B", b"b")
    world.arrive("A", "C")
    world.arrive_parcel("A", "D")
    world.arrive("B", "D")
    world.change_view("CD")
    assert sorted(same(world, "CD")) == [b"a", b"b"]


def test_parcels_of_a_survivor_that_are_still_on_their_way_come_before_the_view() -> None:
    world = World("ABC")
    world.queue("B", b"x", to="AC")
    world.change_view("ABC")
    assert world.payloads("A") == world.payloads("C") == [b"x"]
    assert world.members["B"].finished == {1: Stamp(1, 1)}


def test_a_joiner_begins_with_the_view_and_numbers_go_on() -> None:
    world = World("AB")
    world.queue("B", b"before")
    world.change_view("AB", joining="C")
    world.queue("B", b"after")
    world.queue("C", b"hello", to="AC")
    world.settle_down()
    assert world.payloads("A") == [b"before", b"after", b"hello"]
    assert world.payloads("C") == [b"after", b"hello"]
    assert world.members["B"].finished[2] == Stamp(2, 1)


def test_a_roll_call_that_ends_without_a_view_leaves_everything_as_it_was() -> None:
    world = World("ABC")
    world.queue("B", b"x")
    for name in "ABC":
        world[name].hold()
        assert not world[name].may_queue
    world.settle_down()
    assert world.payloads("A") == []  # Nothing is announced meanwhile.
    for name in "ABC":
        world.carry_out(name, world[name].release())
    world.settle_down()
    assert same(world, "ABC") == [b"x"]


def test_a_member_that_goes_on_alone_settles_with_itself() -> None:
    world = World("ABC")
    world.queue("C", b"mine")
    world.queue("A", b"theirs", to="BC")
    world.arrive("A", "C")
    world.change_view("C")
    assert world.payloads("C") == [b"mine"]


def test_ranges_of_a_report_are_joined_and_bounded() -> None:
    lines = [SenderQueue(1) for _ in VIEW.members]
    parcels = Parcels(10_000)
    for first in (1, 2, 3, 7):
        parcels.keep(D, first, [b"x"])
    lines[3].add(Batch(4, 2, 1, [b"x", b"y"], apart=True))
    assert report(VIEW, lines, parcels, [D, address("stranger")]) == (Carried(D, ((1, 5), (7, 7))),)
    for number in range(10, 10 + 4 * MOST_RANGES, 2):
        parcels.keep(D, number, [b"x"])
    (carried,) = report(VIEW, lines, parcels, [D])
    assert len(carried.ranges) == MOST_RANGES


def test_a_plan_names_who_forwards_to_whom() -> None:
    lines = [SenderQueue(1) for _ in VIEW.members]
    lines[3].add(Batch(1, 1, 0b0111, None, apart=True))
    survivors = (Survivor(A, ()), Survivor(B, (Carried(D, ((1, 1),)),)), Survivor(C, (Carried(D, ((1, 9),)),)))
    settled = plan(VIEW, lines, Settlement((D,), survivors))
    assert [(f.holder, f.missing) for f in settled.forwards] == [(1, (0,))]
    assert [(p.sender, p.batch.first) for p in settled.placed] == [(3, 1)] and not settled.dropped


def test_a_view_waits_until_what_is_forwarded_has_come() -> None:
    """D died; B has its parcel and C has not: C is not at the end of the view before B's forward is here (G16)."""
    destination = Destination(C, 8)
    destination.on_view(VIEW, 0)
    stub = destination.batch_of(D, Stub(1, 1, 0b0110))
    assert stub is not None
    destination.queue_of(D).add(stub)
    settling = Settling(destination)
    carried = Survivor(B, (Carried(D, ((1, 1),)),))
    settling.prepare(Settlement((D,), (Survivor(A, ()), carried, Survivor(C, ()))))
    assert not settling.is_settled
    settling.make_plan()
    assert settling.plan is not None and [placed.batch.first for placed in settling.plan.placed] == [1]
    assert not settling.is_settled
    assert destination.take_parcel(B, Parcel(1, [b"x"], (1, 3)))
    assert settling.is_settled
