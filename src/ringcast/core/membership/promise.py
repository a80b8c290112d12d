"""A member's promise to a roll call: one at a time, and a greater roll call id replaces it.

From the promise until the view or the cancel the member holds its sends. A promise that ends without a view ends for
good: a view that belongs to it is refused. It ends by its own limit if nobody else ends it (G7).
"""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.core.control import RollCallId
from ringcast.core.deadlines import Timer
from ringcast.model import Address


@dataclass(slots=True)
class Promise:
    id: RollCallId
    asker: Address
    is_filling: bool = False
    has_filled: bool = False


class Promises:
    """At most one promise, with the timer that ends it."""

    def __init__(self, limit_ns: int, timer: Timer) -> None:
        self._limit_ns = limit_ns
        self._timer = timer
        self.current: Promise | None = None

    def objection(self, roll_call: RollCallId) -> str | None:
        """Why this roll call gets no promise; None if it may replace the one that was given."""
        if self.current is not None and roll_call < self.current.id:
            return f"promised to {self.current.id}"
        return None

    def give(self, now_ns: int, roll_call: RollCallId, asker: Address) -> None:
        self.current = Promise(roll_call, asker)
        self._timer.at_ns = now_ns + self._limit_ns

    def end(self) -> Promise | None:
        """Returns the promise that ended, if there was one."""
        ended, self.current, self._timer.at_ns = self.current, None, None
        return ended

    def is_due(self, now_ns: int) -> bool:
        return self._timer.is_due(now_ns)
