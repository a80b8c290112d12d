"""The Resumer of seed 004: ends a suspension of the view handler that nobody else ends.

Armed by each suspension, disarmed by each resume. The limits of what it watches nest in its own (`Config`), so that
it comes only where a message that should have ended the suspension never came. Not a thread: the deadline is a field.
"""

from __future__ import annotations


class Resumer:
    def __init__(self, limit_ns: int) -> None:
        self.limit_ns = limit_ns
        self.deadline_ns: int | None = None

    def arm(self, now_ns: int) -> None:
        self.deadline_ns = now_ns + self.limit_ns

    def disarm(self) -> None:
        self.deadline_ns = None

    def is_due(self, now_ns: int) -> bool:
        return self.deadline_ns is not None and now_ns >= self.deadline_ns
