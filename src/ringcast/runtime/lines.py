"""Who waits for what in a group: a line for each destination, first come first served in each, and the words for it.

A message to the group waits in one line, a message to some members in the line of each of them: who is slow delays
only what is for it. A waiter takes nothing before it is first in all its lines and what it needs is there, so
cancelling it leaves no trace. Whoever needs no turn (a flush, somebody without a place) waits in no line.
Invariant: whenever a line gets a new first, or something changed, who may go is woken; so nobody waits in vain.
Not a lock: between `until` returning and the caller's next await nothing else runs on the loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from ringcast.errors import RingcastError, WaitExpired
from ringcast.model import Address
from ringcast.runtime.waiting import Limit, Waits
from ringcast.runtime.words import Why

Destination = Address | None
GROUP: Final = None  # everybody, as a destination


def _no() -> bool:
    return False


@dataclass(slots=True, eq=False)
class Need:
    """What somebody waits for: `ready` in its turn, or `refused` at any time (its caller then says why).

    `slots` and `nbytes` are what it will take, so that several that fit may be woken together; `pieces` is the least
    with which it goes.
    """

    ready: Callable[[], bool]
    to: tuple[Destination, ...] = ()
    refused: Callable[[], bool] = _no
    slots: int = 1
    nbytes: int = 0
    pieces: int = 1
    expelled: RingcastError | None = None
    is_watched: bool = False  # somebody looks whether it waits for its own reading (readers.py)
    is_over: bool = False  # it waits no longer
    woken: asyncio.Future[None] | None = field(default=None)

    @property
    def is_waiting(self) -> bool:
        return self.woken is not None and not self.woken.done()

    def check(self) -> None:
        if self.expelled is not None:
            raise self.expelled.copy()

    def wake(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)


class Lines:
    """Those who wait, in order of arrival. `on_wait` hears of each that begins to, and of each that waits on.

    Whoever `goes_first` stands before the others: they may all wait for what only it can do.
    """

    def __init__(
        self, waits: Waits, on_wait: Callable[[Need], None] | None = None, goes_first: Callable[[], bool] = _no
    ) -> None:
        self._waits = waits
        self._on_wait = on_wait
        self._goes_first = goes_first
        self._waiting: dict[Need, None] = {}
        self._lines: dict[Destination, deque[Need]] = {}
        self._closed: RingcastError | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def holds(self, destination: Destination) -> bool:
        """Does anybody wait to send there?"""
        return destination in self._lines

    def pieces(self, destination: Destination) -> int:
        """The most that anybody needs at once who waits to send there."""
        return max((need.pieces for need in self._lines.get(destination, ())), default=0)

    # ---- progress

    def look(self) -> None:
        """Something changed: whoever may go is woken, of each line the first."""
        for need in dict.fromkeys(line[0] for line in self._lines.values()):
            if self._may_go(need):
                need.wake()
        for need in self._waiting:
            if not need.to and self._may_go(need):
                need.wake()

    def look_behind(self, destination: Destination, slots: int, nbytes: int) -> None:
        """There is so much room there: those behind the first that fit beside it are woken, and go in their turn."""
        for need in self._lines.get(destination, ()):
            slots -= need.slots
            nbytes -= need.nbytes
            if slots < 0 or nbytes < 0:
                return
            need.wake()

    def wake_all(self) -> None:
        """What was possible may be so no more (a view): everybody looks again."""
        for need in self._waiting:
            need.wake()

    def close(self, error: RingcastError) -> None:
        """Nobody will be served any more."""
        self._closed = error
        self.expel(error)

    def expel(self, error: RingcastError) -> None:
        """Those who wait now get this error; who comes later is served as usual."""
        for need in self._waiting:
            need.expelled = error
            need.wake()

    # ---- waiting

    async def until(
        self,
        need: Need,
        what: str,
        limit: Limit,
        why: Callable[[], Why],
        *,
        is_brief: Callable[[], bool] = _no,
        instead: Callable[[], RingcastError] | None = None,
        sent: bool | None = None,
    ) -> None:
        """Return in turn, as soon as `need` is ready or refused; raise the closing error, or WaitExpired at the limit.

        While `is_brief` a turn of the loop is waited for, which is not counted as a wait. `instead`: raise this rather
        than wait. `sent`: what the recording says if the wait ends without success.
        """
        self._enter(need)
        try:
            while not self._may_go(need):
                if not is_brief():
                    break
                await asyncio.sleep(0)
                need.check()
            else:
                return
            if instead is not None:
                raise instead()
            with self._waits.during(what, limit.left(), why, sent):
                try:
                    async with asyncio.timeout_at(limit.at):
                        while not self._may_go(need):
                            if self._on_wait is not None:
                                self._on_wait(need)
                            await self._woken(need)
                except TimeoutError:
                    raise WaitExpired(f"{what} waited {limit.seconds} s: {why()}") from None
        finally:
            need.is_over = True
            del self._waiting[need]
            self._leave_lines(need.to, need)

    def _enter(self, need: Need) -> None:
        if self._closed is not None:
            raise self._closed.copy()
        self._waiting[need] = None
        is_first = bool(self._lines) and self._goes_first()
        for destination in need.to:
            line = self._lines.setdefault(destination, deque())
            if is_first:
                line.appendleft(need)
            else:
                line.append(need)

    def _leave_lines(self, destinations: Iterable[Destination], need: Need) -> None:
        for destination in destinations:
            line = self._lines[destination]
            was_first = line[0] is need
            line.remove(need)
            if not line:
                del self._lines[destination]
            elif was_first and self._may_go(line[0]):
                line[0].wake()

    def _may_go(self, need: Need) -> bool:
        if need.refused():
            return True
        return all(self._lines[destination][0] is need for destination in need.to) and need.ready()

    async def _woken(self, need: Need) -> None:
        need.woken = asyncio.get_running_loop().create_future()
        await need.woken
        need.check()
