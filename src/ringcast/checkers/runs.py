"""Sets of seqnos as sorted, disjoint runs: what a member sent or delivered in a view, without listing messages."""

from __future__ import annotations

from bisect import bisect_right


class Runs:
    """Mostly one run that grows at its end; anything else is kept exactly too."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, first: int, last: int) -> None:
        if self._ends and first == self._ends[-1] + 1:
            self._ends[-1] = last
        elif not self._ends or first > self._ends[-1]:
            self._starts.append(first)
            self._ends.append(last)
        else:
            self._insert(first, last)

    def _insert(self, first: int, last: int) -> None:
        pairs = sorted([*zip(self._starts, self._ends, strict=True), (first, last)])
        self._starts, self._ends = [], []
        for start, end in pairs:
            if self._ends and start <= self._ends[-1] + 1:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self._starts, self._ends, strict=True))

    def within(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of this run that are in the set."""
        at = max(0, bisect_right(self._starts, first) - 1)
        found = []
        while at < len(self._starts) and self._starts[at] <= last:
            start, end = max(first, self._starts[at]), min(last, self._ends[at])
            if start <= end:
                found.append((start, end))
            at += 1
        return found

    def first_missing(self, first: int, last: int) -> int | None:
        """The smallest seqno of this run that is not in the set."""
        while first <= last:
            at = bisect_right(self._starts, first) - 1
            if at < 0 or self._ends[at] < first:
                return first
            first = self._ends[at] + 1
        return None

    @property
    def last(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __len__(self) -> int:
        return sum(end - start + 1 for start, end in zip(self._starts, self._ends, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and self._starts == other._starts and self._ends == other._ends

    def __str__(self) -> str:
        return ", ".join(f"{start}..{end}" for start, end in self.pairs()) or "nothing"
