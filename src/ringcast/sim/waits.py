"""What a simulated process waits for, and the events that say when each wait began and how it ended (G14).

At most one wait of a kind at a time: to join, to leave, for room to send. Each has a number of its own.
Not the waiting itself: nothing here looks at a clock.
"""

from __future__ import annotations

from ringcast.model import Event, Kind


class Waits:
    """The waits of one process that have not ended, by what is waited for."""

    __slots__ = ("_last", "_open")

    def __init__(self) -> None:
        self._last = 0
        self._open: dict[str, int] = {}

    def __contains__(self, what: str) -> bool:
        return what in self._open

    def start(self, now_ns: int, what: str, until_ns: int = 0) -> Event:
        """`until_ns`: the end that this wait has in any case; 0 = it may last."""
        self._last += 1
        self._open[what] = self._last
        return Event(Kind.WAIT_START, now_ns, value=self._last, other=until_ns, detail={"what": what})

    def end(self, now_ns: int, what: str, how: str) -> list[Event]:
        """Nothing if nobody waits for this."""
        number = self._open.pop(what, None)
        return [] if number is None else [Event(Kind.WAIT_END, now_ns, value=number, detail={"how": how})]

    def end_all(self, now_ns: int, how: str) -> list[Event]:
        return [event for what in list(self._open) for event in self.end(now_ns, what, how)]
