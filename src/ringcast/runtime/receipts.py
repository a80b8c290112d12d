"""Receipts of ordered messages: given when a message is queued, finished when it has its place in the one order.

Several may wait for one receipt; one that is cancelled disturbs nobody. A receipt whose place was lost raises.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from typing import Any

from ringcast.core import Finished
from ringcast.errors import RingcastError
from ringcast.model import ViewId
from ringcast.order import Stamp


class Receipt:
    """`await receipt` gives the stamp of the message's place, as text."""

    __slots__ = ("_done", "_error", "_stamp", "last", "view")

    def __init__(self) -> None:
        self.last = 0  # the number of the (last) message, once it has one
        self.view: ViewId | None = None  # in which it was sent, once it was
        self._stamp: Stamp | None = None
        self._error: RingcastError | None = None
        self._done: asyncio.Event | None = None

    @property
    def stamp(self) -> str | None:
        return None if self._stamp is None else str(self._stamp)

    def __await__(self) -> Generator[Any, None, str]:
        return self._wait().__await__()

    async def _wait(self) -> str:
        if self._stamp is None and self._error is None:
            if self._done is None:
                self._done = asyncio.Event()
            await self._done.wait()
        if self._error is not None:
            raise self._error.copy()
        return str(self._stamp)

    def finish(self, stamp: Stamp) -> None:
        self._stamp = stamp
        self._tell()

    def fail(self, error: RingcastError) -> None:
        self._error = error
        self._tell()

    def _tell(self) -> None:
        if self._done is not None:
            self._done.set()


class Receipts:
    """Those that are not finished, in the order of their numbers."""

    def __init__(self) -> None:
        self._open: deque[Receipt] = deque()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, receipt: Receipt, last: int, view: ViewId) -> None:
        receipt.last, receipt.view = last, view
        self._open.append(receipt)

    def on_finished(self, finished: Finished) -> None:
        while self._open and self._open[0].last <= finished.last:
            self._open.popleft().finish(finished.stamp)

    def fail(self, error: RingcastError) -> None:
        while self._open:
            self._open.popleft().fail(error)
