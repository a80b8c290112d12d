"""A ring of slots addressed by seqno, as plain data.

Seqno `s` lives in slot `s % capacity`, so any `capacity` consecutive seqnos have a slot each.
Runs move by slice: at most two slices per run, because a run wraps at most once.

It knows no protocol: who may write which seqno, and when a slot is free, is the windows' business.
An empty slot reads as None.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

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
    """`capacity` slots. A run handed to any method must not be longer than that."""

    __slots__ = ("_slots", "capacity")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a ring needs a capacity of at least 1, not {capacity}")
        self.capacity = capacity
        self._slots: list[Any] = [None] * capacity

    def get(self, seqno: int) -> T | None:
        item: T | None = self._slots[seqno % self.capacity]
        return item

    def put_run(self, first: int, items: list[T]) -> None:
        capacity = self.capacity
        start = first % capacity
        count = len(items)
        if count == 1:
            self._slots[start] = items[0]
        elif start + count <= capacity:
            self._slots[start : start + count] = items
        else:
            head = capacity - start
            self._slots[start:] = items[:head]
            self._slots[: count - head] = items[head:]

    def slice(self, first: int, last: int) -> list[T]:
        start = first % self.capacity
        stop = start + last - first + 1
        if stop <= self.capacity:
            return self._slots[start:stop]
        return self._slots[start:] + self._slots[: stop - self.capacity]

    def clear(self, first: int, last: int) -> None:
        if first == last:
            self._slots[first % self.capacity] = None
        else:
            self.put_run(first, [None] * (last - first + 1))  # type: ignore[list-item]

    def clear_all(self) -> None:
        self._slots = [None] * self.capacity
