"""The Resumer of seed 004: ends a suspension of the view handler that nobody else ends.

Armed by each suspension, disarmed by each resume. Not a thread: the deadline is a field.
"""

from __future__ import annotations


class Resumer:
    def __init__(self, limit_ns: int) -> None:
        self.limit_ns = limit_ns
        self.deadline_ns: int | None = None

    def arm(self, now_ns: int) -> None:
        self.deadline_ns = now_ns + self.limit_ns

    def allow(self, until_ns: int) -> None:
        """Something with a limit of its own has begun: it ends first."""
        if self.deadline_ns is not None and self.deadline_ns <= until_ns:
            self.deadline_ns = until_ns + 1

    def disarm(self) -> None:
        self.deadline_ns = None

    def is_due(self, now_ns: int) -> bool:
        return self.deadline_ns is not None and now_ns >= self.deadline_ns
