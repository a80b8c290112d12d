"""Frames inside one process and one event loop, without sockets: for tests, examples and embedding.

A sender is refused when a receiver's inbox is full, and told when there is room again; nothing is lost on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from ringcast.errors import TransportError
from ringcast.transport.counters import CLOSED, CUT_IN, NO_SUCH_PEER, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.endpoint import Endpoint
from ringcast.transport.inbox import Inbox
from ringcast.transport.limits import refuse_oversize
from ringcast.transport.protocol import OnFrames, OnWritable

DEFAULT_MAX_FRAME = 60_000
DEFAULT_INBOX_BYTES = 1 << 20

NEVER_OVERFLOWS = 1 << 40


class MemoryHub:
    """The place where in-memory transports find each other by name."""

    def __init__(self) -> None:
        self.open: dict[Endpoint, MemoryTransport] = {}


class MemoryTransport:
    """A Transport inside one process. See `protocol.Transport` for the calls."""

    def __init__(
        self,
        hub: MemoryHub,
        name: str,
        *,
        max_frame: int = DEFAULT_MAX_FRAME,
        inbox_bytes: int = DEFAULT_INBOX_BYTES,
    ) -> None:
        self.on_writable: OnWritable | None = None
        self.counters = Counters()
        self._hub, self._local, self._max_frame = hub, Endpoint.in_memory(name), max_frame
        self._cut = CutSwitch()
        self._inbox = Inbox(inbox_bytes, self.counters, self._wake_refused)
        self._refused: dict[Endpoint, None] = {}  # who found this inbox full and waits for room

    @property
    def local(self) -> Endpoint:
        return self._local

    @property
    def max_frame(self) -> int:
        return self._max_frame

    @property
    def multicasts(self) -> bool:
        return False

    @property
    def receive_buffer(self) -> int:
        """A sender is refused before an inbox overflows."""
        return NEVER_OVERFLOWS

    @property
    def overflows(self) -> int:
        return 0

    async def open(self, on_frames: OnFrames) -> None:
        if self._local in self._hub.open:
            raise TransportError(f"cannot open {self._local}: name already in use")
        self._loop = asyncio.get_running_loop()
        self._inbox.open(on_frames)
        self._hub.open[self._local] = self

    def close(self) -> None:
        if self._hub.open.get(self._local) is self:
            del self._hub.open[self._local]
            self._inbox.clear()
            self._loop.call_soon(self._wake_refused)

    def set_peers(self, peers: Sequence[Endpoint]) -> None:
        """Nothing to keep: the hub knows everybody."""

    def block(self, endpoints: Iterable[Endpoint]) -> None:
        self._cut.block(endpoints)

    def unblock(self) -> None:
        self._cut.unblock()

    def send(self, to: Endpoint, frame: bytes) -> bool:
        return self._hand_over((to,), (frame,)) == 1

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        refuse_oversize(frames, self._max_frame)
        return self._hand_over(to, frames)

    def _hand_over(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        if self._hub.open.get(self._local) is not self:
            self.counters.lose(CLOSED, len(frames) * len(to))
            return len(frames)
        if self._cut.blocked:
            to = self._cut.reachable(to, len(frames), self.counters)
        targets = self._found(to, len(frames))
        for taken, frame in enumerate(frames):
            full = [target for target in targets if not target._inbox.has_room(frame)]
            if full:
                return self._refuse(full, taken)
            for target in targets:
                target._put(self._local, frame)
            self.counters.frames_out += len(targets)
            self.counters.bytes_out += len(frame) * len(targets)
        return len(frames)

    def send_aside(self, to: Endpoint, frame: bytes) -> bool:
        """Everybody lives on the one loop, so what is sent while it is blocked arrives when it turns again."""
        try:
            self._loop.call_soon_threadsafe(self.send, to, frame)
        except RuntimeError:  # the loop is closed
            return False
        self.counters.frames_aside += 1
        return True

    def _found(self, to: Sequence[Endpoint], frames: int) -> list[MemoryTransport]:
        targets = [self._hub.open[endpoint] for endpoint in to if endpoint in self._hub.open]
        if len(targets) < len(to):
            self.counters.lose(NO_SUCH_PEER, frames * (len(to) - len(targets)))
        return targets

    def _refuse(self, full: Sequence[MemoryTransport], taken: int) -> int:
        self.counters.busy += 1
        for target in full:
            target._refused[self._local] = None
        return taken

    def _put(self, source: Endpoint, frame: bytes) -> None:
        if source in self._cut.blocked:
            self.counters.lose(CUT_IN)
            return
        self._inbox.put(frame)

    def _wake_refused(self) -> None:
        refused, self._refused = self._refused, {}
        for endpoint in refused:
            waiting = self._hub.open.get(endpoint)
            if waiting is not None and waiting.on_writable is not None:
                waiting.on_writable()
