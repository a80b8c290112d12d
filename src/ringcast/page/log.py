"""The events themselves, for people who filter and search: bounded, in words, newest last.

What changes the course (views, suspicions, merges, faults) and what every message brings with it are kept apart, so
that traffic never pushes out what matters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from ringcast.model import SECOND, TRAFFIC, Address, Event
from ringcast.sim import in_words
from ringcast.trace import is_harness

MOST_COURSE = 5_000
MOST_TRAFFIC = 5_000


class Line(NamedTuple):
    """One event: its number on this page, who, its place in that member's recording (-1: unknown), itself."""

    number: int
    who: Address
    place: int
    event: Event


class Log:
    """`keep_traffic`: also what every message brings with it. A new `epoch` begins where time was set back."""

    def __init__(self, keep_traffic: bool = True, epoch: int = 0) -> None:
        self.epoch = epoch
        self.last = 0  # number of the newest line
        self._keep_traffic = keep_traffic
        self._course: deque[Line] = deque(maxlen=MOST_COURSE)
        self._traffic: deque[Line] = deque(maxlen=MOST_TRAFFIC)

    def add(self, who: Address, place: int, event: Event) -> None:
        if event.kind in TRAFFIC:
            if self._keep_traffic:
                self.last += 1
                self._traffic.append(Line(self.last, who, place, event))
        else:
            self.last += 1
            self._course.append(Line(self.last, who, place, event))

    def since(self, number: int, begin_ns: int, traffic: bool, most: int) -> list[dict[str, Any]]:
        """The newest lines behind this number, at most so many, oldest first."""
        lines = list(_newest(self._course, number, most))
        if traffic:
            lines = sorted([*lines, *_newest(self._traffic, number, most)], reverse=True)[:most]
        return [_drawn(line, begin_ns) for line in reversed(lines)]


def _newest(lines: deque[Line], number: int, most: int) -> Iterator[Line]:
    for count, line in enumerate(reversed(lines)):
        if line.number <= number or count >= most:
            return
        yield line


def _drawn(line: Line, begin_ns: int) -> dict[str, Any]:
    event = line.event
    return {
        "number": line.number,
        "t": round((event.t_ns - begin_ns) / SECOND, 6),
        "who": "faults" if is_harness(line.who) else str(line.who),
        "kind": event.kind.name,
        "index": line.place,
        "text": in_words(event),
    }
