"""Segment files: framed, checksummed, append-only; what was flushed survives any crash of the process.

    segment = magic, segment number, frame...
    frame   = length (u32), crc32 (u32), body           body = tag, payload
    tags      H header    E events (u32 count, block)    L lost events (u64)    Z closed

A frame is written with one call. If the disk refuses, the file is cut back to its last whole frame, so a torn frame
can only be the last thing in the last segment: what a crash in the middle of a write leaves.
Not a recorder: nothing here buffers, waits or knows time.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from ringcast.model import Event
from ringcast.trace.block import MAX_BLOCK_BYTES, encode_block
from ringcast.trace.errors import TraceError
from ringcast.trace.header import Header, to_plain

MAGIC = b"RCT\x01"
SUFFIX = ".rct"
_FRAME = struct.Struct("<II")
_NUMBER = struct.Struct("<I")
_LOST = struct.Struct("<Q")
_MAX_BODY = MAX_BLOCK_BYTES + 64


class Frame(NamedTuple):
    """One whole, checked frame and where it stands."""

    tag: bytes
    payload: bytes
    path: Path
    offset: int


class SegmentWriter:
    """Appends frames to `directory/NNNNNN.rct`, beginning a new file when one is full.

    Invariant: the current file ends at `_end`, the end of its last whole frame.
    """

    def __init__(self, directory: Path, header: Header, segment_bytes: int) -> None:
        self.written_bytes = 0
        self._directory = directory
        self._header = header
        self._segment_bytes = segment_bytes
        self._number = -1
        self._file = -1
        self._end = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.glob("*" + SUFFIX)):
                raise TraceError(f"{directory} already holds a recording")
            self._begin_next()
        except OSError as error:
            raise TraceError(f"cannot record in {directory}: {error.strerror or error}") from None

    def write_events(self, events: Sequence[Event]) -> None:
        """OSError if the disk refuses, ValueError or OverflowError if an event cannot be written: nothing was added."""
        self._write(b"E" + _NUMBER.pack(len(events)) + encode_block(events))

    def write_lost(self, count: int) -> None:
        self._write(b"L" + _LOST.pack(count))

    def write_closed(self) -> None:
        self._write(b"Z")

    def close(self) -> None:
        os.close(self._file)

    def _begin_next(self) -> None:
        """Open the next segment; if the disk refuses, the current one stays and nothing is left of the next."""
        number = self._number + 1
        path = self._directory / f"{number:06d}{SUFFIX}"
        header = _framed(b"H" + msgspec.msgpack.encode(to_plain(self._header)))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            end = _write_whole(file, MAGIC + _NUMBER.pack(number) + header, 0)
        except OSError:
            os.close(file)
            path.unlink()
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self._number, self._end = file, number, end

    def _write(self, body: bytes) -> None:
        if self._end >= self._segment_bytes:
            self._begin_next()
        end = _write_whole(self._file, _framed(body), self._end)
        self.written_bytes += end - self._end
        self._end = end


def _write_whole(file: int, data: bytes, at: int) -> int:
    """Write all of it and return where it ends, or cut the file back to where it was."""
    try:
        if os.pwrite(file, data, at) != len(data):
            raise OSError(errno.ENOSPC, "the disk took only a part")
    except OSError:
        os.ftruncate(file, at)
        raise
    return at + len(data)


def _framed(body: bytes) -> bytes:
    return _FRAME.pack(len(body), zlib.crc32(body)) + body


def read_frames(path: Path, number: int) -> Iterator[Frame]:
    """The whole frames of one segment; TraceError, naming why, at the first thing that is not one."""
    with path.open("rb") as file:
        start = file.read(len(MAGIC) + _NUMBER.size)
        if start != MAGIC + _NUMBER.pack(number):
            raise TraceError(f"{path} does not begin like segment {number} of a recording")
        offset = len(start)
        while head := file.read(_FRAME.size):
            body = _body(file, head, f"{path.name} at byte {offset}")
            yield Frame(body[:1], body[1:], path, offset)
            offset += _FRAME.size + len(body)


def _body(file: BinaryIO, head: bytes, where: str) -> bytes:
    if len(head) < _FRAME.size:
        raise TraceError(f"cut inside a frame's length in {where}")
    length, crc = _FRAME.unpack(head)
    if not 0 < length <= _MAX_BODY:
        raise TraceError(f"a frame of {length} bytes in {where}")
    body = file.read(length)
    if len(body) < length:
        raise TraceError(f"cut inside a frame in {where}")
    if zlib.crc32(body) != crc:
        raise TraceError(f"checksum of a frame does not fit in {where}")
    return body
