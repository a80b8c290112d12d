"""How a suspension of the view handler ends: the causes of seed 004, and the Resumer where no other one comes.

The Resumer is armed by each suspension, disarmed by each resume. The limits of what it watches nest in its own
(`Config`), so that it comes only where a message that should have ended the suspension never came. Not a thread: the
deadline is a timer.
"""

from __future__ import annotations

from enum import StrEnum

from ringcast.core.deadlines import Timer


class ResumeCause(StrEnum):
    """Why a suspension ended; `case` is the number in seed 004."""

    VIEW_INSTALLED = "view-installed"
    VIEW_FAILED = "view-failed"
    MERGE_ENDED = "merge-ended"
    MERGE_VIEW = "merge-view"
    LEADER_GONE = "leader-gone"
    RESUMER = "resumer"

    @property
    def case(self) -> int:
        return _CASES[self]


_CASES = {
    ResumeCause.VIEW_INSTALLED: 1,
    ResumeCause.VIEW_FAILED: 1,
    ResumeCause.MERGE_ENDED: 2,
    ResumeCause.MERGE_VIEW: 3,
    ResumeCause.LEADER_GONE: 3,
    ResumeCause.RESUMER: 4,
}


class Resumer:
    def __init__(self, limit_ns: int, timer: Timer) -> None:
        self.limit_ns = limit_ns
        self.timer = timer

    def arm(self, now_ns: int) -> None:
        self.timer.at_ns = now_ns + self.limit_ns

    def disarm(self) -> None:
        self.timer.at_ns = None

    def is_due(self, now_ns: int) -> bool:
        return self.timer.is_due(now_ns)
