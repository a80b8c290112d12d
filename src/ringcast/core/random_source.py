"""Randomness as it is given to a component: injected, so that a seed replays a run bit for bit."""

from __future__ import annotations

from typing import Protocol


class RandomSource(Protocol):
    """`random.Random` is one."""

    def random(self) -> float:
        """A number from 0 up to, not including, 1."""
        ...
