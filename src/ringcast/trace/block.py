"""A block of events as columns of integers, and back.

Each block stands alone: it carries its own dictionaries of addresses, view ids and details, so a reader needs nothing
from before it and a cut file loses only what comes after the cut. A column is stored as its smallest value plus
unsigned differences in the narrowest machine type; a constant column costs nothing.
Not a file: framing, checksums and segments are in segment.py.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace.details import as_address
from ringcast.trace.errors import TraceError

MAX_BLOCK_EVENTS = 1 << 16
MAX_BLOCK_BYTES = 1 << 26
MAX_VIEW_NUMBER = 1 << 62
# Judges look at some messages one by one, and add to numbers: what no member can have recorded is damage.
_BOUNDS = {"first": (-(1 << 62), 1 << 62), "count": (0, 1 << 22), "ordinal": (-(1 << 62), 1 << 62)}
NUMBERS = ("stream", "first", "count", "ordinal", "value", "other")
COLUMNS = ("kind", "t_ns", "view", "peer", *NUMBERS, "detail", "content")
_ADDED = 1  # columns that older recordings lack; they read as 0

_encode = msgspec.msgpack.Encoder().encode
_CODES = "BHIQ"
_WIDTH = {code: array(code).itemsize for code in _CODES}
_KINDS: dict[int, Kind] = {kind.value: kind for kind in Kind}
_SWAP = sys.byteorder == "big"
_WORTH_PACKING = 512
_CODE_OF = {width: code for code, width in _WIDTH.items()}
_DAMAGED = (
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    zlib.error,
    msgspec.MsgspecError,
)


@dataclass(frozen=True, slots=True)
class Columns:
    """A decoded block: columns of equal length; view, peer and detail are positions in the dictionaries, -1 is none."""

    count: int
    addresses: Sequence[Address]
    views: Sequence[ViewId]
    details: Sequence[Mapping[str, Any]]
    numbers: Mapping[str, Sequence[int]]

    def events(self) -> list[Event]:
        numbers = self.numbers
        views, peers, details = [*self.views, None], [*self.addresses, None], [*self.details, None]
        rows = zip(*(numbers[name] for name in COLUMNS), strict=True)
        return [
            Event(_KINDS[kind], t_ns, views[view], peers[peer], stream, first, count, ordinal, a, b, details[detail], c)
            for kind, t_ns, view, peer, stream, first, count, ordinal, a, b, detail, c in rows
        ]


def encode_block(events: Sequence[Event]) -> bytes:
    """The bytes of these events. ValueError or OverflowError if a number does not fit 64 bits."""
    address_index: dict[Address, int] = {}
    view_index: dict[ViewId, int] = {}
    detail_index: dict[bytes, int] = {}
    packed = [
        _pack([e.kind for e in events]),
        _pack([e.t_ns for e in events]),
        _pack([-1 if e.view is None else view_index.setdefault(e.view, len(view_index)) for e in events]),
        _pack([-1 if e.peer is None else address_index.setdefault(e.peer, len(address_index)) for e in events]),
        *(_pack(list(map(attrgetter(name), events))) for name in NUMBERS),
        _pack([-1 if e.detail is None else _place(detail_index, e.detail) for e in events]),
        _pack([e.content for e in events]),
    ]
    specs = [(base, code) for base, code, _ in packed]
    meta = (
        _encode([len(events), list(address_index), list(view_index), specs]),
        _encode(list(map(msgspec.Raw, detail_index))),
    )
    raw = b"".join([*(len(part).to_bytes(4, "little") + part for part in meta), *(data for _, _, data in packed)])
    small = zlib.compress(raw, 1) if len(raw) > _WORTH_PACKING else raw
    return b"\x01" + small if len(small) < len(raw) else b"\x00" + raw


class PackedColumn(NamedTuple):
    """A column as it is stored: `base` plus little-endian unsigned integers of `width` bytes; width 0 is a constant."""

    base: int
    width: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A block whose columns, in the order of COLUMNS, are still packed; so are its details (`open_detail`), of which
    many may be equal."""

    count: int
    addresses: Sequence[Address]
    views: Sequence[ViewId]
    details: Sequence[bytes]
    columns: Sequence[PackedColumn]


def open_block(data: bytes | memoryview) -> PackedBlock:
    """The dictionaries and packed columns in these bytes; TraceError for anything that encode_block did not write."""
    try:
        return _open(data)
    except _DAMAGED as error:
        raise TraceError(f"damaged block: {error}") from None


def open_detail(data: bytes) -> Mapping[str, Any]:
    """One detail of a packed block; TraceError if it is none."""
    try:
        detail = msgspec.msgpack.decode(data)
    except _DAMAGED as error:
        raise TraceError(f"damaged block: {error}") from None
    if not isinstance(detail, dict):
        raise TraceError("damaged block: a detail is not a map")
    return detail


def decode_block(data: bytes | memoryview) -> Columns:
    """The columns in these bytes; TraceError for anything that encode_block did not write."""
    packed = open_block(data)
    try:
        numbers = {name: _unpack(column, packed.count) for name, column in zip(COLUMNS, packed.columns, strict=True)}
        details = {data: open_detail(data) for data in dict.fromkeys(packed.details)}
        known = [details[data] for data in packed.details]
        columns = Columns(packed.count, packed.addresses, packed.views, known, numbers)
        _check(columns)
    except _DAMAGED as error:
        raise TraceError(f"damaged block: {error}") from None
    return columns


def _open(data: bytes | memoryview) -> PackedBlock:
    raw = memoryview(_unpack_bytes(data))
    meta, at = _part(raw, 0)
    details, at = _part(raw, at, list[msgspec.Raw])
    count, addresses, views, specs = meta
    if not isinstance(count, int) or not 0 < count <= MAX_BLOCK_EVENTS or not 0 <= len(COLUMNS) - len(specs) <= _ADDED:
        raise ValueError(f"{count} events in {len(specs)} columns")
    columns = []
    for base, code in [*specs, *[(0, "")] * (len(COLUMNS) - len(specs))]:
        if not isinstance(base, int):
            raise ValueError(f"column base {base!r}")
        width = _WIDTH[code] if code else 0
        end = at + width * count
        if end > len(raw):
            raise ValueError("column shorter than its count")
        columns.append(PackedColumn(base, width, raw[at:end]))
        at = end
    for name, bounds in _BOUNDS.items():
        _check_bounds(name, columns[COLUMNS.index(name)], count, *bounds)
    view_ids = [ViewId(number, as_address(creator)) for number, creator in views]
    if not all(0 <= view.number <= MAX_VIEW_NUMBER for view in view_ids):
        raise ValueError("a view number that no view can have")
    return PackedBlock(count, [as_address(a) for a in addresses], view_ids, list(map(bytes, details)), columns)


def _check_bounds(name: str, column: PackedColumn, count: int, lowest: int, highest: int) -> None:
    if column.base < lowest:
        raise ValueError(f"column {name} begins at {column.base}")
    if column.base + (1 << 8 * column.width) - 1 > highest and (most := max(_unpack(column, count))) > highest:
        raise ValueError(f"column {name} goes up to {most}")


def _check(columns: Columns) -> None:
    if any(kind not in _KINDS for kind in set(columns.numbers["kind"])):
        raise ValueError("unknown kind of event")
    for name, known in (("view", columns.views), ("peer", columns.addresses), ("detail", columns.details)):
        if min(columns.numbers[name]) < -1 or max(columns.numbers[name]) >= len(known):
            raise ValueError(f"column {name} points outside its dictionary")


def _place(known: dict[bytes, int], detail: Mapping[str, Any]) -> int:
    return known.setdefault(_plain(detail), len(known))


def _plain(detail: Mapping[str, Any]) -> bytes:
    """The detail itself if it can be written, else its text: a strange value must not cost the recording."""
    try:
        return _encode(dict(detail))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _encode({str(key): repr(value) for key, value in detail.items()})


def _pack(column: Sequence[int]) -> tuple[int, str, bytes]:
    base, top = min(column), max(column)
    if base == top:
        return int(base), "", b""
    code = _narrowest(top - base)
    packed = array(code, column if base == 0 else [v - base for v in column])
    if _SWAP:
        packed.byteswap()
    return int(base), code, packed.tobytes()


def _narrowest(span: int) -> str:
    for code in _CODES:
        if span >> (8 * _WIDTH[code]) == 0:
            return code
    raise OverflowError(f"a column spans {span}, more than 64 bits")


def _unpack(column: PackedColumn, count: int) -> Sequence[int]:
    if column.width == 0:
        return [column.base] * count
    packed = array(_CODE_OF[column.width], column.data.tobytes())
    if _SWAP:
        packed.byteswap()
    return packed if column.base == 0 else [v + column.base for v in packed]


def _unpack_bytes(data: bytes | memoryview) -> bytes | memoryview:
    if data[:1] == b"\x00":
        return data[1:]
    if data[:1] != b"\x01":
        raise ValueError("unknown packing")
    inflate = zlib.decompressobj()
    raw = inflate.decompress(data[1:], MAX_BLOCK_BYTES)
    if not inflate.eof:
        raise ValueError(f"more than {MAX_BLOCK_BYTES} bytes when unpacked, or cut short")
    return raw


def _part(raw: memoryview, at: int, kind: Any = Any) -> tuple[Any, int]:
    end = at + 4 + int.from_bytes(raw[at : at + 4], "little")
    if len(raw) < end:
        raise ValueError("dictionary longer than the block")
    return msgspec.msgpack.decode(raw[at + 4 : end], type=kind), end
