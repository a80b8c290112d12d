"""The steps of a tour: each has a name, words for what happens, and is timed; the first that fails ends it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from ringcast.errors import RingcastError


@dataclass(slots=True)
class Step:
    name: str
    ok: bool = False
    seconds: float = 0.0


class Audience(Protocol):
    """Who is told what happens."""

    def begin(self, number: int, name: str) -> None: ...

    def tell(self, sentence: str) -> None: ...

    def end(self, step: Step) -> None: ...


class DemoError(RingcastError):
    """Something did not go as the tour promises."""


@dataclass(slots=True)
class Steps:
    """What was done so far."""

    audience: Audience
    done: list[Step] = field(default_factory=list)

    @asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[None]:
        step = Step(name)
        self.done.append(step)
        self.audience.begin(len(self.done), name)
        began = time.monotonic()
        try:
            yield
            step.ok = True
        finally:
            step.seconds = round(time.monotonic() - began, 2)
            self.audience.end(step)

    def tell(self, sentence: str) -> None:
        self.audience.tell(sentence)

    def expect(self, truth: bool, otherwise: str) -> None:
        if not truth:
            raise DemoError(otherwise)

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(step) for step in self.done]
