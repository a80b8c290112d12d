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
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from ringcast.core.packets import Envelope

MOST = 2**63 - 1
_WHOLE, _STUB, _PARCEL, _ANNOUNCEMENT = 1, 2, 3, 4
_BATCH = struct.Struct("<BBqI")  # kind, flags, first, count
_FORWARDED = struct.Struct("<qH")  # view number, rank of the sender
_ANNOUNCED = struct.Struct("<BxHq")  # kind, runs, seq of the first tick
_RUN = struct.Struct("<HqI")  # rank of the sender, last number, ticks
_LENGTH = struct.Struct("<I")

_UNIFORM = 1  # one length for all payloads
_NOT_TO_SELF = 2  # the sender wants no copy of its own
_FOREIGN = 4  # a survivor forwards another sender's parcel
_CUTTER_ITEMS = 1_024

HEAD_BYTES = _BATCH.size + _FORWARDED.size + _LENGTH.size  # of a batch or a parcel, at most
PLACE_BYTES = _LENGTH.size  # a message's place in the length table
BATCH_BYTES = HEAD_BYTES + PLACE_BYTES  # what an envelope adds to one message
MOST_RUNS = 64  # in one announcement: it stays below any frame
ANNOUNCEMENT_BYTES = _ANNOUNCED.size + MOST_RUNS * _RUN.size  # at most


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
    flags, lengths = _lengths(payloads)
    head = _BATCH.pack(_WHOLE, flags | (0 if to_self else _NOT_TO_SELF), first, len(payloads))
    return Envelope(b"".join([head, lengths, *payloads]))


def pack_stub(first: int, count: int, to: int) -> Envelope:
    return Envelope(_BATCH.pack(_STUB, 0, first, count) + to.to_bytes((to.bit_length() + 7) // 8, "little"))


def pack_parcel(first: int, payloads: list[bytes], origin: tuple[int, int] | None = None) -> Envelope:
    flags, lengths = _lengths(payloads)
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
        return Whole(first, _payloads(data, at, flags, count), not flags & _NOT_TO_SELF)
    if kind != _PARCEL:
        return None
    origin = None
    if flags & _FOREIGN:
        number, rank = _FORWARDED.unpack_from(data, at)
        origin, at = (number, rank), at + _FORWARDED.size
    return Parcel(first, _payloads(data, at, flags, count), origin)


def _announcement(data: bytes) -> Announcement | None:
    _, count, seq = _ANNOUNCED.unpack_from(data)
    if len(data) != _ANNOUNCED.size + count * _RUN.size or not 0 < seq <= MOST or not count:
        return None
    runs = [Ticks(*run) for run in _RUN.iter_unpack(data[_ANNOUNCED.size :])]
    return Announcement(seq, runs) if all(run.last > 0 and run.ticks > 0 for run in runs) else None


def _lengths(payloads: list[bytes]) -> tuple[int, bytes]:
    """(flags, length table); empty messages always have the full table, so that no short frame can claim many."""
    lengths = list(map(len, payloads))
    if lengths[0] and lengths.count(lengths[0]) == len(lengths):
        return _UNIFORM, _LENGTH.pack(lengths[0])
    return 0, struct.pack(f"<{len(lengths)}I", *lengths)


def _payloads(data: bytes, at: int, flags: int, count: int) -> list[bytes]:
    if flags & _UNIFORM:
        return _uniform(data, at, count)
    start = at + _LENGTH.size * count
    if start > len(data):
        raise ValueError("no length table")
    ends = list(accumulate(struct.unpack_from(f"<{count}I", data, at), initial=start))
    if ends[-1] != len(data):
        raise ValueError("lengths do not add up")
    return [data[begin:end] for begin, end in pairwise(ends)]


def _uniform(data: bytes, at: int, count: int) -> list[bytes]:
    (length,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    if length == 0 or at + length * count != len(data):
        raise ValueError("lengths do not add up")
    if count > _CUTTER_ITEMS or length > 0xFFFF:
        return [data[at + length * n : at + length * (n + 1)] for n in range(count)]
    return list(_cutter(length, count).unpack_from(data, at))


@lru_cache(maxsize=64)
def _cutter(length: int, count: int) -> struct.Struct:
    return struct.Struct(f"{length}s" * count)
