"""Virtual time: one queue of things to do, and a clock for each member that may run fast or slow.

Time is integer nanoseconds and passes only when the queue says so. Of two things due at the same moment the one that
was planned first happens first, so a run depends on nothing but what was planned. What is planned for the present
moment stands in a line of its own, behind everything that was planned for this moment before it came.
There is no cancelling: a timer that is no longer wanted carries what it was for, and is ignored when it comes.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

Action = Callable[..., None]

_MILLION = 1_000_000


class Clock:
    """The queue of the simulated world."""

    __slots__ = ("_planned", "_queue", "_soon", "is_passing", "now_ns", "running")

    def __init__(self) -> None:
        self.now_ns = 0
        self.is_passing = False  # a world lets time pass; at the end it puts back what is global (passing.py)
        self.running: object = None  # meanwhile: the event loop that asyncio takes to be the running one
        self._planned = 0
        self._queue: list[tuple[int, int, Action, tuple[Any, ...]]] = []
        self._soon: deque[tuple[Action, tuple[Any, ...]]] = deque()  # planned for now

    def at(self, t_ns: int, action: Action, *args: Any) -> None:
        """Plan an action; what lies in the past happens as soon as possible."""
        if t_ns > self.now_ns:
            self._planned += 1
            heappush(self._queue, (t_ns, self._planned, action, args))
        else:
            self._soon.append((action, args))

    def soon(self, action: Action, *args: Any) -> None:
        """Plan an action for this moment."""
        self._soon.append((action, args))

    def at_once(self, action: Action, arg: Any) -> None:
        """The same, as the last thing of another action; with nothing else due, it happens now."""
        if self._soon or (self._queue and self._queue[0][0] <= self.now_ns):
            self._soon.append((action, (arg,)))
        else:
            action(arg)

    def after(self, delay_ns: int, action: Action, *args: Any) -> None:
        self.at(self.now_ns + delay_ns, action, *args)

    @property
    def next_ns(self) -> int | None:
        """When the next action is due, or None if nothing is planned."""
        if self._soon:
            return self.now_ns
        return self._queue[0][0] if self._queue else None

    def step(self) -> bool:
        """Let the next action happen; False if there is none."""
        if self._soon and not (self._queue and self._queue[0][0] <= self.now_ns):
            action, args = self._soon.popleft()
        elif self._queue:
            self.now_ns, _, action, args = heappop(self._queue)
        else:
            return False
        action(*args)
        return True

    def run(self, until_ns: int, done: Callable[[], bool] | None, complaints: list[Any], most: int) -> bool | None:
        """As `run_until` (then False), or until `done` (then True). None: somebody complains, or more than `most`
        actions happened at one moment."""
        queue, soon, actions = self._queue, self._soon, 0
        while not complaints and actions <= most:
            if done is not None and done():
                return True
            if soon and not (queue and queue[0][0] <= self.now_ns):
                action, args = soon.popleft()
                actions += 1
            elif not queue or queue[0][0] > until_ns:
                self.now_ns = max(self.now_ns, until_ns)
                return False
            else:
                due_ns, _, action, args = heappop(queue)
                if due_ns == self.now_ns:
                    actions += 1
                else:
                    self.now_ns, actions = due_ns, 0
            action(*args)
        return None

    def replan(self, action: Action, when: Callable[..., int]) -> None:
        """Move what is planned of this action for later to another moment: `when` of its arguments."""
        queue = self._queue
        for index, (_, number, planned, args) in enumerate(queue):
            if planned == action:
                queue[index] = (max(self.now_ns, when(*args)), number, planned, args)
        heapify(queue)

    def run_until(self, t_ns: int) -> None:
        """Everything that is due up to this moment happens; then it is this moment."""
        self.run(t_ns, None, [], sys.maxsize)


class LocalClock:
    """What one member's clock shows. It never goes back, whatever happens to its rate."""

    __slots__ = ("_base_local_ns", "_base_ns", "_rate", "is_true")

    def __init__(self, now_ns: int = 0) -> None:
        self._base_ns = self._base_local_ns = now_ns
        self._rate = _MILLION
        self.is_true = True  # it shows the time of the world

    def set_rate(self, now_ns: int, parts_per_million: int) -> None:
        """From now on this clock gains (or, below zero, loses) so many microseconds per second."""
        if parts_per_million <= -_MILLION:
            raise ValueError(f"a clock that loses {-parts_per_million} parts per million would stand still or go back")
        self._base_local_ns, self._base_ns = self.local(now_ns), now_ns
        self._rate = _MILLION + parts_per_million
        self.is_true = self._rate == _MILLION and self._base_ns == self._base_local_ns

    def local(self, t_ns: int) -> int:
        return self._base_local_ns + (t_ns - self._base_ns) * self._rate // _MILLION

    def when(self, local_ns: int) -> int:
        """The first moment at which this clock shows `local_ns` or more."""
        return self._base_ns - (self._base_local_ns - local_ns) * _MILLION // self._rate
