"""How the application of a simulated process sends: what stands first in its outbox goes out as soon as there is room.

Messages go in the order in which they were queued, whatever they are: to the group, to some peers, in the one order,
small or in pieces. What found no room stays first, and its send waits (G14).
"""

from __future__ import annotations

from ringcast.core import Channel, Effect, Node
from ringcast.errors import UsageError
from ringcast.model import Address
from ringcast.sim.application import Application, Outbound
from ringcast.sim.invariants import Checked, check_sent


class Sending:
    """One process's outbox on its way into the node."""

    __slots__ = ("_application", "_node", "waiting")

    def __init__(self, application: Application, node: Node) -> None:
        self._application = application
        self._node = node
        self.waiting: Outbound | None = None  # the message whose send waits for room

    @property
    def largest_message(self) -> int:
        """What may be sent at all: its pieces must fit an empty window together."""
        node, config = self._node, self._node.config
        capacity = node.group.capacity if node.has_group else config.capacity
        pieces = min(capacity, config.stream_capacity)
        return min(config.max_message_bytes, pieces * node.largest_whole)

    def add(self, payload: bytes, to: tuple[Address, ...]) -> None:
        """One more message for the group, or for these peers."""
        if len(payload) > self.largest_message:
            raise UsageError(f"a message of {len(payload)} bytes is above the {self.largest_message} that fit a window")
        self._application.outbox.append(Outbound(payload, to))

    def add_in_order(self, payload: bytes, to: tuple[Address, ...] | None) -> None:
        """One more message in the one order: for the view (None), for some of it, or for nobody (a barrier)."""
        self._application.outbox.append(Outbound(payload, to, in_order=True))

    def next(self, now_ns: int) -> Checked | None:
        """Send what stands first; None if there is nothing, or no room for it."""
        outbox = self._application.outbox
        if not outbox:
            return None
        head = outbox[0]
        if not (head.in_order or head.to or len(head.payload) > self._node.largest_whole):
            return self._send_small(now_ns)
        effects = self._send_alone(now_ns, head)
        if effects is None:
            return None
        outbox.popleft()
        self._node.check()
        return Checked(effects, is_far=True)

    def _send_small(self, now_ns: int) -> Checked | None:
        """As many of the leading messages as go out as one run."""
        node, outbox = self._node, self._application.outbox
        payloads = self._application.leading_small(node.largest_whole, node.room())
        count = node.fit(list(map(len, payloads)))
        if not count:
            return None
        for _ in range(count):
            outbox.popleft()
        payloads = payloads[:count]
        effects = node.send(now_ns, payloads, list(map(len, payloads)))
        check_sent(node, Channel.GROUP, node.me)
        return Checked(effects, is_far=False)

    def _send_alone(self, now_ns: int, outbound: Outbound) -> list[Effect] | None:
        """None: there is no room."""
        if outbound.in_order:
            return self._queue(now_ns, outbound)
        if outbound.to:
            return self._send_private(now_ns, outbound.payload, list(outbound.to))
        may = self._node.may_send_large(len(outbound.payload))
        return self._node.send_large(now_ns, outbound.payload) if may else None

    def _queue(self, now_ns: int, outbound: Outbound) -> list[Effect] | None:
        """To those who are still in the view; it may have changed since."""
        node = self._node
        if not node.has_group:
            return None
        to = None if outbound.to is None else [peer for peer in outbound.to if peer in node.view]
        if not node.fit_in_order([len(outbound.payload)], to):
            return None
        return node.queue(now_ns, [outbound.payload], to)[1]

    def _send_private(self, now_ns: int, payload: bytes, peers: list[Address]) -> list[Effect] | None:
        node = self._node
        if node.society is not None and node.has_group:
            # Whoever left while the message waited cannot be sent to any more; `Group.send` says so (seed 210).
            peers = [peer for peer in peers if peer in node.view]
        return node.send_to(now_ns, peers, payload) if node.may_send_to(peers, len(payload)) else None

    def has_new_wait(self) -> bool:
        """Is what stands first now, having found no room, another message than before (or none)?"""
        outbox = self._application.outbox
        head = outbox[0] if outbox else None
        if head is self.waiting:
            return False
        self.waiting = head
        return True
