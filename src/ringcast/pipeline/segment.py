"""A segment of a recording as numpy columns: what a kernel gets to see, decoded from bytes and from nothing else.

A segment stands alone: its header says the run, group, member, number, the index of its first event and the view that
was installed there. Damage ends the columns where it begins and is named; it never stops a job.
Not a reader of files: where the bytes come from is Spark's affair (or the caller's).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ringcast.model import Address, Kind, ViewId
from ringcast.trace import (
    COLUMNS,
    Header,
    PackedBlock,
    PackedColumn,
    SegmentStart,
    TraceError,
    frames_in,
    from_frame,
    open_block,
    open_detail,
    segment_number,
)

Array = np.ndarray[Any, np.dtype[Any]]
_TYPES = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<i8"}
_ZERO: Array = np.zeros(1, dtype=np.int64)
_KNOWN_KINDS = np.zeros(256, dtype=bool)
_KNOWN_KINDS[[int(kind) for kind in Kind]] = True
_DICTIONARIES = ("view", "peer", "detail")


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """Who recorded this segment, in which run, and where in the recording it begins."""

    recording: Header
    run: str
    number: int
    first_index: int
    view: ViewId | None  # installed at the first event
    dropped: int  # events that were lost before this segment

    @property
    def group(self) -> str:
        return self.recording.group

    @property
    def member(self) -> Address:
        return self.recording.member

    @property
    def incarnation(self) -> int:
        return self.recording.member.incarnation

    @property
    def clock(self) -> str:
        return self.recording.clock

    @property
    def schema(self) -> int:
        return self.recording.schema

    @property
    def config(self) -> Mapping[str, Any]:
        return self.recording.config


@dataclass(frozen=True, slots=True)
class Segment:
    """Columns of equal length, in the member's own order; `view`, `peer`, `detail` are places in the lists, -1 is none;
    equal details have one place.

    `lost`: events lost inside this segment. `hole`: index of the first event after a loss, in or before this segment;
    what comes after it may be shown but not judged. `closed`: the recording ends here, in good order. `damage`: why
    decoding ended early.
    """

    path: str
    header: SegmentHeader
    kind: Array
    t_ns: Array
    view: Array
    peer: Array
    stream: Array
    first: Array
    count: Array
    ordinal: Array
    value: Array
    other: Array
    detail: Array
    content: Array
    views: list[ViewId]
    addresses: list[Address]
    details: list[Mapping[str, Any]]
    closed: bool = False
    lost: int = 0
    hole: int | None = None
    damage: str | None = None

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def index(self) -> Array:
        """The place of each event in its recording."""
        return self.header.first_index + np.arange(len(self), dtype=np.int64)

    def judgeable(self) -> Segment:
        """The events before the first hole: those from which a guarantee may be judged."""
        if self.hole is None:
            return self
        end = max(0, self.hole - self.header.first_index)
        return self if end >= len(self) else self.cut(end)

    def cut(self, end: int) -> Segment:
        """The first `end` events of this segment."""
        columns = {name: getattr(self, name)[:end] for name in COLUMNS}
        return replace(self, **columns, closed=False)


def decode(data: bytes, path: str, start: SegmentStart | None = None) -> Segment:
    """The events of one segment. TraceError if these bytes have no readable header.

    `start` is for the later segments of an older recording, which do not say where they begin.
    """
    name = path.rpartition("/")[2]
    number = segment_number(data, name)
    gathering = _Gathering()
    header: SegmentHeader | None = None
    closed, damage, lost, hole = False, None, 0, None
    try:
        for tag, payload in frames_in(data, name):
            closed = tag == b"Z"
            if header is None:
                header = _header(tag, payload, path, number, start)
            elif tag == b"E":
                gathering.add(payload[4:])
            elif tag == b"L":
                lost += int.from_bytes(payload[:8], "little")
                hole = gathering.count if hole is None else hole
            elif tag not in b"HZ":
                raise TraceError(f"unknown frame {tag!r} in {name}")
    except TraceError as error:
        if header is None:
            raise
        closed, damage = False, str(error)
    if header is None:
        raise TraceError(f"{name} was cut before its header")
    first_lost = header.first_index if header.dropped else None if hole is None else header.first_index + hole
    return gathering.segment(path, header, closed=closed, lost=lost, hole=first_lost, damage=damage)


def header_of(data: bytes, path: str) -> SegmentHeader:
    """The header alone. TraceError if these bytes have no readable one."""
    name = path.rpartition("/")[2]
    number = segment_number(data, name)
    for tag, payload in frames_in(data, name):
        return _header(tag, payload, path, number, None)
    raise TraceError(f"{name} was cut before its header")


def run_of(path: str) -> str:
    """The run of a recording that names none: the URI of the directory that holds the members' recordings."""
    scheme, colon, rest = path.partition(":")
    place = "/".join((rest if colon and "/" not in scheme else path).split("/")[:-2])
    if not colon or "/" in scheme or scheme == "file":
        return "file:///" + place.lstrip("/")
    return f"{scheme}:{place}"


def _header(tag: bytes, payload: memoryview, path: str, number: int, start: SegmentStart | None) -> SegmentHeader:
    if tag != b"H":
        raise TraceError(f"{path} does not begin with a header")
    recording, said = from_frame(payload, number)
    begin = said or start
    if begin is None:
        raise TraceError(
            "an older recording in several segments, each of which needs those before it: judge it with --checkers"
        )
    run = recording.run or run_of(path)
    return SegmentHeader(recording, run, number, begin.first_index, begin.view, begin.dropped)


@dataclass(slots=True)
class _Gathering:
    """The blocks so far, still packed; their dictionaries are already those of the segment."""

    count: int = 0
    blocks: list[PackedBlock] = field(default_factory=list)
    moved: list[dict[str, Array]] = field(default_factory=list)  # of each block, by column: places in the segment's
    addresses: dict[Address, int] = field(default_factory=dict)
    views: dict[ViewId, int] = field(default_factory=dict)
    details: dict[bytes, int] = field(default_factory=dict)
    opened: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, payload: memoryview) -> None:
        """Add one block, or nothing and a TraceError if it is damaged."""
        block = open_block(payload)
        _check(block)
        new = [data for data in dict.fromkeys(block.details) if data not in self.details]
        opened = [open_detail(data) for data in new]
        self.details.update(zip(new, range(len(self.details), len(self.details) + len(new)), strict=True))
        self.opened.extend(opened)
        self.moved.append(
            {
                "view": _meanings(_places(self.views, block.views)),
                "peer": _meanings(_places(self.addresses, block.addresses)),
                "detail": _meanings([self.details[data] for data in block.details]),
            }
        )
        self.blocks.append(block)
        self.count += block.count

    def segment(self, path: str, header: SegmentHeader, **ending: Any) -> Segment:
        whole: dict[str, Any] = {name: self._column(place) for place, name in enumerate(COLUMNS)}
        dictionaries: dict[str, Any] = {"views": list(self.views), "addresses": list(self.addresses)}
        return Segment(path=path, header=header, **whole, **dictionaries, details=self.opened, **ending)

    def _column(self, place: int) -> Array:
        """One column of all blocks; each value is written once."""
        name, begin = COLUMNS[place], 0
        parts = [block.columns[place] for block in self.blocks]
        if name not in _DICTIONARIES and not any(part.width or part.base for part in parts):
            return np.zeros(self.count, dtype=np.int64)
        whole: Array = np.empty(self.count, dtype=np.uint8 if name == "kind" else np.int64)
        for block, part, moved in zip(self.blocks, parts, self.moved, strict=True):
            here = whole[begin : begin + block.count]
            begin += block.count
            if part.width == 0:
                here[:] = moved[name][part.base] if name in _DICTIONARIES else part.base
            elif name in _DICTIONARIES:  # -1 is the last of them, as everywhere in numpy
                moved[name].take(_stored(part) + np.int64(part.base), out=here, mode="wrap")
            else:
                np.add(_stored(part), np.int64(part.base), out=here, casting="unsafe")
        return whole


def _stored(column: PackedColumn) -> Array:
    """The differences from the base; 64 bits wrap, as the sum with the base does."""
    return np.frombuffer(column.data, dtype=_TYPES[column.width])


def _check(block: PackedBlock) -> None:
    """TraceError for numbers of more than 64 bits, unknown kinds, and places outside a dictionary."""
    sizes = {"view": len(block.views), "peer": len(block.addresses), "detail": len(block.details)}
    for name, column in zip(COLUMNS, block.columns, strict=True):
        if not -(1 << 63) <= column.base < 1 << 63:
            raise TraceError(f"damaged block: column {name} begins at {column.base}")
        if name != "kind" and name not in sizes:
            continue
        stored = _stored(column) if column.width else _ZERO
        low, high = column.base + int(stored.min()), column.base + int(stored.max())
        if name != "kind" and (low < -1 or high >= sizes[name]):
            raise TraceError(f"damaged block: column {name} points outside its dictionary")
        if name == "kind" and (low < 0 or high > 255 or not _KNOWN_KINDS[stored + np.int64(column.base)].all()):
            raise TraceError("damaged block: unknown kind of event")


def _places(known: dict[Any, int], values: Sequence[Any]) -> list[int]:
    return [known.setdefault(value, len(known)) for value in values]


def _meanings(places: Sequence[int]) -> Array:
    """By place in a block's dictionary the place in the segment's; the last one answers for -1."""
    return np.array([*places, -1], dtype=np.int64)
