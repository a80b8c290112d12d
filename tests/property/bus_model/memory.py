"""A memory in which loads may see old values, as the C memory model allows; and a strict one, in which they do not.

Each location is the list of all values it ever had, in modification order. A thread has a view: for each location, the
oldest value it may still read. A release store attaches the writer's view to its value; an acquire load that reads it
joins that view to the reader's. A read-modify-write reads the newest value and keeps what was attached to it (C11's
release sequence). This is the release/acquire fragment with relaxed accesses; no location here is written blindly by
two threads, so appending is the only place a new value can go.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

Value: TypeAlias = Any
View: TypeAlias = tuple[int, ...]
Written: TypeAlias = tuple[Value, View | None]  # a value and the view attached to it


class Order(Enum):
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"

    @property
    def acquires(self) -> bool:
        return self in (Order.ACQUIRE, Order.ACQ_REL)

    @property
    def releases(self) -> bool:
        return self in (Order.RELEASE, Order.ACQ_REL)


@dataclass(frozen=True, slots=True)
class Load:
    at: str
    order: Order = Order.RELAXED


@dataclass(frozen=True, slots=True)
class Store:
    at: str
    value: Value
    order: Order = Order.RELAXED


@dataclass(frozen=True, slots=True)
class Add:
    """fetch_add(1); answers the old value."""

    at: str
    order: Order = Order.ACQ_REL


@dataclass(frozen=True, slots=True)
class Cas:
    """Answers whether the newest value was the expected one and is now the new one."""

    at: str
    expected: Value
    new: Value
    order: Order = Order.ACQ_REL


@dataclass(frozen=True, slots=True)
class Change:
    """A CAS repeated until it took: each old value in the table becomes its new one, any other stays."""

    at: str
    table: tuple[tuple[Value, Value], ...]
    order: Order = Order.ACQ_REL


Access: TypeAlias = Load | Store | Add | Cas | Change


@dataclass(frozen=True, slots=True)
class Memory:
    """All values ever written, and each thread's view."""

    places: tuple[str, ...]
    history: tuple[tuple[Written, ...], ...]
    views: tuple[View, ...]
    is_strict: bool

    @classmethod
    def fresh(cls, initial: dict[str, Value], threads: int, is_strict: bool) -> Memory:
        values = tuple(((value, None),) for value in initial.values())
        return cls(tuple(initial), values, ((0,) * len(initial),) * threads, is_strict)

    def newest(self, at: str) -> Value:
        return self.history[self.places.index(at)][-1][0]

    def newest_only(self) -> Memory:
        """What a thread sees that is shown no stale values."""
        history = tuple((values[-1],) for values in self.history)
        return Memory(self.places, history, tuple((0,) * len(view) for view in self.views), is_strict=True)

    def options(self, thread: int, access: Access) -> list[tuple[Value, Memory]]:
        """Every answer that the access may get, each with the memory after it."""
        place = self.places.index(access.at)
        match access:
            case Load(_, order):
                oldest = len(self.history[place]) - 1 if self.is_strict else self.views[thread][place]
                return [self._read(thread, place, at, order) for at in range(oldest, len(self.history[place]))]
            case Store(_, value, order):
                return [(None, self._write(thread, place, value, order, None))]
            case Add(_, order):
                value, memory = self._read(thread, place, len(self.history[place]) - 1, order)
                return [(value, memory._write(thread, place, value + 1, order, self.history[place][-1][1]))]
            case Cas(_, expected, new, order):
                value, memory = self._read(thread, place, len(self.history[place]) - 1, order)
                if value != expected:
                    return [(False, memory)]
                return [(True, memory._write(thread, place, new, order, self.history[place][-1][1]))]
            case Change(_, table, order):
                value, memory = self._read(thread, place, len(self.history[place]) - 1, order)
                new = next((new for old, new in table if old == value), value)
                if new == value:
                    return [(None, memory)]
                return [(None, memory._write(thread, place, new, order, self.history[place][-1][1]))]

    def retired(self, thread: int) -> Memory:
        """The thread has ended: what it could still have read matters no more."""
        return self._with_view(thread, tuple(len(values) - 1 for values in self.history)).pruned()

    def pruned(self) -> Memory:
        """The same memory without the values that nobody can read any more: fewer worlds are different."""
        if self.is_strict:
            return self
        dead = tuple(map(min, zip(*self.views, strict=True)))
        if not any(dead):
            return self
        history = tuple(
            tuple((value, None if view is None else shifted(view, dead)) for value, view in values[oldest:])
            for values, oldest in zip(self.history, dead, strict=True)
        )
        return Memory(self.places, history, tuple(shifted(view, dead) for view in self.views), self.is_strict)

    def _read(self, thread: int, place: int, at: int, order: Order) -> tuple[Value, Memory]:
        value, attached = self.history[place][at]
        if self.is_strict:
            return value, self
        view = self.views[thread]
        seen = (*view[:place], max(view[place], at), *view[place + 1 :])
        if order.acquires and attached is not None:
            seen = joined(seen, attached)
        return value, self._with_view(thread, seen)

    def _write(self, thread: int, place: int, value: Value, order: Order, kept: View | None) -> Memory:
        if self.is_strict:
            history = (*self.history[:place], ((value, None),), *self.history[place + 1 :])
            return Memory(self.places, history, self.views, self.is_strict)
        before, view = self.history[place], self.views[thread]
        view = (*view[:place], len(before), *view[place + 1 :])
        attached = joined(view, kept) if order.releases and kept else view if order.releases else kept
        history = (*self.history[:place], (*before, (value, attached)), *self.history[place + 1 :])
        return Memory(self.places, history, self.views, self.is_strict)._with_view(thread, view)

    def _with_view(self, thread: int, view: View) -> Memory:
        views = (*self.views[:thread], view, *self.views[thread + 1 :])
        return Memory(self.places, self.history, views, self.is_strict)


def shifted(view: View, by: View) -> View:
    return tuple(max(0, at - less) for at, less in zip(view, by, strict=True))


def joined(one: View, other: View) -> View:
    return tuple(map(max, one, other))
