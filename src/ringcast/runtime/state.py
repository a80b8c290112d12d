"""The desk where the application's state is given and got: it holds the reader back while one of them must come first.

Two moments stop the stream of events: giving, until the first chunk is cut; and getting, until the state is loaded.
Not the way of the chunks: that is state_giving.py and state_loading.py, one for each side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ringcast.core import AwaitState, Deliver, ProvideState, StateOver
from ringcast.errors import StateError
from ringcast.runtime.driver import Driver
from ringcast.runtime.state_giving import GetState, StateGiving
from ringcast.runtime.state_loading import SetState, StateLoading


class StateDesk:
    """One member's state, given to others and got from them, through all its incarnations.

    `void` counts a delivery as read that the application will never see.
    """

    def __init__(self, driver: Callable[[], Driver], void: Callable[[Deliver], None]) -> None:
        self.is_busy = False  # the reader waits at `until_free`
        self._driver = driver
        self._void = void
        self._giving = StateGiving(driver, None)
        self._set_state: SetState | None = None
        self._loading: StateLoading | None = None
        self._on_failed: Callable[[StateError], None] | None = None
        self._pause: asyncio.Future[None] | None = None

    def hold(self, get_state: GetState | None, set_state: SetState | None) -> None:
        """What the application offers; before anything begins."""
        self._giving = StateGiving(self._driver, get_state)
        self._set_state = set_state

    # ---- getting

    def begin(self, on_failed: Callable[[StateError], None] | None = None) -> None:
        """A new incarnation, which may want the state. With `on_failed` nobody calls `until_loaded`."""
        self._giving.close()
        if self._loading is not None:
            self._loading.close()
        if self._set_state is None:
            return
        self.is_busy = True
        self._on_failed = on_failed
        self._loading = StateLoading(self._driver(), self._set_state, self._void)
        self._loading.done.add_done_callback(self._loaded)
        if on_failed is None:
            self._loading.may_begin.set()

    async def until_loaded(self) -> None:
        if self._loading is not None:
            await asyncio.shield(self._loading.done)

    def _loaded(self, done: asyncio.Future[None]) -> None:
        if self._loading is None or done is not self._loading.done:
            return
        self.is_busy = False
        error = None if done.cancelled() else done.exception()
        if isinstance(error, StateError) and self._on_failed is not None:
            self._on_failed(error)

    # ---- what the core says

    def on_effect(self, effect: ProvideState | AwaitState | StateOver | Deliver) -> None:
        if isinstance(effect, ProvideState) and not self._giving.can_give:
            asyncio.get_running_loop().call_soon(self._giving.refuse, effect)
        elif isinstance(effect, ProvideState):
            self._driver().inbox.append(effect)  # At its place in the application's order.
        elif isinstance(effect, StateOver) and effect.joiner != self._driver().node.me:
            self._giving.on_over(effect)
        elif self._loading is None:
            return
        elif isinstance(effect, AwaitState):
            self._loading.on_await(effect)
        elif isinstance(effect, StateOver):
            self._loading.on_over(effect)
        else:
            self._loading.on_chunk(effect)

    def look(self) -> None:
        self._giving.look()

    # ---- the reader

    def provide(self, order: ProvideState) -> None:
        """The reader has come to this order: it waits until the state is cut."""
        self.is_busy = True
        beginning = self._pause = asyncio.ensure_future(self._giving.provide(order))
        beginning.add_done_callback(self._begun)

    def _begun(self, done: asyncio.Future[None]) -> None:
        self.is_busy = False
        self._pause = None
        if not done.cancelled():
            done.result()  # Nothing is raised there on purpose; what is, the loop shall report.

    async def until_free(self) -> None:
        """The application has read everything up to here."""
        if self._pause is not None:
            await asyncio.wait([self._pause])
        elif self._loading is not None:
            self._loading.may_begin.set()
            await asyncio.wait([self._loading.done])

    def close(self) -> None:
        self._giving.close()
        if self._loading is not None:
            self._loading.close()
