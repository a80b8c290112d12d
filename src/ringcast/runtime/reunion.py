"""Making one state of many after a MergeView, at one member: the application's part, between two events of its stream.

A `Stop` stands in the stream directly behind the MergeView. When the reader comes to it, nothing of the new view was
read: a giver gives the state of its side, the merger collects them and calls `merge_state`, and everybody loads what
came of it. Only then does the reader go on; messages wait in their windows, so senders are held back (back-pressure).
If there will be no merged state, a `StatesApart` stands there instead, and everybody keeps the state of its side.
If the place ends first, what lies behind the stop is handed to nobody: it goes on from a state that is not here.
A merged state that counts is loaded to its end: a merge that comes meanwhile has its own stop further back in the
stream, and its part begins when the reader has gone on.
Not the agreement on who does what and what counts: that is core/state/merging.py.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from ringcast.core import (
    AwaitMerged,
    AwaitState,
    Deliver,
    GiveMerged,
    MergedOver,
    MergeStates,
    ProvideState,
    SideOver,
)
from ringcast.errors import StateError, UsageError
from ringcast.model import Address, StatesApart, Undelivered, ViewId
from ringcast.runtime.driver import Driver
from ringcast.runtime.spool import Refill
from ringcast.runtime.state_giving import GetState, StateGiving, as_chunks
from ringcast.runtime.state_loading import Chunks, SetState, drop_included, void_before_state
from ringcast.runtime.state_record import StateRecord

Sides = Mapping[tuple[Address, ...], bytes]  # the members of each side -> its state
MergeState = Callable[[Sides], bytes | Awaitable[bytes]]
Role = MergeStates | AwaitMerged | AwaitState
ReunionEffect = MergeStates | AwaitMerged | SideOver | GiveMerged | MergedOver


class Stop:
    """The place in the stream of events; `outcome` if it is over before the reader came to it."""

    def __init__(self, cut: ViewId) -> None:
        self.cut = cut
        self.is_over = False
        self.is_void = False  # the place ended before the state was here
        self.outcome: StatesApart | None = None


class Cut:
    """Stands in the stream where a state that is on its way is cut: what lies before it is part of that state."""


class StateReunion:
    """One member's part, through all its incarnations. `tell` puts an event where the reader stands.

    `void` counts a delivery as read that the application will never see: it is part of the state.
    """

    def __init__(
        self,
        driver: Callable[[], Driver],
        giving: StateGiving,
        hooks: tuple[GetState, SetState, MergeState],
        tell: Callable[[StatesApart], None],
        void: Callable[[Deliver], None],
        on_failed: Callable[[StateError], None],
    ) -> None:
        self._driver = driver
        self._giving = giving
        self._void = void
        self._get_state, self._set_state, self._merge_state = hooks
        self._tell = tell
        self._on_failed = on_failed
        self._stop: Stop | None = None
        self._is_reached = False
        self._role: Role | None = None
        self._cut: Cut | None = None  # of the state that we get, if it is cut behind the stop
        self._chunks: dict[Address, Chunks] = {}  # by giver; one entry, by whoever gives it, for the merged state
        self._counts: asyncio.Future[GiveMerged] | None = None
        self._task: asyncio.Task[None] | None = None
        self._counts_here = False  # the merged state of this stop counts: what is left is the application's part
        self._later: list[tuple[Callable[[Any], None], Any]] = []  # what the core said of merges behind this stop
        self._stops: dict[ViewId, Stop] = {}  # theirs, in the stream already
        self.on_free: Callable[[], None] = lambda: None
        self.lacks_state = False  # it joined with state, and the merge came before that: it has none of its own

    @property
    def is_open(self) -> bool:
        """The merged state is awaited, and what comes on the state channel belongs to it."""
        return self._stop is not None

    @property
    def is_busy(self) -> bool:
        """The reader stands at the stop."""
        return self._stop is not None and self._is_reached

    # ---- what the core says

    def _is_for_later(self, act: Callable[[Any], None], said: object) -> bool:
        """Is this about a merge behind the one whose state is still being loaded?"""
        stop = self._stop
        begins = isinstance(said, MergeStates | AwaitMerged) and stop is not None and said.cut != stop.cut
        if not self._later and not (begins and self._counts_here):
            return False
        if isinstance(said, MergeStates | AwaitMerged) and said.cut not in self._stops:
            self._stops[said.cut] = Stop(said.cut)
            self._driver().inbox.append(self._stops[said.cut])
        self._later.append((act, said))
        return True

    def on_effect(self, effect: ReunionEffect) -> None:
        if self._is_for_later(self.on_effect, effect):
            return
        match effect:
            case MergeStates() | AwaitMerged():
                self._stand_at(effect.cut)
                self._begin(effect)
            case SideOver():
                self._chunks[effect.giver].end()
            case GiveMerged():
                self._counts_here = True
                if self._counts is not None and not self._counts.done():
                    self._counts.set_result(effect)
            case MergedOver(error=None):
                self._counts_here = True
                if self._cut is not None:  # Not before: until it is here, we stand directly behind the MergeView.
                    void_before_state(self._driver(), self._void, self._cut)
                if isinstance(self._role, AwaitMerged | AwaitState):
                    drop_included(self._driver(), self._void, self._role.includes, self._stop)
                for chunks in self._chunks.values():
                    chunks.end()
            case MergedOver():
                self._give_up(effect.error or "")

    def on_await(self, order: AwaitState) -> None:
        """Somebody who has the merged state gives its own, as of a later view: what we held is part of it.

        What went to some members only may not be: it stays on its side of the stop.
        """
        cut = Cut()
        self._driver().inbox.append(cut)
        self._on_cut((order, cut))

    def _on_cut(self, told: tuple[AwaitState, Cut]) -> None:
        if self._is_for_later(self._on_cut, told):
            return
        assert self._stop is not None
        order, cut = told
        self._begin(order)
        self._cut = cut

    def on_chunk(self, delivery: Deliver) -> None:
        if self._is_for_later(self.on_chunk, delivery):
            return
        if delivery.origin in self._chunks:
            self._chunks[delivery.origin].put(delivery)

    def _stand_at(self, cut: ViewId) -> None:
        if self._stop is None or self._stop.cut != cut:
            is_there = cut in self._stops
            self._stop = self._stops.pop(cut, None) or Stop(cut)
            self._is_reached = False
            if not is_there:
                self._driver().inbox.append(self._stop)

    def _begin(self, role: Role) -> None:
        """This member's part; another one, if somebody who worked on it is gone: then from the beginning."""
        self._cancel()
        self._role, self._counts_here, self._cut = role, False, None
        givers = [side.giver for side in role.sides] if isinstance(role, MergeStates) else [_source(role)]
        self._chunks = {giver: Chunks(self._driver(), str(giver), None, self._record(role, giver)) for giver in givers}
        self._counts = asyncio.get_running_loop().create_future()
        if self._is_reached:
            self._start()

    def _record(self, role: Role, giver: Address) -> StateRecord:
        match role:
            case MergeStates():
                return StateRecord(self._driver(), giver, role.cut, "side")
            case AwaitMerged():
                return StateRecord(self._driver(), giver, role.cut, "merge")
            case AwaitState():
                return StateRecord(self._driver(), giver, role.view, "join")

    # ---- the reader

    def reach(self, stop: Stop) -> None:
        """The application has read everything up to the MergeView."""
        if stop is self._stop:
            self._is_reached = True
            self._start()
        elif stop.is_void:
            self._drop_behind(stop)
        elif stop.outcome is not None:
            self._tell(stop.outcome)

    def _drop_behind(self, stop: Stop) -> None:
        """After the end, when the recording has told it: nothing is left but what became of messages of its own."""
        driver = self._driver()
        items = list(driver.inbox)
        at = items.index(stop) if stop in items else 0  # The reader stands there.
        driver.inbox.clear()
        driver.inbox.extend([*items[:at], *(item for item in items[at:] if isinstance(item, Undelivered))])
        if driver.spool is not None and Refill not in map(type, items[:at]):
            driver.spool.clear()

    def _start(self) -> None:
        assert self._role is not None
        self._task = asyncio.create_task(self._run(self._role))

    async def _run(self, role: Role) -> None:
        try:
            await (self._merge(role) if isinstance(role, MergeStates) else self._get(role))
        except Exception as error:
            self._cannot(error)
        else:
            self.lacks_state = False
            self._end(None)

    def _cannot(self, error: Exception) -> None:
        """Before the merged state counts, nobody gets it; after that, it is this member's own trouble."""
        why = f"{type(error).__name__}: {error}"
        driver = self._driver()
        if isinstance(self._role, MergeStates) and self._counts is not None and not self._counts.done():
            driver.execute(driver.node.on_states_merged(driver.now_ns(), f"merge_state failed: {why}"))
            return
        driver.execute(driver.node.on_state_loaded(driver.now_ns(), f"set_state failed: {why}"))
        whose = f" of {self._role.merger}" if isinstance(self._role, AwaitMerged) else ""
        self._fail(StateError(f"the merged state{whose} could not be loaded: set_state failed: {why}"))

    def _fail(self, error: StateError) -> None:
        """This member goes."""
        stop = self._stop
        self._on_failed(error)
        self.close()
        if stop is not None:
            self._drop_behind(stop)

    # ---- the parts

    async def _merge(self, role: MergeStates) -> None:
        limit = self._driver().node.config.merge_state_bytes
        states: dict[tuple[Address, ...], bytes] = {}
        for side in role.sides:
            own = side.giver == self._driver().node.me
            chunks: AsyncIterator[bytes] = self._chunks[side.giver]
            if own:
                chunks = await as_chunks(self._get_state())
            room = limit - sum(map(len, states.values()))
            states[side.members] = await _whole(chunks, room, side.giver)
            if not own:
                self._chunks[side.giver].note("got")
        merged = self._merge_state(states)
        state = await merged if inspect.isawaitable(merged) else merged
        if not isinstance(state, bytes):
            raise UsageError(f"merge_state must give bytes, got {type(state).__name__}")
        driver = self._driver()
        driver.execute(driver.node.on_states_merged(driver.now_ns()))
        assert self._counts is not None
        counts = await self._counts
        record = StateRecord(driver, driver.node.me, role.cut, "merge")
        record.feed(state)
        record.note("merged")
        for member in counts.members:
            await self._giving.give(ProvideState(member, counts.view), lambda: state, role.cut, "merge")
        await self._set_state(await as_chunks(state))
        record.note("loaded")

    async def _get(self, role: AwaitMerged | AwaitState) -> None:
        if isinstance(role, AwaitMerged) and role.gives:
            await self._giving.give(ProvideState(role.merger, role.view), self._get_state, role.cut, "side")
        chunks = self._chunks[_source(role)]
        await chunks.until_any()  # Not before: the state of our side may still be on its way from the old one.
        await self._set_state(chunks)
        async for _ in chunks:  # It wanted no more, but the transfer must end.
            pass
        chunks.note("loaded")

    # ---- the end

    def _give_up(self, why: str) -> None:
        if self._stop is None:
            return
        self._cancel()
        if self.lacks_state:
            self.lacks_state = False
            self._fail(StateError(f"the state could not be had: a merge came first, and its states stay apart: {why}"))
        else:
            self._end(StatesApart(self._stop.cut, why))

    def _end(self, outcome: StatesApart | None) -> None:
        stop, self._stop = self._stop, None
        self._role, self._chunks = None, {}
        if stop is None:
            return
        stop.is_over, stop.outcome = True, outcome
        if self._is_reached and outcome is not None:
            self._tell(outcome)
        self._is_reached = False
        self.on_free()
        later, self._later = self._later, []
        for act, said in later:
            act(said)

    def _forget_later(self) -> None:
        self._later.clear()
        self._stops.clear()

    def _cancel(self) -> None:
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        self._task = None

    def close(self) -> None:
        """The place is over. What lies behind the stop stays there until the recording has said so."""
        self._forget_later()
        self._cancel()
        self.lacks_state = False
        if self._stop is not None:
            self._stop.is_void = True
            if self._is_reached:
                self._driver().inbox.appendleft(self._stop)
        self._end(None)


def _source(role: AwaitMerged | AwaitState) -> Address:
    return role.merger if isinstance(role, AwaitMerged) else role.provider


async def _whole(chunks: AsyncIterator[bytes], room: int, giver: Address) -> bytes:
    parts: list[bytes] = []
    async for chunk in chunks:
        room -= len(chunk)
        if room < 0:
            raise UsageError(f"the states to merge are above merge_state_bytes, with that of {giver}")
        parts.append(bytes(chunk))
    return b"".join(parts)
