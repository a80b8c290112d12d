"""The reading place of a group: what was delivered and not handed to the application's code, and who reads it.

Every way of reading draws from here: message by message, in runs, one or many at a time. Each may be left, cancelled or
mixed with the others at any moment; what it was not given stays here and comes next (G15).
Reading is what lets others send on: what was handed over is counted as taken, and the count becomes acks. A run that is
handed over message by message is counted when it is used up, when it is left, and at the latest one turn of the loop
later; so the count never runs ahead of the reader, and costs nothing per message.
Invariant: everything comes in the order in which it was delivered; a cancelled read has taken nothing.
While the application's state is given, loaded or merged (`state`), nothing is handed over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from itertools import islice
from operator import length_hint
from typing import Any

from ringcast.core import IN_THE_STATE, Channel, Deliver, Dequeue, Install, ProvideState
from ringcast.errors import RingcastError, UsageError
from ringcast.model import Batch, Delivery, Event, Kind, Message, Notice, Rejoin, Undelivered, View, ViewChange
from ringcast.runtime.driver import Driver
from ringcast.runtime.forms import Messages, make_hand, messages_in, messages_of
from ringcast.runtime.handing import Waiter, waiter_type
from ringcast.runtime.handling import Handling, Reader
from ringcast.runtime.ordered import Ordered
from ringcast.runtime.readers import Readers, caller
from ringcast.runtime.reunion import Cut, Stop
from ringcast.runtime.sending import Sending
from ringcast.runtime.spool import Refill
from ringcast.runtime.state import StateExchange

_GROUP = Channel.GROUP
_NO_MESSAGES: Iterator[Message] = iter(())


class OpenRun:
    """A run that is handed over message by message.

    `delivered` is the first in the inbox until it is used up; None if it was delivered to an earlier incarnation.
    """

    __slots__ = ("batch", "counted", "delivered", "messages", "payloads")

    def __init__(self, batch: Batch, delivered: Deliver | None) -> None:
        self.batch = batch
        self.delivered = delivered
        self.counted = 0  # payloads that were counted as taken
        self.payloads = iter(batch.payloads)
        self.messages = messages_of(batch.sender, self.payloads, facts_of(batch))

    @property
    def handed(self) -> int:
        return len(self.batch.payloads) - length_hint(self.payloads)

    @property
    def is_used_up(self) -> bool:
        return not length_hint(self.payloads)


class Reading:
    """One member's deliveries, of the incarnation that it holds; another one is held when the member rejoins."""

    def __init__(self, driver: Driver, sending: Sending, ordered: Ordered, readers: Readers) -> None:
        self._readers = readers
        self.state = StateExchange(lambda: self._driver, self._void, lambda delivered: self._batch(delivered, None))
        self.handling = Handling()
        self._hand = make_hand()
        self._hand.messages = _NO_MESSAGES  # of the open run, while they need no question
        self._open: OpenRun | None = None
        self._past: deque[Batch | Notice] = deque()  # what an earlier incarnation left unread, and what is told first
        self._view: View | None = None  # of the last view that was handed over
        self._in_view = Delivery(False, None)  # what multicasts of that view have in common
        self.hold(driver)
        self._sending = sending
        self._ordered = ordered
        ordered.handling = self.handling
        self._reader: Waiter | None = None
        self._make_waiter = waiter_type()
        self._loop = asyncio.get_running_loop()
        self._is_settling = False
        self._is_over = False
        self.error: RingcastError | None = None  # what ended it, unless this process asked for the end

    # ---- life

    def hold(self, driver: Driver) -> None:
        """Go on as the incarnation that this driver has."""
        self._driver = driver

    def close(self, error: RingcastError | None) -> None:
        """What was delivered can still be read; then it ends, with the error unless this process asked for it."""
        self._is_over = True
        self.error = error
        self.state.close()
        self.wake()

    def on_inbox(self) -> None:
        if self.state.loading is not None:  # Then it goes into the spool.
            self.state.loading.on_inbox()
        if self._reader is not None:
            self._reader.wake()

    def note_reader(self) -> None:
        """The caller begins to read here."""
        self._readers.note(self._loop)

    def reader(self) -> Reader:
        """The caller as a reader, one call at a time."""
        return self.handling.caller(caller(self._loop))

    def wake(self) -> None:
        if self._reader is not None:
            self._reader.wake()

    def tell(self, notice: Notice) -> None:
        """Something that comes before what was delivered and is not read yet."""
        self._past.append(notice)

    def keep(self, ended: Rejoin) -> None:
        """The place is lost: what was delivered in it stays to be read, then the news.

        But not what goes on from a state that has not come: it would be read on top of none, or of another one (G18).
        """
        is_entering, inbox = self.state.is_entering, self._driver.inbox
        lacks_state = is_entering or self.state.is_loading
        if is_entering:  # It comes in with another state: of what was for this place only what is in no state counts.
            self.state.carry_on()
        self.state.close()
        if self._open is not None and self._open.delivered is not None:
            inbox.popleft()
            self._open.delivered = None
        view = self._view
        for item in inbox:
            lacks_state = lacks_state or (isinstance(item, Stop) and item.is_void)
            if type(item) is Undelivered or (type(item) is Batch and not is_entering):
                self._past.append(item)
            elif isinstance(item, Deliver) and not lacks_state:
                self._past.append(self._batch(item, view))
            elif isinstance(item, Install) and not lacks_state:
                view = item.view
                self._past.append(ViewChange(view))
        if not is_entering:  # else the application has not come in yet
            self._past.append(ended)
        inbox.clear()

    # ---- handing over

    def by_message(self, leave: Callable[[], Coroutine[Any, Any, None]]) -> Messages:
        """Everything that is delivered, message by message; another one goes on where this one is left."""
        next_event = partial(self.next_event, self.handling.loop())  # It goes with the iterator, that with the loop.
        self._hand.messages = _NO_MESSAGES  # There may be another reader from now on.
        return messages_in(self._hand, next_event, leave)

    async def next_event(self, reader: Reader) -> Message | Notice:
        """The next message or notice; StopAsyncIteration after the end, or the error that ended the group."""
        if reader.place is not None or self.handling.is_shared:
            self.handling.ask(reader)
        while True:
            if self._open is not None:
                for message in self._open.messages:
                    reader.give(self._open.batch._place)
                    self._go_on(self._open)
                    return message
                self.settle()
            elif (event := self._next_ready(reader, by_message=True)) is None:
                await self._until_more()
            elif type(event) is not Batch:
                return event  # type: ignore[return-value]

    async def next_run(self, reader: Reader) -> OpenRun | Message | Notice:
        """The same, but a run of several messages stays here and is read from where it is returned to."""
        if reader.place is not None or self.handling.is_shared:
            self.handling.ask(reader)
        while True:
            if self._open is not None and not self._open.is_used_up:
                reader.give(self._open.batch._place)
                return self._open
            self.settle()
            if (event := self._next_ready(reader, by_message=True)) is None:
                await self._until_more()
            elif type(event) is not Batch:
                return event  # type: ignore[return-value]

    async def next_batch(self, reader: Reader) -> Batch | Notice:
        """The same, messages in runs."""
        while (event := self.take_batch(reader)) is None:
            await self._until_more()
        return event

    async def next_events(self, limit: int, reader: Reader) -> list[Message | Notice]:
        """At least one, and what else is there without waiting, up to the limit."""
        events = [await self.next_event(reader)]
        while len(events) < limit:
            if self._open is not None:
                events += islice(self._open.messages, limit - len(events))
                reader.give(self._open.batch._place)
                self.settle()
            elif (event := self._next_ready(reader, by_message=True)) is None:
                break
            elif type(event) is not Batch:
                events.append(event)  # type: ignore[arg-type]
        return events

    def take_batch(self, reader: Reader) -> Batch | Notice | None:
        """The next of `next_batch`, if it is there without waiting."""
        if reader.place is not None or self.handling.is_shared:
            self.handling.ask(reader)
        run = self._open
        if run is None:
            event = self._next_ready(reader, by_message=False)
        else:
            event = run.batch.with_payloads(list(run.payloads))
            if event.payloads:
                reader.give(event._place)
            self.settle()
            if not event.payloads:
                return self.take_batch(reader)
        return event  # type: ignore[return-value]

    def _next_ready(self, reader: Reader, *, by_message: bool) -> Batch | Message | Notice | None:
        """Return what comes next, if it is there. By message, a run of several is opened instead and stays where it is.

        Before it counts as read, it is noted that this reader has it.
        """
        while True:
            if self._past:
                event = self._past.popleft()
                if type(event) is ViewChange:
                    self._view = event.view
                elif by_message and type(event) is Batch:
                    self._open = OpenRun(event, None)
                elif type(event) is Batch:
                    reader.give(event._place)
                return event
            inbox = self._driver.inbox
            if not inbox or (self.state.is_busy and self._is_held):
                return None
            delivered = inbox.popleft()
            if isinstance(delivered, Deliver):
                if by_message and len(delivered.payloads) == 1:
                    if type(delivered) is Dequeue:
                        reader.give(delivered.stamp)
                    self._count(delivered)
                    facts = self._in_view
                    if facts._view is not self._view or delivered.channel is not _GROUP or type(delivered) is Dequeue:
                        facts = self._facts(delivered)
                    return Message(delivered.origin, delivered.payloads[0], facts)
                batch = self._batch(delivered, self._view)
                if by_message:
                    inbox.appendleft(delivered)
                    self._open = OpenRun(batch, delivered)
                else:
                    reader.give(batch._place)
                    self._count(delivered)
                return batch
            if type(delivered) is Install:
                self._view = delivered.view
                return ViewChange(delivered.view)
            if type(delivered) is Batch:  # of a place that was lost
                if by_message:
                    self._open = OpenRun(delivered, None)
                else:
                    reader.give(delivered._place)
                return delivered
            if type(delivered) is Undelivered:
                return delivered
            if type(delivered) is Stop:
                self.state.reunite(delivered)
            elif type(delivered) is Refill:
                self.state.refill()
            elif type(delivered) is not Cut and not self._is_over:
                assert isinstance(delivered, ProvideState)
                self.state.provide(delivered)

    def _facts(self, delivered: Deliver) -> Delivery:
        """Of a message that came alone; the same as a run of it would say."""
        if type(delivered) is not Dequeue and delivered.channel is _GROUP:
            if self._in_view._view is not self._view:
                self._in_view = Delivery(False, self._view)
            return self._in_view
        return facts_of(self._batch(delivered, self._view))

    def _batch(self, delivered: Deliver, view: View | None) -> Batch:
        if type(delivered) is Dequeue:
            private = delivered.channel is not _GROUP
            return Batch(delivered.origin, delivered.payloads, private, view, delivered.stamp, delivered.to)
        if delivered.channel is _GROUP:
            return Batch(delivered.origin, delivered.payloads, False, view)
        return Batch(delivered.origin, delivered.payloads, True, view, None, (self._driver.node.me,))

    # ---- counting

    def _go_on(self, run: OpenRun) -> None:
        """Its messages need no question until the next turn of the loop, which counts those that were handed over."""
        if run.batch._place is None or not self.handling.is_shared:
            self._hand.messages = run.messages
        if not self._is_settling:
            self._is_settling = True
            asyncio.get_running_loop().call_soon(self._settle_turn)

    def _settle_turn(self) -> None:
        self._is_settling = False
        self.settle()

    def settle(self) -> None:
        """Count what was handed over of the open run."""
        self._hand.messages = _NO_MESSAGES
        run = self._open
        if run is None:
            return
        if run.is_used_up:
            self._open = None
            if run.delivered is not None:
                first = self._driver.inbox.popleft()
                assert first is run.delivered, first
                self._count(run.delivered)
        elif run.delivered is not None and run.handed > run.counted:
            part = run.delivered.split(run.counted, run.handed)
            run.counted = run.handed
            self._count(part)

    def count_open(self) -> int:
        """The same, and how many that were in all, for somebody who looks again."""
        handed = 0 if self._open is None else self._open.handed
        self.settle()
        return handed

    def _count(self, delivered: Deliver) -> None:
        """The application was given this. Nobody asks after the end."""
        driver = self._driver
        if not driver.is_closed:
            if driver.is_recorded and delivered.count:
                driver.note_fate(Kind.HANDED, delivered)
            self._take(driver, delivered)

    def _void(self, delivered: Deliver) -> None:
        """The application will never be given this: it is in the state that is loaded."""
        if self._open is not None and self._open.delivered is delivered:
            self._open, self._hand.messages = None, _NO_MESSAGES
        driver = self._driver
        if driver.is_recorded and delivered.count:
            driver.note_fate(Kind.UNREAD, delivered, IN_THE_STATE)
        if _is_own_private(delivered, driver):
            self._sending.on_own_read()  # Also if it goes into the spool, where it is bounded by the spool.
        elif isinstance(delivered, Dequeue):  # Without its place: something before it may still be to be read.
            numbers = delivered.first, delivered.count, delivered.nbytes
            self._take(
                driver, Dequeue(delivered.origin, delivered.channel, [], *numbers, is_spooled=delivered.is_spooled)
            )
        else:
            self._take(driver, delivered)

    def _take(self, driver: Driver, delivered: Deliver) -> None:
        if type(delivered) is Dequeue:
            self._ordered.on_read(delivered)
        elif delivered.is_spooled:
            return  # Counted when it went into the spool.
        elif delivered.channel is not _GROUP and _is_own_private(delivered, driver):
            self._sending.on_own_read()
        else:
            effects = driver.node.on_taken(driver.now_ns(), delivered)
            if effects:
                driver.execute(effects)

    def end_recording(self, why: str, told: str) -> None:
        """This incarnation's recording ends: what lies here stays to be read, and then the application is told."""
        self.settle()
        driver = self._driver
        if driver.is_recorded:
            detail = {"why": why, "told": told}
            if driver.spool is not None and not driver.spool.is_empty:
                driver.note(Event(Kind.UNREAD, driver.now_ns(), detail=detail))
            for item in driver.inbox:
                if isinstance(item, Deliver) and item.count:
                    driver.note_fate(Kind.UNREAD, item, detail)

    # ---- waiting

    async def _until_more(self) -> None:
        """Wait until there may be something to read. When the group has ended and everything was read: raise."""
        self._readers.note(self._loop)
        if self._past:
            return
        if self.state.is_busy and self._is_held:
            await self.state.until_free()
        elif self._is_over:
            raise StopAsyncIteration if self.error is None else self.error
        elif not self._driver.inbox:
            if self._reader is not None and not self._reader.is_over:
                raise UsageError("another task is reading from this group already")
            reader = self._reader = self._make_waiter(self._loop, self._driver.wake.step_soon)
            try:
                await reader
            finally:
                if self._reader is reader:
                    self._reader = None

    @property
    def _is_held(self) -> bool:
        """The state comes first. After the end it does not matter any more, but what was spooled is still read."""
        return self.state.is_busy and (self.state.is_refilling or not self._is_over)


class Batches:
    """Everything that is delivered, messages in runs. To leave it loses nothing; another one goes on there."""

    __slots__ = ("_group", "_place", "_reader")

    def __init__(self, place: Reading, group: object) -> None:
        self._place = place
        self._group = group  # kept from being collected while somebody reads (runtime/dropped.py)
        self._reader = place.handling.loop()

    def __aiter__(self) -> Batches:
        return self

    async def __anext__(self) -> Batch | Notice:
        return self._place.take_batch(self._reader) or await self._place.next_batch(self._reader)

    async def aclose(self) -> None:
        """Nothing is left behind: a run is handed over whole."""


def facts_of(batch: Batch) -> Delivery:
    """What its messages have in common; without their payloads, which a kept message must not keep."""
    return Delivery(batch.private, batch._view, batch._place, batch._to)


def _is_own_private(delivered: Deliver, driver: Driver) -> bool:
    """A private message to itself, which went no further than this group. In the one order its own come back."""
    is_private = type(delivered) is Deliver and delivered.channel is not _GROUP
    return is_private and delivered.origin == driver.node.me
