"""Payloads that a receiver can check completely at C speed: numbered, repeating after `CYCLE` messages.

Message n of a sender is a text with its name and n modulo the cycle, padded to the size asked for. A receiver builds
the same list and compares slices of it with what it was given, so a lost, repeated, swapped or altered message shows.
"""

from __future__ import annotations

CYCLE = 4_096


class Pattern:
    """The payloads of one sender at one size."""

    def __init__(self, sender: str, size: int) -> None:
        self.size = size
        cycle = [self._payload(sender, number, size) for number in range(CYCLE)]
        self._payloads = cycle * 2

    @staticmethod
    def _payload(sender: str, number: int, size: int) -> bytes:
        return f"{number:04d}{sender}|".encode().ljust(size, b"*")[:size]

    def run(self, first: int, count: int) -> list[bytes]:
        """Messages first, first+1, …; at most a cycle of them."""
        start = first % CYCLE
        return self._payloads[start : start + count]

    def matches(self, first: int, payloads: list[bytes]) -> bool:
        """Are these the messages from `first` on?"""
        for at in range(0, len(payloads), CYCLE):
            part = payloads[at : at + CYCLE]
            if part != self.run(first + at, len(part)):
                return False
        return True
