"""What a window holds, addressed by seqno, as plain data: whole runs, each as it came.

To put a run here costs one copy of its references, to forget it costs the same whatever its length.
Invariant: runs lie in ascending order and do not overlap. A run whose front was cleared is kept whole until its last
message is: at most one run more than the seqnos say.

It knows no protocol: who may write which seqno, and how many, is the windows' business.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

# When a check looks at everything again: seldom enough that checking costs what changed, not what is held.
#
# A check after every step looks at the ends of a structure and at the place of the last change. Everything is looked
# at as soon as that costs at most `AT_ONCE` elements for each check since the last time. So the price of n checks is
# O(n), however much is held; what is small is looked at whole every time; and whatever is broken elsewhere and stays
# so is found within size / `AT_ONCE` further checks.


AT_ONCE = 8


class Audit:
    """Counts the checks of one structure."""

    __slots__ = ("_checks",)

    def __init__(self) -> None:
        self._checks = 0

    def is_due(self, size: int) -> bool:
        """One more check of so many elements: is it time to look at all of them?"""
        self._checks += 1
        if self._checks * AT_ONCE < size:
            return False
        self._checks = 0
        return True


T = TypeVar("T")


class Ring(Generic[T]):
    """Runs among at most `capacity` consecutive seqnos."""

    __slots__ = ("_begin", "_firsts", "_runs", "capacity")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a ring needs a capacity of at least 1, not {capacity}")
        self.capacity = capacity
        self.clear_all()

    def clear_all(self) -> None:
        self._firsts: list[int] = []
        self._runs: list[tuple[T, ...]] = []
        self._begin = 0  # what lies before it is cleared

    def put_run(self, first: int, items: Sequence[T]) -> None:
        """Where nothing is. It is copied: whoever gave it may change it."""
        run = tuple(items)
        if not run:
            return
        firsts = self._firsts
        if not firsts or first > firsts[-1]:
            firsts.append(first)
            self._runs.append(run)
        else:
            at = bisect_right(firsts, first, self._begin)
            firsts.insert(at, first)
            self._runs.insert(at, run)

    def slice(self, first: int, last: int) -> list[T]:
        """All of first..last; each of them must be here."""
        firsts, runs = self._firsts, self._runs
        at = bisect_right(firsts, first, self._begin) - 1
        items: list[T] = []
        while first <= last:
            skip = first - firsts[at]
            items += runs[at][skip : last + 1 - firsts[at]]
            at += 1
            first = last + 1 if at == len(firsts) else firsts[at]
        return items

    def items(self) -> Iterator[tuple[int, T]]:
        """(seqno, message) of all runs."""
        for first, run in zip(self._firsts[self._begin :], self._runs[self._begin :], strict=True):
            yield from enumerate(run, first)

    def free(self, upto: int) -> None:
        """Forget everything up to there; a run is forgotten with its last message."""
        firsts, runs, at, end = self._firsts, self._runs, self._begin, len(self._firsts)
        while at < end and firsts[at] + len(runs[at]) - 1 <= upto:
            runs[at] = ()
            at += 1
        if at == end:
            firsts.clear()
            runs.clear()
            at = 0
        elif 2 * at > end > AT_ONCE:
            del firsts[:at], runs[:at]
            at = 0
        self._begin = at

    def clear(self, first: int, last: int) -> None:
        """Forget first..last, wherever they lie, and nothing else."""
        if first > last:
            return
        kept = Ring[T](self.capacity)
        for begin, run in zip(self._firsts[self._begin :], self._runs[self._begin :], strict=True):
            kept.put_run(begin, run[: max(0, first - begin)])
            after = max(begin, last + 1)
            kept.put_run(after, run[after - begin :])
        self._firsts, self._runs, self._begin = kept._firsts, kept._runs, 0
