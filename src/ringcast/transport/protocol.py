"""What every transport offers to the driver: frames of bytes, moved between endpoints.

A transport may lose, duplicate and reorder frames; it never joins, splits or alters them. It knows nothing of messages,
members or views. All calls but `send_aside` are made on the event loop; none of them blocks, and after `open` none of
them raises for what the network or a peer does: losses are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ringcast.transport.counters import Counters
from ringcast.transport.endpoint import Endpoint

Frame = bytes | memoryview
"""A frame that was read. A view is of the transport's own buffer: it is valid until the next frame is taken."""

Source = tuple[str, int]
"""Where a frame came from, as the network says: a numeric host and a port."""

Guard = Callable[[Source, Frame, Source], Frame | None]
"""Asked for each frame that comes: its source, the frame, where an answer to it goes. Gives what is handed on: the
frame, or what it contains (valid until the next call); None: nothing."""

Passes = dict[Source, tuple[int, bytes]]
"""Frames that a guard would hand on as they are, without being asked: by their source, which bytes they have where."""

SpeaksFor = Callable[[tuple[str, ...], Frame], bool]
"""May one whose certificate is for these names have sent this frame?"""

OnFrames = Callable[[Iterable[Frame]], None]
OnWritable = Callable[[], None]


@runtime_checkable
class Guarded(Protocol):
    """A transport on which anybody can send in anybody's name, unless somebody looks where frames come from."""

    guard: Guard | None


@runtime_checkable
class Recognizing(Protocol):
    """A transport that knows whom it has reached."""

    def expect(self, names: Mapping[Endpoint, str]) -> None:
        """Say who is at which endpoint: a connection that finds somebody else there is closed, and nothing is sent."""


@runtime_checkable
class Exposed(Protocol):
    """A transport on places that others may reach and read, unless these are on loopback."""

    @property
    def places(self) -> tuple[str, ...]:
        """Each as host:port, or as the address of an interface; none if what is sent there is encrypted already."""


@runtime_checkable
class Foretelling(Protocol):
    """A guard that need not be asked for every frame."""

    passes: Passes

    def __call__(self, source: Source, frame: Frame, reply_to: Source, /) -> Frame | None: ...


class Transport(Protocol):
    """Moves frames between endpoints.

    A frame that was accepted (`send` true, counted in `cast`'s answer) belongs to the transport: it is sent or counted
    as lost. A frame that was not accepted still belongs to the caller, who offers it again after `on_writable`.
    """

    on_writable: OnWritable | None
    """Called once after each refusal, when there is room again."""

    counters: Counters

    @property
    def local(self) -> Endpoint:
        """Where others reach this transport (the advertised endpoint); known once it is open."""

    @property
    def max_frame(self) -> int:
        """The largest frame that `cast` takes, and that a member packs.

        `send` takes a larger one where the network can carry it: a repair of what a member with larger frames packed.
        """

    @property
    def multicasts(self) -> bool:
        """True if `cast` costs one packet for everybody."""

    @property
    def receive_buffer(self) -> int:
        """How many bytes of full frames may be on their way here before the kernel throws some away."""

    @property
    def overflows(self) -> int:
        """How many packets the kernel threw away because the receive buffer was full."""

    async def open(self, on_frames: OnFrames) -> None:
        """Bind and begin. `on_frames` gets the frames of one wake; they are read while it takes them."""

    def send(self, to: Endpoint, frame: bytes) -> bool:
        """Send one frame to one endpoint; False means busy."""

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        """Send the same frames to all of `to`; how many, from the front, were accepted for everybody."""

    def send_aside(self, to: Endpoint, frame: bytes) -> bool:
        """Try to send one small frame from another thread than the loop's, also while the loop is blocked.

        For signs of life. At most one thread uses it, and it has ended before `close`. False: it did not leave; it is
        not kept, and nothing tells when to try again.
        """

    def set_peers(self, peers: Sequence[Endpoint]) -> None:
        """Say who will be talked to for long, so that connections can be kept to them."""

    def block(self, endpoints: Iterable[Endpoint]) -> None:
        """Cut these endpoints off, in addition to those already cut off."""

    def unblock(self) -> None:
        """Heal every cut."""

    def close(self) -> None:
        """Release everything at once. Frames offered later are counted as lost."""
