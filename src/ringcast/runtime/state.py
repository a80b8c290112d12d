"""The application's state, given and loaded: the reader is held back meanwhile.

Four moments stop the stream of events: giving, until the first chunk is cut; getting, until the state is loaded; what
arrived meanwhile, until its next part comes from the disk (spool.py); and a merge, until the states of its sides have
become one (reunion.py).
Not the way of the chunks: that is state_giving.py and state_loading.py, one for each side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ringcast.core import (
    AwaitMerged,
    AwaitState,
    Deliver,
    GiveMerged,
    MergedOver,
    MergeStates,
    ProvideState,
    SideOver,
    StateOver,
)
from ringcast.errors import StateError
from ringcast.model import Batch, StatesApart
from ringcast.runtime.driver import Driver
from ringcast.runtime.reunion import MergeState, ReunionEffect, StateReunion, Stop
from ringcast.runtime.state_giving import GetState, StateGiving
from ringcast.runtime.state_loading import Carried, SetState, StateLoading


class StateExchange:
    """One member's state, given to others and got from them, through all its incarnations.

    `void` counts a delivery as read that the application will never see. `batch` makes of a delivery at a place that
    was lost what the application reads.
    """

    def __init__(
        self, driver: Callable[[], Driver], void: Callable[[Deliver], None], batch: Callable[[Deliver], Batch]
    ) -> None:
        self.is_busy = False  # the reader waits at `until_free`
        self.is_refilling = False  # for the next part of the spool, also after the end
        self._driver = driver
        self._void = void
        self._batch = batch
        self._carried: list[Carried] = []  # of a place that was lost on the way in, for the next one
        self._giving = StateGiving(driver, None)
        self._set_state: SetState | None = None
        self.loading: StateLoading | None = None
        self.is_entering = False  # the application has not got the group yet
        self._on_failed: Callable[[StateError], None] | None = None
        self._pause: asyncio.Future[None] | None = None
        self._reunion: StateReunion | None = None
        self._stopped: asyncio.Future[None] | None = None  # the reader stands behind a MergeView

    def hold(self, get_state: GetState | None, set_state: SetState | None) -> None:
        """What the application offers; before anything begins."""
        self._giving = StateGiving(self._driver, get_state)
        self._set_state = set_state

    def hold_merging(
        self,
        hooks: tuple[GetState, SetState, MergeState],
        tell: Callable[[StatesApart], None],
        on_failed: Callable[[StateError], None],
    ) -> None:
        """The application makes one state of many after a merge."""
        self._reunion = StateReunion(self._driver, self._giving, hooks, tell, self._void, on_failed)
        self._reunion.on_free = self._reunited

    # ---- getting

    def begin(self, on_failed: Callable[[StateError], None] | None = None) -> None:
        """A new incarnation, which may want the state. Of the first, without `on_failed`, the join waits for it."""
        self.close()
        if self._set_state is None:
            return
        self.is_busy = True
        self.is_entering = self.is_entering or on_failed is None
        self._on_failed = on_failed
        self.loading = StateLoading(self._driver(), self._set_state, self._void, self._batch, self._carried)
        self._carried = []
        self.loading.done.add_done_callback(self._loaded)
        if self.is_entering:
            self.loading.may_begin.set()  # Nobody reads yet what stands before the state.

    def carry_on(self) -> None:
        """The place is lost before the application came in: keep for the next one what is in no state."""
        if self.loading is not None:
            self._carried = self.loading.carry_on()

    @property
    def is_loading(self) -> bool:
        """This incarnation waits for the state that it joins with."""
        return self.loading is not None and not self.loading.is_over

    async def until_loaded(self) -> None:
        """The join waits, also for the state of a later incarnation, if its place is lost meanwhile (seed 241697)."""
        loading = None
        while loading is not self.loading:
            loading = self.loading
            assert loading is not None
            await asyncio.wait([loading.done])
        self.is_entering = False
        if loading is not None and not loading.done.cancelled():  # else the group was closed
            loading.done.result()

    def _loaded(self, done: asyncio.Future[None]) -> None:
        if self.loading is None or done is not self.loading.done:
            return
        self.is_busy = False
        error = None if done.cancelled() else done.exception()
        if isinstance(error, StateError) and self._on_failed is not None:
            self._on_failed(error)

    # ---- what the core says

    def on_effect(self, effect: ProvideState | AwaitState | StateOver | Deliver | ReunionEffect) -> None:
        if self._reunion is not None and self._is_for_reunion(self._reunion, effect):
            return
        if isinstance(effect, ProvideState) and not self._giving.can_give:
            asyncio.get_running_loop().call_soon(self._giving.refuse, effect)
        elif isinstance(effect, ProvideState):
            self._driver().inbox.append(effect)  # At its place in the application's order.
        elif isinstance(effect, StateOver) and effect.joiner != self._driver().node.me:
            self._giving.on_over(effect)
        elif self.loading is None:
            return
        elif isinstance(effect, AwaitState):
            self.loading.on_await(effect)
        elif isinstance(effect, StateOver):
            self.loading.on_over(effect)
        elif isinstance(effect, Deliver):
            self.loading.on_chunk(effect)

    def _is_for_reunion(self, reunion: StateReunion, effect: object) -> bool:
        match effect:
            case MergeStates() | AwaitMerged():
                behind = None if self.loading is None else self.loading.supersede()
                reunion.lacks_state = reunion.lacks_state or behind is not None
                reunion.on_effect(effect)
                self._driver().inbox.extend(behind or [])
            case SideOver() | GiveMerged() | MergedOver():
                reunion.on_effect(effect)
            case AwaitState() if reunion.is_open:
                reunion.on_await(effect)
            case Deliver() if reunion.is_open:
                reunion.on_chunk(effect)
            case _:
                return False
        return True

    def look(self) -> None:
        self._giving.look()

    # ---- the reader

    def provide(self, order: ProvideState) -> None:
        """The reader has come to this order: it waits until the state is cut."""
        self.is_busy = True
        beginning = self._pause = asyncio.ensure_future(self._giving.provide(order))
        beginning.add_done_callback(self._begun)

    def _begun(self, done: asyncio.Future[None]) -> None:
        self.is_busy = self.is_refilling = False
        self._pause = None
        if not done.cancelled():
            done.result()  # Nothing is raised there on purpose; what is, the loop shall report.

    def refill(self) -> None:
        """The reader has come to where the spool goes on, on the disk."""
        assert self.loading is not None
        self.is_busy = self.is_refilling = True
        self._pause = asyncio.ensure_future(self.loading.refill())
        self._pause.add_done_callback(self._begun)

    def reunite(self, stop: Stop) -> None:
        """The reader stands behind a MergeView: it waits for the merged state."""
        assert self._reunion is not None
        self._reunion.reach(stop)
        if self._reunion.is_busy:
            self.is_busy = True
            self._pause = self._stopped = asyncio.get_running_loop().create_future()

    def _reunited(self) -> None:
        pause, self._stopped = self._stopped, None
        if pause is not None:
            self.is_busy = False
            self._pause = None
            pause.set_result(None)

    async def until_free(self) -> None:
        """The application has read everything up to here."""
        if self._pause is not None:
            await asyncio.wait([self._pause])
        elif self.loading is not None:
            self.loading.may_begin.set()
            await asyncio.wait([self.loading.done])

    def close(self) -> None:
        if self._reunion is not None:
            self._reunion.close()
        self._giving.close()
        if self.loading is not None:
            self.loading.close()
