"""What the ordering sends on the streams, as bytes: batches, stubs, parcels, announcements.

    WHOLE         on the sender's multicast: a batch for the whole view, payloads included
    STUB          on the sender's multicast: a batch for some members; its payloads travel apart
    PARCEL        on the stream to one destination: the payloads of a stub (of another sender's, if a survivor forwards)
    ANNOUNCEMENT  on the coordinator's multicast: which batches got the next counter values, as runs

Items of a stream are bytes everywhere in the core, so that windows repair and fragment them without knowing them; these
are the bytes. `open_envelope` gives None for anything that is not one: every count is checked before it is used.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ringcast.core.packets import Envelope
from ringcast.window import LengthTable, Space

MOST = 2**63 - 1
_WHOLE, _STUB, _PARCEL, _ANNOUNCEMENT = 1, 2, 3, 4
_BATCH = struct.Struct("<BBqI")  # kind, flags, first, count
_FORWARDED = struct.Struct("<qH")  # view number, rank of the sender
_ANNOUNCED = struct.Struct("<BxHq")  # kind, runs, seq of the first tick
_RUN = struct.Struct("<HqI")  # rank of the sender, last number, ticks
_LENGTHS = LengthTable("I")

_UNIFORM = 1  # one length for all payloads
_NOT_TO_SELF = 2  # the sender wants no copy of its own
_FOREIGN = 4  # a survivor forwards another sender's parcel

HEAD_BYTES = _BATCH.size + _FORWARDED.size + _LENGTHS.field_bytes  # of a batch or a parcel, at most
PLACE_BYTES = _LENGTHS.field_bytes  # a message's place in the length table
BATCH_BYTES = HEAD_BYTES + PLACE_BYTES  # what an envelope adds to one message
MOST_RUNS = 64  # in one announcement: it stays below any frame
ANNOUNCEMENT_BYTES = _ANNOUNCED.size + MOST_RUNS * _RUN.size  # at most


def fit_envelope(sizes: list[int], space: Space, budget: int) -> int:
    """Count the leading messages that fit this space and one envelope of `budget` bytes. The first has room."""
    most = min(len(sizes), max(1, space.slots))
    room = min(budget - HEAD_BYTES, max(space.nbytes, sizes[0]) + PLACE_BYTES * most)
    if sizes.count(sizes[0]) == len(sizes):  # all of one size: the common case needs no table
        return min(most, room // (sizes[0] + PLACE_BYTES))
    ends = accumulate(size + PLACE_BYTES for size in sizes[:most])
    return bisect_right(list(ends), room)


class Whole(NamedTuple):
    first: int
    payloads: list[bytes]
    to_self: bool


@dataclass(frozen=True, slots=True)
class Stub:
    first: int
    count: int
    to: int


class Parcel(NamedTuple):
    """`origin` = (view number, rank) of the sender, if it is not who sent the parcel."""

    first: int
    payloads: list[bytes]
    origin: tuple[int, int] | None


class Ticks(NamedTuple):
    """The next batches of this sender, up to number `last`, got the next `ticks` counter values."""

    rank: int
    last: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Announcement:
    seq: int
    runs: list[Ticks]

    @property
    def ticks(self) -> int:
        return sum(run.ticks for run in self.runs)


Content = Whole | Stub | Parcel | Announcement


def pack_whole(first: int, payloads: list[bytes], *, to_self: bool) -> Envelope:
    is_uniform, lengths = _LENGTHS.pack(payloads)
    flags = _UNIFORM if is_uniform else 0
    head = _BATCH.pack(_WHOLE, flags | (0 if to_self else _NOT_TO_SELF), first, len(payloads))
    return Envelope(b"".join([head, lengths, *payloads]))


def pack_stub(first: int, count: int, to: int) -> Envelope:
    return Envelope(_BATCH.pack(_STUB, 0, first, count) + to.to_bytes((to.bit_length() + 7) // 8, "little"))


def pack_parcel(first: int, payloads: list[bytes], origin: tuple[int, int] | None = None) -> Envelope:
    is_uniform, lengths = _LENGTHS.pack(payloads)
    flags = _UNIFORM if is_uniform else 0
    head = _BATCH.pack(_PARCEL, flags | (0 if origin is None else _FOREIGN), first, len(payloads))
    return Envelope(b"".join([head, b"" if origin is None else _FORWARDED.pack(*origin), lengths, *payloads]))


def pack_announcement(announcement: Announcement) -> Envelope:
    runs = announcement.runs
    return Envelope(_ANNOUNCED.pack(_ANNOUNCEMENT, len(runs), announcement.seq) + b"".join(_RUN.pack(*r) for r in runs))


def open_envelope(data: bytes) -> Content | None:
    """What is in it, or None if that cannot be."""
    try:
        return _announcement(data) if data[:1] == bytes([_ANNOUNCEMENT]) else _batch(data)
    except (struct.error, ValueError):
        return None


def _batch(data: bytes) -> Content | None:
    kind, flags, first, count = _BATCH.unpack_from(data)
    if not 0 < first <= MOST - count or count < 1:
        return None
    at = _BATCH.size
    if kind == _STUB:
        return Stub(first, count, int.from_bytes(data[at:], "little"))
    if kind == _WHOLE:
        return Whole(first, _LENGTHS.read(data, at, count, bool(flags & _UNIFORM))[0], not flags & _NOT_TO_SELF)
    if kind != _PARCEL:
        return None
    origin = None
    if flags & _FOREIGN:
        number, rank = _FORWARDED.unpack_from(data, at)
        origin, at = (number, rank), at + _FORWARDED.size
    return Parcel(first, _LENGTHS.read(data, at, count, bool(flags & _UNIFORM))[0], origin)


def _announcement(data: bytes) -> Announcement | None:
    _, count, seq = _ANNOUNCED.unpack_from(data)
    if len(data) != _ANNOUNCED.size + count * _RUN.size or not 0 < seq <= MOST or not count:
        return None
    runs = [Ticks(*run) for run in _RUN.iter_unpack(data[_ANNOUNCED.size :])]
    return Announcement(seq, runs) if all(run.last > 0 and run.ticks > 0 for run in runs) else None
