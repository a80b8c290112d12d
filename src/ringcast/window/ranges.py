"""A set of seqnos kept as ranges, for sets that are mostly contiguous.

Used for what was received beyond a gap, and for lists of requested messages.

Invariant: ranges are sorted, disjoint and never touch each other (1-3, 4-6 is stored as 1-6);
`count` is the number of seqnos in them. Work is proportional to ranges, never to seqnos.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from operator import le

from ringcast.window.ring import AT_ONCE, Audit


class Ranges:
    """Seqnos as closed ranges. Two parallel lists, because bisect is quickest on plain integers."""

    __slots__ = ("_audit", "_changed", "_firsts", "_lasts", "count")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._changed = 0  # where a range was put last
        self._audit = Audit()
        self.count = 0
        for first, last in ranges:
            self.add(first, last)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def __len__(self) -> int:
        return len(self._firsts)

    def __contains__(self, seqno: int) -> bool:
        return self.end_of(seqno) is not None

    def end_of(self, seqno: int) -> int | None:
        """The last seqno of the range that holds `seqno`, if one does."""
        at = bisect_left(self._lasts, seqno)
        return self._lasts[at] if at < len(self._lasts) and self._firsts[at] <= seqno else None

    def add(self, first: int, last: int) -> None:
        """Unite with first..last, joining every range that it overlaps or touches."""
        if first > last:
            return
        begin = bisect_left(self._lasts, first - 1)
        end = bisect_right(self._firsts, last + 1, begin)
        if begin < end:
            first = min(first, self._firsts[begin])
            last = max(last, self._lasts[end - 1])
            self.count -= self._size(begin, end)
        self._firsts[begin:end] = [first]
        self._lasts[begin:end] = [last]
        self._changed = begin
        self.count += last - first + 1

    def gaps(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The parts of first..last that are not in the set, in order. Do not change the set meanwhile."""
        at = bisect_left(self._lasts, first)
        while first <= last:
            if at == len(self._firsts) or self._firsts[at] > last:
                yield first, last
                return
            if first < self._firsts[at]:
                yield first, self._firsts[at] - 1
            first = self._lasts[at] + 1
            at += 1

    @property
    def ends(self) -> tuple[int, int]:
        """The first seqno and the last; there must be some."""
        return self._firsts[0], self._lasts[-1]

    def pop_first(self) -> tuple[int, int]:
        first, last = self._firsts.pop(0), self._lasts.pop(0)
        self.count -= last - first + 1
        return first, last

    def drop_above(self, seqno: int) -> None:
        kept = bisect_right(self._firsts, seqno)
        self._remove(kept, len(self._firsts))
        if self._lasts and self._lasts[-1] > seqno:
            self.count -= self._lasts[-1] - seqno
            self._lasts[-1] = seqno

    def clear(self) -> None:
        self._remove(0, len(self._firsts))

    def check(self) -> None:
        assert len(self._firsts) == len(self._lasts), (self._firsts, self._lasts)
        if not self._firsts:  # nearly always, and the simulator asks after every packet
            assert self.count == 0, self.count
            return
        ranges = len(self._firsts)
        assert ranges <= self.count <= self._lasts[-1] - self._firsts[0] + 2 - ranges, (self.count, list(self))
        if ranges <= AT_ONCE or self._audit.is_due(ranges):
            self._check_between(0, ranges)
            assert self.count == self._size(0, ranges), (self.count, list(self))
            return
        changed = min(self._changed, ranges - 1)  # ranges before it may have gone since
        self._check_between(0, 2)
        self._check_between(max(0, changed - 1), changed + 2)
        self._check_between(ranges - 2, ranges)

    def _check_between(self, begin: int, end: int) -> None:
        """Is each of these a range, and does it end before the next?"""
        firsts, lasts = self._firsts[begin:end], self._lasts[begin:end]
        assert all(map(le, firsts, lasts)), (firsts, lasts)
        assert all(last + 1 < after for last, after in zip(lasts, firsts[1:], strict=False)), (firsts, lasts)

    def _remove(self, begin: int, end: int) -> None:
        self.count -= self._size(begin, end)
        del self._firsts[begin:end]
        del self._lasts[begin:end]

    def _size(self, begin: int, end: int) -> int:
        return sum(self._lasts[begin:end]) - sum(self._firsts[begin:end]) + end - begin
