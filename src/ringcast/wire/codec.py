"""Bytes <-> packets, for one member of one group.

`decode` gives (sender, packet) or a Drop with a reason, for any bytes at all; it raises nothing and allocates no
more than the frame's own size. `encode` gives a frame; the core has cut runs so that it fits.
Sequence numbers are signed 64-bit fields. Never pickle.
"""

from __future__ import annotations

import struct

from ringcast.core import Ack, Channel, Drop, Highest, Loose, Packet, Request, Reset, Run, Tag, Unrepairable
from ringcast.model import Address
from ringcast.wire.control import decode_control, encode_control
from ringcast.wire.header import (
    HEAD_BYTES,
    AddressBook,
    Malformed,
    address_end,
    address_tag,
    for_everybody,
    group_tag,
    pack_address,
    pack_head,
    read_head,
    remember,
)
from ringcast.wire.limits import MAX_RANGES, SEALED_MAGIC
from ringcast.wire.runs import Source, pack_run, pack_tag, read_tag

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

ENCRYPTED = "encrypted, and this member has no key"
_CHANNEL = struct.Struct("<B")
_NONE = struct.Struct("<")
_ONE = struct.Struct("<q")
_TWO = struct.Struct("<qq")
_COUNT = struct.Struct("<H")
_CHANNELS = tuple(Channel)  # by number


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
        self._tag: Tag = 0
        self._packed_tag = pack_tag(0)

    # ---- encoding

    def encode(self, packet: Packet, to: Address | None = None) -> bytes:
        """A frame for everybody, or for this one process and none that comes after it."""
        head = self._heads[type(packet)] if to is None else self._head_to(type(packet), to)
        if type(packet) is Loose:
            return head + encode_control(packet.message)
        tag = self._pack_tag(packet.tag)
        if type(packet) is Run:
            return b"".join([head, *pack_run(packet, self.me, tag)])
        return head + _CHANNEL.pack(packet.channel) + tag + self._body(packet)

    def _head_to(self, kind: type, to: Address) -> bytes:
        head = self._heads_to.get((kind, to))
        if head is None:
            head = pack_head(_KINDS[kind], self._group, self.me, address_tag(to))
            remember(self._heads_to, (kind, to), head)
        return head

    def _pack_tag(self, tag: Tag) -> bytes:
        if tag != self._tag:
            self._tag, self._packed_tag = tag, pack_tag(tag)
        return self._packed_tag

    def _body(self, packet: Packet) -> bytes:
        match packet:
            case Ack():
                return _ONE.pack(packet.upto)
            case Highest():
                return _TWO.pack(packet.high, packet.low)
            case Unrepairable():
                return _ONE.pack(packet.low)
            case Request():
                ranges = [number for pair in packet.ranges for number in pair]
                return (
                    pack_address(packet.origin)
                    + _COUNT.pack(len(packet.ranges))
                    + struct.pack(f"<{len(ranges)}q", *ranges)
                )
            case _:
                return b""

    # ---- decoding

    def decode(self, frame: bytes | memoryview) -> tuple[Address, Packet] | Drop:
        """Nothing of what it gives refers to the frame: that may be a buffer which is written again at once."""
        sender: Address | None = None
        try:
            source = self._read_head(frame)
            kind, sender, at = source.kind, source.sender, source.end
            if kind == _RUN:
                return sender, source.read_run(self._book, frame)
            if kind == _LOOSE:
                return _read_loose(sender, bytes(frame[at:]))
            return sender, self._read(kind, frame, at)
        except Malformed as why:
            return Drop(ENCRYPTED if bytes(frame[:2]) == SEALED_MAGIC else str(why), sender)
        except Exception as fault:  # a mistake of ours: it ends with this frame
            return Drop(f"a frame that cannot be read: {type(fault).__name__}", sender)

    def _read_head(self, frame: bytes | memoryview) -> Source:
        """A head that was right before is right again."""
        if len(frame) < HEAD_BYTES + 2:
            raise Malformed("shorter than a head")
        end = address_end(frame, HEAD_BYTES)
        head = bytes(frame[:end])
        source = self._sources.get(head)
        if source is None:
            kind = read_head(head, self._group, self._my_tag)
            source = Source(kind, self._book.read_address(head, HEAD_BYTES)[0], end)
            remember(self._sources, head, source)
        return source

    def _read(self, kind: int, frame: bytes | memoryview, at: int) -> Packet:
        if at >= len(frame) or frame[at] >= len(_CHANNELS):
            raise Malformed("a packet without its channel")
        channel = _CHANNELS[frame[at]]
        tag, at = read_tag(self._book, channel, frame, at + _CHANNEL.size)
        if kind == _ACK:
            return Ack(channel, tag, *_numbers(frame, at, _ONE))
        if kind == _HIGHEST:
            high, low = _numbers(frame, at, _TWO)
            if low > high:
                raise Malformed("a low above the highest")
            return Highest(channel, tag, high, low)
        if kind == _REQUEST:
            return self._read_request(channel, tag, frame, at)
        if kind == _UNREPAIRABLE:
            return Unrepairable(channel, tag, *_numbers(frame, at, _ONE))
        if kind == _RESET:
            _numbers(frame, at, _NONE)
            return Reset(channel, tag)
        raise Malformed(f"kind {kind} is unknown")

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

    def packet_of(self, frame: bytes) -> Packet | None:
        """What this frame says; None if it is no frame of the group."""
        decoded = self.decode(for_everybody(frame))
        return None if isinstance(decoded, Drop) else decoded[1]


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
