"""When a merge that was turned away goes first: so that a steady stream of joins cannot starve it.

Merges are turned away while requests are processed and while joiners load their state. One that has been turned away
for `limit_ns`, and was asked for again lately, is due: then JOINs are told BUSY, and joiners that load their state
do not stop the merge. It is over when a merge begins, or when nobody asks for one any more.
"""

from __future__ import annotations


class MergeTurn:
    def __init__(self, limit_ns: int, memory_ns: int) -> None:
        self.limit_ns = limit_ns
        self.memory_ns = memory_ns  # without another attempt for this long nobody waits
        self._first_ns: int | None = None
        self._last_ns = 0

    def turn_away(self, now_ns: int) -> None:
        if self._first_ns is None or now_ns - self._last_ns > self.memory_ns:
            self._first_ns = now_ns
        self._last_ns = now_ns

    def begin(self) -> None:
        self._first_ns = None

    def is_due(self, now_ns: int) -> bool:
        if self._first_ns is None or now_ns - self._last_ns > self.memory_ns:
            return False
        return now_ns - self._first_ns >= self.limit_ns
