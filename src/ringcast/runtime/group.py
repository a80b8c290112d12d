"""The group as the application holds it: send, read, flush, close.

Back-pressure is awaiting: `send` returns when the message has its place, `async for` gives what was delivered, and
reading is what lets others send on. Small messages that are sent in one turn of the loop share a packet; the first
one of a turn leaves at once, so a single message never waits for company.
Invariant: what `send` accepted is sent before anything that is accepted later; a cancelled `send` has taken nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any, Literal

from ringcast.core import Channel, Deliver, Dequeue, Install, Left, ProvideState
from ringcast.errors import GroupClosed, PlaceLost, RingcastError, UsageError, WaitExpired, WindowFull
from ringcast.model import Address, Batch, Message, Notice, Rejoin, View, ViewChange
from ringcast.order import Order
from ringcast.runtime.driver import Driver
from ringcast.runtime.inspection import Inspection, socket_path
from ringcast.runtime.ordered import BARRIER_SECONDS, Ordered
from ringcast.runtime.receipts import Receipt
from ringcast.runtime.reunion import MergeState, Stop
from ringcast.runtime.state import StateDesk
from ringcast.runtime.state_giving import GetState
from ringcast.runtime.state_loading import SetState
from ringcast.runtime.status import explain, status_of
from ringcast.runtime.waiting import Line, Waits
from ringcast.runtime.words import Waiting, short, why_no_room, why_not_flushed, why_not_left
from ringcast.window import largest, lengths_of

ITEM_BYTES = 2  # a message's place in the length table of its packet
FLUSH_SECONDS = 60.0  # only a send may wait without a limit (G14)
CHUNK = 4_096  # messages of a long list that are looked at together


class Group:
    """A member's place in a group. Use as `async with`."""

    def __init__(self, name: str, driver: Driver) -> None:
        self.name = name
        self._take_over(driver)
        self._config = driver.node.config
        self._outbox: list[bytes] = []
        self._slots = 0  # what may still be put into the outbox without asking the node again
        self._bytes = 0
        self._turn_began = False
        self._own_private = 0  # private messages to oneself that were not read yet; bounded like any stream
        self.waits = Waits(driver.now_ns, lambda event: self._driver.note(event))
        self._line = Line(self.waits, lambda: why_no_room(self._driver))
        self._flushing = Line(self.waits, lambda: why_not_flushed(self._driver))
        self._ordered = Ordered(lambda: self._driver, self.waits)
        self._reader: asyncio.Future[None] | None = None
        self._closing: RingcastError | None = None
        self._inspection: Inspection | None = None
        self._left: asyncio.Future[None] | None = None
        self._endings: list[Callable[[], Awaitable[None]]] = []
        self._past: deque[Batch | Notice] = deque()  # what an earlier incarnation left unread
        self._last_view: View | None = None  # shown until the next incarnation has one
        self.desk = StateDesk(lambda: self._driver, self._count_taken)

    def _take_over(self, driver: Driver) -> None:
        self._driver = driver
        self._node = driver.node
        driver.on_inbox = self._wake_reader
        driver.on_freed = self._on_freed
        driver.on_lost = self._on_lost
        driver.on_left = self._on_left
        driver.on_state = lambda effect: self.desk.on_effect(effect)
        driver.on_finished = lambda finished: self._ordered.on_finished(finished)

    # ---- who is here

    @property
    def me(self) -> Address:
        return self._node.me

    @property
    def view(self) -> View:
        """The latest view; of the place that was lost, while this member comes back."""
        return self._node.view if self._last_view is None or self._node.has_group else self._last_view

    @property
    def members(self) -> tuple[Address, ...]:
        return self.view.members

    @property
    def coordinator(self) -> Address | None:
        return self.view.coordinator

    @property
    def drops(self) -> dict[str, int]:
        """What peers sent that was not used, by reason."""
        return dict(self._driver.drops)

    @property
    def retransmitted(self) -> int:
        """Messages of the group that this member sent again."""
        return self._node.group.repaired if self._node.has_group else 0

    # ---- sending

    async def send(
        self,
        payload: bytes,
        *,
        to: Iterable[Address] | None = None,
        order: Order = Order.FIFO,
        timeout: float | None = None,
        when_full: Literal["wait", "raise"] | None = None,
    ) -> None:
        """Send one message to the group, or reliably and in order to some of its members (`to`).

        Waits while the window is full (`when_full="raise"` raises WindowFull instead; `timeout` in seconds raises
        WaitExpired). Returns when the message has its place in the order of what this member sends; with
        `order=TOTAL` when it has its place in the one order of all ordered messages (queueing is finished).
        """
        if order is Order.TOTAL:
            receipt = await self.queue(payload, to=to, timeout=timeout, when_full=when_full)
            await self._ordered.until_finished(receipt, timeout)
            return
        size = len(payload)
        if to is None and self._slots > 0 and size <= self._bytes and type(payload) is bytes:
            self._slots -= 1
            self._bytes -= size + ITEM_BYTES
            self._outbox.append(payload)
            if not self._turn_began:
                self._begin_turn()
            elif self._slots == 0 or self._bytes < size:
                await self._yield_turn()
            return
        await self._send_slowly(payload, to, timeout, when_full)

    async def _send_slowly(
        self,
        payload: bytes,
        to: Iterable[Address] | None,
        timeout: float | None,
        when_full: Literal["wait", "raise"] | None,
    ) -> None:
        if not self._node.has_group:
            await self._until_place(timeout)
        payload = self._checked(payload)
        peers = None if to is None else self._peers(to)
        self._flush_outbox()

        def ready() -> bool:
            return self._may_send(payload, peers)

        if self._line or not ready():
            await self._wait_for_room(ready, timeout, when_full)
        self._send_now(payload, peers)

    def _checked(self, payload: bytes) -> bytes:
        if self._closing is not None:
            raise self._closing
        if not isinstance(payload, bytes | bytearray | memoryview):
            raise UsageError(f"a payload must be bytes, got {type(payload).__name__}")
        payload = bytes(payload)
        if len(payload) > self._config.max_message_bytes:
            raise UsageError(
                f"a message of {len(payload)} bytes is above max_message_bytes {self._config.max_message_bytes}"
            )
        pieces, capacity = self._node.pieces(len(payload)), self._node.group.capacity
        if pieces > capacity:
            raise UsageError(f"a message of {len(payload)} bytes needs {pieces} packets, the window has {capacity}")
        return payload

    def _peers(self, to: Iterable[Address]) -> list[Address]:
        peers = list(dict.fromkeys(to))
        strangers = [peer for peer in peers if peer not in self._node.view]
        if strangers:
            raise UsageError(f"{', '.join(map(str, strangers))} not in the view {self._node.view}")
        return peers

    def _may_send(self, payload: bytes, peers: list[Address] | None) -> bool:
        if self._outbox or self._driver.is_busy:
            return False
        if peers is not None:
            if self.me in peers and self._own_private >= self._config.stream_capacity:
                return False
            return self._node.may_send_to([peer for peer in peers if peer != self.me], len(payload))
        if len(payload) > self._node.largest_whole:
            return self._node.may_send_large(payload)
        return self._node.fit([len(payload)]) == 1

    async def _wait_for_room(
        self, ready: Callable[[], bool], timeout: float | None, when_full: Literal["wait", "raise"] | None
    ) -> None:
        if (when_full or self._config.when_full) == "raise":
            raise WindowFull(f"no room to send: {why_no_room(self._driver)}")
        await self._line.until(ready, "send", timeout)

    def _send_now(self, payload: bytes, peers: list[Address] | None) -> None:
        node, now = self._node, self._driver.now_ns()
        if peers is not None:
            others = [peer for peer in peers if peer != self.me]
            self._driver.execute(node.send_to(now, others, payload))
            if len(others) < len(peers):
                self._to_self(payload)
        elif len(payload) > node.largest_whole:
            self._driver.execute(node.send_large(now, payload))
        else:
            self._driver.execute(node.send(now, [payload], [len(payload)]))
            self._refill()

    def _to_self(self, payload: bytes) -> None:
        self._own_private += 1
        self._driver.inbox.append(Deliver(self.me, Channel.PEER, [payload], 0, 0, len(payload)))
        self._wake_reader()

    # ---- the one order (runtime/ordered.py)

    async def queue(
        self,
        payload: bytes,
        *,
        to: Iterable[Address] | None = None,
        timeout: float | None = None,
        when_full: Literal["wait", "raise"] | None = None,
    ) -> Receipt:
        """Like `send(order=TOTAL)`, but does not wait for the place: `await receipt` does, and gives its stamp."""
        if to is None and type(payload) is bytes and (receipt := self._ordered.join_turn(payload)) is not None:
            return receipt
        if not self._node.has_group:
            await self._until_place(timeout)
        payload = self._checked(payload)
        peers = None if to is None else self._peers(to)
        self._flush_outbox()
        return await self._ordered.queue(payload, peers, timeout, when_full)

    async def queue_many(
        self,
        payloads: Sequence[bytes],
        *,
        to: Iterable[Address] | None = None,
        timeout: float | None = None,
        when_full: Literal["wait", "raise"] | None = None,
    ) -> Receipt:
        """Queue a list of messages in the one order, in few batches; the fast way. The receipt is that of the last."""
        if not payloads:
            raise UsageError("queue_many needs at least one message")
        if not self._node.has_group:
            await self._until_place(timeout)
        if set(map(type, payloads)) != {bytes}:
            payloads = [self._checked(payload) for payload in payloads]
        self._checked(max(payloads, key=len))
        peers = None if to is None else self._peers(to)
        self._flush_outbox()
        return await self._ordered.queue_many(payloads, peers, timeout, when_full)

    async def barrier(self, timeout: float = BARRIER_SECONDS) -> str:
        """Wait until this member's application has read every ordered message that was finished anywhere before now.

        After a signal through a side channel: what was queued before the signal was given has been read. Somebody
        must keep reading meanwhile. Gives the stamp of the barrier's own place.
        """
        if not self._node.has_group:
            await self._until_place(timeout)
        if self._closing is not None:
            raise self._closing
        return await self._ordered.barrier(timeout)

    def stamp(self) -> str:
        """Up to where this member's application has read in the one order; small, printable, to be carried anywhere."""
        return self._ordered.stamp()

    async def after(self, stamp: str, timeout: float = BARRIER_SECONDS) -> None:
        """Wait until this member's application has read everything up to a stamp that another member gave."""
        if self._closing is not None:
            raise self._closing
        await self._ordered.after(stamp, timeout)

    async def send_many(self, payloads: Sequence[bytes], *, timeout: float | None = None) -> None:
        """Send a list of messages to the group, in order; the fast way. Waits as `send` does.

        If it is cancelled or times out, the messages before some point were sent and those behind it were not.
        """
        payloads = list(payloads)
        sizes = lengths_of(payloads)
        if not payloads:
            return
        if largest(sizes) > self._node.largest_whole or set(map(type, payloads)) != {bytes}:
            for payload in payloads:
                await self.send(payload, timeout=timeout)
            return
        if not self._node.has_group:
            await self._until_place(timeout)
        if self._closing is not None:
            raise self._closing
        self._flush_outbox()
        at, node = 0, self._node
        while at < len(payloads):
            if node is not self._node:
                raise PlaceLost(f"{node.me} lost its place when it had sent {at} of {len(payloads)} messages")
            at += await self._send_some(payloads[at : at + CHUNK], sizes[at : at + CHUNK], timeout)

    async def _send_some(self, payloads: list[bytes], sizes: Sequence[int], timeout: float | None) -> int:
        def ready() -> bool:
            return not (self._outbox or self._driver.is_busy) and self._node.fit(one) == 1

        one = sizes[:1]

        if self._line or not ready():
            await self._wait_for_room(ready, timeout, None)
        count = self._node.fit(sizes)
        if count < len(payloads):
            payloads, sizes = payloads[:count], sizes[:count]
        self._driver.execute(self._node.send(self._driver.now_ns(), payloads, sizes))
        await asyncio.sleep(0)  # Let acks and other members' messages in between.
        return count

    # ---- one turn of the loop

    def _begin_turn(self) -> None:
        """The first message of a turn leaves at once; the others of the same turn go together at its end."""
        self._turn_began = True
        self._flush_outbox()
        asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._turn_began = False
        self._flush_outbox()

    async def _yield_turn(self) -> None:
        self._flush_outbox()
        await asyncio.sleep(0)

    def _flush_outbox(self) -> None:
        """Send what may be sent; a roll call that began in this turn holds the rest until its view or its cancel."""
        if self._outbox:
            sizes = lengths_of(self._outbox)
            count = self._node.fit(sizes)
            payloads, self._outbox = self._outbox[:count], self._outbox[count:]
            if payloads:
                self._driver.execute(self._node.send(self._driver.now_ns(), payloads, sizes[:count]))
        self._refill()

    def _refill(self) -> None:
        """What may go through the outbox: at most a frame's worth, and nothing while somebody waits in line."""
        is_held = bool(self._line or self._outbox) or self._driver.is_busy
        if is_held or self._closing is not None or not self._node.has_group:
            self._slots = self._bytes = 0
            return
        window = self._node.group.outgoing.window
        self._slots = self._node.room()
        self._bytes = min(self._node.largest_whole, window.max_bytes - window.bytes)

    # ---- reading

    def __aiter__(self) -> AsyncIterator[Message | Notice]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[Message | Notice]:
        async for event in self.batches():
            if type(event) is Batch:
                for message in map(Message, repeat(event.sender), event.payloads, repeat(event.private)):
                    yield message
            else:
                assert not isinstance(event, Batch)
                yield event

    async def batches(self) -> AsyncIterator[Batch | Notice]:
        """What was delivered, as runs: the fast way to read. Ends when the group is closed."""
        while True:
            while self._past:
                yield self._past.popleft()
            inbox = self._driver.inbox  # Emptied into `_past` when this member loses its place.
            while inbox and not self.desk.is_busy:
                delivered = inbox.popleft()
                if type(delivered) is ProvideState:
                    self.desk.provide(delivered)
                elif type(delivered) is Stop:
                    self.desk.reunite(delivered)
                    break  # There may be something to be told first.
                else:
                    yield self._take(delivered)
            if not await self._until_more():
                return

    async def next_batch(self) -> Batch | Notice | None:
        """The next one of `batches`, or None when the group is closed. Cancelled, it has taken nothing."""
        while True:
            if self._past:
                return self._past.popleft()
            if self._driver.inbox and not self.desk.is_busy:
                delivered = self._driver.inbox.popleft()
                if type(delivered) is Stop:
                    self.desk.reunite(delivered)
                elif type(delivered) is ProvideState:
                    self.desk.provide(delivered)
                else:
                    return self._take(delivered)
            elif not await self._until_more():
                return None

    async def _until_more(self) -> bool:
        """Wait until there may be something to read; False when the group is closed and everything was read."""
        if self._past:
            return True
        if self.desk.is_busy and self._closing is None:
            await self.desk.until_free()
        elif not self._driver.inbox:
            if self._closing is not None:
                return False
            await self._until_inbox()
        return True

    def _take(self, delivered: object) -> Batch | ViewChange:
        if type(delivered) is not Install:
            assert isinstance(delivered, Deliver)
            self._count_taken(delivered)
        return _as_event(delivered)

    def _count_taken(self, delivered: Deliver) -> None:
        if type(delivered) is Dequeue:
            self._ordered.on_read(delivered)
        elif delivered.channel is not Channel.GROUP and delivered.origin == self.me:
            self._own_private -= 1
            self._line.look()
        else:
            self._driver.execute(self._node.on_taken(self._driver.now_ns(), delivered))

    async def _until_inbox(self) -> None:
        if self._reader is not None:
            raise UsageError("another task is reading from this group already")
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    # ---- progress

    def _on_freed(self) -> None:
        self._flush_outbox()
        self._line.look()
        self._flushing.look()
        self._ordered.look()
        self.desk.look()

    async def flush(self, timeout: float = FLUSH_SECONDS) -> None:
        """Wait until everything sent so far has been acked by all who must have it; WaitExpired after the limit."""
        if not self._node.has_group:
            await self._until_place(timeout)
        if self._closing is not None:
            raise self._closing
        self._flush_outbox()
        window = self._node.group.outgoing.window
        high = window.high + len(self._outbox)
        streams = self._node.peers.outgoing
        marks = {peer: stream.window.high for peer, stream in streams.items()}
        begun = dict(streams)

        def has_acked(peer: Address, mark: int) -> bool:
            """A stream that was given up has nobody left to wait for; one that began anew counts from 1 again."""
            stream = streams.get(peer)
            if stream is None:
                return True
            return stream.window.low >= mark if stream is begun[peer] else stream.is_idle

        def ready() -> bool:
            return window.low >= high and all(has_acked(peer, mark) for peer, mark in marks.items())

        if not ready():
            await self._flushing.until(ready, "flush", timeout)

    def waiting(self) -> list[Waiting]:
        """Who waits, for what, since when, and what would end it."""
        now, found = self._driver.now_ns(), []
        for wait in self.waits.running():
            because, freed_by = wait.why()
            found.append(Waiting(wait.what, because, (now - wait.since_ns) / 1e9, freed_by))
        return found

    def explain(self) -> str:
        """In words: what waits and why, what would free it, who is not here and why, what a merge joined."""
        return short(explain(self.name, self._driver, self.waiting()))

    def status(self) -> dict[str, Any]:
        """Everything an operator may ask, as plain values: view, windows, waits, drops."""
        return status_of(self.name, self._driver, self.waiting())

    async def inspect(self) -> None:
        """Let `ringcast status`, `explain` and `top` ask this member, on a Unix socket of this user."""
        self._inspection = Inspection(socket_path(self.name, self.me.endpoint), {"status": self.status})
        await self._inspection.open()

    async def inspect_no_more(self) -> None:
        if self._inspection is not None:
            await self._inspection.close()

    def merge_states_with(self, hooks: tuple[GetState, SetState, MergeState]) -> None:
        """After a merge the application makes one state of those of all sides (runtime/reunion.py)."""
        self.desk.hold_merging(hooks, self._past.append, lambda error: self._end(error, "no state"))

    # ---- coming back (runtime/rejoin.py)

    @property
    def is_going(self) -> bool:
        """It was closed, or is on its way out."""
        return self._closing is not None or self._left is not None

    def come_back(self, driver: Driver, why: str) -> None:
        """The place is lost: go on as the new incarnation that this driver has.

        What was delivered before stays to be read. Whoever waits gets PlaceLost: what a message was built on may count
        no more, so the application decides whether to send it again.
        """
        self._past.extend(_as_event(item) for item in self._driver.inbox if isinstance(item, Deliver | Install))
        self._past.append(Rejoin(self.me, why))
        self._driver.inbox.clear()
        error = PlaceLost(f"{self.me} lost its place in group {self.name!r} ({why}); nothing was taken")
        self._line.expel(error)
        self._flushing.expel(error)
        self._ordered.expel(error)
        self._outbox.clear()
        self._slots = self._bytes = self._own_private = 0
        self._last_view = self.view
        self._take_over(driver)
        self.desk.begin(on_failed=lambda error: self._end(error, "no state"))
        self._wake_reader()

    async def _until_place(self, timeout: float | None) -> None:
        await self._line.until(lambda: self._node.has_group, "send", timeout)

    # ---- the end

    def at_end(self, close: Callable[[], Awaitable[None]]) -> None:
        """Something else that ends with this group."""
        self._endings.append(close)

    async def leave(self, timeout: float | None = None) -> None:
        """Go in good order: what was sent reaches the others, they agree on a view without this member, then close.

        Without an agreement within the config's `leave_ns` (or `timeout` seconds, if that is shorter) it goes anyway.
        """
        try:
            if self._closing is None:
                await self._leave(timeout)
        finally:
            await self.close()

    async def _leave(self, timeout: float | None) -> None:
        self._flush_outbox()
        if self._outbox:
            with suppress(WaitExpired):
                await self._line.until(lambda: not self._outbox, "leave", self._config.leave_ns / 2e9)
        await self._ordered.drain(self._config.leave_ns / 2e9 if timeout is None else timeout / 2)
        left = self._left = asyncio.get_running_loop().create_future()
        self._driver.execute(self._node.leave(self._driver.now_ns()))
        if self._node.society is None:
            return
        own = self._config.leave_ns / 1e9  # by then the node itself goes, whatever the others say
        limit = own + 1.0 if timeout is None else min(timeout, own + 1.0)
        try:
            with self.waits.during("leave", limit, lambda: why_not_left(self._driver)):
                async with asyncio.timeout(limit):
                    await left
        except TimeoutError:
            pass

    def _on_left(self, left: Left) -> None:
        if self._left is not None and not self._left.done():
            self._left.set_result(None)

    def _on_lost(self, reason: str) -> None:
        self._end(GroupClosed(f"this member lost its place in the group: {reason}"), "lost")

    async def close(self) -> None:
        """End at once. Whoever waits gets GroupClosed; what was delivered can still be read."""
        self._flush_outbox()
        self._end(GroupClosed(f"the group {self.name!r} was closed"), "ended")
        await self.inspect_no_more()
        while self._endings:
            await self._endings.pop()()

    def _end(self, error: RingcastError, how: str) -> None:
        if self._closing is not None:
            return
        self._closing = error
        self._slots = self._bytes = 0
        self._line.close(error)
        self._flushing.close(error)
        self._ordered.close(error)
        self.desk.close()
        self._wake_reader()
        self._driver.close(how)

    async def __aenter__(self) -> Group:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _as_event(delivered: object) -> Batch | ViewChange:
    if type(delivered) is Install:
        return ViewChange(delivered.view)
    assert isinstance(delivered, Deliver)
    return Batch(delivered.origin, delivered.payloads, delivered.channel is not Channel.GROUP)
