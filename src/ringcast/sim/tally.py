"""The state of a simulated application: of every sender how many messages of the group it read, and a hash of them.

Members that read the same messages have the same tally, whatever came in between from other senders; one message more,
less, twice or in another place is another tally. What was read in the one order has one hash over all senders.
Messages to some members only are no part of it: others never see them.
Written it may be padded, so that a small state travels as a large one; the padding depends on what is written, so a
part of another state in it is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import msgspec

from ringcast.model import Address, ViewId

NOBODY = Address("", 0, "")

_Sender = tuple[str, int, str, int, bytes]  # an address, how many, their hash
_HASH_BYTES = 8


@dataclass(slots=True, order=True)
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

    def read(self, sender: Address, payloads: list[bytes], *, in_order: bool = False) -> None:
        """The application read these messages of the group."""
        count = self.in_order if in_order else self.by_sender.setdefault(sender, Count())
        count.add(payloads)

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


def merged(tallies: Iterable[Tally]) -> Tally:
    """One of many: of each sender the longest, whatever the order of the sides."""
    by_sender: dict[Address, Count] = {}
    in_order: list[Count] = []
    for tally in tallies:
        in_order.append(tally.in_order)
        for sender, count in tally.by_sender.items():
            by_sender[sender] = max(by_sender.get(sender, Count()), count)
    longest = max(in_order)
    return Tally({sender: replace(count) for sender, count in by_sender.items()}, replace(longest))


def written_state(who: Address | None, view: ViewId, tally: Tally, padding: int = 0) -> bytes:
    """A tally with whose it is (None: it was made of many), and the view at which it was cut."""
    head = msgspec.msgpack.encode((who or NOBODY, view))
    return len(head).to_bytes(2, "little") + head + tally.written(padding)


def read_state(text: bytes) -> tuple[Address, ViewId, Tally]:
    """What `written_state` gave; ValueError if it is anything else."""
    end = 2 + int.from_bytes(text[:2], "little")
    try:
        who, view = _head_decoder.decode(text[2:end])
    except msgspec.DecodeError as error:
        raise ValueError(f"a state without its head: {error}") from None
    return who, view, read_tally(text[end:])


_head_decoder = msgspec.msgpack.Decoder(tuple[Address, ViewId])
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
