"""The application of a simulated member: it reads what is delivered, at its own pace, and has things to send.

A reader takes deliveries at once, one every so often, or not at all for a while (a slow consumer). Sends wait in
order, as callers of `Group.send` do; what does not fit now is tried again when the node says that there is room.
Not the node: this object decides only what a user of ringcast would decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ringcast.core import Channel, Deliver, Dequeue, Install, ProvideState
from ringcast.model import Address, View

Hook = Callable[[Address, bytes], None]


@dataclass(frozen=True, slots=True)
class Outbound:
    """One message that wants to go out: to the group, or to some peers; or in the one order, to some or (None) all."""

    payload: bytes
    to: tuple[Address, ...] | None = ()
    in_order: bool = False


@dataclass(slots=True)
class Application:
    """`read_every_ns`: 0 = everything at once, None = not at all, else one delivery every so often."""

    read_every_ns: int | None = 0
    inbox: deque[Deliver | Install | ProvideState] = field(default_factory=deque)
    outbox: deque[Outbound] = field(default_factory=deque)
    views: list[View] = field(default_factory=list)
    multicasts: dict[Address, list[bytes]] = field(default_factory=dict)  # what was read, by sender
    private: dict[Address, list[bytes]] = field(default_factory=dict)
    ordered: list[tuple[Address, bytes]] = field(default_factory=list)  # what was read in the one order
    on_message: Hook | None = None
    on_event: Callable[[Deliver | Install], None] | None = None  # whatever is read, before anything comes of it

    def read(self) -> Deliver | None:
        """Take the next thing from the inbox; a delivery is given back so that the node learns of it."""
        event = self.inbox.popleft()
        assert not isinstance(event, ProvideState), "the state is given before the next event is read"
        if self.on_event is not None:
            self.on_event(event)
        if isinstance(event, Install):
            self.views.append(event.view)
            return None
        if isinstance(event, Dequeue):
            self.ordered.extend((event.origin, payload) for payload in event.payloads)
        else:
            read = self.multicasts if event.channel is Channel.GROUP else self.private
            read.setdefault(event.origin, []).extend(event.payloads)
        if self.on_message is not None:
            for payload in event.payloads:
                self.on_message(event.origin, payload)
        return event

    def leading_small(self, limit: int, most: int) -> list[bytes]:
        """The payloads at the head of the outbox that may go out as one run of multicasts."""
        payloads: list[bytes] = []
        for outbound in self.outbox:
            if outbound.to or outbound.in_order or len(outbound.payload) > limit or len(payloads) >= most:
                break
            payloads.append(outbound.payload)
        return payloads
