"""A word used twice: for a message to a consumer that may be evicted meanwhile, then for a message to somebody else.

The producer uses the word again only when the consumer has passed its entry or is no longer active. A consumer that was
evicted while it looked must find that out before it takes the second seq for that of its own message.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

from property.bus_model.explore import Again
from property.bus_model.memory import Access, Add, Cas, Load, Order, Store, Value

Steps: TypeAlias = Generator[Access | Again, Any, Any]

INITIAL: dict[str, Value] = {"counter": 0, "word": "free", "tail": 0, "head": 0, "entry": None, "active": True}


@dataclass(frozen=True, slots=True)
class ReuseRules:
    waits_for_the_consumer: bool = True
    looks_at_itself_afterwards: bool = True
    commit: Order = Order.RELEASE


def producer(rules: ReuseRules) -> Steps:
    yield Cas("word", "free", ("unset", 1), Order.RELAXED)
    yield Store("entry", "first")
    yield Store("tail", 1, Order.RELEASE)
    seq = (yield Add("counter")) + 1
    yield Cas("word", ("unset", 1), ("seq", seq), rules.commit)
    if rules.waits_for_the_consumer:
        passed = (yield Load("head", Order.ACQUIRE)) == 1
        if not passed and (yield Load("active", Order.ACQUIRE)):
            yield Again(("reuse", seq))
    yield from reuse(rules, seq)


def reuse(rules: ReuseRules, seq: int) -> Steps:
    yield Cas("word", ("seq", seq), ("unset", 2), Order.RELAXED)
    second = (yield Add("counter")) + 1
    yield Cas("word", ("unset", 2), ("seq", second), rules.commit)


def producer_program(rules: ReuseRules, phase: str = "first", seq: int = 0) -> Steps:
    """Again("reuse") polls until the consumer has passed or is gone."""
    if phase == "first":
        yield from producer(rules)
        return
    if (yield Load("head", Order.ACQUIRE)) != 1 and (yield Load("active", Order.ACQUIRE)):
        yield Again(("reuse", seq))
    yield from reuse(rules, seq)


def evictor() -> Steps:
    yield Store("active", False, Order.RELEASE)


def consumer(rules: ReuseRules, delivered: int | None = None) -> Steps:
    """Delivers the seq that it took for that of the first message."""
    if delivered is not None:
        return
    if (yield Load("tail", Order.ACQUIRE)) == 0:
        yield Again((None,))
    word = yield Load("word", Order.ACQUIRE)
    if rules.looks_at_itself_afterwards and not (yield Load("active", Order.ACQUIRE)):
        return
    if word[0] != "seq":
        yield Again((None,))
    yield Store("head", 1, Order.RELEASE)
    yield Again((word[1],))
