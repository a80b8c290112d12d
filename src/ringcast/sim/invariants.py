"""`check()` after every fact that goes into a node, at the price of what the fact can have touched.

A packet of the data plane reaches one stream, and a heartbeat none; a machine that was not touched since its last check
still holds what it held then. Whatever reaches further (a control message, an answer to somebody else, a view) is
followed by the check of everything; and everything is checked once in a heartbeat interval, so that what is taken here
to be untouched is looked at again.
The node is the real one, driven by the real driver: the methods of that one object are wrapped, and the core does not
know. Not the invariants: each machine knows its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ringcast.core import (
    Ack,
    Cast,
    Channel,
    Deliver,
    Dequeue,
    Drop,
    Effect,
    Finished,
    Freed,
    Heartbeat,
    Highest,
    Loose,
    Node,
    Packet,
    PeerStreams,
    Request,
    Run,
    Spent,
    Staged,
    Unicast,
)
from ringcast.model import Address, Event, Kind

# These say what became of a stream; none of them comes from another machine than the one that was reached.
_NEAR = frozenset({Drop, Freed, Spent, Deliver, Dequeue, Finished, Cast})

# Asked for every packet, where a name of this module costs a tenth of looking a member up in its enum.
_GROUP, _PEER, _CONTROL = Channel.GROUP, Channel.PEER, Channel.CONTROL
_VIEW, _DIGEST = Kind.VIEW, Kind.DIGEST


# Facts and orders that may touch anything, and are rare.
_ANYTHING = (
    "begin",
    "on_discovered",
    "leave",
    "give_state",
    "end_state",
    "on_state_loaded",
    "on_states_merged",
    "on_spooled",
    "on_mark_kept",
)


def watch(node: Node) -> None:
    """From now on this node is checked after everything that goes into it."""
    check_tick = TickCheck(node.config.heartbeat_ns)

    def checked_taken(now_ns: int, delivery: Deliver) -> list[Effect]:
        effects = Node.on_taken(node, now_ns, delivery)
        check_taken(node, delivery, effects)
        return effects

    def checked_flush(now_ns: int) -> list[Effect]:
        effects = Node.flush(node, now_ns)
        if effects:
            check_ordered(node, effects)
        return effects

    def checked_queue(now_ns: int, payloads: list[bytes], to: list[Address] | None) -> tuple[int, list[Effect]]:
        first, effects = Node.queue(node, now_ns, payloads, to)
        check_ordered(node, effects)
        return first, effects

    def checked_send_to(now_ns: int, peers: list[Address], payload: bytes) -> list[Effect]:
        effects = Node.send_to(node, now_ns, peers, payload)
        node.peers.check_sent(peers)
        return effects

    def checked_time(now_ns: int) -> list[Effect]:
        effects = Node.on_time(node, now_ns)
        check_tick(node, now_ns, effects)
        return effects

    wrapped: dict[str, Callable[..., Any]] = {
        "on_packet": partial(checked_packet, node),
        "on_taken": checked_taken,
        "flush": checked_flush,
        "on_time": checked_time,
        "send": _with_check(node.send, partial(check_sent, node, _GROUP, node.me)),
        "send_large": _with_check(node.send_large, partial(check_sent, node, _GROUP, node.me)),
        "send_to": checked_send_to,
        "queue": checked_queue,
        **{name: _with_check(getattr(node, name), node.check) for name in _ANYTHING},
    }
    for name, method in wrapped.items():
        setattr(node, name, method)


def _with_check(method: Callable[..., Any], check: Callable[[], None]) -> Callable[..., Any]:
    def checked(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        check()
        return result

    return checked


def check_ordered(node: Node, effects: list[Effect]) -> None:
    """Something went out for the one order, by multicast and on the streams to those peers that are sent something."""
    node.order.ordering.check()
    check_sent(node, _GROUP, node.me)
    if peers := [each.to for each in effects if type(each) is Unicast and each.packet.channel is _PEER]:
        node.peers.check_sent(peers)


def checked_packet(node: Node, now_ns: int, sender: Address, packet: Packet) -> list[Effect]:
    """This packet comes; what it reached is checked."""
    effects = Node.on_packet(node, now_ns, sender, packet)
    if type(packet) is Loose:
        if type(packet.message) is Staged:
            node.order.ordering.check()
        elif effects or type(packet.message) is not Heartbeat:
            node.check()
    elif effects and _reaches_far(effects, packet.channel, sender):
        node.check()
    elif type(packet) is Highest:
        _check_received(node, packet.channel, sender)
    elif type(packet) is Ack or type(packet) is Request:
        check_sent(node, packet.channel, sender)
    elif type(packet) is Run and packet.channel > _PEER:
        node.check()
    elif type(packet) is Run:
        _check_received(node, packet.channel, packet.origin)
        if type(packet.items[-1]) is not bytes:  # a run is of one kind; plain bytes are not for the ordering
            node.order.ordering.check()
    else:
        check_sent(node, packet.channel, sender)
        _check_received(node, packet.channel, sender)
    return effects


def check_taken(node: Node, delivery: Deliver, effects: list[Effect]) -> None:
    """The application read this."""
    if _reaches_far(effects, delivery.channel, delivery.origin):
        node.check()
    elif type(delivery) is Dequeue:
        node.order.ordering.check()
    elif delivery.origin == node.me:
        assert node.group.own_unread >= 0, node.group.own_unread
    else:
        _check_received(node, delivery.channel, delivery.origin)


class TickCheck:
    """After the member's timer: an interval asks and repeats, which changes no window; anything else may.

    Everything is checked at least so often, whatever ticks say.
    """

    __slots__ = ("_every_ns", "_next_ns")

    def __init__(self, every_ns: int) -> None:
        self._every_ns = every_ns
        self._next_ns = 0

    def __call__(self, node: Node, now_ns: int, effects: list[Effect]) -> None:
        if now_ns >= self._next_ns or _changes_windows(effects):
            self._next_ns = now_ns + self._every_ns
            node.check()


def check_sent(node: Node, channel: Channel, peer: Address) -> None:
    """What this member has sent on a channel: to this peer, or to the group."""
    if channel is not _GROUP:
        _streams(node, channel).check_to(peer)
    elif (group := node._group) is not None:
        group.outgoing.window.check()
        group.outgoing.acks.check()
        assert group.own_unread >= 0, group.own_unread


def _check_received(node: Node, channel: Channel, peer: Address) -> None:
    """What came from this peer on a channel."""
    if channel is not _GROUP:
        _streams(node, channel).check_from(peer)
        return
    group = node._group
    if group is not None and (incoming := group.incoming.get(peer)) is not None:
        incoming.window.check()


def _streams(node: Node, channel: Channel) -> PeerStreams:
    coordination = node.coordination
    if channel is _PEER or coordination is None:
        return node.peers
    return coordination.control.streams if channel is _CONTROL else coordination.state.streams


def _reaches_far(effects: list[Effect], channel: Channel, peer: Address) -> bool:
    """Did anything but this one stream take part?"""
    for effect in effects:
        if type(effect) is Event:
            if _VIEW <= effect.kind <= _DIGEST:
                return True
        elif type(effect) is Unicast:
            if effect.to != peer or effect.packet.channel is not channel:
                return True
        elif type(effect) not in _NEAR:
            return True
    return False


def _changes_windows(effects: list[Effect]) -> bool:
    """Is there anything but an ack, a request, a tail, a heartbeat? To say those again changes no window."""
    for effect in effects:
        if type(effect) is Unicast or type(effect) is Cast:
            if type(effect.packet) is Run:
                return True
        elif type(effect) is not Event or effect.kind >= _VIEW:
            return True
    return False
