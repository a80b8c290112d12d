"""A ring of slots addressed by seqno, as plain data.

Seqno `s` lives in slot `s % capacity`, so any `capacity` consecutive seqnos have a slot each.
Runs move by slice: at most two slices per run, because a run wraps at most once.

It knows no protocol: who may write which seqno, and when a slot is free, is the windows' business.
An empty slot reads as None.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

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
