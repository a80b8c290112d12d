"""The state of a simulated application: of every sender how many messages of the group it read, and a hash of them.

Members that read the same messages have the same tally, whatever came in between from other senders; one message more,
less, twice or in another place is another tally. What was read in the one order has one hash over all senders.
Messages to some members only are no part of it: others never see them.
Written it may be padded, so that a small state travels as a large one; the padding depends on what is written, so a
part of another state in it is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

import msgspec

from ringcast.core import Channel, Deliver, Dequeue
from ringcast.model import Address

_Sender = tuple[str, int, str, int, bytes]  # an address, how many, their hash
_HASH_BYTES = 8


@dataclass(slots=True)
class Count:
    """So many messages in this order."""

    number: int = 0
    hash: bytes = b""

    def add(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            self.number += 1
            self.hash = _hash(self.hash, payload)


@dataclass(slots=True)
class Tally:
    by_sender: dict[Address, Count] = field(default_factory=dict)
    in_order: Count = field(default_factory=Count)

    def read(self, delivery: Deliver) -> None:
        """The application read this."""
        if delivery.channel is not Channel.GROUP:
            return
        if isinstance(delivery, Dequeue):
            self.in_order.add(delivery.payloads)
        else:
            self.by_sender.setdefault(delivery.origin, Count()).add(delivery.payloads)

    @property
    def digest(self) -> str:
        """Of equal tallies equal, of others not."""
        return _hash(self._body()).hex()

    def written(self, padding: int = 0) -> bytes:
        body = self._body()
        return len(body).to_bytes(4, "little") + body + _padding(body, padding)

    def _body(self) -> bytes:
        senders = [(*sender, count.number, count.hash) for sender, count in sorted(self.by_sender.items())]
        return msgspec.msgpack.encode((senders, self.in_order.number, self.in_order.hash))


_decoder = msgspec.msgpack.Decoder(tuple[list[_Sender], int, bytes])


def read_tally(text: bytes) -> Tally:
    """What `written` gave; ValueError if it is anything else."""
    size = 4 + int.from_bytes(text[:4], "little")
    body = text[4:size]
    if len(body) != size - 4 or text[size:] != _padding(body, len(text) - size):
        raise ValueError(f"{len(text)} bytes that no application gave as its state")
    try:
        senders, in_order, order_hash = _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise ValueError(f"a state that cannot be read: {error}") from None
    by_sender = {Address(name, number, at): Count(count, last) for name, number, at, count, last in senders}
    return Tally(by_sender, Count(in_order, order_hash))


def _padding(body: bytes, size: int) -> bytes:
    """Counted through, so that parts that change places are noticed too."""
    seed = int.from_bytes(_hash(body), "little")
    words = (((seed + number) % 2**64).to_bytes(_HASH_BYTES, "little") for number in range(-(-size // _HASH_BYTES)))
    return b"".join(words)[:size]


def _hash(*parts: bytes) -> bytes:
    return blake2b(b"".join(parts), digest_size=_HASH_BYTES).digest()
