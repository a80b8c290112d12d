"""What a page shows: a live group, a simulated one or recordings, behind one shape.

A source holds a `Scene` and a `Log` and changes them in `tick`. The server asks it ten times a second at the most and
sends what is drawn; `act` is for what a person may do (only a simulated world has much of that).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ringcast.errors import UsageError
from ringcast.page.log import Log
from ringcast.page.scene import Scene


class Source(Protocol):
    """`mode` is live, simulated or recording."""

    mode: str
    pause: float  # seconds between two ticks; the page draws at most so often
    goes_on_alone: bool  # it ticks also while nobody looks: what happens must be taken in, or it would pile up
    scene: Scene
    log: Log

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def tick(self, seconds: float) -> bool:
        """So much real time passed; is there anything new to draw?"""
        ...

    def about(self) -> dict[str, Any]:
        """What does not change from moment to moment, and what a person may do here."""
        ...

    def act(self, what: str, words: Mapping[str, Any]) -> None:
        """A person did something; UsageError says why not."""
        ...


def text_of(words: Mapping[str, Any], name: str) -> str:
    value = words.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{name} must be a text, got {value!r}")
    return value


def number_of(words: Mapping[str, Any], name: str, least: float, most: float) -> float:
    value = words.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise UsageError(f"{name} must be a number from {least:g} to {most:g}, got {value!r}")
    return float(value)
