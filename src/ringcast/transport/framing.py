"""Frames in a byte stream: a hello that says who speaks, then frames, each behind its length.

    hello    "rcst" | version u8 | length u8 | advertised endpoint as text
    frame    length u32 | bytes

Lengths are checked before anything is kept: whatever bytes come, a stream holds back less than one hello or one frame.
Pure: bytes in, values out; what breaks the rules is a PeerError, which the connection turns into its own end.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ringcast.errors import PeerError, TransportError
from ringcast.transport.endpoint import Endpoint

MAGIC = b"rcst"
VERSION = 1
LENGTH = struct.Struct("!I")
_HELLO = struct.Struct("!4sBB")


def encode_hello(sender: Endpoint) -> bytes:
    text = str(sender).encode("ascii")
    return _HELLO.pack(MAGIC, VERSION, len(text)) + text


def decode_hello(data: bytes | memoryview) -> tuple[Endpoint, int] | None:
    """The sender and how many bytes its hello took; None if there are not enough yet."""
    if len(data) < _HELLO.size:
        if not MAGIC.startswith(bytes(data[: len(MAGIC)])[: len(data)]):
            raise PeerError("a stream does not begin with a hello")
        return None
    magic, version, length = _HELLO.unpack_from(data)
    if magic != MAGIC:
        raise PeerError("a stream does not begin with a hello")
    if version != VERSION:
        raise PeerError(f"a stream speaks version {version}, not {VERSION}")
    end = _HELLO.size + length
    if len(data) < end:
        return None
    return _endpoint(bytes(data[_HELLO.size : end])), end


def _endpoint(text: bytes) -> Endpoint:
    try:
        return Endpoint.parse(text.decode("ascii"))
    except (UnicodeDecodeError, TransportError):
        raise PeerError(f"a hello names no endpoint: {text[:64]!r}") from None


def with_lengths(frames: Sequence[bytes]) -> list[bytes]:
    """The buffers to write: each frame behind its length."""
    buffers: list[bytes] = []
    for frame in frames:
        buffers += (LENGTH.pack(len(frame)), frame)
    return buffers


def split_frames(data: memoryview, max_frame: int, least_frame: int = 0) -> tuple[list[memoryview], int]:
    """The whole frames at the front, as views, and how many bytes they took."""
    frames: list[memoryview] = []
    at, end, unpack, head = 0, len(data), LENGTH.unpack_from, LENGTH.size
    while end - at >= head:
        (length,) = unpack(data, at)
        if length > max_frame:
            raise PeerError(f"a frame of {length} B is larger than {max_frame} B")
        if length < least_frame:
            raise PeerError(f"a frame of {length} B is smaller than {least_frame} B")
        stop = at + head + length
        if stop > end:
            break
        frames.append(data[at + head : stop])
        at = stop
    return frames, at
