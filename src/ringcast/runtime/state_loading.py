"""Getting the application's state when this member joins with it: before the first message, chunk by chunk.

The application's `set_state` gets an iterator of chunks and returns when it holds the state; only then does it see
messages. If the provider is gone half way, another one begins with a later cut: `set_state` is cancelled and called
again from the beginning, and what was delivered before that cut is thrown away, for it is in the state. What went to
some members only stays until a state is loaded: a private message is in no state, an ordered one in that of a provider
to which it went too (`includes`), and the next provider may be another one (G16, G18). What is in no state is handed
over behind it. If a merge comes before the state, that stands behind the merged one. What was kept so at a place that
this member lost on its way in is handed over behind the state of its next place (`carried`).
What arrives meanwhile goes into the joining spool and holds no sender back; it is handed over behind the state.
If there will be no state, what arrives is thrown away until this member has gone: the error of its join says so.
Invariant: a chunk is acked when it was read, so memory stays flat. Not the transfer: that is core/state/chunks.py.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping

from ringcast.core import (
    IN_THE_STATE,
    WITHOUT_STATE,
    AwaitState,
    Deliver,
    Dequeue,
    Included,
    Install,
    ProvideState,
    StateOver,
)
from ringcast.errors import StateError
from ringcast.model import Batch, Event, Kind
from ringcast.runtime.driver import Driver
from ringcast.runtime.spool import ITEM_BYTES, MESSAGE_BYTES, Refill, Spool, is_included, is_private, is_to_some
from ringcast.runtime.state_record import StateRecord, Step

LOOKS = 8  # steps in which a joiner waits for more of the state, to see whether it stood still itself

SetState = Callable[[AsyncIterator[bytes]], Awaitable[None]]
Carried = Spool | Batch  # what went to some members, at a place that was lost


class StateLoading:
    """One incarnation's way to the state; `done` when it is there, or with a StateError.

    `void` counts a delivery as read that the application will never see. `batch` makes of a delivery at a place that
    was lost what the application reads; `carried` is what is left of such places, in order.
    """

    def __init__(
        self,
        driver: Driver,
        set_state: SetState,
        void: Callable[[Deliver], None],
        batch: Callable[[Deliver], Batch],
        carried: Iterable[Carried] = (),
    ) -> None:
        self._driver = driver
        self._batch = batch
        self.carried = deque(carried)
        self._set_state = set_state
        self._patience = 2 * driver.node.config.state_patience_ns / 1e9
        self._void = void
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.done.add_done_callback(_retrieve)
        self.may_begin = asyncio.Event()  # the application has read what stands before the state
        self._task: asyncio.Task[None] | None = None
        self._chunks = Chunks(driver, "nobody", self._patience, None)
        config = driver.node.config
        memory, disk = map(sum, zip(*map(_sizes, self.carried), strict=True)) if self.carried else (0, 0)
        limits = max(0, config.spool_bytes - memory), max(0, config.spool_disk_bytes - disk)
        self.spool = driver.spool = Spool(*limits, self.on_inbox)
        self._includes: tuple[Included, ...] = ()  # what the state that is on its way includes
        self._is_spooling = False
        self._is_refused = False  # there will be no state

    @property
    def is_over(self) -> bool:
        return self.done.done()

    # ---- what the core says

    def on_await(self, order: AwaitState) -> None:
        """A provider begins; what was delivered before its cut is void. Who will have no state says so again."""
        if self._is_refused:
            asyncio.get_running_loop().call_soon(self._tell, self.done.exception())
            return
        self._stop()
        void_before_state(self._driver, self._void)
        self._includes = order.includes
        record = StateRecord(self._driver, order.provider, order.view, "join")
        self._chunks = Chunks(self._driver, str(order.provider), self._patience, record)
        self._task = asyncio.create_task(self._load(self._chunks))

    # ---- what arrives meanwhile

    def on_inbox(self) -> None:
        """Into the spool, as far as there is room; the rest stays where it is and holds its senders back."""
        if self._is_spooling or (self.is_over and not self._is_refused):
            return
        self._is_spooling = True  # Counting what was taken may bring more.
        try:
            inbox = self._driver.inbox
            while inbox and self._put(inbox[0]):
                item = inbox.popleft()
                if isinstance(item, Deliver):
                    self._count(item)
        finally:
            self._is_spooling = False

    def _put(self, item: object) -> bool:
        if self._is_refused:
            return True
        if not isinstance(item, Deliver):
            return self.spool.put(item)
        item.is_spooled = True  # Before it may be written.
        item.is_spooled = self.spool.put(item)
        return item.is_spooled

    def _count(self, item: Deliver) -> None:
        driver = self._driver
        if self._is_refused or (is_private(item) and item.origin == driver.node.me):
            self._void(item)
        else:
            if driver.is_recorded:
                driver.note_fate(Kind.SPOOLED, item)
            driver.execute(driver.node.on_spooled(driver.now_ns(), item))

    def hand_over(self) -> None:
        """Before everything that arrived later; behind it a mark, if there is more on the disk."""
        items = self._take_carried()
        for item in () if self.carried else self.spool.take():
            if isinstance(item, Deliver) and is_included(item, self.spool.includes):
                self._void(item)
            else:
                items.append(item)
        if self.carried or not self.spool.is_empty:
            items.append(Refill())
        self._driver.inbox.extendleft(reversed(items))

    def _take_carried(self) -> list[object]:
        """Return what is left of places that were lost, as far as it is in memory."""
        items: list[object] = []
        while self.carried:
            first = self.carried[0]
            part = first.take() if isinstance(first, Spool) else [first]
            left = [item for item in part if not is_included(item, self.spool.includes)]
            items += [self._batch(item) if isinstance(item, Deliver) else item for item in left]
            if isinstance(first, Spool) and not first.is_empty:
                break
            self.carried.popleft()
        return items

    async def refill(self) -> None:
        """The reader has come to the mark."""
        first = self.carried[0] if self.carried else self.spool
        assert isinstance(first, Spool)
        await first.fetch()
        self.hand_over()

    def carry_on(self) -> list[Carried]:
        """The place is lost before the application came in: what went to some members is for its next place.

        It was acked, so nobody sends it again, and the error of the lost place is told to nobody.
        """
        spool, self.spool = self.spool, Spool(0, 0, self.on_inbox)
        self._driver.spool = self.spool
        spool.void_to_some()
        rest: list[Carried] = [*self.carried, *([] if spool.is_empty else [spool])]
        self.carried.clear()
        found: list[Carried] = [] if self.is_over else rest
        for item in self._driver.inbox:
            if isinstance(item, Refill):
                found += rest
            elif isinstance(item, Deliver) and is_to_some(item):
                found.append(self._batch(item))
            elif type(item) is Batch:
                found.append(item)
        return found

    def on_chunk(self, delivery: Deliver) -> None:
        self._chunks.put(delivery)

    def on_over(self, over: StateOver) -> None:
        if over.error is not None:
            provider = self._chunks.provider
            self._fail(StateError(f"the state could not be had from {provider}: {over.error}"))
        elif self._task is None:
            self._succeed()  # The first member of a group has nothing to get.
        else:
            self._chunks.end()

    def supersede(self) -> list[object] | None:
        """A merge came before the state did: what comes of it is for this member, too. None if the state was here.

        Views stay to be read. Returns what belongs behind the merged state: what went to some members only.
        """
        if self.is_over:
            return None
        self._stop()
        void_before_state(self._driver, self._void)
        inbox, views = self._driver.inbox, self.spool.void_to_some()
        behind: list[object] = [Refill()] if self.carried or not self.spool.is_empty else []
        for item in inbox:
            (behind if is_to_some(item) else views).append(item)
        inbox.clear()
        inbox.extend(views)
        self.done.set_result(None)
        return behind

    def close(self) -> None:
        self._stop()
        if not self.is_over:
            self._clear_spool()  # Behind the state they would stay to be read.
        self.done.cancel()

    def _clear_spool(self) -> list[object]:
        """There will be no state: throw its messages away; returns its views."""
        _note_void(self._driver, WITHOUT_STATE)
        self.carried.clear()
        return self.spool.clear()

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
            why = f"set_state failed: {type(error).__name__}: {error}"
            self._refuse(StateError(f"the state of {chunks.provider} could not be loaded: {why}"))
        else:
            chunks.note("loaded")
            drop_included(self._driver, self._void, self._includes)
            self._driver.execute(self._driver.node.on_state_loaded(self._driver.now_ns()))
            self._succeed()

    def _refuse(self, error: StateError) -> None:
        """The provider and the others learn of it, too."""
        if not self.is_over:
            self._tell(error)
            self._fail(error)

    def _tell(self, error: object) -> None:
        self._driver.execute(self._driver.node.on_state_loaded(self._driver.now_ns(), str(error)))

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _succeed(self) -> None:
        if not self.is_over:
            self.done.set_result(None)
            self.hand_over()

    def _fail(self, error: StateError) -> None:
        self._stop()
        if not self.is_over:
            self._is_refused = True
            self.done.set_exception(error)
            self._void_all()

    def _void_all(self) -> None:
        """Views stay to be read; messages count as read."""
        inbox, views = self._driver.inbox, self._clear_spool()
        self._driver.node.on_spool_void(0)
        for item in [inbox.popleft() for _ in range(len(inbox))]:
            if isinstance(item, Install):
                views.append(item)
            elif isinstance(item, Deliver):
                self._void(item)
        inbox.extend(views)


def void_before_state(driver: Driver, void: Callable[[Deliver], None], cut: object = None) -> None:
    """A state comes: what was delivered before its cut is part of it, also what is in the spool, and counts as read.

    Everything else stays to be read in its order: views, and what went to some members only (`drop_included`).
    """
    if driver.spool is not None:
        _note_void(driver, IN_THE_STATE)
        driver.spool.void()
    inbox, kept = driver.inbox, []
    is_before = True
    for item in [inbox.popleft() for _ in range(len(inbox))]:
        is_before = is_before and item is not cut
        if is_before and isinstance(item, Deliver) and not is_to_some(item):
            void(item)
        elif not is_before or not isinstance(item, ProvideState):  # The state that it asks for is about to be replaced.
            kept.append(item)
    inbox.extendleft(reversed(kept))
    _count_spooled(driver)


def drop_included(
    driver: Driver, void: Callable[[Deliver], None], includes: tuple[Included, ...], behind: object = None
) -> None:
    """A state is loaded, which includes these: of what went to some members in the one order, drop what it has.

    `behind`: from where on in the inbox, if that stands there. What is in the spool is looked at when it is taken.
    """
    if driver.spool is not None:
        driver.spool.includes = includes
    inbox = driver.inbox
    items = [inbox.popleft() for _ in range(len(inbox))]
    begin = items.index(behind) if behind in items else 0
    for at, item in enumerate(items):
        if at >= begin and isinstance(item, Deliver) and is_included(item, includes):
            void(item)
        else:
            inbox.append(item)


def _count_spooled(driver: Driver) -> None:
    """How many ordered messages that were spooled are still to be read."""
    left = 0 if driver.spool is None else driver.spool.ordered_to_some
    left += sum(item.count for item in driver.inbox if isinstance(item, Dequeue) and item.is_spooled)
    driver.node.on_spool_void(left)


def _sizes(carried: Carried) -> tuple[int, int]:
    """In memory and on disk."""
    if isinstance(carried, Spool):
        return carried.memory_bytes, carried.disk_bytes
    return sum(map(len, carried.payloads)) + MESSAGE_BYTES * len(carried.payloads) + ITEM_BYTES, 0


def _note_void(driver: Driver, why: Mapping[str, str]) -> None:
    if driver.is_recorded and driver.spool is not None and not driver.spool.is_empty:
        driver.note(Event(Kind.UNREAD, driver.now_ns(), detail=why))


class Chunks:
    """The chunks of one provider, as an asynchronous iterator. Without patience somebody else watches over time."""

    def __init__(
        self, driver: Driver, provider: str, patience: float | None, record: StateRecord | None = None
    ) -> None:
        self._driver = driver
        self._record = record
        self.provider = provider
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
        part = self._parts.popleft()
        if self._record is not None:
            self._record.feed(part)
        return part

    def note(self, step: Step) -> None:
        """For the recording: all of it was read."""
        if self._record is not None:
            self._record.note(step)

    async def until_any(self) -> None:
        """The first chunk is here, or there is none."""
        while not (self._parts or self._arrived or self._is_whole):
            await self._until_changed()

    async def _until_changed(self) -> None:
        """Wait for more. Time in which this process stood still is not the provider's: what it sent lies unread."""
        self._changed.clear()
        loop, patient = asyncio.get_running_loop(), 0
        while patient < LOOKS:
            step = None if self._patience is None else self._patience / LOOKS
            until = None if step is None else loop.time() + step
            try:
                async with asyncio.timeout_at(until):
                    await self._changed.wait()
                return
            except TimeoutError:
                is_late = step is not None and until is not None and loop.time() - until > step
                patient += not is_late
        raise StateError(
            f"no part of the state came from {self.provider} for {self._patience:.0f} s; does it read its events?"
        )


def _retrieve(done: asyncio.Future[None]) -> None:
    """Whoever waits hears of a failure; if nobody does, it is no error of the loop."""
    if not done.cancelled():
        done.exception()
