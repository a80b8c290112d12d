"""The multicast of one member, packet by packet: who is heard, what is answered, what is never answered silently."""

import pytest

from ringcast.core import (
    Ack,
    Cast,
    Channel,
    Deliver,
    Drop,
    Freed,
    Highest,
    Install,
    Lost,
    Node,
    Request,
    Unicast,
    Unrepairable,
)
from ringcast.model import Event, Kind, View, ViewId, profile
from ringcast.window import NO_SPACE
from unit.core.multicast.nodes import NOW, STRANGER, VIEW, A, B, C, D, node, only, run_of

GROUP = Channel.GROUP
INTERVAL_NS = profile("test").xmit_interval_ns


def send(sender: Node, *payloads: bytes) -> list[object]:
    return list(sender.send(NOW, list(payloads), [len(payload) for payload in payloads]))


def acked(sender: Node, *acks: tuple[object, int]) -> None:
    for who, upto in acks:
        sender.on_packet(NOW, who, Ack(GROUP, VIEW.id, upto))  # type: ignore[arg-type]


# ---- strangers


def test_an_ack_from_a_stranger_is_ignored_and_creates_no_entry() -> None:
    alice = node()
    send(alice, b"x")
    ack = Ack(GROUP, VIEW.id, 1)
    assert alice.group.on_ack(NOW, STRANGER, ack) == [Drop("an ack from a stranger", STRANGER)]
    assert alice.on_packet(NOW, STRANGER, ack) == [
        Drop("Ack on the GROUP channel, not taken from this process now", STRANGER)
    ]
    assert alice.group.outgoing.acks.get(STRANGER) is None
    assert alice.group.outgoing.window.low == 0


def test_a_run_from_a_stranger_is_not_delivered() -> None:
    alice = node()
    assert alice.on_packet(NOW, STRANGER, run_of(STRANGER, 1, b"x")) == [Drop("a run from a stranger", STRANGER, 1)]
    assert STRANGER not in alice.group.incoming


def test_a_request_from_a_stranger_is_not_answered() -> None:
    alice = node()
    send(alice, b"x")
    effects = alice.on_packet(NOW, STRANGER, Request(GROUP, VIEW.id, A, ((1, 1),)))
    assert only(Unicast, effects) == only(Cast, effects) == []
    assert only(Drop, effects)


def test_a_highest_from_a_stranger_or_of_another_view_is_not_answered() -> None:
    alice = node()
    for sender, view_id in ((STRANGER, VIEW.id), (B, ViewId(7, B)), (B, ViewId(0, A))):
        effects = alice.on_packet(NOW, sender, Highest(GROUP, view_id, 5, 0))
        assert only(Unicast, effects) == []
    assert alice.group.incoming[B].window.highest == 0


# ---- duplicates, old and beyond


def test_a_duplicate_is_delivered_once_and_acked_again() -> None:
    alice = node()
    first = alice.on_packet(NOW, B, run_of(B, 1, b"x", b"y"))
    assert [delivery.payloads for delivery in only(Deliver, first)] == [[b"x", b"y"]]
    again = alice.on_packet(NOW, B, run_of(B, 1, b"x", b"y"))
    assert only(Deliver, again) == []
    assert only(Unicast, again) == [Unicast(B, Ack(GROUP, VIEW.id, 0))], "acks report taken, never ready"


@pytest.mark.parametrize(("first", "count", "delivered"), [(1, 64, 64), (1, 65, 64), (2, 64, 0), (65, 1, 0)])
def test_beyond_the_window_is_dropped_and_counted(first: int, count: int, delivered: int) -> None:
    alice = node()
    effects = alice.on_packet(NOW, B, run_of(B, first, *[b"x"] * count))
    assert sum(len(delivery.payloads) for delivery in only(Deliver, effects)) == delivered
    beyond = max(0, first + count - 1 - 64)
    assert [drop.count for drop in only(Drop, effects)] == ([beyond] if beyond else [])
    alice.check()


def test_an_overlapping_run_delivers_only_what_is_new() -> None:
    alice = node()
    alice.on_packet(NOW, B, run_of(B, 1, b"1", b"2"))
    effects = alice.on_packet(NOW, B, run_of(B, 2, b"2", b"3"))
    assert [delivery.payloads for delivery in only(Deliver, effects)] == [[b"3"]]


def test_a_packet_of_an_earlier_view_is_not_taken() -> None:
    alice = node(view=View(ViewId(5, A), (A, B, C)))
    effects = alice.on_packet(NOW, B, run_of(B, 1, b"x", view=ViewId(4, A)))
    assert effects == [Drop("a run of an earlier view", B, 1)]


def test_runs_of_a_later_view_wait_for_it_within_a_bound() -> None:
    alice = node(config=profile("test", early_packets=2))
    later = View(ViewId(2, A), (A, B, C))
    for seqno in (1, 2, 3):
        effects = alice.on_packet(NOW, B, run_of(B, seqno, b"%d" % seqno, view=later.id))
        assert only(Deliver, effects) == only(Unicast, effects) == []
        assert bool(only(Drop, effects)) == (seqno == 3)


# ---- requests and broken promises


def test_a_request_is_answered_with_what_is_still_there_once_per_interval() -> None:
    alice = node()
    send(alice, b"1", b"2", b"3")
    request = Request(GROUP, VIEW.id, A, ((1, 1), (3, 9)))
    answers = only(Unicast, alice.on_packet(NOW, B, request))
    assert [(answer.to, answer.packet.first, answer.packet.items) for answer in answers] == [  # type: ignore[union-attr]
        (B, 1, [b"1"]),
        (B, 3, [b"3"]),
    ]
    assert only(Unicast, alice.on_packet(NOW, B, request)) == [], "asked again in the same interval: no storm"
    assert len(only(Unicast, alice.on_packet(NOW, C, request))) == 2, "another member has not got it yet"
    alice.on_time(NOW + INTERVAL_NS)
    assert len(only(Unicast, alice.on_packet(NOW, B, request))) == 2


def test_a_multicast_repair_is_for_everybody() -> None:
    alice = node(multicasts=True)
    send(alice, b"1")
    request = Request(GROUP, VIEW.id, A, ((1, 1),))
    assert len(only(Cast, alice.on_packet(NOW, B, request))) == 1
    assert only(Cast, alice.on_packet(NOW, C, request)) == []


def test_x8_a_request_below_low_is_refused_in_words_and_the_requester_is_lost() -> None:
    alice, carol = node(A), node(C)
    send(alice, b"1", b"2", b"3")
    acked(alice, (B, 2), (C, 2))
    effects = alice.on_packet(NOW, C, Request(GROUP, VIEW.id, A, ((2, 3),)))
    assert only(Unicast, effects) == [Unicast(C, Unrepairable(GROUP, VIEW.id, 2))]
    assert only(Drop, effects)[0].reason == "a request for 2, at or below low 2"
    (lost,) = carol.on_packet(NOW, A, Unrepairable(GROUP, VIEW.id, 2))
    assert lost == Lost("A#1 has purged up to 2, but only 0 were received from it")


@pytest.mark.parametrize(("low", "is_lost"), [(0, False), (1, True), (5, True)])
def test_x8_a_window_below_the_senders_low_is_told_never_stalls(low: int, is_lost: bool) -> None:
    bob = node(B)
    by_run = bob.on_packet(NOW, A, run_of(A, 6, b"x", low=low))
    assert bool(only(Lost, by_run)) == is_lost
    bob = node(B)
    by_tail = bob.on_packet(NOW, A, Highest(GROUP, VIEW.id, 6, low))
    assert bool(only(Lost, by_tail)) == is_lost
    assert only(Deliver, by_run) == []
    bob.check()


def test_a_refusal_that_is_out_of_date_changes_nothing() -> None:
    bob = node(B)
    bob.on_packet(NOW, A, run_of(A, 1, b"1", b"2"))
    assert bob.on_packet(NOW, A, Unrepairable(GROUP, VIEW.id, 2)) == [Drop("a refusal that is out of date", A)]


# ---- acks and room


def test_p26_low_reaches_what_was_sent_only_when_everybody_has_acked() -> None:
    alice = node()
    send(alice, b"1", b"2")
    acked(alice, (B, 2))
    assert alice.group.outgoing.window.low == 0
    effects = alice.on_packet(NOW, C, Ack(GROUP, VIEW.id, 2))
    assert only(Freed, effects) == [Freed()]
    assert alice.group.outgoing.window.low == 2


def test_an_ack_beyond_what_was_sent_counts_as_all() -> None:
    alice = node()
    send(alice, b"1")
    acked(alice, (B, 2**62), (C, 2**62))
    assert (alice.group.outgoing.window.low, alice.group.outgoing.window.high) == (1, 1)
    send(alice, b"2")
    assert alice.group.outgoing.window.low == 1, "what B and C never had is not purged"
    alice.check()


def test_exactly_capacity_messages_fit() -> None:
    alice = node(config=profile("test", capacity=3, self_delivery=False))
    assert alice.space().fit([1] * 5) == 3
    send(alice, b"1", b"2", b"3")
    assert (alice.space().slots, alice.space().fit([1])) == (0, 0)
    acked(alice, (B, 1), (C, 1))
    assert alice.space().fit([1] * 5) == 1


def test_a_window_whose_bytes_are_used_up_has_no_space_even_for_an_empty_message() -> None:
    alice = node(config=profile("test", capacity=3, self_delivery=False))
    send(alice, b"1")
    window = alice.group.outgoing.window
    window.max_bytes = window.bytes
    assert alice.space() == NO_SPACE
    acked(alice, (B, 1), (C, 1))
    assert alice.space().slots == 3


def test_own_messages_that_nobody_reads_are_bounded_by_the_capacity_too() -> None:
    alone = node(view=View(ViewId(1, A), (A,)), config=profile("test", capacity=3))
    (own,) = only(Deliver, send(alone, b"1", b"2", b"3"))  # type: ignore[arg-type]
    assert alone.group.outgoing.window.low == 3
    assert alone.space().slots == 0
    assert only(Freed, alone.on_taken(NOW, own)) == [Freed()]
    assert alone.space().slots == 3


def test_acks_are_sent_after_a_quarter_of_the_window_or_at_the_interval() -> None:
    bob = node(B, config=profile("test", capacity=8))
    (one,) = only(Deliver, bob.on_packet(NOW, A, run_of(A, 1, b"1")))
    assert only(Unicast, bob.on_taken(NOW, one)) == []
    (two,) = only(Deliver, bob.on_packet(NOW, A, run_of(A, 2, b"2")))
    assert only(Unicast, bob.on_taken(NOW, two)) == [Unicast(A, Ack(GROUP, VIEW.id, 2))]
    (three,) = only(Deliver, bob.on_packet(NOW, A, run_of(A, 3, b"3")))
    bob.on_taken(NOW, three)
    deadline_ns = bob.deadline_ns()
    assert deadline_ns is not None
    assert only(Unicast, bob.on_time(deadline_ns)) == [Unicast(A, Ack(GROUP, VIEW.id, 3))]
    assert only(Unicast, bob.on_time(deadline_ns + INTERVAL_NS)) == []


def test_y04_reading_own_messages_frees_as_soon_as_there_may_be_the_room_that_somebody_waits_for() -> None:
    alone = node(view=View(ViewId(1, A), (A,)), config=profile("test", capacity=4))
    own = [only(Deliver, send(alone, b"x"))[0] for _ in range(2)]  # type: ignore[arg-type]
    assert only(Freed, alone.on_taken(NOW, own[0])) == [], "nobody waits, and there was room"
    own += only(Deliver, send(alone, b"x"))  # type: ignore[arg-type]
    alone.await_room(4)
    assert only(Freed, alone.on_taken(NOW, own[1])) == [Freed()]
    assert only(Freed, alone.on_taken(NOW, own[2])) == [], "whoever still lacks room says so again"


@pytest.mark.parametrize("ack_every", [0, 3])
def test_y09_acks_follow_the_window_that_a_later_view_agrees_on(ack_every: int) -> None:
    bob = node(B, config=profile("test", capacity=4096, window_bytes=1 << 20, ack_every=ack_every))
    view = View(ViewId(2, A), (A, B, C, D), capacity=8, window_bytes=4096)
    bob.on_view(NOW, view, {})
    first = node(B, view=view, config=bob.config)
    for member in (A, C):
        late, early = bob.group.incoming[member], first.group.incoming[member]
        assert (late.ack_after, late.ack_bytes) == (early.ack_after, early.ack_bytes) == (2, 1024)


# ---- gaps and tails


def test_a_fresh_gap_is_not_asked_for_until_it_was_there_for_an_interval() -> None:
    bob = node(B)
    bob.on_packet(NOW, A, run_of(A, 2, b"2"))
    first_ns = bob.deadline_ns()
    assert first_ns is not None
    assert only(Unicast, bob.on_time(first_ns)) == []
    asked = bob.on_time(first_ns + INTERVAL_NS)
    assert only(Unicast, asked) == [Unicast(A, Request(GROUP, VIEW.id, A, ((1, 1),)))]
    assert [(event.kind, event.first, event.count) for event in only(Event, asked)] == [(Kind.REQUEST, 1, 1)]


def test_a_tail_announcement_is_answered_with_a_request_or_an_ack_once_per_interval() -> None:
    bob = node(B)
    highest = Highest(GROUP, VIEW.id, 3, 0)
    asked = bob.on_packet(NOW, A, highest)
    assert only(Unicast, asked) == [Unicast(A, Request(GROUP, VIEW.id, A, ((1, 3),)))]
    assert only(Unicast, bob.on_packet(NOW, A, highest)) == []
    bob.on_packet(NOW, A, run_of(A, 1, b"1", b"2", b"3"))
    assert only(Unicast, bob.on_packet(NOW, A, highest)) == [Unicast(A, Ack(GROUP, VIEW.id, 0))]


def test_a_sender_announces_its_highest_while_unacked_and_its_low_once_when_empty() -> None:
    alice = node()
    send(alice, b"1")
    now_ns = NOW
    told = []
    for _ in range(6):
        deadline_ns = alice.deadline_ns()
        if deadline_ns is None:
            break
        now_ns = deadline_ns
        told.append([effect.packet for effect in only(Cast, alice.on_time(now_ns))])
        if len(told) == 3:
            acked(alice, (B, 1), (C, 1))
    high = Highest(GROUP, VIEW.id, 1, 0)
    assert told == [[], [high], [high], [Highest(GROUP, VIEW.id, 1, 1)]]
    assert alice.deadline_ns() is None


# ---- views and digests


def test_begin_tells_the_application_and_the_recording_of_the_first_view() -> None:
    effects = node().begin(NOW)
    assert only(Install, effects) == [Install(VIEW)]
    assert [event.kind for event in only(Event, effects)] == [Kind.OFFSET, Kind.OFFSET, Kind.VIEW]


def test_p17_a_view_with_later_offsets_resets_no_window_that_is_there() -> None:
    """Digest {A10, B30, C50}, then {A11, B30/35}: still the same windows, none reset."""
    dora = node(D, view=View(ViewId(1, A), (A, B, C, D)), offsets={A: 10, B: 30, C: 50})
    dora.on_packet(NOW, B, run_of(B, 33, b"33", low=30, view=ViewId(1, A)))
    before = {member: incoming.window for member, incoming in dora.group.incoming.items()}
    dora.on_view(NOW, View(ViewId(2, A), (A, B, C, D)), {A: 11, B: 30})
    assert {member: incoming.window for member, incoming in dora.group.incoming.items()} == before
    assert [window.ready for window in before.values()] == [10, 30, 50]
    assert before[B].holds(33)


def test_a_view_that_removes_the_silent_member_frees_the_window() -> None:
    """P12, the core's part: capacity 5, D silent, A blocked; the view without D purges and wakes the sender."""
    alice = node(view=View(ViewId(1, A), (A, B, C, D)), config=profile("test", capacity=5, self_delivery=False))
    send(alice, *[b"x"] * 5)
    acked(alice, (B, 5), (C, 5))
    assert alice.space().slots == 0
    effects = alice.on_view(NOW, View(ViewId(2, A), (A, B, C)), {})
    assert only(Freed, effects)
    assert alice.space().slots == 5


def test_a_newcomer_counts_from_its_offset_and_not_from_zero() -> None:
    alice = node(view=View(ViewId(1, A), (A, B)))
    send(alice, b"1", b"2")
    acked(alice, (B, 2))
    alice.on_view(NOW, View(ViewId(2, A), (A, B, C)), {A: 2})
    assert alice.group.outgoing.acks.get(C) == 2
    send(alice, b"3")
    acked(alice, (B, 3))
    assert alice.group.outgoing.window.low == 2, "C has not acked 3"


def test_p20_equality_keeps_what_was_buffered_and_nothing_is_delivered_again() -> None:
    """Seed 000's numbers, the windows' part: local B=10, digest B=10: buffered B12 stays; 8..10 are old."""
    alice = node(offsets={B: 10})
    alice.on_packet(NOW, B, run_of(B, 12, b"12", low=10))
    alice.on_view(NOW, View(ViewId(2, A), (A, B, C)), {B: 10})
    assert alice.group.incoming[B].window.holds(12)
    again = alice.on_packet(NOW, B, run_of(B, 8, b"8", b"9", b"10", low=7, view=ViewId(2, A)))
    assert only(Deliver, again) == []
    filled = alice.on_packet(NOW, B, run_of(B, 11, b"11", low=10, view=ViewId(2, A)))
    assert [delivery.payloads for delivery in only(Deliver, filled)] == [[b"11", b"12"]]


@pytest.mark.parametrize("reads_meanwhile", [False, True], ids=["reads later", "reads meanwhile"])
def test_of_who_comes_back_where_it_ended_nothing_is_acked_before_it_is_read(reads_meanwhile: bool) -> None:
    """Seed 50424: A is excluded while its messages lie unread, and comes back by merge without having sent more."""
    bob = node(B)
    unread = [only(Deliver, bob.on_packet(NOW, A, run_of(A, seqno, b"x")))[0] for seqno in (1, 2)]
    bob.on_view(NOW, View(ViewId(2, B), (B, C)), {})
    if reads_meanwhile:
        bob.on_taken(NOW, unread.pop(0))
    merged = View(ViewId(3, A), (A, B, C), subgroups=((A,), (B, C)))
    events = only(Event, bob.on_view(NOW, merged, {A: 2, B: 0, C: 0}))
    assert [event.kind for event in events] == [Kind.VIEW], "it goes on: no offset is set"
    unread += only(Deliver, bob.on_packet(NOW, A, run_of(A, 3, b"x", low=2, view=merged.id)))
    again = bob.on_packet(NOW, A, run_of(A, 3, b"x", low=2, view=merged.id))
    assert only(Unicast, again) == [Unicast(A, Ack(GROUP, merged.id, 1 if reads_meanwhile else 0))]
    for delivery in unread:
        bob.on_taken(NOW, delivery)
    again = bob.on_packet(NOW, A, run_of(A, 3, b"x", low=2, view=merged.id))
    assert only(Unicast, again) == [Unicast(A, Ack(GROUP, merged.id, 3))]
    bob.check()


@pytest.mark.parametrize("announced", [False, True], ids=["held", "announced"])
def test_what_a_member_sent_above_the_cut_is_not_taken_into_the_next_view(announced: bool) -> None:
    """Simulated seed 3339: B was released from its promise by another roll call, and went on in the view before."""
    alice = node()
    alice.group.hold(())
    effects = alice.on_packet(NOW, B, run_of(B, 1, b"in", b"above"))
    if announced:
        effects += alice.on_packet(NOW, B, Highest(GROUP, VIEW.id, 3, 0))
    effects += alice.group.fill(NOW, {A: 0, B: 1, C: 0}, ())
    assert [delivery.payloads for delivery in only(Deliver, effects)] == [[b"in"]] and alice.group.is_filled
    later = View(ViewId(2, A), (A, B, C))
    effects = alice.on_view(NOW, later, {A: 0, B: 1, C: 0})
    effects += alice.on_time(NOW + 2 * INTERVAL_NS)
    assert only(Deliver, effects) == []
    assert not [each for each in only(Unicast, effects) if isinstance(each.packet, Request)]
    effects = alice.on_packet(NOW, B, run_of(B, 2, b"of this view", view=later.id))
    assert [delivery.payloads for delivery in only(Deliver, effects)] == [[b"of this view"]]
    alice.check()
