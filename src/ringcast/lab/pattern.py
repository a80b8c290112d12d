"""Payloads that a receiver can check completely at C speed: numbered, repeating after a cycle.

Message n of a sender is a text with its name and n modulo the cycle, padded to the size asked for. A receiver builds
the same list and compares slices of it with what it was given, so a lost, repeated, swapped or altered message shows.
A cycle is at most an eighth of a megabyte, so that what is measured is the group and not the cache misses of the check.
"""

from __future__ import annotations

CYCLE = 4_096  # numbers repeat after this many; every cycle length divides it
CYCLE_BYTES = 1 << 17


def cycle_length(size: int) -> int:
    """A power of two: at most CYCLE messages, at most CYCLE_BYTES, but always some."""
    length = CYCLE
    while length > 8 and length * size > CYCLE_BYTES:
        length //= 2
    return length


class Pattern:
    """The payloads of one sender at one size."""

    def __init__(self, sender: str, size: int) -> None:
        self.size = size
        self.cycle = cycle_length(size)
        cycle = [self._payload(sender, number, size) for number in range(self.cycle)]
        self._payloads = cycle * (1 + CYCLE // self.cycle)

    @staticmethod
    def _payload(sender: str, number: int, size: int) -> bytes:
        return f"{number:04d}{sender}|".encode().ljust(size, b"*")[:size]

    def run(self, first: int, count: int) -> list[bytes]:
        """Messages first, first+1, …; at most CYCLE of them."""
        start = first % self.cycle
        return self._payloads[start : start + count]

    def matches(self, first: int, payloads: list[bytes]) -> bool:
        """Are these the messages from `first` on?"""
        for at in range(0, len(payloads), CYCLE):
            part = payloads if len(payloads) <= CYCLE else payloads[at : at + CYCLE]
            if part != self.run(first + at, len(part)):
                return False
        return True
