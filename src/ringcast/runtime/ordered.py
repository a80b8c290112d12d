"""The one order, as the application uses it: queue and get a receipt, barrier, stamp and after.

Messages to the view that are queued in one turn of the loop share a batch, one tick of the counter. What was accepted
goes out before anything accepted later; a cancelled `queue` has taken nothing, a cancelled wait for a receipt leaves
the message where it is. `after` looks at what this member's application has read: somebody must keep reading.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Literal

from ringcast.core import Dequeue, Finished
from ringcast.errors import NotMember, NotPrimary, RingcastError, UsageError, WaitExpired, WindowFull
from ringcast.model import Address
from ringcast.order import Stamp
from ringcast.runtime.driver import Driver
from ringcast.runtime.receipts import Receipt, Receipts
from ringcast.runtime.waiting import Line, Waits
from ringcast.runtime.words import Why, why_not_placed, why_not_primary

BARRIER_SECONDS = 60.0  # only a send may wait without a limit (G14)
CHUNK = 4_096  # messages of a long list that are looked at together
PLACE_BYTES = 4  # a message's place in the length table of its batch
BATCH_BYTES = 64  # more than the head of a batch

WhenFull = Literal["wait", "raise"] | None


class Ordered:
    """One member's ordered sending and reading. `driver` gives the incarnation of the day."""

    def __init__(self, driver: Callable[[], Driver], waits: Waits) -> None:
        self._driver = driver
        self._waits = waits
        self.line = Line(waits, lambda: why_not_placed(driver()))
        self._receipts = Receipts()
        self._turn: list[bytes] = []  # messages to the view, of this turn of the loop
        self._turn_receipts: list[Receipt] = []
        self._slots = 0  # what may still join this turn without asking the node again
        self._bytes = 0
        self._is_flushing = False
        self._is_closed = False
        self._after: list[tuple[Stamp, asyncio.Future[None]]] = []

    # ---- queueing

    async def queue(
        self, payload: bytes, peers: list[Address] | None, timeout: float | None, when_full: WhenFull
    ) -> Receipt:
        """One message to the view (None) or to these; returns when it is queued."""
        receipt = self.join_turn(payload) if peers is None else None
        if receipt is None:
            receipt = Receipt()
            await self._queue_some([payload], peers, timeout, when_full, receipt)
            self._refill()
        return receipt

    def join_turn(self, payload: bytes) -> Receipt | None:
        """A message to the view, with the others of this turn; None if it must go the long way."""
        size = len(payload) + PLACE_BYTES
        if self._slots <= 0 or size > self._bytes:
            return None
        self._slots -= 1
        self._bytes -= size
        receipt = Receipt()
        self._turn.append(payload)
        self._turn_receipts.append(receipt)
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._end_turn)
        return receipt

    async def queue_many(
        self, payloads: Sequence[bytes], peers: list[Address] | None, timeout: float | None, when_full: WhenFull
    ) -> Receipt:
        """A list of messages, in order, in as few batches as possible; the receipt is that of the last."""
        receipt = Receipt()
        at = 0
        while at < len(payloads):
            is_last = at + CHUNK >= len(payloads)
            chunk = list(payloads[at : at + CHUNK])
            at += await self._queue_some(chunk, peers, timeout, when_full, receipt if is_last else None)
            if at < len(payloads):
                await asyncio.sleep(0)  # Let acks and other members' messages in between.
        return receipt

    async def _queue_some(
        self,
        payloads: list[bytes],
        peers: list[Address] | None,
        timeout: float | None,
        when_full: WhenFull,
        receipt: Receipt | None,
    ) -> int:
        """As many of these as share a batch now, at least one. The receipt is for the last of all."""
        sizes = list(map(len, payloads))
        self._check_size(max(sizes))
        self._flush()
        if self.line or not self._fit(sizes, peers):
            await self._wait_for_room(sizes[:1], peers, timeout, when_full)
        count = self._fit(sizes, peers)
        self._check_peers(peers)
        driver = self._driver()
        first, effects = driver.node.queue(driver.now_ns(), payloads[:count], peers)
        if receipt is not None and count == len(payloads):
            self._receipts.add(receipt, first + count - 1)
        driver.execute(effects)
        return count

    def _fit(self, sizes: list[int], peers: list[Address] | None) -> int:
        driver = self._driver()
        if driver.is_busy or self._turn:
            return 0
        if not driver.node.view.is_carried or any(peer not in driver.node.view for peer in peers or ()):
            return 1  # No room will come; the caller is told.
        return driver.node.fit_in_order(sizes, peers)

    async def _wait_for_room(
        self, sizes: list[int], peers: list[Address] | None, timeout: float | None, when_full: WhenFull
    ) -> None:
        if (when_full or self._driver().node.config.when_full) == "raise":
            raise WindowFull(f"no room to queue: {why_not_placed(self._driver())}")
        self._slots = 0  # Nobody overtakes who waits.
        await self.line.until(lambda: self._fit(sizes, peers) > 0, "send", timeout)

    def _check_size(self, size: int) -> None:
        node = self._driver().node
        largest = node.order.largest_message(node.group.capacity)
        if size > largest:
            raise UsageError(f"a message of {size} bytes is above the {largest} that fit the window in one order")

    def _check_peers(self, peers: list[Address] | None) -> None:
        view = self._driver().node.view
        if not view.is_carried:
            raise NotPrimary(f"nothing was queued: {why_not_primary(view)}")
        gone = [peer for peer in peers or () if peer not in view]
        if gone:
            raise NotMember(f"{', '.join(map(str, gone))} not in the view {view}; nothing was queued")

    # ---- one turn of the loop

    @property
    def _is_aside(self) -> bool:
        """On a side that may not go on."""
        node = self._driver().node
        return node.has_group and not node.view.is_carried

    def _refill(self) -> None:
        """What may join the next turn: at most a frame's worth, and nothing while somebody waits."""
        driver = self._driver()
        self._slots = 0
        if self._is_closed or self._is_aside:
            return
        if not self.line and not self._turn and not driver.is_busy and driver.node.fit_in_order([1], None):
            ordering = driver.node.order.ordering
            self._slots = min(CHUNK, ordering.capacity - ordering.in_flight.count)
            self._bytes = driver.node.largest_whole - BATCH_BYTES

    def _end_turn(self) -> None:
        self._is_flushing = False
        self._flush()

    def _flush(self) -> None:
        """What was accepted goes out, as far as there is room now; a roll call may have begun in the same turn."""
        driver = self._driver()
        while self._turn and not driver.is_busy and driver.node.has_group:
            count = driver.node.fit_in_order(list(map(len, self._turn)), None)
            if not count:
                break
            payloads, self._turn = self._turn[:count], self._turn[count:]
            receipts, self._turn_receipts = self._turn_receipts[:count], self._turn_receipts[count:]
            first, effects = driver.node.queue(driver.now_ns(), payloads, None)
            for number, receipt in enumerate(receipts, first):
                self._receipts.add(receipt, number)
            driver.execute(effects)
        self._refill()

    # ---- waiting for the order

    async def until_finished(self, receipt: Receipt, timeout: float | None) -> str:
        if receipt.stamp is not None:
            return receipt.stamp
        with self._waits.during("send", timeout, lambda: why_not_placed(self._driver())):
            try:
                async with asyncio.timeout(timeout):
                    return await receipt
            except TimeoutError:
                raise WaitExpired(f"send waited {timeout} s: {why_not_placed(self._driver())}") from None

    async def drain(self, limit: float) -> None:
        """Before this member leaves: let what it has queued be finished, as far as that happens within the limit."""
        if not self._turn and not self._receipts:
            return
        with contextlib.suppress(WaitExpired):
            await self.line.until(lambda: not self._turn and not self._receipts, "leave", limit)

    def stamp(self) -> str:
        """Where this member's application is in the one order."""
        return str(self._driver().node.order.ordering.position)

    async def after(self, stamp: str, timeout: float | None) -> None:
        try:
            place = Stamp.parse(stamp)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if self._driver().node.order.ordering.position >= place:
            return
        waiter = (place, asyncio.get_running_loop().create_future())
        self._after.append(waiter)
        with self._waits.during("after", timeout, lambda: self._why_not_read(place)):
            try:
                async with asyncio.timeout(timeout):
                    await waiter[1]
            except TimeoutError:
                raise WaitExpired(f"after waited {timeout} s: {self._why_not_read(place)}") from None
            finally:
                self._after.remove(waiter)

    def _why_not_read(self, place: Stamp) -> Why:
        here = self._driver().node.order.ordering.position
        return Why(f"this member has read up to {here} in the one order, not {place}", "its application reads on")

    async def barrier(self, timeout: float | None) -> str:
        """The seed's self-addressed message: a place in the order behind everything finished so far, then `after`."""
        receipt = Receipt()
        await self._queue_some([b""], [], timeout, "wait", receipt)
        stamp = await self.until_finished(receipt, timeout)
        await self.after(stamp, timeout)
        return stamp

    # ---- progress

    def on_finished(self, finished: Finished) -> None:
        self._receipts.on_finished(finished)

    def on_read(self, delivery: Dequeue) -> None:
        driver = self._driver()
        driver.execute(driver.node.on_taken(driver.now_ns(), delivery))
        self._look_after()

    def look(self) -> None:
        """Something changed."""
        if self._turn:
            self._flush()
        elif not self._slots or self._is_aside:
            self._refill()
        self.line.look()
        self._look_after()

    def _look_after(self) -> None:
        if self._after:
            here = self._driver().node.order.ordering.position
            for place, waiter in self._after:
                if place <= here and not waiter.done():
                    waiter.set_result(None)

    def close(self, error: RingcastError) -> None:
        self._is_closed = True
        self.line.close(error)
        self.expel(error)

    def expel(self, error: RingcastError) -> None:
        """The place is lost, or the group is closed: nothing that waits will be finished here."""
        self.line.expel(error)
        self._receipts.fail(error)
        for receipt in self._turn_receipts:
            receipt.fail(error)
        self._turn, self._turn_receipts, self._slots = [], [], 0
        for _, waiter in self._after:
            if not waiter.done():
                waiter.set_exception(error)
