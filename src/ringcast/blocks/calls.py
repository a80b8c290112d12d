"""The caller's side of one call: who is asked, who has answered what, and when that is enough.

Every member that is asked ends as exactly one answer: a value, an error of its handler, gone, or too late.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ringcast import Address, RingcastError, WaitExpired

R = TypeVar("R")

Gather = Literal["first", "majority", "all"]


@dataclass(frozen=True, slots=True)
class Answer(Generic[R]):
    """What one member answered. `value` gives it, or raises the error that came instead."""

    member: Address
    result: R | None = None
    error: RingcastError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def value(self) -> R:
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class Call:
    """One request that was sent to some members, until enough of them have answered."""

    def __init__(
        self, number: int, procedure: str, members: Sequence[Address], timeout: float | None, *, to_all: bool
    ) -> None:
        self.number = number
        self.to_all = to_all
        self.procedure = procedure
        self._asked = dict.fromkeys(members)
        self.awaited = dict.fromkeys(members)
        self.sent_in: int | None = None  # the number of the view in which the request was accepted
        self.is_ordered = False
        self.is_to_one = False  # it was sent to one member
        self.late: list[Address] = []  # had not answered at the limit
        self.error: RingcastError | None = None  # nobody will answer
        self._arrived: deque[Answer[Any]] = deque()
        self._timeout = timeout
        self._end = None if timeout is None else asyncio.get_running_loop().time() + timeout
        self._changed: asyncio.Future[None] | None = None

    def seconds_left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - asyncio.get_running_loop().time())

    async def within_limit(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Before it is sent."""
        try:
            async with asyncio.timeout(self.seconds_left()):
                await waiting
        except TimeoutError:
            late = WaitExpired(f"{self.procedure!r} was not sent within {self._timeout} s: there is no state here yet")
            late.sent = False
            raise late from None

    def ask_too(self, members: Sequence[Address]) -> None:
        """The request goes to the whole view, in which these were when it was accepted."""
        for member in members:
            if member not in self._asked:
                self._asked[member] = None
                self.awaited[member] = None

    def put(self, answer: Answer[Any]) -> None:
        if answer.member in self.awaited:
            del self.awaited[answer.member]
            self._arrived.append(answer)
            self._wake()

    def fail(self, error: RingcastError) -> None:
        self.error = error
        self._wake()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def next(self) -> Answer[Any] | None:
        """The next answer as it comes; after the limit one of each who has not answered; None when there is no more."""
        while not self._arrived:
            if self.error is not None:
                raise self.error.copy()
            if not self.awaited:
                return None
            self._changed = asyncio.get_running_loop().create_future()
            if self._end is None:
                await self._changed
                continue
            try:
                async with asyncio.timeout_at(self._end):
                    await self._changed
            except TimeoutError:
                self._expire()
        return self._arrived.popleft()

    def _expire(self) -> None:
        for member in self.awaited:
            late = WaitExpired(f"{member} has not answered {self.procedure!r} within {self._timeout} s")
            late.sent = True
            self._arrived.append(Answer(member, error=late))
        self.late, self.awaited = list(self.awaited), {}

    async def gather(self, how: Gather) -> list[Answer[Any]]:
        """The answers, in the order in which they came, until there are enough good ones or no more."""
        asked = len(self._asked)
        enough = {"first": 1, "majority": asked // 2 + 1, "all": asked + 1}[how]
        answers: list[Answer[Any]] = []
        while enough and (answer := await self.next()) is not None:
            answers.append(answer)
            enough -= answer.ok
        return answers
