"""Events of single multicast runs are made only where somebody reads them; nothing else depends on that."""

from __future__ import annotations

from ringcast.core import Cast, Deliver, Node
from ringcast.model import Address, Event, Kind, View, ViewId, profile

A, B = Address("A", 1, "mem:A"), Address("B", 1, "mem:B")
VIEW = View(ViewId(1, A), (A, B))


def exchange(runs: bool) -> tuple[list[str], set[Kind]]:
    """A sends, B delivers and reads, B's ack comes back: the kinds of effects of both, and of the events in them."""
    a, b = (Node(me, profile("test", ack_every=1), VIEW, {}) for me in (A, B))
    for node in (a, b):
        node.record(contents=False, runs=runs)
    effects = a.send(1, [b"x"], [1])
    run = next(effect.packet for effect in effects if isinstance(effect, Cast))
    at_b = b.on_packet(2, A, run)
    at_b += b.on_taken(3, next(effect for effect in at_b if isinstance(effect, Deliver)))
    effects += at_b
    ack = next(effect.packet for effect in at_b if type(effect).__name__ == "Unicast")
    effects += a.on_packet(4, B, ack)
    kinds = {effect.kind for effect in effects if isinstance(effect, Event)}
    return [type(effect).__name__ for effect in effects if not isinstance(effect, Event)], kinds


def test_nothing_but_the_events_differs() -> None:
    recorded, kinds = exchange(runs=True)
    unread, none = exchange(runs=False)
    assert recorded == unread
    assert {Kind.SEND, Kind.DELIVER, Kind.TAKEN, Kind.ACK, Kind.PURGE} <= kinds
    assert none == set()


def test_a_view_that_comes_later_keeps_what_was_said() -> None:
    node = Node(A, profile("test"), VIEW, {})
    node.record(contents=False, runs=False)
    events = [effect for effect in node.on_view(1, View(ViewId(2, A), (A, B)), {}) if isinstance(effect, Event)]
    assert Kind.VIEW in {event.kind for event in events}
    assert not [effect for effect in node.send(2, [b"x"], [1]) if isinstance(effect, Event)]
