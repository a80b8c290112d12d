"""Streams between two incarnations, packet by packet: epochs, resets, what was lost at either end."""

import pytest

from ringcast.core import (
    Ack,
    Channel,
    Deliver,
    Drop,
    Effect,
    Freed,
    Highest,
    Node,
    Piece,
    Request,
    Reset,
    Run,
    Unicast,
    Unrepairable,
)
from ringcast.core.multicast import peer_streams
from ringcast.model import Address, View, ViewId, profile
from unit.core.multicast.nodes import NOW, STRANGER, A, B, C, node, only, stream_run

PEER = Channel.PEER


def packets(effects: list[Effect]) -> list[object]:
    return [effect.packet for effect in only(Unicast, effects)]


def payloads(effects: list[Effect]) -> list[bytes]:
    return [payload for delivery in only(Deliver, effects) for payload in delivery.payloads]


def carry(sender: Node, receiver: Node, effects: list[Effect]) -> list[bytes]:
    """Everything goes back and forth, unharmed, until both are quiet; what the receiver's application read."""
    read: list[bytes] = []
    waiting = [(receiver, sender, packet) for packet in packets(effects)]
    while waiting:
        to, come_from, packet = waiting.pop(0)
        answers = to.on_packet(NOW, come_from.me, packet)  # type: ignore[arg-type]
        for delivery in only(Deliver, answers):
            read += delivery.payloads
            answers = answers + to.on_taken(NOW, delivery)
        waiting += [(come_from, to, answer) for answer in packets(answers)]
    return read


def test_what_a_process_outside_the_view_sends_alone_is_not_taken_and_not_acked() -> None:
    alice, stranger = node(A), node(STRANGER, view=View(ViewId(1, STRANGER), (STRANGER, A)))
    (run,) = packets(stranger.send_to(NOW, [A], b"hello"))
    assert isinstance(run, Run)
    assert alice.on_packet(NOW, STRANGER, run) == [
        Drop("Run on the PEER channel, not taken from this process now", STRANGER)
    ]
    assert not alice.peers.incoming and alice.deadline_ns() is None


def test_one_message_to_a_subset_goes_on_the_stream_of_each() -> None:
    alice = node(A)
    effects = alice.send_to(NOW, [B, C], b"x")
    assert [(effect.to, effect.packet.tag, effect.packet.first) for effect in only(Unicast, effects)] == [  # type: ignore[union-attr]
        (B, 1, 1),
        (C, 2, 1),
    ]


def test_there_is_room_only_if_every_destination_has_room() -> None:
    alice = node(A, config=profile("test", stream_capacity=2))
    alice.send_to(NOW, [B], b"1")
    alice.send_to(NOW, [B], b"2")
    assert alice.may_send_to([C], 1)
    assert not alice.may_send_to([B, C], 1)
    assert C not in alice.peers.outgoing, "asking begins no stream"


def test_a_receiver_with_a_smaller_window_asks_for_what_it_dropped_as_soon_as_there_is_room() -> None:
    """Not at the intervals: one message per interval, where the sender's window holds more, is no throughput."""
    alice, bob = (node(me, config=profile("test", stream_capacity=capacity)) for me, capacity in ((A, 8), (B, 1)))
    sent = [effect for number in range(8) for effect in alice.send_to(NOW, [B], b"%d" % number)]
    (first,) = only(Deliver, [e for packet in packets(sent) for e in bob.on_packet(NOW, A, packet)])  # type: ignore[arg-type]
    assert carry(bob, alice, bob.on_taken(NOW, first)) == [b"%d" % number for number in range(1, 8)]
    assert alice.peers.outgoing[B].window.occupancy == 0


def test_what_was_dropped_for_want_of_room_is_asked_for_once_and_then_at_intervals() -> None:
    config = profile("test", stream_capacity=2)
    bob = node(B, config=config)
    effects = [effect for number in range(1, 5) for effect in bob.on_packet(NOW, A, stream_run(A, 1, number, b"x"))]
    first, second = only(Deliver, effects)
    asked = only(Request, packets(bob.on_taken(NOW, first)))  # type: ignore[arg-type]
    assert [request.ranges for request in asked] == [((3, 3),)]
    asked = only(Request, packets(bob.on_taken(NOW, second)))  # type: ignore[arg-type]
    assert [request.ranges for request in asked] == [((4, 4),)], "3 is on its way"
    late: list[list[object]] = []
    now_ns = NOW
    while not late or not late[-1]:
        now_ns = bob.deadline_ns() or 0
        late.append([request.ranges for request in only(Request, packets(bob.on_time(now_ns)))])  # type: ignore[arg-type]
    assert late == [[], [((3, 4),)]], "the answer may take an interval, like any that is on its way"


def test_an_unknown_newer_epoch_that_begins_starts_a_new_window() -> None:
    bob = node(B)
    assert payloads(bob.on_packet(NOW, A, stream_run(A, 1, 1, b"old"))) == [b"old"]
    assert payloads(bob.on_packet(NOW, A, stream_run(A, 2, 1, b"new"))) == [b"new"]


def test_an_older_epoch_is_answered_with_reset_and_not_delivered() -> None:
    bob = node(B)
    bob.on_packet(NOW, A, stream_run(A, 2, 1, b"new"))
    effects = bob.on_packet(NOW, A, stream_run(A, 1, 1, b"old"))
    assert payloads(effects) == []
    assert packets(effects) == [Reset(PEER, 1)]


def test_a_stream_whose_beginning_is_unknown_is_answered_with_reset_and_begins_again() -> None:
    alice, bob = node(A), node(B)
    first = alice.send_to(NOW, [B], b"1")
    assert carry(alice, bob, first) == [b"1"]
    alice.on_packet(NOW, B, Ack(PEER, 1, 1))
    bob.peers.forget(A)
    assert carry(alice, bob, alice.send_to(NOW, [B], b"2")) == [b"2"]
    assert alice.peers.outgoing[B].tag == 2


def test_a_reset_sends_again_what_was_not_acked_with_its_pieces_in_place() -> None:
    alice, bob = node(A), node(B)
    large = b"L" * (2 * alice.largest_whole + 5)
    lost = [b"whole", large, b"", b"tail"]
    for payload in lost:
        alice.send_to(NOW, [B], payload)
    effects = alice.on_packet(NOW, B, Reset(PEER, 1))
    runs = [packet for packet in packets(effects) if isinstance(packet, Run)]
    assert all(len(run.items) == 1 for run in runs if type(run.items[0]) is Piece)
    assert carry(alice, bob, effects) == lost


@pytest.mark.parametrize("epoch", [2, 7])
def test_a_reset_of_a_stream_that_is_over_changes_nothing(epoch: int) -> None:
    alice = node(A)
    alice.send_to(NOW, [B], b"x")
    assert alice.on_packet(NOW, B, Reset(PEER, epoch)) == [Drop("a reset of a stream that is over", B)]
    assert alice.peers.outgoing[B].tag == 1


def test_a_reset_with_nothing_unacked_only_wakes_who_waits() -> None:
    alice = node(A)
    alice.send_to(NOW, [B], b"x")
    alice.on_packet(NOW, B, Ack(PEER, 1, 1))
    assert alice.on_packet(NOW, B, Reset(PEER, 1)) == [Freed()]


def test_p25_the_first_message_ever_is_lost_and_only_its_announcement_arrives() -> None:
    bob = node(B)
    asked = bob.on_packet(NOW, A, Highest(PEER, 1, 2, 0))
    assert packets(asked) == [Request(PEER, 1, A, ((1, 2),))]
    assert payloads(bob.on_packet(NOW, A, stream_run(A, 1, 1, b"1", b"2"))) == [b"1", b"2"]


def test_the_last_ack_is_lost_and_an_announcement_brings_it_again() -> None:
    bob = node(B)
    (delivery,) = only(Deliver, bob.on_packet(NOW, A, stream_run(A, 1, 1, b"1")))
    bob.on_taken(NOW, delivery)
    assert packets(bob.on_packet(NOW, A, Highest(PEER, 1, 1, 0))) == [Ack(PEER, 1, 1)]


def test_an_announcement_of_a_stream_that_is_empty_is_not_answered() -> None:
    bob = node(B)
    assert packets(bob.on_packet(NOW, A, Highest(PEER, 4, 9, 9))) == []
    assert A not in bob.peers.incoming


def test_an_ack_or_request_for_a_stream_that_is_over_is_dropped() -> None:
    alice = node(A)
    alice.send_to(NOW, [B], b"x")
    assert alice.on_packet(NOW, B, Ack(PEER, 9, 1)) == [Drop("an ack for a stream that is over", B)]
    refused = alice.on_packet(NOW, B, Request(PEER, 9, A, ((1, 1), (3, 4))))
    assert refused == [Drop("a request for a stream that is over", B), Unicast(B, Unrepairable(PEER, 9, 4))]
    assert alice.peers.outgoing[B].window.low == 0


def test_who_misses_something_of_a_stream_that_its_sender_gave_up_stops_asking() -> None:
    """Simulated seed 96: the sender forgot the stream while the receiver was outside its view, then they merged."""
    bob = node(B)
    bob.on_packet(NOW, A, Run(PEER, 6, A, 1, 0, [b"one"], 3))
    bob.on_packet(NOW, A, Highest(PEER, 6, 2, 0))
    assert not bob.peers.incoming[A].is_idle
    assert bob.on_packet(NOW, A, Unrepairable(PEER, 5, 2)) == [Drop("a refusal that is out of date", A)]
    assert not bob.peers.incoming[A].is_idle, "that was about another stream"
    bob.on_taken(NOW, Deliver(A, PEER, [b"one"], 1, 1, 3, 6))
    bob.peers.on_interval(NOW)
    bob.on_packet(NOW, A, Unrepairable(PEER, 6, 2))
    assert bob.peers.incoming[A].is_idle


def test_what_was_read_of_a_stream_that_began_anew_meanwhile_acks_nothing_of_the_new_one() -> None:
    bob = node(B)
    (old,) = only(Deliver, bob.on_packet(NOW, A, stream_run(A, 1, 1, b"1", b"2", b"3")))
    bob.on_packet(NOW, A, stream_run(A, 2, 1, b"1"))
    assert bob.on_taken(NOW, old) == []
    assert bob.peers.incoming[A].window.taken == 0
    bob.check()


def test_what_was_read_of_an_old_stream_does_not_count_for_a_new_one_that_has_come_as_far() -> None:
    """Taken is what we ack: three messages of the new epoch were delivered, none of them was read."""
    bob = node(B)
    (old,) = only(Deliver, bob.on_packet(NOW, A, stream_run(A, 1, 1, b"1", b"2", b"3")))
    bob.on_packet(NOW, A, stream_run(A, 2, 1, b"a", b"b", b"c"))
    assert bob.on_taken(NOW, old) == []
    assert bob.peers.incoming[A].window.taken == 0


def test_a_stream_that_retains_nothing_accepts_up_to_taken_plus_capacity() -> None:
    bob = node(B, config=profile("test", stream_capacity=2))
    (delivery,) = only(Deliver, bob.on_packet(NOW, A, stream_run(A, 1, 1, b"1", b"2")))
    assert [drop.reason for drop in only(Drop, bob.on_packet(NOW, A, stream_run(A, 1, 3, b"3")))] == [
        "beyond the window"
    ]
    bob.on_taken(NOW, delivery)
    assert payloads(bob.on_packet(NOW, A, stream_run(A, 1, 3, b"3", b"4"))) == [b"3", b"4"]


def test_a_low_above_what_was_received_never_stalls_silently() -> None:
    """X8 for a stream: the sender has purged what we never had (we were taken for somebody else)."""
    bob = node(B)
    bob.on_packet(NOW, A, stream_run(A, 1, 1, b"1"))
    effects = bob.on_packet(NOW, A, stream_run(A, 1, 5, b"5", low=4))
    assert packets(effects) == [Reset(PEER, 1)], "begin again, under a new epoch"
    assert payloads(effects) == []


# ---- more peers than places


def peers_at(count: int) -> list[Address]:
    return [Address(f"P{number}", 1, f"mem:P{number}") for number in range(count)]


def with_all(*peers: Address) -> Node:
    return node(B, view=View(ViewId(1, A), (A, B, C, *peers)))


def begin(bob: Node, peer: Address, *items: bytes) -> list[Effect]:
    return bob.on_packet(NOW, peer, stream_run(peer, 1, 1, *items))


def read_all(bob: Node, effects: list[Effect]) -> list[bytes]:
    """The application reads what came, and an interval passes."""
    for delivery in only(Deliver, effects):
        bob.on_taken(NOW, delivery)
    bob.on_time(bob.deadline_ns() or NOW)
    return payloads(effects)


def test_a_message_that_came_in_part_is_kept_whoever_else_comes_and_goes() -> None:
    bob = with_all(*peers_at(1024))
    begin(bob, A, Piece(b"first half, "))
    for peer in peers_at(1024):
        assert read_all(bob, begin(bob, peer, b"hello")) == [b"hello"]
    rest = bob.on_packet(NOW, A, stream_run(A, 1, 2, b"second half", low=1))
    assert payloads(rest) == [b"first half, second half"]


def test_what_is_not_read_yet_keeps_its_stream_so_that_it_is_acked_and_never_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peer_streams, "MAX_PEERS", 2)
    bob = with_all(*peers_at(3))
    unread = begin(bob, A, b"unread")
    for peer in peers_at(3):
        read_all(bob, begin(bob, peer, b"hello"))
    for delivery in only(Deliver, unread):
        bob.on_taken(NOW, delivery)
    assert Unicast(A, Ack(PEER, 1, 1)) in bob.on_time(bob.deadline_ns() or NOW)


def test_a_stream_too_many_is_not_listened_to_until_another_owes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_streams, "MAX_PEERS", 2)
    bob, (late, other) = with_all(*peers_at(2)), peers_at(2)
    unread = begin(bob, A, b"unread")
    begin(bob, other, Piece(b"in part"))
    assert begin(bob, late, b"hello") == [Drop("a run of one stream too many", late)]
    assert bob.on_packet(NOW, late, Highest(PEER, 1, 1, 0)) == [Drop("an announcement of one stream too many", late)]
    read_all(bob, unread)
    assert payloads(begin(bob, late, b"hello")) == [b"hello"]


def test_nothing_unacked_is_forgotten_for_a_new_stream_which_waits_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_streams, "MAX_PEERS", 2)
    alice, (third,) = node(A), peers_at(1)
    alice.send_to(NOW, [B], b"x")
    alice.send_to(NOW, [C], b"x")
    assert not alice.may_send_to([third], 1) and alice.may_send_to([B, C], 1)
    alice.on_packet(NOW, B, Ack(PEER, 1, 1))
    alice.on_time(alice.deadline_ns() or NOW)
    assert alice.may_send_to([third], 1) and not alice.may_send_to([B, third], 1)
    alice.send_to(NOW, [third], b"x")
    assert list(alice.peers.outgoing) == [C, third]


@pytest.mark.parametrize("rounds", [1, 3])
def test_what_was_delivered_is_not_delivered_again_if_its_ack_was_lost_and_its_stream_made_room(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream was forgotten: its sender, which lacks the last ack, repeats itself, or is told to begin anew."""
    monkeypatch.setattr(peer_streams, "MAX_PEERS", 2)
    others = peers_at(3)
    bob, alice = with_all(*others), node(A, view=View(ViewId(1, A), (A, B, *others)))
    read: list[bytes] = []
    for number in range(rounds):
        for packet in packets(alice.send_to(NOW, [B], b"acked")):
            arrived = bob.on_packet(NOW, A, packet)  # type: ignore[arg-type]
            read += payloads(arrived)
            for delivery in only(Deliver, arrived):
                bob.on_taken(NOW, delivery)
        alice.on_packet(NOW, B, Ack(PEER, 1, 2 * number + 1))
        lost = alice.send_to(NOW, [B], b"ack is lost")
        for packet in packets(lost):
            arrived = bob.on_packet(NOW, A, packet)  # type: ignore[arg-type]
            read += payloads(arrived)
            for delivery in only(Deliver, arrived):
                bob.on_taken(NOW, delivery)
        bob.on_time(bob.deadline_ns() or NOW)  # The ack leaves, and is lost.
        for peer in others:
            read_all(bob, begin(bob, peer, b"hello")) if number == 0 else None
        assert number or A not in bob.peers.incoming
        again = packets(lost) if number % 2 else [Highest(PEER, 1, 2 * number + 2, 2 * number + 1)]
        for packet in again:
            read += carry(alice, bob, [Unicast(B, packet)])  # type: ignore[arg-type]
        assert read == [b"acked", b"ack is lost"] * (number + 1)
        for effect in only(Unicast, bob.on_time(bob.deadline_ns() or NOW)):
            if effect.to == A:
                alice.on_packet(NOW, B, effect.packet)
        assert alice.peers.outgoing[B].window.low == 2 * number + 2
    assert alice.peers.outgoing[B].tag == 1
