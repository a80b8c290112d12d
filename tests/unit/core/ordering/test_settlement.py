"""Settling at a view change, in one member: reports, the plan, what a view waits for. Groups: tests/simulation."""

from ringcast.core import Dequeue, Freed
from ringcast.core.control import Carried, Settlement, Staged, Survivor
from ringcast.core.ordering import Ordering
from ringcast.core.ordering.delivery_queue import Destination, Parcels
from ringcast.core.ordering.envelope import Parcel, Stub, pack_stub, pack_whole
from ringcast.core.ordering.sender_queue import Batch, SenderQueue
from ringcast.core.ordering.settlement import MOST_RANGES, Settling, plan, report
from ringcast.model import Address, Event, View, ViewId
from unit.core.ordering.alone import TRIO, A, B, C, D, alone, announced

STRANGER = Address("stranger", 1, "mem:stranger")
VIEW = View(ViewId(1, A), (A, B, C, D))


def test_a_roll_call_that_ends_without_a_view_leaves_everything_as_it_was() -> None:
    ordering, noted = alone(A)
    ordering.on_multicast(0, B, [pack_whole(1, [b"x"], to_self=True)])
    ordering.on_staged(C, Staged(TRIO.id, ((1, 1),)))
    ordering.hold()
    assert not ordering.may_queue
    assert ordering.flush(0, True) == [] and noted.multicasts == []  # Nothing is announced meanwhile.
    assert ordering.release() == [Freed()] and ordering.may_queue
    assert [effect.payloads for effect in ordering.flush(0, True) if isinstance(effect, Dequeue)] == [[b"x"]]
    assert noted.multicasts == announced(1, (1, 1, 1))


def settled(ordering: Ordering, settlement: Settlement) -> list[tuple[str, Address | None, int]]:
    events = [effect for effect in ordering.settle(0, settlement) if isinstance(effect, Event)]
    return [(event.kind.name, event.peer, event.first) for event in events]


def test_a_member_that_goes_on_alone_settles_with_itself() -> None:
    """Asked by its own roll call, or by nobody: what it holds is placed, what it lacks is dropped."""
    for settlement in (Settlement((A, B), (Survivor(C, ()),)), Settlement()):
        ordering, _ = alone(C)
        ordering.queue(0, [b"mine"], None)
        ordering.on_multicast(0, A, [pack_stub(1, 1, 0b110)])
        expected = [("DEQUEUE", C, 1), ("QUEUE_FINISH", None, 1), ("ABORTED", A, 1)]
        assert settled(ordering, settlement) == expected


def test_ranges_of_a_report_are_joined_and_bounded() -> None:
    lines = [SenderQueue(1) for _ in VIEW.members]
    parcels = Parcels(10_000)
    for first in (1, 2, 3, 7):
        parcels.keep(D, first, [b"x"])
    lines[3].add(Batch(4, 2, 1, [b"x", b"y"], apart=True))
    assert report(VIEW, lines, parcels, [D, STRANGER]) == (Carried(D, ((1, 5), (7, 7))),)
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
