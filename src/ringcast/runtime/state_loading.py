"""Getting the application's state when this member joins with it: before the first message, chunk by chunk.

The application's `set_state` gets an iterator of chunks and returns when it holds the state; only then does it see
messages. If the provider is gone half way, another one begins with a later cut: `set_state` is cancelled and called
again from the beginning, and what was delivered before that cut is thrown away, for it is in the state.
Invariant: a chunk is acked when it was read, so memory stays flat. Not the transfer: that is core/state_line.py.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from ringcast.core import AwaitState, Deliver, Install, StateOver
from ringcast.errors import StateError
from ringcast.runtime.driver import Driver

SetState = Callable[[AsyncIterator[bytes]], Awaitable[None]]


class StateLoading:
    """One incarnation's way to the state; `done` when it is there, or with a StateError."""

    def __init__(self, driver: Driver, set_state: SetState, void: Callable[[Deliver], None]) -> None:
        self._driver = driver
        self._set_state = set_state
        self._patience = 2 * driver.node.config.state_patience_ns / 1e9
        self._void = void
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.done.add_done_callback(_retrieve)
        self.may_begin = asyncio.Event()  # the application has read what stands before the state
        self._task: asyncio.Task[None] | None = None
        self._chunks = Chunks(driver, "nobody", self._patience)

    @property
    def is_over(self) -> bool:
        return self.done.done()

    # ---- what the core says

    def on_await(self, order: AwaitState) -> None:
        """A provider begins; what was delivered before its cut is void."""
        self._stop()
        self.void_inbox()
        self._chunks = Chunks(self._driver, str(order.provider), self._patience)
        self._task = asyncio.create_task(self._load(self._chunks))

    def void_inbox(self) -> None:
        """Views stay to be read; messages count as read."""
        inbox = self._driver.inbox
        for item in [inbox.popleft() for _ in range(len(inbox))]:
            if isinstance(item, Install):
                inbox.append(item)
            elif isinstance(item, Deliver):
                self._void(item)

    def on_chunk(self, delivery: Deliver) -> None:
        self._chunks.put(delivery)

    def on_over(self, over: StateOver) -> None:
        if over.error is not None:
            self._fail(StateError(f"the state could not be had: {over.error}"))
        elif self._task is None:
            self._succeed()  # The first member of a group has nothing to get.
        else:
            self._chunks.end()

    def supersede(self) -> None:
        """A merge came before the state did: what comes of it is for this member, too."""
        if not self.is_over:
            self._stop()
            self.void_inbox()
            self._succeed()

    def close(self) -> None:
        self._stop()
        self.done.cancel()

    # ---- the application's part

    async def _load(self, chunks: Chunks) -> None:
        try:
            await self.may_begin.wait()
            await self._set_state(chunks)
            async for _ in chunks:  # It wanted no more, but the transfer must end.
                pass
        except StateError as error:
            self._refuse(error)
        except Exception as error:
            self._refuse(StateError(f"set_state failed: {type(error).__name__}: {error}"))
        else:
            self._driver.execute(self._driver.node.on_state_loaded(self._driver.now_ns()))
            self._succeed()

    def _refuse(self, error: StateError) -> None:
        """The provider and the others learn of it, too."""
        if not self.is_over:
            self._driver.execute(self._driver.node.on_state_loaded(self._driver.now_ns(), str(error)))
            self._fail(error)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _succeed(self) -> None:
        if not self.is_over:
            self.done.set_result(None)

    def _fail(self, error: StateError) -> None:
        self._stop()
        if not self.is_over:
            self.done.set_exception(error)


class Chunks:
    """The chunks of one provider, as an asynchronous iterator. Without patience somebody else watches over time."""

    def __init__(self, driver: Driver, provider: str, patience: float | None) -> None:
        self._driver = driver
        self._provider = provider
        self._patience = patience
        self._arrived: deque[Deliver] = deque()
        self._parts: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._is_whole = False

    def put(self, delivery: Deliver) -> None:
        self._arrived.append(delivery)
        self._changed.set()

    def end(self) -> None:
        self._is_whole = True
        self._changed.set()

    def __aiter__(self) -> Chunks:
        return self

    async def __anext__(self) -> bytes:
        while not self._parts:
            if self._arrived:
                delivery = self._arrived.popleft()
                self._parts.extend(delivery.payloads)
                self._driver.execute(self._driver.node.on_taken(self._driver.now_ns(), delivery))
            elif self._is_whole:
                raise StopAsyncIteration
            else:
                await self._until_changed()
        return self._parts.popleft()

    async def until_any(self) -> None:
        """The first chunk is here, or there is none."""
        while not (self._parts or self._arrived or self._is_whole):
            await self._until_changed()

    async def _until_changed(self) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(self._patience):
                await self._changed.wait()
        except TimeoutError:
            raise StateError(
                f"no part of the state came from {self._provider} for {self._patience:.0f} s; does it read its events?"
            ) from None


def _retrieve(done: asyncio.Future[None]) -> None:
    """Whoever waits hears of a failure; if nobody does, it is no error of the loop."""
    if not done.cancelled():
        done.exception()
