"""The reading side of a group: what was delivered and not read, and the one task that reads it.

Reading is what lets others send on: what the application takes is counted, and the count becomes acks.
Invariant: everything comes in the order in which it was delivered; a cancelled read has taken nothing.
While the application's state is given, loaded or merged (`desk`), nothing is handed out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from ringcast.core import Channel, Deliver, Dequeue, Install, ProvideState
from ringcast.errors import UsageError
from ringcast.model import Batch, Notice, Rejoin, ViewChange
from ringcast.runtime.driver import Driver
from ringcast.runtime.ordered import Ordered
from ringcast.runtime.reunion import Stop
from ringcast.runtime.sending import Sending
from ringcast.runtime.spool import Refill
from ringcast.runtime.state import StateDesk


class Reading:
    """One member's deliveries. `driver` gives the incarnation of the day."""

    def __init__(self, driver: Callable[[], Driver], sending: Sending, ordered: Ordered) -> None:
        self.desk = StateDesk(driver, self.count_taken)
        self.past: deque[Batch | Notice] = deque()  # what an earlier incarnation left unread
        self._driver_of = driver
        self._sending = sending
        self._ordered = ordered
        self._reader: asyncio.Future[None] | None = None
        self._is_over = False

    def close(self) -> None:
        """What was delivered can still be read; then it ends."""
        self._is_over = True
        self.desk.close()
        self.wake()

    def on_inbox(self) -> None:
        self.desk.on_inbox()
        self.wake()

    def wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def keep(self, ended: Rejoin) -> None:
        """The place is lost: what was delivered in it stays to be read, then the news."""
        inbox = self._driver_of().inbox
        self.past.extend(_as_event(item) for item in inbox if isinstance(item, Deliver | Install))
        self.past.append(ended)
        inbox.clear()

    # ---- taking

    async def batches(self) -> AsyncIterator[Batch | Notice]:
        while True:
            while self.past:
                yield self.past.popleft()
            inbox = self._driver_of().inbox  # Emptied into `past` when this member loses its place.
            while inbox and not self.desk.is_busy:
                delivered = inbox.popleft()
                if type(delivered) is ProvideState:
                    self.desk.provide(delivered)
                elif type(delivered) is Refill:
                    self.desk.refill()
                elif type(delivered) is Stop:
                    self.desk.reunite(delivered)
                    break  # There may be something to be told first.
                else:
                    yield self._take(delivered)
            if not await self._until_more():
                return

    async def next_batch(self) -> Batch | Notice | None:
        while True:
            if self.past:
                return self.past.popleft()
            inbox = self._driver_of().inbox
            if inbox and not self.desk.is_busy:
                delivered = inbox.popleft()
                if type(delivered) is Stop:
                    self.desk.reunite(delivered)
                elif type(delivered) is ProvideState:
                    self.desk.provide(delivered)
                elif type(delivered) is Refill:
                    self.desk.refill()
                else:
                    return self._take(delivered)
            elif not await self._until_more():
                return None

    def _take(self, delivered: object) -> Batch | ViewChange:
        if type(delivered) is not Install:
            assert isinstance(delivered, Deliver)
            self.count_taken(delivered)
        return _as_event(delivered)

    def count_taken(self, delivered: Deliver) -> None:
        driver = self._driver_of()
        if type(delivered) is Dequeue:
            self._ordered.on_read(delivered)
        elif delivered.is_spooled:
            return  # Counted when it went into the spool.
        elif delivered.channel is not Channel.GROUP and delivered.origin == driver.node.me:
            self._sending.on_own_read()
        else:
            driver.execute(driver.node.on_taken(driver.now_ns(), delivered))

    # ---- waiting

    async def _until_more(self) -> bool:
        """Wait until there may be something to read; False when the group is closed and everything was read."""
        if self.past:
            return True
        if self.desk.is_busy and not self._is_over:
            await self.desk.until_free()
        elif not self._driver_of().inbox:
            if self._is_over:
                return False
            await self._until_woken()
        return True

    async def _until_woken(self) -> None:
        if self._reader is not None:
            raise UsageError("another task is reading from this group already")
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None


def _as_event(delivered: object) -> Batch | ViewChange:
    if type(delivered) is Install:
        return ViewChange(delivered.view)
    assert isinstance(delivered, Deliver)
    return Batch(delivered.origin, delivered.payloads, delivered.channel is not Channel.GROUP)
