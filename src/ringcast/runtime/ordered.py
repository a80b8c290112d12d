"""The one order, as the application uses it: queue and get a receipt, barrier, stamp and after.

Messages to the view that are queued in one turn of the loop share a batch, one tick of the counter. What was accepted
goes out before anything accepted later. Sending has two steps: a `queue` that raised or was cancelled has sent nothing;
once it returned the message is sent, and a wait for its receipt that ends early leaves it so (G15). `after` looks at
what this member's application has handled (handling.py): somebody must keep reading.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Literal

from ringcast.core import Dequeue, Finished
from ringcast.errors import NotMember, NotPrimary, PlaceLost, RingcastError, UsageError, WaitExpired, WindowFull
from ringcast.model import Address
from ringcast.order import Stamp
from ringcast.runtime.driver import Driver
from ringcast.runtime.handling import Handling
from ringcast.runtime.lines import GROUP, Lines, Need
from ringcast.runtime.readers import ADVICE, AGAIN_SECONDS, Readers, caller
from ringcast.runtime.receipts import Receipt, Receipts
from ringcast.runtime.waiting import Limit, Waits
from ringcast.runtime.words import Why, why_aside, why_not_placed

BARRIER_SECONDS = 60.0  # only a send may wait without a limit (G14)
CHUNK = 4_096  # messages of a long list that are looked at together
PLACE_BYTES = 4  # a message's place in the length table of its batch
BATCH_BYTES = 64  # more than the head of a batch

WhenFull = Literal["wait", "raise"] | None


class Ordered:
    """One member's ordered sending and reading. `driver()` returns the current incarnation's driver."""

    def __init__(
        self, driver: Callable[[], Driver], waits: Waits, readers: Readers, widen_own: Callable[[], None]
    ) -> None:
        self._driver = driver
        self._waits = waits
        self._readers = readers
        self._widen_own = widen_own
        # One for all destinations: a sender's ordered messages have one order.
        self._line = Lines(
            waits, lambda need: readers.watch(need, widen_own, self._waits_for_reader), readers.goes_first
        )
        self._draining = Lines(waits)
        self._receipts = Receipts()
        self._turn: list[bytes] = []  # messages to the view, of this turn of the loop
        self._turn_receipts: list[Receipt] = []
        self._slots = 0  # what may still join this turn without asking the node again
        self._bytes = 0
        self._is_flushing = False
        self._is_closed = False
        self._after: list[tuple[Stamp, asyncio.Future[None]]] = []
        self.handling = Handling()  # of the reading place

    # ---- queueing

    async def queue(self, payload: bytes, peers: list[Address] | None, limit: Limit, when_full: WhenFull) -> Receipt:
        """One message to the view (None) or to these; returns when it is queued."""
        receipt = self.join_turn(payload) if peers is None else None
        if receipt is None:
            receipt = Receipt()
            await self._queue_some([payload], peers, limit, when_full, receipt)
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
        self, payloads: Sequence[bytes], peers: list[Address] | None, limit: Limit, when_full: WhenFull
    ) -> Receipt:
        """A list of messages, in order, in as few batches as possible; the receipt is that of the last."""
        receipt, at = Receipt(), 0
        try:
            while at < len(payloads):
                is_last = at + CHUNK >= len(payloads)
                chunk = list(payloads[at : at + CHUNK])
                at += await self._queue_some(chunk, peers, limit, when_full, receipt if is_last else None)
                if at < len(payloads):
                    await self._let_others_in()
        except (RingcastError, asyncio.CancelledError) as error:
            error.sent = at  # type: ignore[union-attr]
            raise
        return receipt

    async def _let_others_in(self) -> None:
        """Acks and other members' messages. What is left of a list is not queued under another incarnation."""
        driver = self._driver()
        await asyncio.sleep(0)
        if self._driver() is not driver:
            raise PlaceLost(f"{driver.node.me} lost its place; the rest was not sent")

    async def _queue_some(
        self,
        payloads: list[bytes],
        peers: list[Address] | None,
        limit: Limit,
        when_full: WhenFull,
        receipt: Receipt | None,
    ) -> int:
        """As many of these as share a batch now, at least one. The receipt is for the last of all."""
        sizes = list(map(len, payloads))
        self._flush()
        self._raise_refusal(max(sizes), peers)
        if self._line or not self._fit(sizes, peers):
            await self._wait_for_room(sizes[0], peers, limit, when_full)
            self._raise_refusal(max(sizes), peers)
        count = self._fit(sizes, peers)
        driver = self._driver()
        first, effects = driver.node.queue(driver.now_ns(), payloads[:count], peers)
        if receipt is not None and count == len(payloads):
            self._receipts.add(receipt, first + count - 1, driver.node.view.id)
        driver.execute(effects)
        return count

    def _fit(self, sizes: list[int], peers: list[Address] | None) -> int:
        driver = self._driver()
        if driver.is_busy or self._turn:
            return 0
        count = driver.node.fit_in_order(sizes, peers)
        if not count:
            driver.node.await_room(driver.node.pieces(sizes[0] + BATCH_BYTES))
        return count

    async def _wait_for_room(self, size: int, peers: list[Address] | None, limit: Limit, when_full: WhenFull) -> None:
        def why() -> Why:
            return why_not_placed(self._driver(), size, peers or ())

        if (when_full or self._driver().node.config.when_full) == "raise":
            raise WindowFull(f"no room to queue: {why()}")
        self._slots = 0  # Nobody overtakes who waits.
        need = Need(lambda: self._fit([size], peers) > 0, (GROUP,), lambda: self._refusal(size, peers) is not None)
        need.pieces = self._driver().node.pieces(size + BATCH_BYTES)
        await self._line.until(need, "send", limit, why, sent=False)

    def _raise_refusal(self, size: int, peers: list[Address] | None) -> None:
        error = self._refusal(size, peers)
        if error is not None:
            raise error

    def _refusal(self, size: int, peers: list[Address] | None) -> RingcastError | None:
        """Why this cannot be queued in the present view, however long it waits."""
        node = self._driver().node
        largest = node.order.largest_message(node.group.capacity)
        if size > largest:
            capacity = node.group.capacity
            return UsageError(
                f"an ordered message of {size} bytes needs more packets than the {capacity} of the window "
                f"in view {node.view.id}, which hold {largest} bytes; nothing was sent"
            )
        if not node.may_go_on:
            return NotPrimary(f"nothing was queued: {why_aside(node)}")
        gone = [peer for peer in peers or () if peer not in node.view]
        if gone:
            return NotMember(f"{', '.join(map(str, gone))} not in the view {node.view}; nothing was queued")
        return None

    # ---- one turn of the loop

    @property
    def _is_aside(self) -> bool:
        """On a side that may not go on."""
        node = self._driver().node
        return not node.may_go_on

    def _refill(self) -> None:
        """What may join the next turn: at most a frame's worth, and nothing while somebody waits."""
        driver = self._driver()
        self._slots = 0
        if self._is_closed or self._is_aside:
            return
        if not self._line and not self._turn and not driver.is_busy and driver.node.fit_in_order([1], None):
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
                self._receipts.add(receipt, number, driver.node.view.id)
            driver.execute(effects)
        self._refill()

    # ---- waiting for the order

    @property
    def is_queued(self) -> bool:
        """Everything that was accepted is on its way."""
        return not self._turn

    def flush_turn(self) -> None:
        """Queue what was accepted in this turn now, as far as there is room."""
        if self._turn:
            self._flush()

    async def until_finished(self, receipt: Receipt, limit: Limit) -> str:
        """Whatever ends this wait early, the message is sent."""
        if receipt.stamp is not None:
            return receipt.stamp
        self._readers.help(self._free_turn)
        with self._waits.during("send", limit.left(), lambda: why_not_placed(self._driver()), sent=True):
            try:
                async with asyncio.timeout_at(limit.at):
                    return await receipt
            except TimeoutError:
                why = why_not_placed(self._driver())
                error = WaitExpired(f"send waited {limit.seconds} s: {why}; the message is sent, its place is to come")
                error.sent = True
                raise error from None

    def _free_turn(self) -> None:
        if self._turn:
            self._widen_own()

    async def drain(self, limit: Limit) -> None:
        """Before this member leaves: let what it has queued be finished, as far as that happens within the limit."""
        need = Need(lambda: not self._turn and not self._receipts)
        with contextlib.suppress(WaitExpired):
            await self._draining.until(need, "leave", limit, lambda: why_not_placed(self._driver()))

    def stamp(self) -> str:
        """Where this member's application is in the one order."""
        return str(self._driver().node.order.ordering.position)

    async def after(self, stamp: str, limit: Limit) -> None:
        try:
            place = Stamp.parse(stamp)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.handling.waits(caller())
        if self._is_handled(place):
            return
        await self._refuse_reader(place)
        if self._is_handled(place):
            return
        waiter = (place, asyncio.get_running_loop().create_future())
        self._after.append(waiter)
        self.handling.is_awaited, self.handling.on_handled = True, self._look_after
        with self._waits.during("after", limit.left(), lambda: self._why_not_read(place)):
            try:
                async with asyncio.timeout_at(limit.at):
                    while not waiter[1].done():
                        self._look_after()  # A task or thread that has ended says nothing.
                        await asyncio.wait([waiter[1]], timeout=AGAIN_SECONDS)
                    waiter[1].result()
            except TimeoutError:
                raise WaitExpired(f"after waited {limit.seconds} s: {self._why_not_read(place)}") from None
            finally:
                self._after.remove(waiter)
                self.handling.is_awaited = bool(self._after)

    def _is_handled(self, place: Stamp) -> bool:
        return self._driver().node.order.ordering.position >= place and self.handling.busy(place) is None

    async def _refuse_reader(self, place: Stamp) -> None:
        """Whoever is the only reader would wait for itself; asked when another may have begun (runtime/readers.py)."""
        who = caller()
        if self._readers.is_only(who):
            await asyncio.sleep(0)
            if self._readers.is_only(who) and self._driver().node.order.ordering.unread:
                raise UsageError(f"{self._why_not_read(place)}, and {ADVICE}")

    def _waits_for_reader(self, need: Need) -> bool:
        node = self._driver().node
        if not node.has_group:
            return False
        return node.order.ordering.is_shut or node.own_room() < self._line.pieces(GROUP)

    def _why_not_read(self, place: Stamp) -> Why:
        here = self._driver().node.order.ordering.position
        if here >= place and (reader := self.handling.busy(place)) is not None:
            what = f"a reader of this member still handles what it was given at {reader.place}: {reader.who}"
            return Why(what, "it asks for the next event, leaves its loop, or ends")
        return Why(f"this member has read up to {here} in the one order, not {place}", "its application reads on")

    async def barrier(self, limit: Limit) -> str:
        """The seed's self-addressed message: a place in the order behind everything finished so far, then `after`."""
        receipt = Receipt()
        await self._queue_some([b""], [], limit, "wait", receipt)
        stamp = await self.until_finished(receipt, limit)
        await self.after(stamp, limit)
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
        is_aside = self._is_aside
        if is_aside:
            self._refuse_accepted()
        if self._turn:
            self._flush()
        elif not self._slots or is_aside:
            self._refill()
        if self._line:
            self._line.look()
        if self._draining:
            self._draining.look()
        self._look_after()

    def _refuse_accepted(self) -> None:
        """Nobody is there to give places; whoever waits for one is told, also for what a roll call had held back."""
        if self._receipts or self._turn:
            error = NotPrimary(f"the message has no place: {why_aside(self._driver().node)}")
            self._receipts.fail(error.unknown("whether it gets one cannot be known"))
            self._drop_turn(error)

    def _drop_turn(self, error: RingcastError) -> None:
        """What was accepted and has not left never will."""
        for receipt in self._turn_receipts:
            receipt.fail(error.copy("the message was not sent"))
        self._turn, self._turn_receipts = [], []

    def _look_after(self) -> None:
        for place, waiter in self._after:
            if not waiter.done() and self._is_handled(place):
                waiter.set_result(None)

    def close(self, error: RingcastError) -> None:
        self._is_closed = True
        self._line.close(error)
        self._draining.close(error)
        self.expel(error)

    def expel(self, error: RingcastError) -> None:
        """The place is lost, or the group is closed: nothing that waits will be finished here."""
        self._line.expel(error.copy("nothing was sent"))
        self._receipts.fail(error.unknown("whether the message got its place in the order cannot be known"))
        self._drop_turn(error)
        self._slots = 0
        for _, waiter in self._after:
            if not waiter.done():
                waiter.set_exception(error.copy())
        self._draining.look()
