"""The steps of a tour: each has a name, words for what happens, and is timed; the first that fails ends it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from ringcast.errors import RingcastError

Say = Callable[[str], None]


@dataclass(slots=True)
class Step:
    name: str
    ok: bool = False
    seconds: float = 0.0


class DemoError(RingcastError):
    """Something did not go as the tour promises."""


@dataclass(slots=True)
class Steps:
    """What was done so far. `say` gets the words, line by line."""

    say: Say
    done: list[Step] = field(default_factory=list)

    @asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[None]:
        self.say(f"\n{len(self.done) + 1}. {name}")
        step = Step(name)
        self.done.append(step)
        began = time.monotonic()
        try:
            yield
            step.ok = True
        finally:
            step.seconds = round(time.monotonic() - began, 2)

    def tell(self, sentence: str) -> None:
        self.say(f"   {sentence}")

    def expect(self, truth: bool, otherwise: str) -> None:
        if not truth:
            raise DemoError(otherwise)

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(step) for step in self.done]
