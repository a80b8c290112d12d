"""The bell of a shared bus: sleepers that look once more before they sleep, ringers that wake whoever said so.

The futex is one place, (value, who sleeps on it), because the kernel compares and puts to sleep under its own lock. The
sleep has no limit here, so that a lost wake-up shows.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

from property.bus_model.explore import Again
from property.bus_model.memory import Access, Cas, Change, Load, Store, Value

Steps: TypeAlias = Generator[Access | Again, Any, Any]

INITIAL: dict[str, Value] = {"mail": 0, "asleep": 0, "futex": (0, ())}
RINGS_MAX = 4


@dataclass(frozen=True, slots=True)
class BellRules:
    looks_after_saying_so: bool = True
    reads_the_value_first: bool = True
    rings_after_the_change: bool = True
    wakes_all: bool = True


def sleeper(rules: BellRules, me: int, wanted: int, sleeps: bool = False) -> Steps:
    """Ends when it has seen that there are `wanted` letters."""
    if sleeps:
        _, asleep = yield Load("futex")
        yield Again((me, wanted, me in asleep))
    value = (yield Load("futex"))[0] if rules.reads_the_value_first else None
    if rules.looks_after_saying_so:
        yield Store("asleep", 1)
    if (yield Load("mail")) >= wanted:
        return
    if not rules.looks_after_saying_so:
        yield Store("asleep", 1)
    if value is None:
        value = (yield Load("futex"))[0]
    yield Change("futex", goes_to_sleep(value, me))
    yield Again((me, wanted, True))


def goes_to_sleep(value: int, me: int) -> tuple[tuple[Value, Value], ...]:
    """From each state of the futex that still has this value: one more sleeps."""
    others: tuple[tuple[int, ...], ...] = ((), (1 - me,))
    return tuple(((value, asleep), (value, tuple(sorted((*asleep, me))))) for asleep in others)


def ringer(rules: BellRules) -> Steps:
    if rules.rings_after_the_change:
        yield from deliver()
        yield from ring(rules)
    else:
        yield from ring(rules)
        yield from deliver()


def deliver() -> Steps:
    yield Change("mail", ((0, 1), (1, 2)))


def ring(rules: BellRules) -> Steps:
    if not (yield Load("asleep")) or not (yield Cas("asleep", 1, 0)):
        return
    crowds: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1))
    yield Change("futex", tuple(((n, who), (n + 1, who)) for n in range(RINGS_MAX) for who in crowds))
    left = slice(0, 0) if rules.wakes_all else slice(1, None)
    yield Change("futex", tuple(((n, who), (n, who[left])) for n in range(RINGS_MAX + 1) for who in crowds))
