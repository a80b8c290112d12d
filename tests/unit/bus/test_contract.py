"""What a peer promises on either bus, seen from one thread."""

from collections.abc import Callable, Iterable

import pytest

from ringcast.bus import (
    EVERYONE,
    OTHERS,
    BusFull,
    BusUnusable,
    BusWaitExpired,
    Detached,
    Fenced,
    LocalBus,
    Message,
    MessageTooLong,
    NameTaken,
    PeerLeft,
    Run,
    SharedBus,
    UnknownPeer,
)
from ringcast.errors import UsageError

Bus = LocalBus | SharedBus
LONGEST = (1 << 14) - 52


def test_a_message_reaches_exactly_its_destinations(bus: Bus) -> None:
    a, b, c = (bus.attach(name) for name in "abc")
    seq = a.queue(b"hello", to=["b"])
    assert b.dequeue_many(timeout=0) == [Message("a", b"hello", seq, 1)]
    assert (a.dequeue_many(timeout=0), c.dequeue_many(timeout=0)) == ([], [])


def test_a_peer_named_twice_gets_one_instance_o11(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"once", to=["b", "b", "b"])
    assert [item.payload for item in b.dequeue_many(timeout=0) if isinstance(item, Message)] == [b"once"]


@pytest.mark.parametrize("make", [str, tuple, list, set, frozenset, iter])
def test_destinations_may_be_one_name_or_any_iterable_of_names(bus: Bus, make: Callable[[str], Iterable[str]]) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"x", to=make("b"))
    assert len(b.dequeue_many(timeout=0)) == 1


def test_everyone_includes_the_sender_and_others_does_not(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"all", to=EVERYONE)
    a.queue(b"rest", to=OTHERS)
    assert [[m.payload for m in peer.dequeue_many(timeout=0) if isinstance(m, Message)] for peer in (a, b)] == [
        [b"all"],
        [b"all", b"rest"],
    ]


def test_everyone_means_those_attached_at_that_moment(bus: Bus) -> None:
    a = bus.attach("a")
    a.queue(b"early", to=EVERYONE)
    b = bus.attach("b")
    a.queue(b"late", to=EVERYONE)
    assert [m.payload for m in b.dequeue_many(timeout=0) if isinstance(m, Message)] == [b"late"]


def test_seqs_grow_and_two_receivers_see_one_order(bus: Bus) -> None:
    peers = [bus.attach(name) for name in "abc"]
    seqs = [peers[i % 3].queue(str(i).encode(), to=EVERYONE) for i in range(30)]
    assert seqs == sorted(seqs)
    seen = [peer.dequeue_many(timeout=0) for peer in peers]
    assert seen[0] == seen[1] == seen[2]
    assert [m.payload for m in seen[0] if isinstance(m, Message)] == [str(i).encode() for i in range(30)]


def test_a_batch_takes_one_place_and_keeps_its_order(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    seq = a.queue_many([b"1", bytearray(b"22"), memoryview(b"333"), b""], to="b")
    assert b.dequeue_many(timeout=0) == [
        Message("a", payload, seq, number) for number, payload in enumerate([b"1", b"22", b"333", b""], 1)
    ]


def test_a_batch_can_be_taken_in_parts(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    seq = a.queue_many([b"1", b"2", b"3", b"4", b"5"], to="b")
    assert b.dequeue_runs(2, timeout=0) == [Run("a", 1, seq, [b"1", b"2"], a._place())]
    assert b.dequeue() == Message("a", b"3", seq, 3)
    assert b.dequeue_runs(timeout=0) == [Run("a", 4, seq, [b"4", b"5"], a._place())]


def test_a_batch_longer_than_half_a_ring_is_cut_and_arrives_in_order(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    payloads = [bytes([i]) * 1000 for i in range(12)]
    a.queue_many(payloads, to="b")
    runs = b.dequeue_runs(timeout=0)
    assert len(runs) == 2
    assert [payload for run in runs if isinstance(run, Run) for payload in run.payloads] == payloads


def test_an_empty_batch_queues_nothing(bus: Bus) -> None:
    a = bus.attach("a")
    assert a.queue_many([], to="a") == 0
    assert a.dequeue_many(timeout=0) == []


def test_the_longest_message_fits_and_one_byte_more_is_refused(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"x" * LONGEST, to="b")
    assert b.dequeue() == Message("a", b"x" * LONGEST, 1, 1)
    with pytest.raises(MessageTooLong, match=f"{LONGEST + 1} bytes .* the longest has {LONGEST} bytes"):
        a.queue(b"x" * (LONGEST + 1), to="b")


def test_payloads_survive_every_position_in_the_ring(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    for length in [*range(0, 300, 7), *range(5000, 5100, 3)] * 3:
        payload = bytes(i % 251 for i in range(length))
        a.queue_many([payload, b"-", payload], to="b")
        assert [m.payload for m in b.dequeue_many(timeout=0) if isinstance(m, Message)] == [payload, b"-", payload]


def test_a_full_ring_raises_or_waits_as_asked(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"x" * LONGEST, to="b")
    with pytest.raises(BusFull, match="the ring from 'a' to 'b' is full, 0 of 1 messages were queued"):
        a.queue(b"y", to="b", policy="raise")
    with pytest.raises(BusWaitExpired, match="the ring from 'a' to 'b' is full"):
        a.queue(b"y", to="b", timeout=0.01)
    b.dequeue()
    a.queue(b"y", to="b", policy="raise")


def test_a_full_destination_gets_nothing_staged_at_the_others(bus: Bus) -> None:
    a, _b, c = (bus.attach(name) for name in "abc")
    a.queue(b"x" * LONGEST, to="b")
    with pytest.raises(BusFull):
        a.queue(b"y", to=["b", "c"], policy="raise")
    a.queue(b"z", to="c")
    assert [m.payload for m in c.dequeue_many(timeout=0) if isinstance(m, Message)] == [b"z"]


def test_a_refused_batch_says_how_much_of_it_went_out(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    with pytest.raises(BusFull) as refused:
        a.queue_many([b"x" * 1000] * 40, to="b", policy="raise")
    assert 0 < refused.value.queued < 40
    assert len(b.dequeue_many(timeout=0)) == refused.value.queued


def test_a_slow_peer_does_not_hold_up_messages_to_others(bus: Bus) -> None:
    a, _b, c = (bus.attach(name) for name in "abc")
    a.queue(b"x" * LONGEST, to="b")
    for _ in range(100):
        a.queue(b"y" * 1000, to="c", policy="raise")
        assert isinstance(c.dequeue(), Message)


def test_many_small_messages_to_one_who_does_not_read_end_in_full_not_in_a_hang(bus: Bus) -> None:
    a, b, c = (bus.attach(name) for name in "abc")
    with pytest.raises(BusFull):
        for _ in range(1 << 14):
            a.queue(b"", to="b", policy="raise")
    a.queue(b"still", to="c", policy="raise")
    assert isinstance(c.dequeue(), Message)
    assert isinstance(b.dequeue(), Message)


def test_unknown_and_empty_destinations_are_named(bus: Bus) -> None:
    a = bus.attach("a")
    with pytest.raises(UnknownPeer, match="no peer 'zoe' is attached to bus 'test'; attached are a"):
        a.queue(b"x", to=["a", "zoe"])
    with pytest.raises(UsageError, match="at least one destination"):
        a.queue(b"x", to=[])
    assert a.dequeue_many(timeout=0) == []


def test_two_peers_of_one_name_are_refused(bus: Bus) -> None:
    first = bus.attach("a")
    with pytest.raises(NameTaken, match="bus 'test': peer 'a' is already attached"):
        bus.attach("a")
    assert first.names() == ["a"]


def test_a_bus_with_all_slots_taken_says_so(bus: Bus) -> None:
    peers = [bus.attach(name) for name in "abcd"]
    with pytest.raises(BusUnusable, match="bus 'test' has no free slot"):
        bus.attach("e")
    assert peers[3].names() == ["a", "b", "c", "d"]


def test_waiting_for_nothing_expires_with_words(bus: Bus) -> None:
    a = bus.attach("a")
    with pytest.raises(BusWaitExpired, match=r"bus 'test': nothing came for 'a' within 0\.01 s"):
        a.dequeue(timeout=0.01)
    assert a.dequeue_many(timeout=0.01) == []


def test_each_other_peer_hears_once_that_a_peer_detached_in_its_place_o12(bus: Bus) -> None:
    a, b, c = (bus.attach(name) for name in "abc")
    a.queue(b"before", to=EVERYONE)
    a.detach()
    c.queue(b"after", to=EVERYONE)
    seen = [peer.dequeue_many(timeout=0) for peer in (b, c)]
    assert seen[0] == seen[1]
    assert [item if isinstance(item, PeerLeft) else item.payload for item in seen[0]] == [
        b"before",
        PeerLeft("a", "detached", seen[0][1].seq, a._place()),
        b"after",
    ]
    assert b.dequeue_many(timeout=0) == []


def test_a_later_peer_does_not_hear_of_who_left_before_it(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.detach()
    c = bus.attach("c")
    assert c.dequeue_many(timeout=0) == []
    assert len(b.dequeue_many(timeout=0)) == 1


def test_a_name_can_be_attached_again_and_is_somebody_new(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    b.queue(b"for the old a", to="a")
    a.detach()
    again = bus.attach("a")
    b.queue(b"for the new a", to="a")
    assert [m.payload for m in again.dequeue_many(timeout=0) if isinstance(m, Message)] == [b"for the new a"]
    again.queue(b"from the new a", to="b")
    assert [type(item).__name__ for item in b.dequeue_many(timeout=0)] == ["PeerLeft", "Message"]


def test_slots_are_given_out_again_many_times(bus: Bus) -> None:
    keeper = bus.attach("keeper")
    for round_ in range(50):
        with bus.attach("guest") as guest:
            guest.queue(str(round_).encode(), to="keeper")
            keeper.queue(b"hi", to="guest")
            assert isinstance(guest.dequeue(), Message)
        first, second = keeper.dequeue_many(timeout=0)
        assert (isinstance(first, Message) and first.payload) == str(round_).encode()
        assert isinstance(second, PeerLeft)


def test_a_detached_peer_refuses_everything_and_detaching_twice_is_harmless(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.detach()
    a.detach()
    for call in (lambda: a.queue(b"x", to="b"), a.dequeue, a.names, a.barrier, lambda: a.wait_for("b")):
        with pytest.raises(Detached, match="peer 'a' of bus 'test' was detached"):
            call()
    assert b.names() == ["b"]


def test_messages_to_a_peer_that_left_are_dropped_and_its_room_is_free(bus: Bus) -> None:
    a, b, c = (bus.attach(name) for name in "abc")
    a.queue(b"x" * LONGEST, to="b")
    b.detach()
    a.queue(b"y", to="c", policy="raise")
    assert [type(item).__name__ for item in c.dequeue_many(timeout=0)] == ["PeerLeft", "Message"]


def test_an_evicted_peer_is_fenced_and_the_others_are_told(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    b.queue(b"last", to="a")
    a.evict("b")
    with pytest.raises(Fenced, match="peer 'b' was given up by the others"):
        b.dequeue(timeout=0)
    with pytest.raises(Fenced):
        b.queue(b"late", to="a")
    last, notice = a.dequeue_many(timeout=0)
    assert isinstance(last, Message) and last.payload == b"last"
    assert isinstance(notice, PeerLeft) and (notice.name, notice.cause) == ("b", "evicted")
    b.detach()
    assert bus.attach("b").names() == ["a", "b"]
    with pytest.raises(UnknownPeer):
        a.evict("nobody")


def test_the_barrier_returns_what_was_queued_before_it(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"1", to="b")
    a.queue_many([b"2", b"3"], to="b")
    assert [m.payload for m in b.barrier() if isinstance(m, Message)] == [b"1", b"2", b"3"]
    a.queue(b"4", to="b")
    assert [m.payload for m in b.dequeue_many(timeout=0) if isinstance(m, Message)] == [b"4"]
    assert b.barrier() == []


def test_the_barrier_passes_a_ring_full_of_messages_to_oneself(bus: Bus) -> None:
    a = bus.attach("a")
    with pytest.raises(BusFull):
        while True:
            a.queue(b"x" * 1000, to="a", policy="raise")
    assert all(isinstance(m, Message) for m in a.barrier())
    assert a.dequeue_many(timeout=0) == []


def test_what_a_failed_barrier_took_is_given_back_in_order(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue_many([b"1", b"2"], to="b")
    taken = b.dequeue_many(timeout=0)
    a.queue(b"3", to="b")
    b._give_back(taken)
    assert b.dequeue_runs(1, timeout=0) == [Run("a", 1, 1, [b"1"], 0)]
    assert [m.payload for m in b.dequeue_many(timeout=0) if isinstance(m, Message)] == [b"2", b"3"]


def test_numbers_count_a_senders_messages_whatever_their_destinations(bus: Bus) -> None:
    a, b, c = (bus.attach(name) for name in "abc")
    a.queue(b"1", to="b")
    a.queue(b"2", to="c")
    a.barrier()
    a.queue_many([b"3", b"4"], to=["b", "c"])
    numbers = [[m.number for m in p.dequeue_many(timeout=0) if isinstance(m, Message)] for p in (b, c)]
    assert numbers == [[1, 3, 4], [2, 3, 4]]


@pytest.mark.parametrize("name", ["", " ", "a b\n", "*", "-", " lead", "x" * 64, "é" * 32, 7, "tab\tbed"], ids=repr)
def test_bad_peer_names_are_refused_with_the_rule(bus: Bus, name: object) -> None:
    with pytest.raises(UsageError, match="is no name for a peer: use 1 to 63 bytes"):
        bus.attach(name)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["a", "x" * 63, "é" * 31, "host:1234/worker 7", "日本"], ids=repr)
def test_ordinary_names_are_accepted_and_come_back_as_they_are(bus: Bus, name: str) -> None:
    peer = bus.attach(name)
    peer.queue(b"x", to=name)
    assert isinstance(item := peer.dequeue(), Message) and item.sender == name


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda a: a.queue("text", to="a"), TypeError),
        (lambda a: a.queue(b"x"), TypeError),
        (lambda a: a.queue(b"x", to="a", policy="hope"), ValueError),
        (lambda a: a.queue(b"x", to="a", color="red"), TypeError),
        (lambda a: a.queue_many(b"not a list", to="a"), TypeError),
        (lambda a: a.dequeue_many(0), ValueError),
        (lambda a: a.dequeue_many(-1), ValueError),
    ],
)
def test_wrong_calls_are_refused_and_queue_nothing(bus: Bus, wrong: object, error: type[Exception]) -> None:
    a = bus.attach("a")
    with pytest.raises(error):
        wrong(a)  # type: ignore[operator]
    assert a.dequeue_many(timeout=0) == []
