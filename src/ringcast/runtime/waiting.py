"""Who waits for what in a group, first come first served, and the words for it.

A waiter takes nothing before its turn comes and what it needs is there, so cancelling it leaves no trace.
Invariant: only the first in line may be served; every change of the line wakes the new first.
Not a lock: between `until` returning and the caller's next await nothing else runs on the loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ringcast.errors import GroupClosed, RingcastError, WaitExpired
from ringcast.model import Event, Kind
from ringcast.runtime.words import Why


@dataclass(slots=True)
class Waiter:
    future: asyncio.Future[None]
    expelled: RingcastError | None = None


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
    def during(self, what: str, timeout: float | None, why: Callable[[], Why]) -> Iterator[None]:
        """A wait, from here to the end of the block."""
        self._last += 1
        number, now = self._last, self._clock()
        until = 0 if timeout is None else now + int(timeout * 1e9)
        self._note(Event(Kind.WAIT_START, now, value=number, other=until, detail={"what": what}))
        self._running[number] = Wait(what, now, why)
        how = "cancelled"
        try:
            yield
            how = "done"
        except TimeoutError:
            how = "limit"
            raise
        except RingcastError as error:
            how = "closed" if isinstance(error, GroupClosed) else "failed"
            raise
        finally:
            del self._running[number]
            self._note(Event(Kind.WAIT_END, self._clock(), value=number, detail={"how": how}))


class Line:
    """Waiters in order of arrival. `why` puts into words what the first one lacks."""

    def __init__(self, waits: Waits, why: Callable[[], Why]) -> None:
        self._waits = waits
        self._why = why
        self._waiters: deque[Waiter] = deque()
        self._closed: RingcastError | None = None

    def __len__(self) -> int:
        return len(self._waiters)

    def look(self) -> None:
        """Something changed: the first in line should look again."""
        if self._waiters:
            future = self._waiters[0].future
            if not future.done():
                future.set_result(None)

    def close(self, error: RingcastError) -> None:
        """Nobody will be served any more."""
        self._closed = error
        self.expel(error)

    def expel(self, error: RingcastError) -> None:
        """Those who wait now get this error; who comes later is served as usual."""
        for waiter in self._waiters:
            waiter.expelled = error
            if not waiter.future.done():
                waiter.future.set_result(None)

    async def until(self, ready: Callable[[], bool], what: str, timeout: float | None) -> None:
        """Return in turn, as soon as `ready`; raise the closing error, or WaitExpired after `timeout` seconds."""
        with self._waits.during(what, timeout, self._why):
            waiter = Waiter(asyncio.get_running_loop().create_future())
            self._waiters.append(waiter)
            try:
                async with asyncio.timeout(timeout):
                    await self._served(waiter, ready)
            except TimeoutError:
                raise WaitExpired(f"{what} waited {timeout} s: {self._why()}") from None
            finally:
                self._waiters.remove(waiter)
                self.look()

    async def _served(self, waiter: Waiter, ready: Callable[[], bool]) -> None:
        while True:
            error = waiter.expelled or self._closed
            if error is not None:
                raise error
            if self._waiters[0] is waiter and ready():
                return
            waiter.future = asyncio.get_running_loop().create_future()
            await waiter.future
