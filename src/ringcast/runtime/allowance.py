"""How often something may happen: so many times a second, and no more than those of one second at once."""

from __future__ import annotations

from ringcast.model import SECOND


class Allowance:
    """Filled by time, emptied by `take`."""

    __slots__ = ("_at_ns", "_left", "_per_second")

    def __init__(self, per_second: int, now_ns: int) -> None:
        self._per_second = per_second
        self._left = float(per_second)
        self._at_ns = now_ns

    def take(self, now_ns: int) -> bool:
        passed = now_ns - self._at_ns
        self._at_ns = now_ns
        self._left = min(float(self._per_second), self._left + passed * self._per_second / SECOND)
        if self._left < 1:
            return False
        self._left -= 1
        return True
