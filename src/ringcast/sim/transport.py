"""The simulated network as a transport: frames between the names of a world, with whatever goes wrong in between.

What comes beyond the receive buffer is lost, as in a kernel: a frozen process reads nothing.
Damaged frames never reach the driver (decision 0054).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ringcast.errors import TransportError
from ringcast.sim.network import Network
from ringcast.transport import Counters, Endpoint, Frame, OnFrames, OnWritable

PREFIX = "mem:"
CLOSED = "the process has ended"
CUT = "cut by the process itself"
DAMAGED = "damaged on the way"
OVERFLOW = "receive queue full"


def endpoint_of(name: str) -> Endpoint:
    return Endpoint.in_memory(name)


@lru_cache(4096)
def name_at(endpoint: Endpoint) -> str:
    return str(endpoint).removeprefix(PREFIX)


class SimulatedTransport:
    """A Transport (see `ringcast.transport`). `wake` plans a call for the next turn of the process's loop."""

    def __init__(
        self,
        network: Network,
        name: str,
        max_frame: int,
        buffer_bytes: int,
        wake: Callable[[Callable[[], None]], None],
        *,
        multicasts: bool = False,
        has_checksum: bool = True,
    ) -> None:
        """Without a checksum damaged frames arrive: sealed ones are found out by whoever opens them."""
        self.on_writable: OnWritable | None = None
        self.counters = Counters()
        self.local = endpoint_of(name)
        self.max_frame = max_frame
        network.largest_frame = max(network.largest_frame, max_frame)
        self.receive_buffer = buffer_bytes
        self.multicasts = multicasts
        self.overflows = 0
        self._has_checksum = has_checksum
        self._network = network
        self._name = name
        self._wake = wake
        self._on_frames: OnFrames = _nobody
        self._frames: list[bytes] = []  # came, and wait for the next turn
        self._held_bytes = 0
        self._blocked: dict[Endpoint, None] = {}
        self._is_open = False

    async def open(self, on_frames: OnFrames) -> None:
        if self._is_open:
            raise TransportError(f"{self.local} is open already")
        self._is_open = True
        self._on_frames = on_frames
        self._network.attach(self._name, self._arrive)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._frames, self._held_bytes = [], 0
            self._network.detach(self._name)

    def send(self, to: Endpoint, frame: bytes) -> bool:
        nbytes, counters, network = len(frame), self.counters, self._network
        # More than it packs itself: a repair of what another member packed.
        assert nbytes <= network.largest_frame, (nbytes, network.largest_frame)
        if not self._is_open or (self._blocked and to in self._blocked):
            counters.lose(CUT)
        else:
            counters.frames_out += 1
            counters.bytes_out += nbytes
            network.transmit(self._name, name_at(to), frame)
        return True

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        assert max(map(len, frames), default=0) <= self.max_frame, (list(map(len, frames)), self.max_frame)
        for endpoint in to:
            for frame in frames:
                self.send(endpoint, frame)
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
        frames = self._frames
        if not self._is_open:
            self.counters.lose(CLOSED)
        elif is_damaged and self._has_checksum:
            self._network.packet_of(frame)  # the decoder must stand anything; then a checksum catches it
            self.counters.lose(DAMAGED)
        elif not frames:
            frames.append(frame)  # one always fits
            self._held_bytes = len(frame)
            self._wake(self._empty)
        elif self._held_bytes + len(frame) > self.receive_buffer:
            self.overflows += 1
            self.counters.lose(OVERFLOW)
        else:
            frames.append(frame)
            self._held_bytes += len(frame)

    def _empty(self) -> None:
        frames, counters = self._frames, self.counters
        if frames:  # not closed in between
            counters.wakes += 1
            counters.frames_in += len(frames)
            counters.bytes_in += self._held_bytes
            self._frames, self._held_bytes = [], 0
            self._on_frames(frames)


def _nobody(frames: Iterable[Frame]) -> None:
    """Before `open`."""


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
