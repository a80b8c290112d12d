"""Segment files: framed, checksummed, append-only; what was flushed survives any crash of the process.

    segment = magic, segment number, frame...
    frame   = length (u32), crc32 (u32), body           body = tag, payload
    tags      H header and start of the segment    E events (u32 count, block)    L lost events (u64)    Z closed

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
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from ringcast.model import Event, Kind, ViewId
from ringcast.trace.block import MAX_BLOCK_BYTES, encode_block
from ringcast.trace.errors import TraceError
from ringcast.trace.header import Header, SegmentStart, from_frame, to_frame

MAGIC = b"RCT\x01"
SUFFIX = ".rct"
UNDER_WAY = "_"
_FRAME = struct.Struct("<II")
_NUMBER = struct.Struct("<I")
_LOST = struct.Struct("<Q")
_MAX_BODY = MAX_BLOCK_BYTES + 64
_START = len(MAGIC) + _NUMBER.size
_VIEW = Kind.VIEW
Bytes = TypeVar("Bytes", bytes, memoryview)


class Frame(NamedTuple):
    """One whole, checked frame and where it stands."""

    tag: bytes
    payload: bytes
    path: Path
    offset: int


class SegmentWriter:
    """Appends frames to a segment file, beginning a new one when it is full.

    The segment under way is `_NNNNNN.rct`, a name that Spark's listings leave out; when it is finished it gets its own
    name, `NNNNNN.rct`, in one step, and nobody writes to it again.
    Invariant: the current file ends at `_end`, the end of its last whole frame.
    """

    def __init__(self, directory: Path, header: Header, segment_bytes: int, segment_events: int) -> None:
        self.written_bytes = 0
        self._directory = directory
        self._header = header
        self._segment_bytes = segment_bytes
        self._segment_events = segment_events
        self._start = SegmentStart()
        self._file = -1
        self._end = 0
        self._events = 0  # in the current segment
        self._view: ViewId | None = None
        self._dropped = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.glob("*" + SUFFIX)):
                raise TraceError(f"{directory} already holds a recording")
            self._file, self._end = self._create(self._start)
        except OSError as error:
            raise TraceError(f"cannot record in {directory}: {error.strerror or error}") from None

    def write_events(self, events: Sequence[Event]) -> None:
        """OSError if the disk refuses, ValueError or OverflowError if an event cannot be written: nothing was added."""
        self._write(b"E" + _NUMBER.pack(len(events)) + encode_block(events))
        self._events += len(events)
        for event in events:
            if event.kind is _VIEW:
                self._view = event.view

    def write_lost(self, count: int) -> None:
        self._write(b"L" + _LOST.pack(count))
        self._dropped += count

    def write_closed(self) -> None:
        self._write(b"Z")

    def finish_segment(self) -> None:
        """Begin a new segment if this one has events: they can then be read by those who read finished ones only."""
        if self._events:
            self._begin_next()

    def close(self) -> None:
        """Nothing more will be written: the last segment gets its own name."""
        os.close(self._file)
        self._rename()

    def cut(self) -> None:
        """Stop as a crash would: the segment keeps the name of one that is under way."""
        os.close(self._file)

    def _begin_next(self) -> None:
        """Open the next segment; if the disk refuses, the current one stays and nothing is left of the next."""
        first = self._start.first_index + self._events
        start = SegmentStart(self._start.number + 1, first, self._view, self._dropped)
        file, end = self._create(start)
        try:
            self._rename()
        except OSError:
            os.close(file)
            self._path(start).unlink()
            raise
        os.close(self._file)
        self._file, self._start, self._end, self._events = file, start, end, 0

    def _create(self, start: SegmentStart) -> tuple[int, int]:
        path = self._path(start)
        header = _framed(b"H" + to_frame(self._header, start))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            return file, _write_whole(file, MAGIC + _NUMBER.pack(start.number) + header, 0)
        except OSError:
            os.close(file)
            path.unlink()
            raise

    def _path(self, start: SegmentStart) -> Path:
        return self._directory / f"{UNDER_WAY}{start.number:06d}{SUFFIX}"

    def _rename(self) -> None:
        path = self._path(self._start)
        path.rename(finished(path))

    def _write(self, body: bytes) -> None:
        if self._end >= self._segment_bytes or self._events >= self._segment_events:
            self._begin_next()
        end = _write_whole(self._file, _framed(body), self._end)
        self.written_bytes += end - self._end
        self._end = end


def finished(path: Path) -> Path:
    """The name of a segment when it is finished."""
    return path.with_name(path.name.removeprefix(UNDER_WAY))


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
    with _open(path) as file:
        start = file.read(_START)
        if start != MAGIC + _NUMBER.pack(number):
            raise TraceError(f"{path} does not begin like segment {number} of a recording")
        offset = len(start)
        while head := file.read(_FRAME.size):
            length = _length(head, path.name, offset)
            body = _checked(file.read(length), head, path.name, offset)
            yield Frame(body[:1], body[1:], path, offset)
            offset += _FRAME.size + len(body)


def segment_number(data: bytes, name: str) -> int:
    """The number of the segment whose bytes these are; TraceError if they are none."""
    if len(data) < _START or data[: len(MAGIC)] != MAGIC:
        raise TraceError(f"{name} does not begin like a segment of a recording")
    return int(_NUMBER.unpack_from(data, len(MAGIC))[0])


def frames_in(data: bytes, name: str) -> Iterator[tuple[bytes, memoryview]]:
    """Tag and payload of the frames in a segment's bytes; TraceError at the first thing that is not a frame."""
    view, offset = memoryview(data), _START
    while offset < len(view):
        head = view[offset : offset + _FRAME.size]
        begin = offset + _FRAME.size
        body = _checked(view[begin : begin + _length(head, name, offset)], head, name, offset)
        yield bytes(body[:1]), body[1:]
        offset = begin + len(body)


def under_run(data: bytes, run: str) -> bytes:
    """The bytes of a segment as a part of another run: only its header differs. TraceError if these are none."""
    number = segment_number(data, "this")
    tag, payload = next(frames_in(data, "this"), (b"", memoryview(b"")))
    if tag != b"H":
        raise TraceError("this segment does not begin with a header")
    header, start = from_frame(payload, number)
    if start is None:
        raise TraceError("a segment of an older recording does not say where it begins")
    rest = data[_START + _FRAME.size + len(tag) + len(payload) :]
    return data[:_START] + _framed(b"H" + to_frame(replace(header, run=run), start)) + rest


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return finished(path).open("rb")  # It was finished after the directory was listed.


def _length(head: bytes | memoryview, name: str, offset: int) -> int:
    if len(head) < _FRAME.size:
        raise TraceError(f"cut inside a frame's length in {name} at byte {offset}")
    length: int = _FRAME.unpack(head)[0]
    if not 0 < length <= _MAX_BODY:
        raise TraceError(f"a frame of {length} bytes in {name} at byte {offset}")
    return length


def _checked(body: Bytes, head: bytes | memoryview, name: str, offset: int) -> Bytes:
    length, crc = _FRAME.unpack(head)
    if len(body) < length:
        raise TraceError(f"cut inside a frame in {name} at byte {offset}")
    if zlib.crc32(body) != crc:
        raise TraceError(f"checksum of a frame does not fit in {name} at byte {offset}")
    return body
