"""State transfers under way after a view: as long as there is one, no merge may begin (seed 004, its open issue).

A transfer ends when the joiner confirms, when a view excludes it, or when it makes no progress for the limit.
Not the transfer itself: that only tells its progress here.
"""

from __future__ import annotations

from ringcast.model import Address, View


class Transfers:
    def __init__(self, patience_ns: int) -> None:
        self.patience_ns = patience_ns
        self._deadlines: dict[Address, int] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    @property
    def joiners(self) -> tuple[Address, ...]:
        return tuple(self._deadlines)

    def begin(self, now_ns: int, joiner: Address) -> None:
        self._deadlines[joiner] = now_ns + self.patience_ns

    def on_progress(self, now_ns: int, joiner: Address) -> None:
        if joiner in self._deadlines:
            self._deadlines[joiner] = now_ns + self.patience_ns

    def end(self, joiner: Address) -> bool:
        return self._deadlines.pop(joiner, None) is not None

    def end_outside(self, view: View) -> list[Address]:
        return self._end([joiner for joiner in self._deadlines if joiner not in view])

    def end_stalled(self, now_ns: int) -> list[Address]:
        return self._end([joiner for joiner, deadline in self._deadlines.items() if now_ns >= deadline])

    def _end(self, joiners: list[Address]) -> list[Address]:
        for joiner in joiners:
            del self._deadlines[joiner]
        return joiners

    def deadline_ns(self) -> int | None:
        return min(self._deadlines.values()) if self._deadlines else None
