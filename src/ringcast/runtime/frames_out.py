"""The frames that leave this member: multicasts of one batch together, frames to single peers, and refused ones.

Invariants: frames to one destination leave in order; multicasts that the socket refused wait in `backlog`, and while
they do nothing new is taken from the application, so that what queues up is coalesced. The node decides what to send.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ringcast.core import Cast, Probe, Unicast
from ringcast.errors import TransportError
from ringcast.model import Address
from ringcast.runtime.drops import Drops
from ringcast.runtime.heartbeats import Receiver
from ringcast.runtime.unsent import Unsent
from ringcast.transport import Endpoint, Recognizing, Transport
from ringcast.wire import Codec

BYTES_PER_CAST = 500_000  # a long run leaves in parts, each sent while it is still in the cache
MAX_ENDPOINTS = 4_096  # parsed endpoints remembered
MAX_UNSENT = 4_096  # control and repair frames kept while the socket is busy; beyond it they are dropped, and repaired


class FramesOut:
    def __init__(self, me: Address, codec: Codec, transport: Transport, drops: Drops) -> None:
        self.frames: list[bytes] = []  # multicasts of the batch in progress
        self.backlog: deque[bytes] = deque()  # multicasts that the socket refused
        self.unsent = Unsent(MAX_UNSENT)  # frames to single peers that the socket refused
        self._me = me
        self._codec = codec
        self._transport = transport
        self._drops = drops
        self._frame_bytes = 0
        self._others: list[Endpoint] = []
        self._endpoints: dict[str, Endpoint | None] = {}

    # ---- who is there

    def set_members(self, members: Sequence[Address]) -> list[Endpoint]:
        """Multicast to these members from now on; return where the others of them are."""
        if self.frames:  # They were multicast in the view before, and go to its members.
            self._flush_frames()
        receivers = self.receivers(members)
        self._others = [endpoint for _, endpoint in receivers]
        if isinstance(self._transport, Recognizing):
            self._transport.expect({endpoint: member.name for member, endpoint in receivers})
        self._transport.set_peers(self._others)
        return self._others

    def receivers(self, members: Sequence[Address]) -> tuple[Receiver, ...]:
        """Return these members without this one, each with its endpoint."""
        places = ((member, self._endpoint(member.endpoint)) for member in members if member != self._me)
        return tuple((member, endpoint) for member, endpoint in places if endpoint is not None)

    def _endpoint(self, text: str) -> Endpoint | None:
        """Parse this text, which may come from a peer; None if it names no endpoint."""
        if text not in self._endpoints:
            if len(self._endpoints) >= MAX_ENDPOINTS:
                self._endpoints.clear()
            try:
                self._endpoints[text] = Endpoint.parse(text)
            except TransportError:
                self._endpoints[text] = None
        return self._endpoints[text]

    # ---- effects

    def cast(self, effect: Cast) -> None:
        frame = self._codec.encode(effect.packet)
        self.frames.append(frame)
        self._frame_bytes += len(frame)
        if self._frame_bytes >= BYTES_PER_CAST:
            self._flush_frames()

    def unicast(self, effect: Unicast) -> None:
        to = effect.to
        endpoint = self._endpoints.get(to.endpoint) or self._endpoint(to.endpoint)
        frame = self._codec.encode(effect.packet, to)
        if endpoint is None or self.unsent.count:
            self._send(endpoint, frame)
        elif not self._transport.send(endpoint, frame):
            self._keep_unsent(endpoint, frame)

    def probe(self, effect: Probe) -> None:
        self._send(self._endpoint(effect.endpoint), self._codec.encode(effect.packet))

    def _send(self, to: Endpoint | None, frame: bytes) -> None:
        if to is None:
            self._drops.add("an address without a usable endpoint")
            return
        if not (self.unsent.count and self.unsent.holds(to)) and self._transport.send(to, frame):
            return
        self._keep_unsent(to, frame)

    def _keep_unsent(self, to: Endpoint, frame: bytes) -> None:
        if not self.unsent.put(to, frame):
            self._drops.add("the socket was busy for too long")

    # ---- the socket

    def flush(self) -> None:
        """End a batch: send its multicasts together, and offer again what was refused."""
        if self.frames:
            self._flush_frames()
        if self.unsent.count:
            self.unsent.offer(self._transport.send)

    def _flush_frames(self) -> None:
        frames, self.frames, self._frame_bytes = self.frames, [], 0
        if self.backlog:
            self.backlog.extend(frames)
            return
        taken = self._transport.cast(self._others, frames)
        if taken < len(frames):
            self.backlog.extend(frames[taken:])

    def on_writable(self) -> bool:
        """Offer again what the socket refused; return whether no multicast waits any more."""
        self.unsent.offer(self._transport.send)
        if self.backlog:
            frames = list(self.backlog)
            taken = self._transport.cast(self._others, frames)
            for _ in range(taken):
                self.backlog.popleft()
        return not self.backlog
