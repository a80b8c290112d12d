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
from collections import deque
from collections.abc import Hashable, Iterable
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ringcast import Address, RingcastError, UsageError, View, WaitExpired
from ringcast.blocks.block import Sides, words_of
from ringcast.blocks.errors import LockLost
from ringcast.blocks.ordered import OrderedBlock
from ringcast.blocks.tokens import BEFORE, Token

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
        self._error: RingcastError | None = None  # why it was lost before it was given
        self._waiting: asyncio.Future[None] | None = None
        self._is_in_line = False  # its request was applied
        self._task: asyncio.Task[Any] | None = None  # runs the block that holds it
        self._is_cancelled = False  # that block was cancelled because of the loss

    @property
    def token(self) -> Token:
        """Grows with every grant of this key; a new one behind each merge."""
        assert self._token is not None
        return self._token

    async def _until_given(self) -> None:
        while self._token is None:
            if self._error is not None:
                raise self._error
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    def _grant(self, token: Token) -> None:
        self._token = token
        self._wake()

    def _lose(self, error: RingcastError) -> None:
        if self.is_lost:
            return
        self.is_lost = True
        if self._token is None:
            self._error = error
            self._wake()
        elif self._task is not None:
            self._is_cancelled = True
            self._task.cancel()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Holding(Generic[K]):
    """`async with locks(key)`: the block that holds a lock."""

    def __init__(self, locks: Locks[K], key: K, wait: bool, timeout: float | None) -> None:
        self._locks = locks
        self._wanted = (key, wait, timeout)
        self._held: Held[K] | None = None

    async def __aenter__(self) -> Held[K]:
        if self._held is not None:
            raise UsageError("this block has held its lock already: call the locks again")
        held = self._held = await self._locks._acquire(*self._wanted)
        if held.is_lost:
            self._locks._give_back(held)
            raise self._locks._lost(held)
        held._task = asyncio.current_task()
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        held = self._held
        assert held is not None
        task, held._task = held._task, None
        self._locks._give_back(held)
        if not held.is_lost:
            return
        is_only_lost = held._is_cancelled and task is not None and task.uncancel() <= 0  # nobody else cancelled it
        if kind is None or (is_only_lost and kind is asyncio.CancelledError):
            raise self._locks._lost(held) from None


class Locks(OrderedBlock, Generic[K]):
    """All locks under one name; `key` is their type, text unless said."""

    def __init__(self, name: str, key: type[K] = str) -> None:  # type: ignore[assignment]
        super().__init__(name)
        self.kind = f"locks of {words_of(key)}"
        self._lines: dict[K, Line] = {}
        self._in_line = 0
        self._granted = BEFORE  # the last token that was given
        self._mine: dict[int, Held[K]] = {}
        self._last = 0
        self._returned: deque[bytes] = deque()  # releases that are not sent yet
        self._returning: asyncio.Task[None] | None = None
        op: Any = _Acquire[key] | _Release[key]  # type: ignore[valid-type]
        self._ops = msgspec.msgpack.Decoder(op)
        state: Any = _State[key]  # type: ignore[valid-type]
        self._states: msgspec.msgpack.Decoder[_State[K]] = msgspec.msgpack.Decoder(state)

    # ---- for the application

    def holder(self, key: K) -> tuple[Address, Token] | None:
        """Who holds it, as far as this member has read, and with which token."""
        line = self._lines.get(key)
        return None if line is None or line.token is None else (line.requests[0].member, line.token)

    def __call__(self, key: K, *, wait: bool = True, timeout: float | None = None) -> Holding[K]:
        """Hold this lock inside an `async with`. WaitExpired after `timeout` seconds, or at once without `wait`.

        If it is lost meanwhile, the block is cancelled and LockLost is raised in its place.
        """
        return Holding(self, key, wait, timeout)

    def _lost(self, held: Held[K]) -> LockLost:
        return LockLost(f"the lock {held.key!r} of {self.name!r} with token {held._token} is lost")

    async def _acquire(self, key: K, wait: bool, timeout: float | None) -> Held[K]:
        raw = self._raw(_Acquire(key, self._last + 1, wait))
        self._last += 1
        held = self._mine[self._last] = Held(key, self._last)
        try:
            if timeout is None:
                await self._ask(held, raw)
            else:
                async with asyncio.timeout(timeout):
                    await self._ask(held, raw)
        except BaseException as error:
            self._give_back(held)
            if isinstance(error, TimeoutError) and not isinstance(error, WaitExpired):
                raise WaitExpired(f"the lock {key!r} of {self.name!r} was not given within {timeout} s") from None
            raise
        return held

    async def _ask(self, held: Held[K], raw: bytes) -> None:
        if self._returned:
            await self._return()  # What this member gave back before is free when it asks.
        if not await self._do(raw):
            raise WaitExpired(f"the lock {held.key!r} of {self.name!r} is held by {self.holder(held.key)}")
        await held._until_given()

    def _give_back(self, held: Held[K]) -> None:
        """It needs no waiting: whoever leaves the view gives back anyway. What was asked for and is not in line yet is
        given back as soon as it is: whether it will be cannot be known here if this side may not go on."""
        if self._mine.pop(held.number, None) is not None and held._is_in_line:
            self._release(held.key, held.number)

    def _release(self, key: K, number: int) -> None:
        if self._ended is not None or self._opened is None:
            return
        self._returned.append(_encode(_Release(key, number)))
        if self._returning is None:
            self._returning = asyncio.get_running_loop().create_task(self._return_all())

    async def _return_all(self) -> None:
        try:
            await self._return()
        finally:
            self._returning = None

    async def _return(self) -> None:
        """Send the releases, in their order. Several may do so at once: a release that comes twice does nothing."""
        while self._returned:
            first = self._returned[0]
            try:
                await self._queue(0, first)
            except RingcastError:
                pass  # Others drop the locks of who is gone, and nobody holds any on a side that may not go on.
            if self._returned and self._returned[0] is first:
                self._returned.popleft()

    # ---- applying

    def _keys_of(self, op: Any) -> Iterable[object]:
        return (op.key,)

    def _apply(self, op: Any, sender: Address, version: Token) -> object:
        request = Request(sender, op.number)
        line = self._lines.get(op.key)
        if isinstance(op, _Release):
            if line is not None and request in line.requests:
                self._drop(op.key, line, [request])
            return None
        if line is not None and not op.waits:
            return False
        if self._in_line >= MOST_IN_LINE:
            return UsageError(f"{self._in_line} requests hold or await locks of {self.name!r}, that is the most")
        if line is None:
            self._lines[op.key] = line = Line(self._next_token(), [])
        line.requests.append(request)
        self._in_line += 1
        if sender == self._port.group.me:
            mine = self._mine.get(op.number)
            if mine is None:
                self._release(op.key, op.number)  # Nobody here waits for it any more.
            else:
                mine._is_in_line = True
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
        """The holder, if it is here."""
        first = line.requests[0]
        held = self._mine.get(first.number) if first.member == self._port.group.me else None
        if held is not None and line.token is not None:
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
            if held._token is not None:
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
        """Behind a merge: somebody else may hold what this member held, or it is in line where nobody here waits."""
        me = self._port.group.me
        for key, line in self._lines.items():
            for request in line.requests:
                if request.member == me and request.number not in self._mine:
                    self._release(key, request.number)
        for held in list(self._mine.values()):
            known = self._lines.get(held.key)
            mine = Request(me, held.number)
            if known is not None and known.requests[0] == mine and known.token is not None:
                held._grant(known.token)
            elif held._token is not None or (held._is_in_line and (known is None or mine not in known.requests)):
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
