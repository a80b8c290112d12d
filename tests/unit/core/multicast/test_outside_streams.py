"""Streams to processes that are gone are given up in time; those to members never are."""

from ringcast.core import Ack, Channel, Deliver, Drop, Freed, Node
from ringcast.model import profile
from unit.core.multicast.nodes import NOW, STRANGER, B, node, only, stream_run

LIMIT_NS = profile("test").resumer_ns


def tick_until(driven: Node, until_ns: int) -> list[Drop]:
    drops: list[Drop] = []
    while (deadline_ns := driven.deadline_ns()) is not None and deadline_ns <= until_ns:
        drops += only(Drop, driven.on_time(deadline_ns))
    return drops


def test_a_stream_that_a_process_outside_the_view_never_acks_is_given_up_with_a_reason() -> None:
    alice = node()
    alice.send_to(NOW, [STRANGER], b"anybody there?")
    assert tick_until(alice, NOW + LIMIT_NS) == []
    drops = tick_until(alice, NOW + 2 * LIMIT_NS)
    assert drops == [Drop("gave up a stream to a process outside the view", STRANGER, 1)]
    assert STRANGER not in alice.peers.outgoing
    assert alice.deadline_ns() is None, "nothing is left to do"


def test_giving_up_makes_room_and_wakes_who_waits() -> None:
    alice = node(config=profile("test", stream_capacity=1))
    alice.send_to(NOW, [STRANGER], b"1")
    assert not alice.may_send_to([STRANGER], 1)
    freed: list[Freed] = []
    while (deadline_ns := alice.deadline_ns()) is not None:
        freed += only(Freed, alice.on_time(deadline_ns))
    assert freed
    assert alice.may_send_to([STRANGER], 1)


def test_a_stream_that_makes_progress_is_kept() -> None:
    alice = node()
    for number in range(1, 5):
        at_ns = NOW + number * LIMIT_NS * 2 // 3
        alice.send_to(at_ns, [STRANGER], b"x")
        alice.send_to(at_ns, [STRANGER], b"x")
        alice.peers.on_ack(at_ns, STRANGER, Ack(Channel.PEER, 1, 2 * number - 1))
        assert tick_until(alice, at_ns + LIMIT_NS // 2) == []
    assert alice.peers.outgoing[STRANGER].window.low == 7


def test_a_member_of_the_view_is_never_given_up() -> None:
    alice = node()
    alice.send_to(NOW, [B], b"x")
    assert tick_until(alice, NOW + 5 * LIMIT_NS) == []
    assert alice.peers.outgoing[B].window.occupancy == 1


def test_a_gap_that_a_process_outside_the_view_never_fills_is_given_up_and_may_still_be_filled_later() -> None:
    """Found by simulation (seed 46): the requests to a crashed process went on for ever."""
    alice = node()
    alice.wake(NOW)
    alice.peers.on_run(NOW, STRANGER, stream_run(STRANGER, 1, 1, b"1"))
    alice.peers.on_run(NOW, STRANGER, stream_run(STRANGER, 1, 3, b"3"))
    delivered = Deliver(STRANGER, Channel.PEER, [b"1"], 1, 1, 1, 1)
    alice.on_taken(NOW, delivered)
    drops = tick_until(alice, NOW + 2 * LIMIT_NS)
    assert drops == [Drop("gave up a gap in a stream from a process outside the view", STRANGER, 1)]
    assert alice.deadline_ns() is None, "nothing is left to do"
    later = NOW + 3 * LIMIT_NS
    effects = alice.peers.on_run(later, STRANGER, stream_run(STRANGER, 1, 2, b"2", b"3"))
    assert [delivery.payloads for delivery in only(Deliver, effects)] == [[b"2", b"3"]]
    alice.check()
