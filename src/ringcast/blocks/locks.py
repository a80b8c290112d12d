"""Locks by key, each with at most one holder in each view, and a fencing token that grows with every grant.

    locks = Locks("jobs")
    async with locks("cellar") as held:
        await jobs.set("cellar", "done", token=held.token)

Requests and releases go in the one order of all, so everybody knows who holds what and who is next. Who leaves the view
loses its locks to the next in line. The sides of a partition each have their own holders; behind the merge those of the
side with the most members (of equal ones the first) hold on, with new tokens that are greater than any of before, and
the blocks of the others end with LockLost; whoever waited on any side waits on. A holder does not know that it was cut
off until its own view says so: what it does meanwhile carries an older token, by which whoever is written to refuses
it. With `partition="primary"` one side only grants locks, and a member of another loses those that it held.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ringcast import Address, RingcastError, UsageError, View, WaitExpired
from ringcast.blocks.block import Sides
from ringcast.blocks.errors import LockLost
from ringcast.blocks.ordered import OrderedBlock
from ringcast.blocks.tokens import Token

K = TypeVar("K", bound=Hashable)

MOST_IN_LINE = 65_536  # requests, of all keys together
BEHIND_SIDES = 1 << 32  # a counter that no side has reached in one view

_encode = msgspec.msgpack.Encoder().encode


class Request(NamedTuple):
    """A member's request; its number is the member's own."""

    member: Address
    number: int


class Line(msgspec.Struct, array_like=True):
    """A key that somebody holds: the first in line, with this token; None until the merge that runs is done."""

    token: Token | None
    requests: list[Request]


class _Acquire(msgspec.Struct, Generic[K], array_like=True, tag=0):
    key: K
    number: int
    waits: bool


class _Release(msgspec.Struct, Generic[K], array_like=True, tag=1):
    key: K
    number: int


class _State(msgspec.Struct, Generic[K], array_like=True):
    version: Token
    granted: Token
    lines: list[tuple[K, Line]]


class Held(Generic[K]):
    """A lock that this member has asked for, until it gives it back or loses it."""

    def __init__(self, key: K, number: int) -> None:
        self.key = key
        self.number = number
        self.is_lost = False
        self._token: Token | None = None
        self._granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._granted.add_done_callback(_retrieve)
        self._is_in_line = False  # its request was applied
        self._task: asyncio.Task[Any] | None = None  # runs the block that holds it

    @property
    def token(self) -> Token:
        """Grows with every grant of this key; a new one behind each merge."""
        assert self._token is not None
        return self._token

    def _grant(self, token: Token) -> None:
        self._token = token
        if not self._granted.done():
            self._granted.set_result(None)

    def _lose(self, error: RingcastError) -> None:
        self.is_lost = True
        if not self._granted.done():
            self._granted.set_exception(error)
        elif self._task is not None:
            self._task.cancel()


def _retrieve(granted: asyncio.Future[None]) -> None:
    """Whoever waits hears of it; if nobody does yet, it is no error of the loop."""
    if not granted.cancelled():
        granted.exception()


class Locks(OrderedBlock, Generic[K]):
    """All locks under one name; `key` is their type, text unless said."""

    kind = "locks"

    def __init__(self, name: str, key: type[K] = str) -> None:  # type: ignore[assignment]
        super().__init__(name)
        self._lines: dict[K, Line] = {}
        self._in_line = 0
        self._granted = Token(0, 0)  # the last token that was given
        self._mine: dict[int, Held[K]] = {}
        self._last = 0
        self._giving_back: dict[asyncio.Task[None], None] = {}
        op: Any = _Acquire[key] | _Release[key]  # type: ignore[valid-type]
        self._ops = msgspec.msgpack.Decoder(op)
        state: Any = _State[key]  # type: ignore[valid-type]
        self._states: msgspec.msgpack.Decoder[_State[K]] = msgspec.msgpack.Decoder(state)

    # ---- for the application

    def holder(self, key: K) -> tuple[Address, Token] | None:
        """Who holds it, as far as this member has read, and with which token."""
        line = self._lines.get(key)
        return None if line is None or line.token is None else (line.requests[0].member, line.token)

    @asynccontextmanager
    async def __call__(self, key: K, *, wait: bool = True, timeout: float | None = None) -> AsyncIterator[Held[K]]:
        """Hold this lock inside the block. WaitExpired after `timeout` seconds, or at once without `wait`.

        If it is lost meanwhile, the block is cancelled and LockLost is raised in its place.
        """
        held = await self._acquire(key, wait, timeout)
        held._task = asyncio.current_task()
        try:
            if held.is_lost:
                raise self._lost(held)
            yield held
        except asyncio.CancelledError:
            if held.is_lost and held._task is not None and held._task.uncancel() <= 0:
                raise self._lost(held) from None
            raise
        finally:
            held._task = None
            self._give_back(held)
        if held.is_lost:  # At the very end: its cancellation has not struck yet.
            raise self._lost(held)

    def _lost(self, held: Held[K]) -> LockLost:
        return LockLost(f"the lock {held.key!r} of {self.name!r} with token {held._token} is lost")

    async def _acquire(self, key: K, wait: bool, timeout: float | None) -> Held[K]:
        raw = _encode(_Acquire(key, self._last + 1, wait))
        try:
            self._ops.decode(raw)
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.name!r} does not take this key: {error}") from None
        self._last += 1
        held = self._mine[self._last] = Held(key, self._last)
        try:
            async with asyncio.timeout(timeout):
                if not await self._do(raw):
                    raise WaitExpired(f"the lock {key!r} of {self.name!r} is held by {self.holder(key)}")
                await held._granted
        except BaseException as error:
            self._give_back(held)
            if isinstance(error, TimeoutError) and not isinstance(error, WaitExpired):
                raise WaitExpired(f"the lock {key!r} of {self.name!r} was not given within {timeout} s") from None
            raise
        return held

    def _give_back(self, held: Held[K]) -> None:
        """Also what was asked for and never given. It needs no waiting: whoever leaves the view gives back anyway."""
        if self._mine.pop(held.number, None) is None or self._ended is not None or self._opened is None:
            return
        if not held._granted.done():
            held._granted.cancel()
        task = asyncio.get_running_loop().create_task(self._release(held))
        self._giving_back[task] = None
        task.add_done_callback(self._giving_back.pop)

    async def _release(self, held: Held[K]) -> None:
        try:
            await self._queue(0, _encode(_Release(held.key, held.number)))
        except RingcastError:
            pass  # Others drop the locks of who is gone, and nobody holds any on a side that may not go on.

    # ---- applying

    def _apply(self, op: Any, sender: Address, version: Token) -> object:
        request = Request(sender, op.number)
        line = self._lines.get(op.key)
        if isinstance(op, _Release):
            if line is not None and request in line.requests:
                self._drop(op.key, line, [request])
            return None
        if line is None:
            self._lines[op.key] = line = Line(self._next_token(), [])
        elif not op.waits:
            return False
        elif self._in_line >= MOST_IN_LINE:
            return UsageError(f"{self._in_line} requests wait for locks of {self.name!r}, that is the most")
        line.requests.append(request)
        self._in_line += 1
        self._tell(line)
        return True

    def _next_token(self) -> Token:
        """Greater than all of before, on whatever side (tokens.py)."""
        view, counter = self._granted
        self._granted = Token(view, counter + 1)
        return self._granted

    def _drop(self, key: K, line: Line, gone: list[Request]) -> None:
        holder = line.requests[0]
        self._in_line -= len(gone)
        line.requests = [request for request in line.requests if request not in gone]
        if not line.requests:
            del self._lines[key]
        elif line.requests[0] != holder and line.token is not None:
            line.token = self._next_token()
            self._tell(line)

    def _tell(self, line: Line) -> None:
        """Those in line who are here."""
        me = self._port.group.me
        for index, request in enumerate(line.requests):
            held = self._mine.get(request.number) if request.member == me else None
            if held is not None:
                held._is_in_line = True
                if index == 0 and line.token is not None:
                    held._grant(line.token)

    def _on_view(self, view: View) -> None:
        super()._on_view(view)
        if view.id.number > self._granted.view:
            self._granted = Token(view.id.number, 0)
        if not view.is_primary or view.coordinator is None:
            self._lines, self._in_line = {}, 0  # Nobody holds anything on a side that may not go on.
        if view.is_merge and self._port.group.me not in max(view.subgroups, key=len):
            self._yield()
        for key, line in list(self._lines.items()):
            gone = [request for request in line.requests if request.member not in view]
            if gone:
                self._drop(key, line, gone)

    def _yield(self) -> None:
        """This side is not the largest of those that a merge view joins: in that view it has no holders."""
        for key, line in list(self._lines.items()):
            if line.token is not None:
                holder, line.token = line.requests[0], None
                self._drop(key, line, [holder])
        for held in list(self._mine.values()):
            if held._granted.done():
                held._lose(self._lost(held))

    def _part(self, why: str) -> None:
        """The sides have not agreed: nobody holds anything, so they agree again."""
        self._lines, self._in_line = {}, 0
        self._granted = Token(self._granted.view, BEHIND_SIDES)
        for held in list(self._mine.values()):
            held._lose(self._lost(held))

    def _fail(self, error: RingcastError) -> None:
        """The place is lost, or this side may not go on: others may hold what this member held."""
        super()._fail(error)
        for held in list(self._mine.values()):
            held._lose(error.copy())

    # ---- state

    async def _cut(self) -> bytes:
        return _encode(_State(self._version, self._granted, list(self._lines.items())))

    async def _load(self, state: bytes) -> None:
        found = self._states.decode(state)
        self._version, self._granted = found.version, found.granted
        self._lines = dict(found.lines)
        self._in_line = sum(len(line.requests) for line in self._lines.values())
        if self._opened is not None:
            self._look_at_mine()

    def _look_at_mine(self) -> None:
        """Behind a merge: somebody else may hold what this member held."""
        me = self._port.group.me
        for held in list(self._mine.values()):
            line = self._lines.get(held.key)
            mine = Request(me, held.number)
            if line is not None and line.requests[0] == mine and line.token is not None:
                held._grant(line.token)
            elif held._granted.done() or (held._is_in_line and (line is None or mine not in line.requests)):
                held._lose(self._lost(held))

    def _merge(self, sides: Sides) -> bytes:
        """The holders of the largest side hold on, the others have yielded; whoever waited waits on.

        Every token is a new one, greater than those of all sides.
        """
        states = {members: self._states.decode(state) for members, state in sides.items()}
        found = [(key, line, members) for members, state in states.items() for key, line in state.lines]
        lines: dict[K, list[Request]] = {}
        for key, line, members in sorted(found, key=lambda one: one[1].token is None):
            lines.setdefault(key, []).extend(request for request in line.requests if request.member in members)
        view, counter = max(state.granted for state in states.values())
        merged: list[tuple[K, Line]] = []
        for key, requests in lines.items():
            if requests:
                counter += 1
                merged.append((key, Line(Token(view, counter), requests)))
        version = max(state.version for state in states.values())
        return _encode(_State(version, Token(view, counter), merged))
