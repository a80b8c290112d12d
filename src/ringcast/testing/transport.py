"""The simulated network as a transport: frames between the names of a world, with whatever goes wrong in between.

Invariants: a receiver gets all that its inbox holds in one call, in a turn of its own loop; an inbox never holds more
than the receive buffer (what comes beyond it is lost, as in a kernel: a frozen process reads nothing).
Damaged frames never reach the codec (decision 0054). What a frame says is not looked at here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from ringcast.core import AskView, Loose
from ringcast.errors import TransportError
from ringcast.sim import Network
from ringcast.transport import Counters, Endpoint, OnFrames, OnWritable

PREFIX = "mem:"
CUT = "cut by the process itself"
DAMAGED = "damaged on the way"
OVERFLOW = "receive queue full"

_UNREAD = Loose(AskView())  # the network can catch packets by what they say; frames of real drivers are only bytes


def endpoint_of(name: str) -> Endpoint:
    return Endpoint.in_memory(name)


def name_at(endpoint: Endpoint) -> str:
    return str(endpoint).removeprefix(PREFIX)


class SimulatedTransport:
    """A Transport (see `ringcast.transport`). `after` is called after every batch that the driver was given."""

    def __init__(
        self, network: Network, name: str, max_frame: int, buffer_bytes: int, after: Callable[[], None]
    ) -> None:
        self.on_writable: OnWritable | None = None
        self.counters = Counters()
        self.local = endpoint_of(name)
        self.max_frame = max_frame
        self.receive_buffer = buffer_bytes
        self.multicasts = False
        self.overflows = 0
        self._network = network
        self._name = name
        self._after = after
        self._inbox: list[bytes] = []
        self._held_bytes = 0
        self._blocked: dict[Endpoint, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, on_frames: OnFrames) -> None:
        if self._loop is not None:
            raise TransportError(f"{self.local} is open already")
        self._loop = asyncio.get_running_loop()
        self._on_frames = on_frames
        self._network.attach(self._name, self._arrive)

    def close(self) -> None:
        if self._loop is not None:
            self._loop = None
            self._network.detach(self._name)

    def send(self, to: Endpoint, frame: bytes) -> bool:
        return self.cast((to,), (frame,)) == 1

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        for endpoint in to:
            if self._loop is None or endpoint in self._blocked:
                self.counters.lose(CUT, len(frames))
                continue
            for frame in frames:
                self.counters.frames_out += 1
                self.counters.bytes_out += len(frame)
                self._network.transmit(self._name, name_at(endpoint), _UNREAD, frame)
        return len(frames)

    def send_aside(self, to: Endpoint, frame: bytes) -> bool:
        return self.send(to, frame)

    def set_peers(self, peers: Sequence[Endpoint]) -> None:
        """Nothing to keep: the network knows everybody."""

    def block(self, endpoints: Iterable[Endpoint]) -> None:
        self._blocked.update(dict.fromkeys(endpoints))

    def unblock(self) -> None:
        self._blocked.clear()

    # ---- what arrives

    def _arrive(self, frame: bytes, is_damaged: bool) -> None:
        if self._loop is None or is_damaged:
            self.counters.lose(DAMAGED)
            return
        if self._inbox and self._held_bytes + len(frame) > self.receive_buffer:
            self.overflows += 1
            self.counters.lose(OVERFLOW)
            return
        if not self._inbox:
            self._loop.call_soon(self._empty_inbox)
        self._inbox.append(frame)
        self._held_bytes += len(frame)

    def _empty_inbox(self) -> None:
        frames, self._inbox, self._held_bytes = self._inbox, [], 0
        if self._loop is None:
            return
        self.counters.wakes += 1
        self.counters.frames_in += len(frames)
        self.counters.bytes_in += sum(map(len, frames))
        self._on_frames(frames)
        self._after()


class WorldDiscovery:
    """Everybody in the world may be asked."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        self._me: Endpoint | None = None

    async def open(self, group: str, me: Endpoint) -> None:
        self._me = me

    async def find(self) -> list[Endpoint]:
        return [endpoint for endpoint in map(endpoint_of, self._names()) if endpoint != self._me]

    async def close(self) -> None:
        """Nothing was announced."""
