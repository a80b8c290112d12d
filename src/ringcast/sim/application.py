"""The program that simulated processes run: it reads what is delivered at its own pace, and sends what it is given.

A user's program, written against `Group`: one task reads, in every form there is and changing between them; one sends,
a message after the other, as callers of `Group.send` do. What it read and what it sent is kept for whoever judges the
run, also when the process has crashed.
Not the workload: what is sent and when is decided by those who fill `outbox`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from ringcast.errors import GroupClosed, NotPrimary, PlaceLost, RingcastError, UsageError, WaitExpired
from ringcast.model import Address, Batch, Message, Notice, Rejoin, View, ViewChange
from ringcast.order import Order
from ringcast.runtime import Group, Receipt

Hook = Callable[[Address, bytes], None]

PATIENCE = 1.0  # seconds of one read, now and then
LONGEST = 30  # events that are read in one form before the reader changes to another


@dataclass(frozen=True, slots=True)
class Outbound:
    """One message that wants to go out: to the group, or to some; or in the one order, to some or (None) all."""

    payload: bytes
    to: tuple[Address, ...] | None = ()
    in_order: bool = False
    timeout: float | None = None
    is_barrier: bool = False


class Application:
    """`read_every_ns`: 0 = everything at once, None = not at all, else one run every so often."""

    def __init__(self, random: Random) -> None:
        self.group: Group | None = None
        self.read_every_ns: int | None = 0
        self.outbox: deque[Outbound] = deque()  # the first one is being sent
        self.views: list[View] = []
        self.multicasts: dict[Address, list[bytes]] = {}  # what was read, by sender
        self.private: dict[Address, list[bytes]] = {}
        self.ordered: list[tuple[Address, bytes]] = []  # what was read in the one order
        self.sent: dict[Address, list[bytes]] = {}  # by this process under each of its addresses, to the group
        self.sent_to: dict[tuple[Address, Address], list[bytes]] = {}
        self.queued: dict[Address, list[tuple[bytes, tuple[Address, ...]]]] = {}
        self.lost: str | None = None  # why it lost its place, if it did
        self.on_message: Hook | None = None
        self._random = random
        self._waiting: dict[asyncio.Task[None], None] = {}  # for places in the one order
        self._patience: asyncio.Timeout | None = None  # of the send under way
        self._more = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, group: Group) -> None:
        self.group = group
        self._loop = asyncio.get_running_loop()
        sender = asyncio.create_task(self._send_until_closed(group))
        try:
            await self._read_all(group)
        finally:
            sender.cancel()

    @property
    def is_idle(self) -> bool:
        """Everything was sent, and has its place."""
        return not self.outbox and not self._waiting

    # ---- what others let it do

    def put(self, outbound: Outbound) -> None:
        """One more message to send. From anywhere."""
        self.outbox.append(outbound)
        if self._loop is not None:
            self._loop.call_soon(self._more.set)

    def read_every(self, pause_ns: int | None) -> None:
        """Change the pace of the reader: 0 = at once, None = not at all. A read under way is cancelled."""
        self.read_every_ns = pause_ns
        if self._loop is not None:
            self._loop.call_soon(self._begin_reading_anew)

    def _begin_reading_anew(self) -> None:
        if self._reader is not None:
            self._reader.cancel()

    def take_back(self) -> None:
        """Send what waits for room no more: its call is cancelled."""
        if self._loop is not None and self._patience is not None:
            self._loop.call_soon(self._patience.reschedule, self._loop.time())

    # ---- reading

    async def _read_all(self, group: Group) -> None:
        """Until the group ends."""
        while True:
            reader = self._reader = asyncio.create_task(self._read(group))
            try:
                await asyncio.wait([reader])
            finally:
                reader.cancel()
            if not reader.cancelled():
                reader.result()
                return

    async def _read(self, group: Group) -> None:
        pause_ns = self.read_every_ns
        if pause_ns is None:
            await asyncio.Event().wait()
        forms = (_one_by_one, _in_runs, _one, _several, _one_run) if pause_ns == 0 else (_one_run,)
        with suppress(GroupClosed, StopAsyncIteration):
            while True:
                form = self._random.choice(forms)
                if not await form(group, self._random, self.take):
                    return
                await asyncio.sleep((pause_ns or 0) / 1e9)

    def take(self, event: Message | Batch | Notice) -> None:
        """The program is given this."""
        if isinstance(event, Message):
            self._take_messages(event, [event.payload])
        elif isinstance(event, Batch):
            self._take_messages(event, event.payloads)
        elif isinstance(event, ViewChange):
            self.views.append(event.view)
        elif isinstance(event, Rejoin):
            self.lost = event.why

    def _take_messages(self, event: Message | Batch, payloads: list[bytes]) -> None:
        if event.order is Order.TOTAL:
            self.ordered.extend((event.sender, payload) for payload in payloads)
        else:
            read = self.private if event.private else self.multicasts
            read.setdefault(event.sender, []).extend(payloads)
        if self.on_message is not None:
            for payload in payloads:
                self.on_message(event.sender, payload)

    # ---- sending

    async def _send_until_closed(self, group: Group) -> None:
        with suppress(GroupClosed):
            await self._send_all(group)

    async def _send_all(self, group: Group) -> None:
        """In the order of the outbox. What cannot be sent is left out, as its error says that it was not sent."""
        while True:
            while not self.outbox:
                self._more.clear()
                await self._more.wait()
            with suppress(UsageError, PlaceLost, NotPrimary, WaitExpired, TimeoutError):
                async with asyncio.timeout(None) as self._patience:
                    await self._send(group, self.outbox[0])
            self.outbox.popleft()

    async def _send(self, group: Group, outbound: Outbound) -> None:
        if outbound.is_barrier:
            self._beside(_barrier(group))
        elif outbound.in_order:
            await self._queue(group, outbound)
        elif outbound.to:
            notes = [self.sent_to.setdefault((group.me, peer), []) for peer in outbound.to]
            sending = group.send(outbound.payload, to=outbound.to, timeout=outbound.timeout)
            await _noting(sending, notes, outbound.payload)
        else:
            notes = [self.sent.setdefault(group.me, [])]
            await _noting(group.send(outbound.payload, timeout=outbound.timeout), notes, outbound.payload)

    def _beside(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._waiting[task] = None
        task.add_done_callback(self._waiting.pop)

    async def _queue(self, group: Group, outbound: Outbound) -> None:
        to = outbound.to
        noted = (outbound.payload, to or ())
        queued = self.queued.setdefault(group.me, [])
        queued.append(noted)
        try:
            receipt = await group.queue(outbound.payload, to=to, timeout=outbound.timeout)
        except RingcastError as error:
            if error.sent is False:
                queued.remove(noted)
            raise
        self._beside(_until_placed(receipt))


async def _noting(sending: Awaitable[None], notes: list[list[bytes]], payload: bytes) -> None:
    """It counts as sent, also if the process crashes meanwhile; but not if it raises (G15)."""
    for note in notes:
        note.append(payload)
    try:
        await sending
    except (RingcastError, asyncio.CancelledError):
        for note in notes:
            assert note.pop() is payload
        raise


async def _until_placed(receipt: Receipt) -> None:
    with suppress(RingcastError):
        await receipt


async def _barrier(group: Group) -> None:
    with suppress(RingcastError):
        await group.barrier()


# ---- forms of reading: each reads a little, and says whether there may be more

Take = Callable[[Message | Batch | Notice], None]


async def _one_by_one(group: Group, random: Random, take: Take) -> bool:
    return await _some_of(group, random, take)


async def _in_runs(group: Group, random: Random, take: Take) -> bool:
    return await _some_of(group.batches(), random, take)


async def _some_of(events: AsyncIterable[Message | Batch | Notice], random: Random, take: Take) -> bool:
    left = random.randint(1, LONGEST)
    async for event in events:
        take(event)
        left -= 1
        if left == 0:
            return True
    return False


async def _one(group: Group, random: Random, take: Take) -> bool:
    with suppress(WaitExpired):
        take(await group.receive(PATIENCE if random.random() < 0.2 else None))
    return True


async def _several(group: Group, random: Random, take: Take) -> bool:
    for event in await group.receive_many(random.randint(1, LONGEST)):
        take(event)
    return True


async def _one_run(group: Group, random: Random, take: Take) -> bool:
    take(await group.receive_batch())
    return True
