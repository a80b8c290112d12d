"""This member's own ordered messages that have no place yet: numbered, and bounded in number and in bytes.

A message leaves when its announcement is known here: its queueing is finished then (seed 002, "finishes"). Numbers go
on from view to view. A batch always fits when nothing is in flight.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ringcast.window import Audit, Space


@dataclass(frozen=True, slots=True)
class Unfinished:
    first: int
    count: int
    nbytes: int

    @property
    def last(self) -> int:
        return self.first + self.count - 1


class InFlight:
    def __init__(self) -> None:
        self.next = 1
        self.count = 0
        self.nbytes = 0
        self.finished = 0  # the highest number that has its place
        self._batches: deque[Unfinished] = deque()
        self._audit = Audit()

    def __len__(self) -> int:
        return len(self._batches)

    def space(self, capacity: int, nbytes: int) -> Space:
        """The room that is left now, if so many messages and bytes may be in flight."""
        return Space(max(0, capacity - self.count), nbytes - self.nbytes, not self._batches)

    def add(self, count: int, size: int) -> int:
        """Take the next numbers; returns the first."""
        first = self.next
        self.next += count
        self.count += count
        self.nbytes += size
        self._batches.append(Unfinished(first, count, size))
        return first

    def finish(self, last: int) -> list[Unfinished]:
        """Everything up to this number has its place: what was finished by that."""
        done: list[Unfinished] = []
        while self._batches and self._batches[0].first <= last:
            batch = self._batches.popleft()
            self.count -= batch.count
            self.nbytes -= batch.nbytes
            self.finished = batch.last
            done.append(batch)
        return done

    def check(self) -> None:
        if not self._batches:
            assert self.count == 0 and self.nbytes == 0, (self.count, self.nbytes)
            return
        oldest, newest = self._batches[0], self._batches[-1]
        assert self.finished < oldest.first <= newest.first and newest.last == self.next - 1, (oldest, newest)
        assert self.count == self.next - oldest.first, (self.count, self.next, oldest)
        if self._audit.is_due(len(self._batches)):
            self._check_batches()

    def _check_batches(self) -> None:
        number = self._batches[0].first
        for batch in self._batches:
            assert batch.first == number and batch.count > 0, (number, batch)
            number = batch.last + 1
        assert self.nbytes == sum(batch.nbytes for batch in self._batches), (self.nbytes, self._batches)
