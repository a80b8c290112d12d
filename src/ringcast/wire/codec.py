"""Bytes <-> packets, for one member of one group.

`decode` gives (sender, packet) or a Drop with a reason, for any bytes at all; it raises nothing and allocates no
more than the frame's own size. `encode` gives a frame; the core has cut runs so that it fits.
Sequence numbers are signed 64-bit fields. Never pickle.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache

from ringcast.core import (
    Ack,
    Channel,
    Drop,
    Envelope,
    Highest,
    Loose,
    Packet,
    Piece,
    Request,
    Reset,
    Run,
    Tag,
    Unrepairable,
)
from ringcast.model import Address
from ringcast.window import CUTTER_ITEMS, LengthTable, cutter
from ringcast.wire.control import decode_control, encode_control
from ringcast.wire.header import (
    ADDRESS_BYTES,
    HEAD_BYTES,
    KIND_AT,
    AddressBook,
    Malformed,
    address_end,
    address_tag,
    for_everybody,
    group_tag,
    pack_address,
    pack_head,
    pack_view_id,
    read_head,
    remember,
)
from ringcast.wire.limits import MAX_ITEMS, MAX_RANGES, MAX_SEQNO, SEALED_MAGIC

# Runs as bytes: the length table stands before the payloads, so a run is decoded with one struct call.
#
#     channel 1 | flags 1 | count 4 | first 8 | low 8 | tag | origin (only if not the sender) | lengths | payloads
#
# The length table is that of window/lengths.py. A piece stands alone in its frame, because one flag says that more
# follows. A run has one form only: flags that nobody writes are refused, so that a reader may know the common forms by
# their bytes.


_CHANNELS = tuple(Channel)  # by number
_RUN_HEAD = struct.Struct("<BBIqq")
_EPOCH = struct.Struct("<q")
_LENGTHS = LengthTable("H")

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
    is_uniform, lengths = _LENGTHS.pack(items, run.each)
    flags = (_UNIFORM if is_uniform else 0) | _MARKS.get(type(items[0]), 0)
    parts = [b"", packed_tag]
    if run.origin != sender:
        flags |= _FOREIGN
        parts.append(pack_address(run.origin))
    parts[0] = _RUN_HEAD.pack(run.channel, flags, len(items), run.first, run.low)
    parts.append(lengths)
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
        is_sound = 0 < count <= CUTTER_ITEMS and 0 <= low < first <= MAX_SEQNO - count and each > 0
        if not is_sound or self._start + each * count != len(frame):
            return None
        if flags & _MORE and count != 1:
            return None
        items = list(cutter(each, count).unpack_from(frame, self._start))
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
        number, flags, count, first, low = _RUN_HEAD.unpack_from(frame, at)
        channel = _CHANNELS[number]
    except (struct.error, IndexError):
        raise Malformed("a run without its head") from None
    if not 0 < count <= MAX_ITEMS or not 0 <= low < first <= MAX_SEQNO - count:
        raise Malformed("a run with numbers out of range")
    if flags & ~_FOREIGN not in _FORMS:
        raise Malformed("a run with flags that do not go together")
    tag, at = read_tag(book, channel, frame, at + _RUN_HEAD.size)
    origin = sender
    if flags & _FOREIGN:
        origin, at = book.read_address(frame, at)
        if origin == sender:
            raise Malformed("a repair of the sender's own")
    try:
        items, nbytes = _LENGTHS.read(frame, at, count, bool(flags & _UNIFORM))
    except ValueError as error:
        raise Malformed(f"a run {error}") from None
    if flags & _MORE:
        if count != 1:
            raise Malformed("a piece that does not stand alone")
        items = [Piece(items[0])]
    elif flags & _SEALED:
        items = list(map(Envelope, items))
    return Run(channel, tag, origin, first, low, items, nbytes)


def _native() -> Callable[..., bytes | None] | None:
    """`pack_run` for runs of whole messages of one's own, joined, where the native part was built (decision 0211)."""
    try:
        from ringcast.native import _frames
    except ImportError:
        return None
    return _frames.run_frame


_frame_of = _native()

_RUN, _ACK, _REQUEST, _HIGHEST, _UNREPAIRABLE, _RESET, _LOOSE = range(1, 8)
_KINDS: dict[type, int] = {
    Run: _RUN,
    Ack: _ACK,
    Request: _REQUEST,
    Highest: _HIGHEST,
    Unrepairable: _UNREPAIRABLE,
    Reset: _RESET,
    Loose: _LOOSE,
}

_NUMBERED = (_ACK, _HIGHEST)  # kinds that end with numbers, and repeat what stands before them

ENCRYPTED = "encrypted, and this member has no key"
_PACKED_CHANNELS = tuple(bytes([channel]) for channel in Channel)
_NONE = struct.Struct("<")
_ONE = struct.Struct("<q")
_TWO = struct.Struct("<qq")
_COUNT = struct.Struct("<H")


class Codec:
    """What this member writes and reads. Remembers packed heads and tags, which repeat in every frame."""

    def __init__(self, group: str, me: Address) -> None:
        self.me = me
        self.group = group
        self._group = group_tag(group)
        self._my_tag = address_tag(me)
        self._heads = {kind: pack_head(number, self._group, me) for kind, number in _KINDS.items()}
        self._heads_to: dict[tuple[type, Address], bytes] = {}
        self._sources: dict[bytes, Source] = {}
        self._book = AddressBook()
        self._numbered: dict[bytes, tuple[Address, Channel, Tag]] = {}  # by all that stands before the last numbers
        self._tag: Tag = 0
        self._packed_tag = pack_tag(0)

    # ---- encoding

    def encode(self, packet: Packet, to: Address | None = None) -> bytes:
        """A frame for everybody, or for this one process and none that comes after it."""
        kind = type(packet)
        head = self._heads[kind] if to is None else self._heads_to.get((kind, to)) or self._head_to(kind, to)
        if type(packet) is Loose:
            return head + encode_control(packet.message)
        tag = self._packed_tag if packet.tag is self._tag else self._pack_tag(packet.tag)
        if type(packet) is Ack:  # as below, without a call: most packets are acks
            return head + _PACKED_CHANNELS[packet.channel] + tag + _ONE.pack(packet.upto)
        if type(packet) is Run:
            if _frame_of is not None and packet.origin is self.me:
                frame: bytes | None = _frame_of(head, tag, packet.channel, packet.first, packet.low, packet.items)
                if frame is not None:
                    return frame
            return b"".join([head, *pack_run(packet, self.me, tag)])
        return head + _PACKED_CHANNELS[packet.channel] + tag + self._body(packet)

    def _head_to(self, kind: type, to: Address) -> bytes:
        head = pack_head(_KINDS[kind], self._group, self.me, address_tag(to))
        remember(self._heads_to, (kind, to), head)
        return head

    def _pack_tag(self, tag: Tag) -> bytes:
        if type(tag) is int:
            return pack_tag(tag)
        if tag is not self._tag and tag != self._tag:
            self._tag, self._packed_tag = tag, pack_tag(tag)
        return self._packed_tag

    def _body(self, packet: Packet) -> bytes:
        if type(packet) is Highest:
            return _TWO.pack(packet.high, packet.low)
        if type(packet) is Unrepairable:
            return _ONE.pack(packet.low)
        if type(packet) is Request:
            count, numbers = len(packet.ranges), [number for pair in packet.ranges for number in pair]
            return pack_address(packet.origin) + _COUNT.pack(count) + struct.pack(f"<{2 * count}q", *numbers)
        return b""

    # ---- decoding

    def decode(self, frame: bytes | memoryview) -> tuple[Address, Packet] | Drop:
        """Nothing of what it gives refers to the frame: that may be a buffer which is written again at once."""
        sender: Address | None = None
        try:
            if len(frame) > HEAD_BYTES and frame[KIND_AT] in _NUMBERED:
                again = self._read_again(frame)
                if again is not None:
                    return again
            source = self._read_head(frame)
            kind, sender, at = source.kind, source.sender, source.end
            if kind == _RUN:
                return sender, source.read_run(self._book, frame)
            if kind == _LOOSE:
                return _read_loose(sender, bytes(frame[at:]))
            return sender, self._read(kind, sender, frame, at)
        except Malformed as why:
            return Drop(ENCRYPTED if bytes(frame[:2]) == SEALED_MAGIC else str(why), sender)
        except Exception as fault:  # a mistake of ours: it ends with this frame
            return Drop(f"a frame that cannot be read: {type(fault).__name__}", sender)

    def _read_again(self, frame: bytes | memoryview) -> tuple[Address, Packet] | None:
        """An ack or an announcement like one before, but for the numbers at its end. Most frames without data are."""
        if frame[KIND_AT] == _ACK:
            known = self._numbered.get(bytes(frame[: -_ONE.size]))
            if known is not None:
                sender, channel, tag = known
                (upto,) = _ONE.unpack_from(frame, len(frame) - _ONE.size)
                return (sender, Ack(channel, tag, upto)) if upto >= 0 else None
        else:
            known = self._numbered.get(bytes(frame[: -_TWO.size]))
            if known is not None:
                sender, channel, tag = known
                high, low = _TWO.unpack_from(frame, len(frame) - _TWO.size)
                return (sender, Highest(channel, tag, high, low)) if 0 <= low <= high else None
        return None

    def _read_head(self, frame: bytes | memoryview) -> Source:
        """A head that was right before is right again."""
        if len(frame) < HEAD_BYTES + 2:
            raise Malformed("shorter than a head")
        head = bytes(frame[: HEAD_BYTES + ADDRESS_BYTES + frame[HEAD_BYTES] + frame[HEAD_BYTES + 1]])
        source = self._sources.get(head)
        if source is None:
            end = address_end(frame, HEAD_BYTES)
            kind = read_head(head, self._group, self._my_tag)
            source = Source(kind, self._book.read_address(head, HEAD_BYTES)[0], end)
            remember(self._sources, head, source)
        return source

    def _read(self, kind: int, sender: Address, frame: bytes | memoryview, at: int) -> Packet:
        channel, tag, at = self._read_stream(frame, at)
        if kind == _ACK:
            (upto,) = _numbers(frame, at, _ONE)
            remember(self._numbered, bytes(frame[:at]), (sender, channel, tag))
            return Ack(channel, tag, upto)
        if kind == _HIGHEST:
            high, low = _numbers(frame, at, _TWO)
            if low > high:
                raise Malformed("a low above the highest")
            remember(self._numbered, bytes(frame[:at]), (sender, channel, tag))
            return Highest(channel, tag, high, low)
        if kind == _REQUEST:
            return self._read_request(channel, tag, frame, at)
        if kind == _UNREPAIRABLE:
            return Unrepairable(channel, tag, *_numbers(frame, at, _ONE))
        if kind == _RESET:
            _numbers(frame, at, _NONE)
            return Reset(channel, tag)
        raise Malformed(f"kind {kind} is unknown")

    def _read_stream(self, frame: bytes | memoryview, at: int) -> tuple[Channel, Tag, int]:
        """Channel and tag, and where they end."""
        if at >= len(frame) or frame[at] >= len(_CHANNELS):
            raise Malformed("a packet without its channel")
        channel = _CHANNELS[frame[at]]
        tag, end = read_tag(self._book, channel, frame, at + 1)
        return channel, tag, end

    def _read_request(self, channel: Channel, tag: Tag, frame: bytes | memoryview, at: int) -> Request:
        origin, at = self._book.read_address(frame, at)
        if at + _COUNT.size > len(frame):
            raise Malformed("a request without its ranges")
        (count,) = _COUNT.unpack_from(frame, at)
        if not 0 < count <= MAX_RANGES:
            raise Malformed("a request with too many or no ranges")
        numbers = _numbers(frame, at + _COUNT.size, struct.Struct(f"<{2 * count}q"))
        ranges = tuple(zip(numbers[0::2], numbers[1::2], strict=True))
        if any(first > last or first < 1 for first, last in ranges):
            raise Malformed("a request with an empty range")
        return Request(channel, tag, origin, ranges)


class Onlooker(Codec):
    """Reads what travels between others, whomever it is for."""

    def __init__(self, group: str) -> None:
        super().__init__(group, Address("", 0, ""))
        self._seen = b""  # the last frame, which may go to many
        self._packet: Packet | None = None

    def packet_of(self, frame: bytes) -> Packet | None:
        """What this frame says; None if it is no frame of the group."""
        if frame is not self._seen:
            decoded = self.decode(frame)
            self._seen, self._packet = frame, None if isinstance(decoded, Drop) else decoded[1]
        return self._packet

    def _read_head(self, frame: bytes | memoryview) -> Source:
        return super()._read_head(for_everybody(bytes(frame)))


def _read_loose(sender: Address, data: bytes) -> tuple[Address, Loose] | Drop:
    message = decode_control(data)
    return Drop(message.reason, sender) if isinstance(message, Drop) else (sender, Loose(message))


def _numbers(frame: bytes | memoryview, at: int, shape: struct.Struct) -> tuple[int, ...]:
    """Exactly these numbers, none negative, and nothing behind them. A signed field holds nothing above MAX_SEQNO."""
    if len(frame) - at != shape.size:
        raise Malformed("a packet of the wrong length")
    numbers: tuple[int, ...] = shape.unpack_from(frame, at)
    if numbers and min(numbers) < 0:
        raise Malformed("a number out of range")
    return numbers
