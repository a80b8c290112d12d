"""Checks after every step cost what changed, not everything held; and find what is broken at once, or soon."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol, SupportsIndex

import pytest

from ringcast.core.ordering.in_flight import InFlight, Unfinished
from ringcast.core.ordering.sender_queue import Batch, SenderQueue
from ringcast.window import AckMap, Ranges, SendWindow


class Checked(Protocol):
    def check(self) -> None: ...


class Tally:
    looked_at = 0


class CountedDeque(deque[Any]):
    def __iter__(self) -> Iterator[Any]:
        Tally.looked_at += len(self)
        return super().__iter__()

    def __getitem__(self, at: SupportsIndex) -> Any:  # type: ignore[override]
        Tally.looked_at += 1
        return super().__getitem__(at)


class CountedList(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        Tally.looked_at += len(self)
        return super().__iter__()

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        Tally.looked_at += len(found) if isinstance(at, slice) else 1
        return found


class CountedDict(dict[Any, Any]):
    def values(self) -> Any:
        Tally.looked_at += len(self)
        return super().values()


def send_window(size: int) -> tuple[SendWindow[bytes], Callable[[int], object]]:
    window: SendWindow[bytes] = SendWindow(size, 10 * size)
    window._runs = CountedDeque()
    return window, lambda number: window.add_run([b"x"], 1)


def ranges(size: int) -> tuple[Ranges, Callable[[int], object]]:
    """From both ends inwards, so that most are put into the middle."""
    held = Ranges()
    held._firsts, held._lasts = CountedList(), CountedList()
    return held, lambda number: held.add(*[4 * (number if number % 2 else 2 * size - number)] * 2)


def in_flight(size: int) -> tuple[InFlight, Callable[[int], object]]:
    held = InFlight()
    held._batches = CountedDeque()
    return held, lambda number: held.add(2, 10)


def held_line(size: int) -> tuple[SenderQueue, Callable[[int], object]]:
    line = SenderQueue(1)
    line.held = CountedDeque()
    return line, lambda number: line.add(Batch(number, 1, 1, [b"x"]))


def lacking_line(size: int) -> tuple[SenderQueue, Callable[[int], object]]:
    line = SenderQueue(1)
    line.lacking = CountedDeque()
    return line, lambda number: line.add(Batch(number, 1, 1, None))


def ack_map(size: int) -> tuple[AckMap[int], Callable[[int], object]]:
    acks = AckMap(dict.fromkeys(range(size), 0))
    acks._acks = CountedDict(acks._acks)
    return acks, lambda number: acks.on_ack(number, number)


EVERY = [send_window, ranges, in_flight, held_line, lacking_line, ack_map]


def looked_at(make: Callable[[int], tuple[Checked, Callable[[int], object]]], size: int) -> int:
    """Elements that a check after each of `size` steps looks at, all in all."""
    held, step = make(size)
    Tally.looked_at = 0
    inside = 0
    for number in range(1, size + 1):
        before = Tally.looked_at
        step(number)
        inside += Tally.looked_at - before
        held.check()
    return Tally.looked_at - inside


@pytest.mark.parametrize("make", EVERY)
def test_eight_times_the_steps_are_eight_times_the_work(make: Any) -> None:
    small, large = looked_at(make, 500), looked_at(make, 4000)
    assert large < 10 * small
    assert large < 50 * 4000


def filled(make: Any, size: int = 400) -> Any:
    held, step = make(size)
    for number in range(1, size + 1):
        step(number)
        held.check()
    return held


def swap(items: Any, a: int, b: int) -> None:
    items[a], items[b] = items[b], items[a]


def lose(held: Any, name: str, at: int) -> None:
    del getattr(held, name)[at]


def put(held: Any, name: str, at: Any, value: Any) -> None:
    getattr(held, name)[at] = value


AT_ONCE: list[tuple[Any, Callable[[Any], None]]] = [
    (send_window, lambda held: lose(held, "_runs", -1)),
    (send_window, lambda held: swap(held._runs, 0, 1)),
    (send_window, lambda held: swap(held._runs, -1, -2)),
    (send_window, lambda held: setattr(held, "bytes", 1)),
    (send_window, lambda held: setattr(held, "low", 1)),
    (ranges, lambda held: put(held, "_lasts", 0, 0)),
    (ranges, lambda held: put(held, "_lasts", held._changed, held._firsts[held._changed + 1])),
    (ranges, lambda held: put(held, "_firsts", -1, held._lasts[-1] + 1)),
    (ranges, lambda held: lose(held, "_lasts", 200)),
    (ranges, lambda held: setattr(held, "count", 0)),
    (in_flight, lambda held: setattr(held, "count", 1)),
    (in_flight, lambda held: setattr(held, "finished", 1)),
    (in_flight, lambda held: lose(held, "_batches", 0)),
    (in_flight, lambda held: lose(held, "_batches", -1)),
    (held_line, lambda held: setattr(held, "staged", 7)),
    (held_line, lambda held: put(held, "held", -1, Batch(400, 1, 1, None))),
    (held_line, lambda held: held.lacking.append(Batch(1, 1, 1, None))),
    (lacking_line, lambda held: put(held, "lacking", 0, Batch(1, 1, 1, [b"x"]))),
    (ack_map, lambda held: setattr(held, "_at_minimum", 0)),
    (ack_map, lambda held: setattr(held, "_at_minimum", 1_000)),
]

LATER: list[tuple[Any, Callable[[Any], None]]] = [
    (send_window, lambda held: swap(held._runs, 200, 201)),
    (send_window, lambda held: put(held, "_runs", 200, (201, 2))),
    (send_window, lambda held: setattr(held, "bytes", held.bytes - 1)),
    (ranges, lambda held: swap(held._firsts, 100, 101)),
    (ranges, lambda held: put(held, "_lasts", 100, held._firsts[101] - 1)),
    (ranges, lambda held: setattr(held, "count", held.count + 1)),
    (in_flight, lambda held: put(held, "_batches", 200, Unfinished(401, 1, 10))),
    (in_flight, lambda held: put(held, "_batches", 200, Unfinished(401, 2, 11))),
    (in_flight, lambda held: setattr(held, "nbytes", 1)),
    (held_line, lambda held: swap(held.held, 200, 201)),
    (held_line, lambda held: put(held, "held", 200, Batch(201, 1, 1, None))),
    (lacking_line, lambda held: swap(held.lacking, 200, 201)),
    (ack_map, lambda held: setattr(held, "minimum", 7)),
    (ack_map, lambda held: put(held, "_acks", 5, 0)),
]


@pytest.mark.parametrize(("make", "breaks"), AT_ONCE)
def test_what_is_broken_at_an_end_or_where_the_last_change_was_is_found_at_once(make: Any, breaks: Any) -> None:
    held = filled(make)
    breaks(held)
    with pytest.raises((AssertionError, ValueError)):
        held.check()


@pytest.mark.parametrize(("make", "breaks"), LATER)
def test_what_is_broken_in_between_is_found_within_an_eighth_of_the_size_in_checks(make: Any, breaks: Any) -> None:
    held = filled(make)
    breaks(held)
    with pytest.raises(AssertionError):
        for _ in range(400 // 8 + 1):
            held.check()


@pytest.mark.parametrize(("make", "field"), [(send_window, "bytes"), (ranges, "count"), (in_flight, "nbytes")])
def test_a_structure_of_a_few_elements_is_looked_at_whole_every_time(make: Any, field: str) -> None:
    held = filled(make, 3)
    setattr(held, field, getattr(held, field) + 1)
    with pytest.raises(AssertionError):
        held.check()
