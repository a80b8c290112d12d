"""Frames of real traffic, changed: bits, bytes, lengths, numbers at their limits, other senders, old frames again."""

from __future__ import annotations

import struct
from random import Random

HEAD_BYTES = 12
NUMBERS = (0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31, 2**32, 2**33, 2**48, 2**62, 2**63 - 1)


def mutated(random: Random, frame: bytes, others: list[bytes]) -> bytes:
    """The frame as it is now and then, else with one to three changes."""
    if random.random() < 0.1:
        return frame
    data = bytearray(frame)
    for _ in range(random.randint(1, 3)):
        random.choice(CHANGES)(random, data, others)
    return bytes(data)


def _at(random: Random, data: bytearray, width: int = 1) -> int:
    """Mostly behind the head, whose checks are quickly passed or failed."""
    first = HEAD_BYTES if random.random() < 0.95 else 0
    return random.randrange(min(first, max(0, len(data) - width)), max(1, len(data) - width + 1))


def _flip(random: Random, data: bytearray, others: list[bytes]) -> None:
    if data:
        data[_at(random, data)] ^= 1 << random.randrange(8)


def _byte(random: Random, data: bytearray, others: list[bytes]) -> None:
    if data:
        data[_at(random, data)] = random.choice((0, 1, 0x7F, 0x80, 0x90, 0xC0, 0xCF, 0xFF, random.randrange(256)))


def _number(random: Random, data: bytearray, others: list[bytes]) -> None:
    shape = random.choice(("<q", "<i", "<H", ">q", ">I", ">H"))
    width = struct.calcsize(shape)
    if len(data) >= width:
        top = 1 << (8 * width - (shape[1] in "qi"))
        struct.pack_into(shape, data, _at(random, data, width), random.choice(NUMBERS) % top)


def _cut(random: Random, data: bytearray, others: list[bytes]) -> None:
    del data[_at(random, data) :]


def _remove(random: Random, data: bytearray, others: list[bytes]) -> None:
    at = _at(random, data)
    del data[at : at + random.randint(1, 9)]


def _repeat(random: Random, data: bytearray, others: list[bytes]) -> None:
    at = _at(random, data)
    data[at:at] = data[at : at + random.randint(1, 30)]


def _splice(random: Random, data: bytearray, others: list[bytes]) -> None:
    """The head of one frame, the rest of another."""
    other = random.choice(others)
    at = min(_at(random, data), len(other))
    data[at:] = other[at:]


CHANGES = (_flip, _byte, _byte, _number, _number, _cut, _remove, _repeat, _splice)
