"""Frames to single peers that the transport refused, kept apart by peer until it takes them.

Invariants: frames to one peer leave in order; a peer that takes nothing delays nobody else's frames; never more than
`capacity` frames in all. What finds no room is for the caller to count: control and repairs are repeated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ringcast.transport import Endpoint

Send = Callable[[Endpoint, bytes], bool]


class Unsent:
    """One queue per peer that refused something."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.count = 0
        self._by_peer: dict[Endpoint, deque[bytes]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_peer)

    def holds(self, to: Endpoint) -> bool:
        """Something for this peer waits already: what follows must wait behind it."""
        return to in self._by_peer

    def put(self, to: Endpoint, frame: bytes) -> bool:
        """False if there is no room."""
        if self.count >= self.capacity:
            return False
        self._by_peer.setdefault(to, deque()).append(frame)
        self.count += 1
        return True

    def offer(self, send: Send) -> None:
        """Give each peer what it takes now."""
        for to, frames in list(self._by_peer.items()):
            while frames and send(to, frames[0]):
                frames.popleft()
                self.count -= 1
            if not frames:
                del self._by_peer[to]
