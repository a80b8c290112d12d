"""How long a leader waits after a failed merge: random and doubling, so that two leaders do not collide for ever."""

from __future__ import annotations

from ringcast.core.random_source import RandomSource


class Pause:
    def __init__(self, first_ns: int, most_ns: int, random: RandomSource) -> None:
        self.first_ns = first_ns
        self.most_ns = most_ns
        self._random = random
        self._failures = 0
        self.until_ns = 0

    def on_failure(self, now_ns: int) -> None:
        longest = min(self.most_ns, self.first_ns << min(self._failures, 32))
        self.until_ns = now_ns + longest // 2 + int(longest * self._random.random()) // 2
        self._failures += 1

    def on_success(self) -> None:
        self._failures = 0
        self.until_ns = 0
