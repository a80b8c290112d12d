"""A transport whose frames are sealed: encrypted and authenticated on their way, clear above and below.

Wraps any transport. A frame is sealed once for all of its destinations, and opened before anything looks at it: the
guard, the decoder and its compiled part see what was sealed. What cannot be opened is counted by reason, and goes no
further. It knows no keys: `seal` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from ringcast.transport.counters import Counters
from ringcast.transport.endpoint import Endpoint
from ringcast.transport.limits import refuse_oversize
from ringcast.transport.protocol import Frame, Guard, Guarded, OnFrames, OnWritable, Source, Transport


class FrameSeal(Protocol):
    """Seals and opens one frame. `seal` may be called by two threads."""

    @property
    def overhead(self) -> int:
        """By how many bytes a sealed frame is longer."""

    def seal(self, frame: bytes) -> bytes: ...

    def open(self, sealed: Frame) -> Frame | str:
        """The frame, valid until the next call; or why it is none."""


class SealedTransport:
    """A Transport. See `protocol.Transport` for the calls."""

    def __init__(self, carrier: Transport, seal: FrameSeal) -> None:
        self.seal = seal
        self.counters: Counters = carrier.counters
        self._carrier = carrier
        self.on_unopened: Callable[[str], None] | None = None
        self._sealed: list[tuple[bytes, bytes]] = []  # frames that `cast` refused, each with its sealed form

    # ---- frames

    async def open(self, on_frames: OnFrames) -> None:
        await self._carrier.open(lambda frames: on_frames(self._opened(frames)))

    def send(self, to: Endpoint, frame: bytes) -> bool:
        return self._carrier.send(to, self.seal.seal(frame))

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        refuse_oversize(frames, self.max_frame)
        if not to:
            return len(frames)  # alone: nothing to seal
        sealed = self._reused(frames) if self._sealed else []
        sealed += map(self.seal.seal, frames[len(sealed) :] if sealed else frames)
        taken = self._carrier.cast(to, sealed)
        if taken < len(frames):
            self._sealed = list(zip(frames[taken:], sealed[taken:], strict=True))
        return taken

    def send_aside(self, to: Endpoint, frame: bytes) -> bool:
        return self._carrier.send_aside(to, self.seal.seal(frame))

    def _reused(self, frames: Sequence[bytes]) -> list[bytes]:
        """The caller offers again what was refused: what was sealed then never left, and is as good as new."""
        before, self._sealed = self._sealed, []
        sealed = []
        for frame, (refused, done) in zip(frames, before, strict=False):
            if frame is not refused:
                break
            sealed.append(done)
        return sealed

    def _opened(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for sealed in frames:
            frame = self.seal.open(sealed)
            if isinstance(frame, str):
                self._lose(frame)
            else:
                yield frame

    def _lose(self, why: str) -> None:
        self.counters.lose(why)
        if self.on_unopened is not None:
            self.on_unopened(why)

    # ---- all else is the carrier's

    @property
    def on_writable(self) -> OnWritable | None:
        return self._carrier.on_writable

    @on_writable.setter
    def on_writable(self, on_writable: OnWritable | None) -> None:
        self._carrier.on_writable = on_writable

    @property
    def local(self) -> Endpoint:
        return self._carrier.local

    @property
    def max_frame(self) -> int:
        return self._carrier.max_frame - self.seal.overhead

    @property
    def multicasts(self) -> bool:
        return self._carrier.multicasts

    @property
    def receive_buffer(self) -> int:
        return self._carrier.receive_buffer

    @property
    def overflows(self) -> int:
        return self._carrier.overflows

    def set_peers(self, peers: Sequence[Endpoint]) -> None:
        self._carrier.set_peers(peers)

    def block(self, endpoints: Iterable[Endpoint]) -> None:
        self._carrier.block(endpoints)

    def unblock(self) -> None:
        self._carrier.unblock()

    def close(self) -> None:
        self._carrier.close()


class GuardedSealedTransport(SealedTransport):
    """Over a carrier that asks a guard: frames are opened before the guard sees them."""

    def __init__(self, carrier: Transport, seal: FrameSeal) -> None:
        super().__init__(carrier, seal)
        self.guard: Guard | None = None
        assert isinstance(carrier, Guarded)
        carrier.guard = self._open_and_ask

    async def open(self, on_frames: OnFrames) -> None:
        await self._carrier.open(on_frames)

    def _open_and_ask(self, source: Source, sealed: Frame, reply_to: Source) -> Frame | None:
        frame = self.seal.open(sealed)
        if isinstance(frame, str):
            self._lose(frame)
            return None
        return frame if self.guard is None else self.guard(source, frame, reply_to)


def sealed_transport(carrier: Transport, seal: FrameSeal) -> SealedTransport:
    """This transport, with everything that it carries sealed."""
    return (GuardedSealedTransport if isinstance(carrier, Guarded) else SealedTransport)(carrier, seal)
