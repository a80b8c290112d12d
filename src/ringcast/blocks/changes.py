"""A change feed of a block: what changed, key by key, for a reader that may be slow.

Bounded by the keys, not by the changes: of a key that changed several times before the reader came, it gets one change
from the first old value to the last new one, at the place of the first. Nothing of it holds the group back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ringcast import Address, RingcastError, UsageError
from ringcast.blocks.errors import ChangesLost

K = TypeVar("K")
V = TypeVar("V")

MOST_KEYS = 65_536  # that changed and were not read


@dataclass(frozen=True, slots=True)
class Change(Generic[K, V]):
    """`old` and `new` are None where the key was, or is, not there. `by` is None for a merge or a loaded state."""

    key: K
    old: V | None
    new: V | None
    by: Address | None


class Changes(Generic[K, V]):
    """`async for change in ...`; ends with the group, or by `close`."""

    def __init__(self, forget: Callable[[Changes[K, V]], None], most: int = MOST_KEYS) -> None:
        self._changes: dict[K, Change[K, V]] = {}
        self._forget = forget
        self._most = most
        self._reader: asyncio.Future[None] | None = None
        self._is_over = False
        self._error: RingcastError | None = None

    def put(self, change: Change[K, V]) -> None:
        known = self._changes.get(change.key)
        if known is not None:
            self._changes[change.key] = replace(known, new=change.new, by=change.by)
        elif len(self._changes) >= self._most:
            self._error = ChangesLost(f"more than {self._most} keys changed before this feed was read")
            self._changes.clear()
            self.end()
        elif not self._is_over:
            self._changes[change.key] = change
        self._wake()

    def end(self) -> None:
        self._is_over = True
        self._forget(self)
        self._wake()

    close = end

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def __aiter__(self) -> Changes[K, V]:
        return self

    async def __anext__(self) -> Change[K, V]:
        while not self._changes:
            if self._error is not None:
                raise self._error
            if self._is_over:
                raise StopAsyncIteration
            if self._reader is not None:
                raise UsageError("another task is reading from this change feed already")
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        return self._changes.pop(next(iter(self._changes)))
