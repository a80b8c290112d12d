"""What producers of the bus benchmark send, and how a consumer checks it: content, count, each sender's order.

A payload is one of a pool that is known to both sides and repeats, so a whole run is checked by one comparison of
lists, and single messages are checked a thousand at a time: one by one, the checks would cost more than the bus.
"""

from __future__ import annotations

import struct
import time
import zlib
from array import array
from dataclasses import dataclass, field
from typing import Final

from ringcast.bus import Message

POOL: Final = 1024
BATCH_BYTES: Final = 60_000
END: Final = b"end of this producer"

_SEQ = struct.Struct("=QQQ")


def pool_of(size: int) -> list[bytes]:
    """Payloads that differ from each other as far as their size allows; none looks like the end mark."""
    return [(index.to_bytes(2, "little") * (size // 2 + 1))[:size] for index in range(POOL)]


def batches_of(pool: list[bytes], size: int) -> list[list[bytes]]:
    """The pool cut into batches of equal length, to be sent round and round."""
    length = max(1, min(256, BATCH_BYTES // max(1, size)))
    while POOL % length:
        length -= 1
    return [pool[at : at + length] for at in range(0, POOL, length)]


@dataclass(slots=True)
class Tally:
    """What one consumer has received, by sender; and a checksum of how the senders' messages were interleaved."""

    pool: list[bytes]
    received: dict[str, int] = field(default_factory=dict)
    ended: dict[str, None] = field(default_factory=dict)
    wrong: int = 0
    interleaving: int = 0
    names: int = 0  # of single messages: whose each seq was
    first_ns: int = 0
    last_ns: int = 0
    _seq: int = 0

    def add_run(self, sender: str, payloads: list[bytes], seq: int) -> None:
        if payloads[0] == END:
            self.ended[sender] = None
            return
        self._mark(seq, self._check(sender, payloads), sender)

    def add_messages(self, items: list[Message]) -> None:
        """Messages in the order in which they were dequeued, end marks left out."""
        senders = [item[0] for item in items]
        for sender in dict.fromkeys(senders):
            self._check(sender, [item[1] for item in items if item[0] == sender])
        self.interleaving = zlib.crc32(array("Q", [item[2] for item in items]), self.interleaving)
        self.names = zlib.crc32("\0".join((*senders, "")).encode(), self.names)

    def _check(self, sender: str, payloads: list[bytes]) -> int:
        """How many of this sender came before these."""
        before = self.received.get(sender, 0)
        at = before % POOL
        expected = self.pool[at : at + len(payloads)]
        while len(expected) < len(payloads):
            expected += self.pool[: len(payloads) - len(expected)]
        self.wrong += payloads != expected
        self.received[sender] = before + len(payloads)
        return before

    def _mark(self, seq: int, before: int, sender: str) -> None:
        if seq == self._seq:
            return  # The rest of a batch: where a limit cuts it differs from consumer to consumer.
        self._seq = seq
        self.interleaving = zlib.crc32(_SEQ.pack(seq, before, zlib.crc32(sender.encode())), self.interleaving)

    def touch(self) -> None:
        self.last_ns = time.monotonic_ns()
        self.first_ns = self.first_ns or self.last_ns

    def per_second(self) -> float:
        return sum(self.received.values()) * 1e9 / max(1, self.last_ns - self.first_ns)
