"""One member's part in the order within a view: staging, acks, announcements, back-pressure."""

from ringcast.core import Channel, Dequeue, Drop, Effect, Finished, Freed
from ringcast.core.control import Staged
from ringcast.core.ordering.envelope import (
    Announcement,
    Ticks,
    fit_envelope,
    open_envelope,
    pack_parcel,
    pack_stub,
    pack_whole,
)
from ringcast.core.ordering.in_flight import InFlight
from ringcast.model import Event, Kind, View, ViewId
from ringcast.order import Stamp
from unit.core.ordering.alone import TRIO, A, B, C, D, acked, alone, announced, enter

PAIR = View(ViewId(1, A), (A, B))


def read(effects: list[Effect]) -> list[tuple[Stamp, list[bytes]]]:
    return [(effect.stamp, effect.payloads) for effect in effects if isinstance(effect, Dequeue)]


def told(effects: list[Effect]) -> list[tuple[Kind, int, int, int, int]]:
    return [(e.kind, e.first, e.count, e.ordinal, e.value) for e in effects if isinstance(e, Event)]


# ---- as sender


def test_a_subset_gets_the_payload_on_its_own_streams_and_nobody_else_holds_it() -> None:
    ordering, noted = alone(B, View(ViewId(1, A), (A, B, C, D)))
    assert ordering.queue(0, [b"secret"], [C, D])[0] == 1
    assert noted.multicasts == [pack_stub(1, 1, 0b1100)]
    assert noted.posts == [((C, D), pack_parcel(1, [b"secret"]))]


def test_o11_a_peer_named_twice_gets_one_instance() -> None:
    ordering, noted = alone(A)
    ordering.queue(0, [b"once"], [B, C, B])
    assert noted.posts == [((B, C), pack_parcel(1, [b"once"]))]


def test_queueing_is_finished_when_the_announcement_is_known_and_not_before() -> None:
    ordering, _ = alone(B)
    ordering.queue(0, [b"x"], None)
    assert ordering.flush(0, True) == [] and ordering.in_flight.count == 1
    effects = ordering.on_multicast(0, A, announced(1, (1, 1, 1)))
    assert Finished(1, 1, Stamp(1, 1)) in effects and ordering.in_flight.count == 0


def test_a_sender_that_wants_no_copy_of_its_own_gets_none_but_learns_the_place() -> None:
    sender, noted = alone(B, PAIR, self_delivery=False)
    sender.queue(0, [b"x"], None)
    effects = sender.on_multicast(0, A, announced(1, (1, 1, 1)))
    assert Finished(1, 1, Stamp(1, 1)) in effects and read(effects) == []
    other, announcements = alone(A, PAIR)
    other.on_multicast(0, B, noted.multicasts)
    assert read(other.flush(0, True)) == [(Stamp(1, 1), [b"x"])]
    assert noted.multicasts == [pack_whole(1, [b"x"], to_self=False)] and len(announcements.multicasts) == 1


def test_the_recording_says_start_finish_and_dequeue() -> None:
    ordering, _ = alone(B, PAIR)
    effects = ordering.queue(0, [b"x", b"y"], None)[1] + ordering.queue(0, [b"z"], [A])[1]
    effects += ordering.on_multicast(0, A, announced(1, (1, 3, 2)))
    assert told(effects) == [
        (Kind.QUEUE_START, 1, 2, 0, 0),
        (Kind.QUEUE_START, 3, 1, 0, 0),
        (Kind.DEQUEUE, 1, 2, 0, 1),
        (Kind.QUEUE_FINISH, 1, 2, 0, 1),
        (Kind.QUEUE_FINISH, 3, 1, 0, 2),
    ]


def test_what_is_in_flight_is_bounded_in_messages_and_bytes() -> None:
    held, sizes = InFlight(), [10] * 100
    assert fit_envelope(sizes, held.space(64, 1_000), 10_000) == 64
    held.add(60, 600)
    assert fit_envelope(sizes, held.space(64, 1_000), 10_000) == 4
    assert held.space(64, 1_000).takes(1, 10) and not held.space(64, 1_000).takes(1, 500)
    held.add(4, 40)
    assert not held.space(64, 1_000).takes(1, 10)
    held.finish(64)
    assert held.space(64, 1_000).takes(1, 5_000)  # One message always fits when nothing is in flight.


def test_a_batch_is_cut_to_the_frame() -> None:
    ordering, _ = alone(A)
    assert fit_envelope([100] * 64, ordering.space, 1_000) == 9
    assert fit_envelope([100, 200, 300, 400, 50], ordering.space, 1_000) == 3


def test_numbers_go_on_from_view_to_view_and_the_counter_begins_again() -> None:
    ordering, _ = alone(B, PAIR)
    ordering.queue(0, [b"before"], None)
    ordering.on_multicast(0, A, announced(1, (1, 1, 1)))
    enter(ordering, View(ViewId(2, A), (A, B, C)))
    assert ordering.queue(0, [b"after"], None)[0] == 2
    assert Finished(2, 2, Stamp(2, 1)) in ordering.on_multicast(0, A, announced(1, (1, 2, 1)))


# ---- as destination


def test_one_tick_orders_a_batch_and_its_messages_come_by_index() -> None:
    ordering, _ = alone(C)
    ordering.on_multicast(0, B, [pack_whole(1, [b"1", b"2", b"3"], to_self=True)])
    ordering.on_multicast(0, A, [pack_whole(1, [b"4"], to_self=True)])
    effects = ordering.on_multicast(0, A, announced(1, (1, 3, 1), (0, 1, 1)))
    assert read(effects) == [(Stamp(1, 1), [b"1", b"2", b"3"]), (Stamp(1, 2), [b"4"])]
    assert effects[-1] == Freed()


def test_places_are_counted_for_whoever_reads_them() -> None:
    ordering, _ = alone(A, PAIR)
    ordering.on_multicast(0, B, [pack_whole(1, [b"x", b"y"], to_self=True), pack_stub(3, 1, 0b01)])
    ordering.on_parcels(0, B, [pack_parcel(3, [b"z"])])
    effects = ordering.flush(0, True)
    assert told(effects) == [(Kind.DEQUEUE, 1, 2, 0, 1), (Kind.DEQUEUE, 3, 1, 2, 2)]
    assert [(e.channel, e.to) for e in effects if isinstance(e, Dequeue)] == [
        (Channel.GROUP, None),
        (Channel.PEER, (A,)),
    ]


def test_a_parcel_before_its_stub_waits_for_it() -> None:
    ordering, _ = alone(C)
    assert ordering.on_parcels(0, B, [pack_parcel(1, [b"x"])]) == []
    assert ordering.flush(0, True) == []
    assert ordering.on_multicast(0, B, [pack_stub(1, 1, 0b100)]) == []
    assert ordering.flush(0, True) == [acked(TRIO, (1, 1))]


def test_a_stub_before_its_parcel_is_not_acked_nor_is_what_comes_behind_it() -> None:
    ordering, _ = alone(C)
    ordering.on_multicast(0, B, [pack_stub(1, 1, 0b100), pack_whole(2, [b"y"], to_self=True)])
    assert ordering.flush(0, True) == [] and ordering.on_interval(0) == []
    ordering.on_parcels(0, B, [pack_parcel(1, [b"x"])])
    assert ordering.flush(0, True) == [acked(TRIO, (1, 2))]


def test_the_same_parcel_twice_is_read_once() -> None:
    ordering, _ = alone(C)
    parcel = pack_parcel(1, [b"x"])
    ordering.on_multicast(0, B, [pack_stub(1, 1, 0b100)])
    assert ordering.on_parcels(0, B, [parcel]) == []
    again = [Drop("a parcel nobody waits for", B, 1)]
    assert ordering.on_parcels(0, B, [parcel]) == again
    assert read(ordering.on_multicast(0, A, announced(1, (1, 1, 1)))) == [(Stamp(1, 1), [b"x"])]
    assert ordering.on_parcels(0, B, [parcel]) == again


def test_a_parcel_that_comes_before_the_first_view_is_kept_for_it() -> None:
    """Simulated seed 115: the joiner's own view came later than the first message of it."""
    ordering, _ = alone(C, None)
    assert ordering.on_parcels(0, B, [pack_parcel(1, [b"x"])]) == []
    assert ordering.flush(0, True) == [] and ordering.position == Stamp(0, 0)
    enter(ordering, TRIO)
    ordering.on_multicast(0, B, [pack_stub(1, 1, 0b100)])
    assert ordering.flush(0, True) == [acked(TRIO, (1, 1))]


def test_an_ack_is_said_again_at_every_interval_until_the_place_is_known() -> None:
    ordering, _ = alone(C)
    ordering.on_multicast(0, B, [pack_whole(1, [b"x"], to_self=True)])
    assert ordering.flush(0, True) == [acked(TRIO, (1, 1))]
    assert ordering.flush(0, True) == []
    assert ordering.on_interval(0) == ordering.on_interval(0) == [acked(TRIO, (1, 1))]
    ordering.on_multicast(0, A, announced(1, (1, 1, 1)))
    assert ordering.on_interval(0) == []


def test_while_too_much_is_unread_nothing_is_acked_nor_queued() -> None:
    ordering, _ = alone(C, capacity=1)
    ordering.on_multicast(0, B, [pack_whole(1, [b"x"], to_self=True)])
    effects = ordering.flush(0, True) + ordering.on_multicast(0, A, announced(1, (1, 1, 1)))
    (unread,) = [effect for effect in effects if isinstance(effect, Dequeue)]
    assert not ordering.may_queue
    ordering.on_multicast(0, B, [pack_whole(2, [b"y"], to_self=True)])
    assert ordering.flush(0, True) == ordering.on_interval(0) == []
    assert ordering.on_read(unread) == [Freed()] and ordering.may_queue
    assert ordering.flush(0, True) == [acked(TRIO, (1, 2))]


def test_the_position_is_behind_what_is_not_read_yet() -> None:
    ordering, _ = alone(B)
    ordering.on_multicast(0, A, [pack_whole(1, [b"x"], to_self=True)])
    effects = ordering.on_multicast(0, A, announced(1, (0, 1, 1)))
    assert (ordering.position, ordering.seen) == (Stamp(0, 0), 1)
    (unread,) = [effect for effect in effects if isinstance(effect, Dequeue)]
    ordering.on_read(unread)
    assert ordering.position == Stamp(1, 1)


def test_an_announcement_that_outruns_a_stub_for_others_does_no_harm() -> None:
    ordering, _ = alone(C)
    assert ordering.on_multicast(0, A, announced(1, (1, 1, 1))) == [Freed()]
    assert ordering.on_multicast(0, B, [pack_stub(1, 1, 0b001), pack_whole(2, [b"y"], to_self=True)]) == []
    assert ordering.flush(0, True) == [acked(TRIO, (1, 2))]
    assert read(ordering.on_multicast(0, A, announced(2, (1, 2, 1)))) == [(Stamp(1, 2), [b"y"])]


def test_what_makes_no_sense_is_dropped_and_changes_nothing() -> None:
    ordering, _ = alone(C)
    whole, (announcement,) = pack_whole(1, [b"x"], to_self=True), announced(1, (1, 1, 1))
    ordering.on_multicast(0, B, [whole])
    ordering.on_multicast(0, A, [announcement])
    (not_the_coordinators,) = announced(2, (1, 2, 1))
    for origin, item in [(B, whole), (B, not_the_coordinators), (A, announcement), (B, b""), (B, b"\x01\x00")]:
        assert [type(effect) for effect in ordering.on_multicast(0, origin, [item])] == [Drop]
    for item in (*announced(3, (1, 2, 1)), *announced(2, (3, 2, 1)), pack_stub(2, 1, 0b1000), pack_parcel(2, [b"y"])):
        assert [type(effect) for effect in ordering.on_multicast(0, A, [item])] == [Drop]
    assert [type(effect) for effect in ordering.on_parcels(0, B, [whole])] == [Drop]
    assert ordering.seen == 1 and ordering.is_idle
    ordering.check()


# ---- as coordinator


def test_a_message_has_no_place_before_its_last_destination_has_staged_it() -> None:
    ordering, noted = alone(A)
    ordering.on_multicast(0, B, [pack_whole(1, [b"x"], to_self=True)])
    assert ordering.flush(0, True) == [] and noted.multicasts == []
    assert ordering.awaited() == [C]
    assert ordering.on_staged(C, Staged(TRIO.id, ((1, 1),))) == []
    assert read(ordering.flush(0, True)) == [(Stamp(1, 1), [b"x"])]
    assert noted.multicasts == announced(1, (1, 1, 1))


def test_one_senders_messages_get_their_places_in_its_order_whatever_their_destinations() -> None:
    """The first waits for C; the second, which C does not get, must not overtake it."""
    ordering, noted = alone(A)
    ordering.on_multicast(0, B, [pack_stub(1, 1, 0b100), pack_stub(2, 1, 0b001)])
    ordering.on_parcels(0, B, [pack_parcel(2, [b"y"])])
    assert ordering.flush(0, True) == [] and noted.multicasts == []
    ordering.on_staged(C, Staged(TRIO.id, ((1, 1),)))
    assert read(ordering.flush(0, True)) == [(Stamp(1, 2), [b"y"])]
    assert noted.multicasts == announced(1, (1, 2, 2))


def test_a_slow_destination_of_one_message_does_not_hold_up_the_messages_of_others() -> None:
    ordering, noted = alone(A)
    ordering.on_multicast(0, B, [pack_stub(1, 1, 0b100)])
    ordering.on_multicast(0, C, [pack_stub(1, 1, 0b010)])
    ordering.on_staged(B, Staged(TRIO.id, ((2, 1),)))
    ordering.flush(0, True)
    assert noted.multicasts == announced(1, (2, 1, 1)) and ordering.awaited() == [C]


def test_without_room_the_coordinator_announces_later_and_all_at_once() -> None:
    ordering, noted = alone(A, PAIR)
    for number in range(1, 4):
        ordering.on_multicast(0, B, [pack_whole(number, [b"x"], to_self=True)])
        assert ordering.flush(0, may_announce=False) == []
    assert noted.multicasts == []
    assert len(read(ordering.flush(0, may_announce=True))) == 3
    assert [open_envelope(item) for item in noted.multicasts] == [Announcement(1, [Ticks(1, 3, 3)])]


def test_a_barrier_takes_a_place_and_nobody_reads_it() -> None:
    ordering, noted = alone(A)
    ordering.queue(0, [b""], [])
    effects = ordering.flush(0, True)
    assert Finished(1, 1, Stamp(1, 1)) in effects and read(effects) == []
    assert ordering.position == Stamp(1, 1) and noted.posts == []
    other, _ = alone(C)
    assert other.on_multicast(0, A, noted.multicasts) == [Freed()]
    assert other.position == Stamp(1, 1)


def test_an_ack_of_another_view_or_to_another_coordinator_is_dropped() -> None:
    ordering, noted = alone(A)
    ordering.on_multicast(0, B, [pack_whole(1, [b"x"], to_self=True)])
    dropped = Drop("an ack of ordered messages that is not for us", C)
    assert ordering.on_staged(C, Staged(ViewId(2, A), ((1, 1),))) == [dropped]
    assert alone(B)[0].on_staged(C, Staged(TRIO.id, ((1, 1),))) == [dropped]
    ordering.flush(0, True)
    assert noted.multicasts == []
