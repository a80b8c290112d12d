"""This member's waits: which are under way, since when and for what, how each ended; and how long a call may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ringcast.errors import GroupClosed, RingcastError
from ringcast.model import Event, Kind
from ringcast.runtime.words import Why


class Limit:
    """The time that one call may take, whatever it waits for and however often. Begins when it is made."""

    __slots__ = ("at", "seconds")

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.at = None if seconds is None else asyncio.get_running_loop().time() + seconds

    def left(self) -> float | None:
        return None if self.at is None else max(0.0, self.at - asyncio.get_running_loop().time())


class Wait(NamedTuple):
    """A wait under way; `why` puts into words what it lacks."""

    what: str
    since_ns: int
    why: Callable[[], Why]


class Waits:
    """Numbers this member's waits, knows those under way, and notes when each began and how it ended (G14)."""

    def __init__(self, clock: Callable[[], int], note: Callable[[Event], None]) -> None:
        self._clock = clock
        self._note = note
        self._last = 0
        self._running: dict[int, Wait] = {}

    def running(self) -> list[Wait]:
        """In the order in which they began."""
        return list(self._running.values())

    @contextmanager
    def during(
        self, what: str, timeout: float | None, why: Callable[[], Why], sent: bool | None = None
    ) -> Iterator[None]:
        """A wait, from here to the end of the block. `sent`: of a send, whether its message is sent if this ends early.

        The recording says that then; an error of its own may say that it cannot be known.
        """
        self._last += 1
        number, now = self._last, self._clock()
        until = 0 if timeout is None else now + int(timeout * 1e9)
        self._note(Event(Kind.WAIT_START, now, value=number, other=until, detail={"what": what}))
        self._running[number] = Wait(what, now, why)
        detail: dict[str, object] = {"how": "cancelled"}
        if sent is not None:
            detail["sent"] = sent
        try:
            yield
            detail = {"how": "done"}
        except TimeoutError:
            detail["how"] = "limit"
            raise
        except RingcastError as error:
            detail["how"] = "closed" if isinstance(error, GroupClosed) else "failed"
            if sent is not None:
                detail["sent"] = error.sent
            raise
        finally:
            del self._running[number]
            self._note(Event(Kind.WAIT_END, self._clock(), value=number, detail=detail))
