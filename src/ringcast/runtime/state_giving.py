"""Giving the application's state to those who join with it, in bounded chunks, while everything else goes on.

The state is cut where the application stands when it comes to the joiner's view: `get_state` is called between two
events of the stream, and the application gets no further event before the first chunk is there. So a generator that
takes its snapshot before its first `yield` gives exactly what the joiner must have; later chunks flow beside events.
Invariant: at most one chunk of a transfer is held here; the rest waits in the application's iterator (back-pressure).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable

from ringcast.core import ProvideState, StateOver
from ringcast.errors import UsageError
from ringcast.model import Address, ViewId
from ringcast.runtime.driver import Driver
from ringcast.runtime.state_record import Purpose, StateRecord

State = bytes | Iterable[bytes] | AsyncIterable[bytes]
GetState = Callable[[], State | Awaitable[State]]

_log = logging.getLogger("ringcast")


class StateGiving:
    """All transfers from this member.

    `driver()` returns the current incarnation's driver; it changes when the member rejoins.
    """

    def __init__(self, driver: Callable[[], Driver], get_state: GetState | None) -> None:
        self._driver = driver
        self._get_state = get_state
        self._gifts: dict[Address, _Gift] = {}

    @property
    def can_give(self) -> bool:
        return self._get_state is not None

    def refuse(self, order: ProvideState) -> None:
        """The joiner learns at once that there is nothing to wait for."""
        driver = self._driver()
        why = f"{driver.node.me} was not given a get_state"
        driver.execute(driver.node.end_state(driver.now_ns(), order.joiner, order.view, why))

    async def provide(self, order: ProvideState) -> None:
        """The application has come to the joiner's view; returns when it may go on."""
        assert self._get_state is not None
        await self.give(order, self._get_state, order.view, "join")

    async def give(self, order: ProvideState, get_state: GetState, cut: ViewId, purpose: Purpose) -> None:
        """Give this state, as of this cut; returns when it is taken."""
        old = self._gifts.pop(order.joiner, None)
        if old is not None:
            old.stop()
        others = self._driver().node.coordination
        if others is None or not others.state.gives(order.joiner, order.view):
            return  # It was over before the application came to it.
        record = StateRecord(self._driver(), order.joiner, cut, purpose)
        gift = self._gifts[order.joiner] = _Gift(self._driver(), order, record)
        await gift.begin(get_state)

    def look(self) -> None:
        """There may be room again."""
        for gift in self._gifts.values():
            gift.freed.set()

    def on_over(self, over: StateOver) -> None:
        gift = self._gifts.pop(over.joiner, None)
        if over.error is not None:
            _log.error("the state for %s was not given: %s", over.joiner, over.error)
        if gift is not None:
            gift.stop()

    def close(self) -> None:
        for gift in self._gifts.values():
            gift.stop()
        self._gifts.clear()


class _Gift:
    """One transfer: to whom, and which view named it. If a later one names another, this one gives nothing more."""

    def __init__(self, driver: Driver, order: ProvideState, record: StateRecord) -> None:
        self.freed = asyncio.Event()
        self._driver = driver
        self._joiner, self._view = order
        self._record = record
        self._is_over = False
        self._task: asyncio.Task[None] | None = None

    async def begin(self, get_state: GetState) -> None:
        """Cut the state: run the application's code up to its first chunk."""
        self._record.note("cut")
        try:
            chunks = await as_chunks(get_state())
            first = await anext(chunks, None)
        except Exception as error:  # Whatever the application raises is the joiner's to know, and not the end of us.
            self._end(f"{type(error).__name__}: {error}")
            return
        if not self._is_over:  # The joiner may have gone while the state was cut.
            self._task = asyncio.create_task(self._run(first, chunks))

    def stop(self) -> None:
        self._is_over = True
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    async def _run(self, first: bytes | None, chunks: AsyncIterator[bytes]) -> None:
        try:
            if first is not None:
                await self._give(first)
            async for chunk in chunks:
                await self._give(chunk)
            await self._until_room(0)
        except Exception as error:
            self._end(f"{type(error).__name__}: {error}")
            return
        self._end(None)

    async def _give(self, chunk: bytes) -> None:
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise UsageError(f"a chunk of the state must be bytes, got {type(chunk).__name__}")
        node = self._driver.node
        assert node.coordination is not None
        size = node.coordination.state.chunk_bytes
        for at in range(0, len(chunk), size):
            part = bytes(chunk[at : at + size])
            await self._until_room(len(part))
            self._record.feed(part)
            self._driver.execute(node.give_state(self._driver.now_ns(), self._joiner, part))

    async def _until_room(self, nbytes: int) -> None:
        while not self._driver.node.may_give_state(self._joiner, self._view, nbytes):
            self.freed.clear()
            await self.freed.wait()

    def _end(self, error: str | None) -> None:
        if error is None:
            self._record.note("given")
        self._driver.execute(self._driver.node.end_state(self._driver.now_ns(), self._joiner, self._view, error))


async def as_chunks(state: State | Awaitable[State]) -> AsyncIterator[bytes]:
    if inspect.isawaitable(state):
        state = await state
    if isinstance(state, bytes | bytearray | memoryview):
        return _each([bytes(state)])
    if isinstance(state, AsyncIterable):
        return aiter(state)
    if isinstance(state, Iterable):
        return _each(state)
    raise UsageError(f"get_state must give bytes, or an iterator of bytes, got {type(state).__name__}")


async def _each(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
