"""How virtual time passes in a world: step by step, until a moment or until something is done.

What an application, or anything else in a process, raised and nobody caught ends it with Broke. So does a task that
spins: virtual time would stand still for ever.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any

from ringcast.sim.clock import Clock
from ringcast.sim.verdict import Broke

MOST_STEPS = 200_000  # callbacks at one moment of virtual time

# Nearly everything that a world makes is kept to its end (events) or freed by its count of references. So the collector
# of cycles finds nothing, again and again: 4 % of a run's CPU time with Python's own limit of 700 new objects.
COLLECT_AFTER = 50_000


class Passing:
    """The clock of a world, and what its processes complained about."""

    def __init__(self, clock: Clock) -> None:
        self.is_over = False  # the world ends: nobody listens to complaints any more
        self._clock = clock
        self._complaints: list[tuple[str, BaseException | None, str]] = []

    def complain(self, who: str, error: BaseException | None, words: str) -> None:
        if not self.is_over:
            self._complaints.append((who, error, words))

    def until(self, until_ns: int, done: Callable[[], bool] | None = None) -> bool:
        """Let things happen up to this moment, or until `done`; True if it is."""
        outer, outer_loop = sys.get_asyncgen_hooks(), asyncio._get_running_loop()
        collect_after = gc.get_threshold()
        sys.set_asyncgen_hooks(None, _end_generator)
        if collect_after[0]:  # else the collector is off
            gc.set_threshold(max(COLLECT_AFTER, collect_after[0]), *collect_after[1:])
        self._clock.is_passing = True
        try:
            return self._step(until_ns, done)
        finally:
            self._clock.is_passing, self._clock.running = False, None
            asyncio._set_running_loop(outer_loop)
            sys.set_asyncgen_hooks(*outer)
            gc.set_threshold(*collect_after)

    def _step(self, until_ns: int, done: Callable[[], bool] | None) -> bool:
        clock = self._clock
        is_done = clock.run(until_ns, done, self._complaints, MOST_STEPS)
        if self._complaints:
            self._raise()
        if is_done is None:
            spins = f"{MOST_STEPS} callbacks at {clock.now_ns / 1e9:g} s"
            raise Broke(f"{spins}: somebody spins without letting time pass")
        return is_done

    def _raise(self) -> None:
        who, error, words = self._complaints.pop(0)
        what = words if error is None else f"{words}: {type(error).__name__}: {error}"
        raise Broke(f"{who}: {what}") from error


def _end_generator(generator: AsyncGenerator[Any, Any]) -> None:
    """An asynchronous generator that nobody reads any more is ended in the process that had it."""
    loop = asyncio._get_running_loop()
    if loop is not None:
        loop.create_task(generator.aclose())
