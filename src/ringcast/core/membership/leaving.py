"""How a member gets out: ask whoever leads, again and again, until a view without it comes or the limit ends it.

What was sent before is not lost: the leaver answers the roll call like anybody, so all fill up to its last message.
A member that leads asks itself; the request takes the same way. Not the hand-over: that is the view's order.
"""

from __future__ import annotations

from ringcast.core.control import Leave
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable
from ringcast.core.entrance import RandomSource
from ringcast.core.steps import Steps
from ringcast.model import Address, Config


class Leaver:
    """One member on its way out."""

    def __init__(self, now_ns: int, config: Config, random: RandomSource, deadlines: Deadlines) -> None:
        self.config = config
        self._limit, self._again = deadlines.timer(), deadlines.timer()
        self._limit.at_ns = now_ns + config.leave_ns
        self._random = random

    def ask(self, now_ns: int, leader: Address | None) -> Steps:
        self._again.at_ns = now_ns + self._pause(self.config.join_retry_ns)
        return [] if leader is None else [SendReliable(leader, Leave())]

    def on_busy(self, now_ns: int) -> None:
        self._again.at_ns = now_ns + self._pause(self.config.busy_pause_ns)

    def _pause(self, pause_ns: int) -> int:
        return int(pause_ns * (0.5 + self._random.random()))

    def is_due(self, now_ns: int) -> bool:
        return self._again.is_due(now_ns)

    def is_over(self, now_ns: int) -> bool:
        return self._limit.is_due(now_ns)
