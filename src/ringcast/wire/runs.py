"""Runs as bytes: the length table stands before the payloads, so a run is decoded with one struct call.

    channel 1 | flags 1 | count 4 | first 8 | low 8 | tag | origin (only if not the sender) | lengths | payloads

If all messages have one length the table is that one number, and the payloads are cut by one cached struct. Empty
messages always have the full table: otherwise a frame of a few bytes could claim thousands of them. A piece stands
alone in its frame, because one flag says that more follows. A run has one form only: flags that nobody writes are
refused, so that a reader may know the common forms by their bytes.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import accumulate, pairwise

from ringcast.core import Channel, Envelope, Piece, Run, Tag
from ringcast.model import Address
from ringcast.wire.header import AddressBook, Malformed, pack_address, pack_view_id
from ringcast.wire.limits import MAX_ITEMS, MAX_SEQNO

_RUN = struct.Struct("<BBIqq")
_EPOCH = struct.Struct("<q")
_LENGTH = struct.Struct("<H")

_CUTTER_ITEMS = 1_024  # a cached struct costs memory per item, and the sender chooses the count

_UNIFORM = 1  # one length for all
_MORE = 2  # a piece: more follows
_FOREIGN = 4  # the origin is not the sender: a survivor's repair
_SEALED = 8  # for the ordering, not for the application
_MARKS: dict[type, int] = {Piece: _MORE, Envelope: _SEALED}
_FORMS = (0, _UNIFORM, _UNIFORM | _MORE, _SEALED, _UNIFORM | _SEALED)  # each also with _FOREIGN


def pack_tag(tag: Tag) -> bytes:
    return _EPOCH.pack(tag) if isinstance(tag, int) else pack_view_id(tag)


def read_tag(book: AddressBook, channel: Channel, frame: bytes | memoryview, at: int) -> tuple[Tag, int]:
    if channel is Channel.GROUP:
        return book.read_view_id(frame, at)
    if at + _EPOCH.size > len(frame):
        raise Malformed("a tag is cut off")
    (epoch,) = _EPOCH.unpack_from(frame, at)
    if not 0 < epoch <= MAX_SEQNO:
        raise Malformed("an epoch out of range")
    return epoch, at + _EPOCH.size


def pack_run(run: Run, sender: Address, packed_tag: bytes) -> list[bytes]:
    """The parts of the frame behind the head, to be joined once."""
    items = run.items
    lengths: list[int] = []
    each = run.each
    if not each:
        lengths = list(map(len, items))
        each = lengths[0] if lengths.count(lengths[0]) == len(lengths) else 0
    flags = (_UNIFORM if each else 0) | _MARKS.get(type(items[0]), 0)
    parts = [b"", packed_tag]
    if run.origin != sender:
        flags |= _FOREIGN
        parts.append(pack_address(run.origin))
    parts[0] = _RUN.pack(run.channel, flags, len(items), run.first, run.low)
    parts.append(_LENGTH.pack(each) if each else struct.pack(f"<{len(lengths)}H", *lengths))
    parts += items
    return parts


class Source:
    """Whom a head stands for, and how the multicast runs behind it look, whose numbers alone change from run to run.

    At full speed nearly every frame is such a run: it is read by two struct calls and three comparisons.
    """

    __slots__ = ("_packed_tag", "_shape", "_start", "_tag", "end", "kind", "sender")

    def __init__(self, kind: int, sender: Address, end: int) -> None:
        self.kind = kind
        self.sender = sender
        self.end = end  # where the head ends
        self._tag: Tag = 0
        self._packed_tag = b"none yet"  # no tag that `_shape(0)` reads equals it
        self._shape = _shape(0)
        self._start = 0

    def read_run(self, book: AddressBook, frame: bytes | memoryview) -> Run:
        return self._like_the_last(frame) or self._read_and_learn(book, frame)

    def _like_the_last(self, frame: bytes | memoryview) -> Run | None:
        try:
            channel, flags, count, first, low, tag, each = self._shape.unpack_from(frame, self.end)
        except struct.error:
            return None
        if tag != self._packed_tag or channel != Channel.GROUP or flags & ~_MORE != _UNIFORM:
            return None
        is_sound = 0 < count <= _CUTTER_ITEMS and 0 <= low < first <= MAX_SEQNO - count and each > 0
        if not is_sound or self._start + each * count != len(frame):
            return None
        if flags & _MORE and count != 1:
            return None
        items = list(_cutter(each, count).unpack_from(frame, self._start))
        if flags & _MORE:
            items = [Piece(items[0])]
        return Run(Channel.GROUP, self._tag, self.sender, first, low, items, each * count, each)

    def _read_and_learn(self, book: AddressBook, frame: bytes | memoryview) -> Run:
        run = read_run(book, self.sender, frame, self.end)
        if run.channel is Channel.GROUP and run.tag is not self._tag:
            self._tag, self._packed_tag = run.tag, pack_tag(run.tag)
            self._shape = _shape(len(self._packed_tag))
            self._start = self.end + self._shape.size
        return run


@lru_cache(maxsize=64)
def _shape(tag_bytes: int) -> struct.Struct:
    return struct.Struct(f"<BBIqq{tag_bytes}sH")


def read_run(book: AddressBook, sender: Address, frame: bytes | memoryview, at: int) -> Run:
    try:
        number, flags, count, first, low = _RUN.unpack_from(frame, at)
        channel = _CHANNELS[number]
    except (struct.error, IndexError):
        raise Malformed("a run without its head") from None
    if not 0 < count <= MAX_ITEMS or not 0 <= low < first <= MAX_SEQNO - count:
        raise Malformed("a run with numbers out of range")
    if flags & ~_FOREIGN not in _FORMS:
        raise Malformed("a run with flags that do not go together")
    tag, at = read_tag(book, channel, frame, at + _RUN.size)
    origin = sender
    if flags & _FOREIGN:
        origin, at = book.read_address(frame, at)
        if origin == sender:
            raise Malformed("a repair of the sender's own")
    if flags & _UNIFORM:
        items, nbytes = _uniform(frame, at, count)
    else:
        items, nbytes = _ragged(frame, at, count)
    if flags & _MORE:
        if count != 1:
            raise Malformed("a piece that does not stand alone")
        items = [Piece(items[0])]
    elif flags & _SEALED:
        items = list(map(Envelope, items))
    return Run(channel, tag, origin, first, low, items, nbytes)


_CHANNELS = tuple(Channel)


def _uniform(frame: bytes | memoryview, at: int, count: int) -> tuple[list[bytes], int]:
    if at + _LENGTH.size > len(frame):
        raise Malformed("a run without its lengths")
    (length,) = _LENGTH.unpack_from(frame, at)
    at += _LENGTH.size
    if length == 0 or at + length * count != len(frame):
        raise Malformed("a run whose lengths do not add up")
    if count > _CUTTER_ITEMS:
        whole = bytes(frame)
        cut = [whole[at + length * n : at + length * (n + 1)] for n in range(count)]
        return cut, length * count
    return list(_cutter(length, count).unpack_from(frame, at)), length * count


@lru_cache(maxsize=64)
def _cutter(length: int, count: int) -> struct.Struct:
    return struct.Struct(f"{length}s" * count)


def _ragged(frame: bytes | memoryview, at: int, count: int) -> tuple[list[bytes], int]:
    start = at + _LENGTH.size * count
    if start > len(frame):
        raise Malformed("a run without its lengths")
    lengths = struct.unpack_from(f"<{count}H", frame, at)
    ends = list(accumulate(lengths, initial=start))
    if ends[-1] != len(frame):
        raise Malformed("a run whose lengths do not add up")
    whole = bytes(frame)  # cutting bytes costs less than cutting a view and copying each part
    return [whole[begin:end] for begin, end in pairwise(ends)], ends[-1] - start
