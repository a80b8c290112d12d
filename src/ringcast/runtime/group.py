"""The group as the application holds it: send, read, flush, leave, close.

Back-pressure is awaiting: `send` returns when the message has its place, `async for` gives what was delivered, and
reading is what lets others send on. What is being sent is kept by `Sending`, what was delivered by `Reading`, the one
order by `Ordered`; here is the member's life: its place, how it comes back and how it ends.
Invariant: after the end nothing waits: whoever waited got the error that ended it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any, TypeVar

from ringcast.core import Left
from ringcast.errors import GroupClosed, PlaceLost, RingcastError, UsageError, WaitExpired
from ringcast.model import Address, Batch, GroupEvent, Message, Notice, Rejoin, View
from ringcast.order import Order
from ringcast.runtime.arguments import To, check_order, check_when_full, listed, recipients
from ringcast.runtime.driver import Driver
from ringcast.runtime.forms import Messages, accepting
from ringcast.runtime.handling import Reader
from ringcast.runtime.inspection import Inspection, socket_path
from ringcast.runtime.keys import without_keys
from ringcast.runtime.loop_guard import LoopGuard
from ringcast.runtime.metrics import exposition
from ringcast.runtime.ordered import BARRIER_SECONDS, Ordered
from ringcast.runtime.readers import Readers
from ringcast.runtime.reading import Batches, OpenRun, Reading
from ringcast.runtime.receipts import Receipt
from ringcast.runtime.reunion import MergeState
from ringcast.runtime.sending import Sending, WhenFull
from ringcast.runtime.state import StateExchange
from ringcast.runtime.state_giving import GetState
from ringcast.runtime.state_loading import SetState
from ringcast.runtime.status import Status, explain, is_ready, status_of
from ringcast.runtime.waiting import Limit, Waits
from ringcast.runtime.watching import Watch, as_row, present
from ringcast.runtime.words import Waiting, short, why_not_left, why_not_ready
from ringcast.security import KeySource
from ringcast.transport import TcpTransport

T = TypeVar("T")

FLUSH_SECONDS = 60.0  # only a send may wait without a limit (G14)


class Group:
    """A member's place in a group. Use as `async with`."""

    def __init__(self, name: str, driver: Driver) -> None:
        self.name = name
        self._home = LoopGuard(f"group {name!r}")
        self._config = driver.node.config
        self._waits = Waits(driver.now_ns, lambda event: self._driver.note(event))
        readers = Readers()
        self._sending = Sending(driver, self._waits, readers, self._widen_own)
        self._turn = self._sending.turn  # what `send` may do without asking (runtime/forms.py)
        self._ordered = Ordered(lambda: self._driver, self._waits, readers, self._widen_own)
        self._reading = Reading(driver, self._sending, self._ordered, readers)
        self._take_over(driver)
        self._closing: RingcastError | None = None
        self._told = Rejoin.__name__  # what the application learns behind the last event of this place
        self._left: asyncio.Future[None] | None = None
        self._endings: list[Callable[[], Awaitable[None]]] = []
        self._changed: asyncio.Event | None = None  # set with the next view, and at the end
        self._last_view: View | None = None  # shown until the next incarnation has one

    @property
    def _state(self) -> StateExchange:
        """Where the application's state is given, loaded and merged."""
        return self._reading.state

    def _take_over(self, driver: Driver) -> None:
        self._driver = driver
        self._node = driver.node
        self._sending.hold(driver)
        self._reading.hold(driver)
        driver.on_inbox = self._reading.on_inbox
        driver.on_retiring = lambda how: self._reading.end_recording(how, self._told)
        driver.on_freed = self._on_freed
        driver.on_spent = self._sending.refill
        driver.on_lost = self._on_lost
        driver.on_refused = lambda error: self._end(error, "refused")
        driver.on_unkept = lambda error: self._end(error, "mark not kept")
        driver.on_left = self._on_left
        driver.on_state = self._state.on_effect
        driver.on_finished = self._ordered.on_finished

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
        """The member that leads the group; None where only observers are left: then nobody may send."""
        return self._node.coordinator if self._node.has_group else self.view.coordinator

    @property
    def drops(self) -> dict[str, int]:
        """What peers sent that was not used, by reason."""
        return dict(self._driver.drops)

    @property
    def retransmitted(self) -> int:
        """Messages of the group that this member sent again."""
        return self._node.group.repairs.count if self._node.has_group else 0

    # ---- sending

    @accepting
    async def send(
        self,
        payload: bytes,
        *,
        to: To = None,
        order: Order = Order.FIFO,
        timeout: float | None = None,
        when_full: WhenFull = None,
    ) -> None:
        """Send one message to the group, or reliably and in order to some of its members (`to`).

        Waits while there is no room for it (`when_full="raise"` raises WindowFull instead; `timeout` seconds, for the
        whole call, raise WaitExpired). Returns when the message has its place in the order of what this member sends;
        if it raises or is cancelled, the message was not sent. With `order=TOTAL` it returns when the message has its
        place in the one order of all ordered messages; then what ended a call early says with `error.sent` whether the
        message is sent, and a cancelled call leaves it open: `queue` gives the receipt to those who must know.
        """
        self._home.check()
        if when_full is not None:
            check_when_full(when_full)
        if order is not Order.FIFO:
            check_order(order)
            limit = Limit(timeout)
            receipt = await self._queue(payload, to, limit, when_full)
            await self._ordered.until_finished(receipt, limit)
        elif to is not None or type(payload) is not bytes or not self._sending.put(payload):
            await self._sending.send(payload, recipients(to), timeout, when_full)

    async def send_many(self, payloads: Sequence[bytes], *, timeout: float | None = None) -> None:
        """Send a list of messages to the group, in order; the fast way. Waits as `send` does.

        If it raises or is cancelled, the first `error.sent` messages were sent and the others were not.
        """
        self._home.check()
        payloads = listed(payloads)
        if payloads:
            await self._sending.send_many(payloads, timeout)

    async def flush(self, timeout: float = FLUSH_SECONDS) -> None:
        """Wait until everything sent so far has been acked by all who must have it; WaitExpired after the limit.

        PlaceLost, once, if this member lost its place before that: what was not acked may have arrived or not.
        """
        self._home.check()
        self._ordered.flush_turn()
        await self._sending.flush(Limit(timeout), lambda: self._ordered.is_queued)

    # ---- the one order (runtime/ordered.py)

    async def queue(
        self,
        payload: bytes,
        *,
        to: To = None,
        timeout: float | None = None,
        when_full: WhenFull = None,
    ) -> Receipt:
        """Like `send(order=TOTAL)`, but does not wait for the place: `await receipt` does, and gives its stamp.

        When it returned the message is sent; if it raises or is cancelled, it was not.
        """
        self._home.check()
        check_when_full(when_full)
        return await self._queue(payload, to, Limit(timeout), when_full)

    async def _queue(self, payload: bytes, to: To, limit: Limit, when_full: WhenFull) -> Receipt:
        if to is None and type(payload) is bytes and (receipt := self._ordered.join_turn(payload)) is not None:
            return receipt
        payload = self._sending.checked(payload)
        peers = recipients(to)
        await self._sending.until_place(limit)
        self._sending.flush_outbox()
        return await self._ordered.queue(payload, peers, limit, when_full)

    async def queue_many(
        self,
        payloads: Sequence[bytes],
        *,
        to: To = None,
        timeout: float | None = None,
        when_full: WhenFull = None,
    ) -> Receipt:
        """Queue a list of messages in the one order, in few batches; the fast way. The receipt is that of the last.

        If it raises or is cancelled, the first `error.sent` messages were sent and the others were not.
        """
        self._home.check()
        check_when_full(when_full)
        payloads = listed(payloads)
        if not payloads:
            raise UsageError("queue_many needs at least one message")
        limit = Limit(timeout)
        if set(map(type, payloads)) != {bytes}:
            payloads = [self._sending.checked(payload) for payload in payloads]
        self._sending.checked(max(payloads, key=len))
        peers = recipients(to)
        await self._sending.until_place(limit)
        self._sending.flush_outbox()
        return await self._ordered.queue_many(payloads, peers, limit, when_full)

    async def barrier(self, timeout: float = BARRIER_SECONDS) -> str:
        """Wait until this member's application has handled every ordered message that was finished anywhere before now.

        After a signal through a side channel: what was queued before the signal was given has been handled. A message
        is handled when its reader asks for the next event, leaves its loop, or ends; what the caller reads itself it
        must have handled before. Somebody must keep reading meanwhile. Gives the stamp of the barrier's own place.
        """
        self._home.check()
        limit = Limit(timeout)
        await self._sending.until_place(limit)
        self._reading.settle()
        return await self._ordered.barrier(limit)

    def stamp(self) -> str:
        """Up to where this member's application has read in the one order; small, printable, to be carried anywhere."""
        self._reading.settle()
        return self._ordered.stamp()

    async def after(self, stamp: str, timeout: float = BARRIER_SECONDS) -> None:
        """Wait until this member's application has handled everything up to a stamp that another member gave.

        Handled as `barrier` means it.
        """
        self._home.check()
        if self._closing is not None:
            raise self._closing
        self._reading.settle()
        await self._ordered.after(stamp, Limit(timeout))

    # ---- reading

    def __aiter__(self) -> Messages:
        """Everything that is delivered, message by message, from where reading stopped.

        Ends after a close that this process asked for; else raises what ended the group, when everything was read.
        The loop may be left in any way: what it was not given is read next. So with every other way of reading here.
        """
        self._home.check()
        self._reading.note_reader()
        return self._reading.by_message(self._leave_reading)

    def batches(self) -> Batches:
        """The same as runs of messages: the fast way to read."""
        self._home.check()
        self._reading.note_reader()
        return Batches(self._reading, self)

    async def _leave_reading(self) -> None:
        """Whoever reads refers to the group by this (runtime/dropped.py)."""
        self._reading.settle()

    async def receive(self, timeout: float | None = None) -> GroupEvent:
        """The next event. WaitExpired after `timeout` seconds, GroupClosed (or what ended it) when there is no more."""
        return await self._received(lambda: self._reading.next_event(self._reading.reader()), timeout)

    async def receive_many(self, limit: int, timeout: float | None = None) -> list[GroupEvent]:
        """At least one event, waiting for it as `receive` does, and what else is there, up to the limit."""
        if limit < 1:
            raise UsageError(f"receive_many needs a limit of at least 1, got {limit}")
        return await self._received(lambda: self._reading.next_events(limit, self._reading.reader()), timeout)

    async def receive_batch(self, timeout: float | None = None) -> Batch | Notice:
        """The next one of `batches`; waits and ends as `receive` does."""
        return await self._received(lambda: self._reading.next_batch(self._reading.reader()), timeout)

    async def _receive_run(self, timeout: float | None = None) -> OpenRun | Message | Notice:
        """For a reader in another thread: a run of several messages stays at the reading place and is read there."""
        return await self._received(lambda: self._reading.next_run(self._reading.reader()), timeout)

    def _reader(self, who: threading.Thread) -> Reader:
        """A thread as a reader."""
        return self._reading.handling.caller(who)

    def _has_handled(self) -> None:
        """A thread asks for the next event, or left its loop."""
        self._reading.handling.tell()

    def _count_handed(self) -> int:
        """Count what was read of the run that `receive_run` gave; how much that is."""
        return self._reading.count_open()

    @property
    def _was_lost(self) -> bool:
        """It ended, and this process did not ask for it."""
        return self._reading.error is not None

    async def _received(self, read: Callable[[], Coroutine[Any, Any, T]], timeout: float | None) -> T:
        self._home.check()
        self._reading.note_reader()
        try:
            async with asyncio.timeout(timeout):
                return await read()
        except TimeoutError:
            raise WaitExpired(f"nothing was delivered in group {self.name!r} within {timeout} s") from None
        except StopAsyncIteration:
            assert self._closing is not None
            raise self._closing from None

    # ---- waiting for others

    async def ready(self, timeout: float | None = None) -> View:
        """Wait until this member may send: it has a place in the group, on the primary side if only that may go on.

        For those who got PlaceLost or NotPrimary; gives the view. WaitExpired after `timeout` seconds.
        """
        return await self._until(self._may_send, lambda: why_not_ready(self._driver), timeout)

    async def wait_for(self, members: int, timeout: float | None = None) -> View:
        """Wait until the group has so many members, this one included; gives the view."""

        def lacking() -> str:
            return f"{len(self.members)} of {members} members are here: {', '.join(m.name for m in self.members)}"

        return await self._until(lambda: self._node.has_group and len(self.members) >= members, lacking, timeout)

    def _may_send(self) -> bool:
        return is_ready(self._driver)

    async def _until(self, is_true: Callable[[], bool], lacking: Callable[[], str], timeout: float | None) -> View:
        """Until a view, or the end, makes this true."""
        self._home.check()
        try:
            async with asyncio.timeout(timeout):
                while self._closing is None and not is_true():
                    self._changed = self._changed or asyncio.Event()
                    await self._changed.wait()
        except TimeoutError:
            raise WaitExpired(f"waited {timeout} s in group {self.name!r}: {lacking()}") from None
        if self._closing is not None:
            raise self._closing
        return self.view

    def _look(self) -> None:
        """Whoever waits for others looks again."""
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    # ---- progress

    def _widen_own(self) -> None:
        """The only reader waits to send (runtime/readers.py)."""
        self._node.widen_own()
        self._on_freed()

    def _on_freed(self) -> None:
        self._look()
        self._sending.look()
        self._ordered.look()
        self._sending.look_at_flushes()
        self._state.look()

    def waiting(self) -> list[Waiting]:
        """Who waits, for what, since when, and what would end it."""
        now, found = self._driver.now_ns(), []
        for wait in self._waits.running():
            because, freed_by = wait.why()
            found.append(Waiting(wait.what, because, (now - wait.since_ns) / 1e9, freed_by))
        return found

    def explain(self) -> str:
        """In words: what waits and why, what would free it, who is not here and why, what a merge joined."""
        return short(explain(self.name, self._driver, self.waiting()))

    def status(self) -> Status:
        """Everything an operator may ask, as plain values: view, windows, waits, drops."""
        return status_of(self.name, self._driver, self.waiting())

    def metrics(self) -> str:
        """The same for Prometheus, in its text format; needs `ringcast[metrics]`. For an HTTP server of your own."""
        return exposition(self.status())

    def reload_keys(self, key: KeySource | None = None) -> list[str]:
        """Read the key file again, or use another `key` from now on; the names of the keys, the primary one first.

        If it cannot be read the old keys stay in use, and ConfigError says why. Nothing is interrupted.
        """
        if self._driver.keys is None:
            raise without_keys()
        return [held.name for held in self._driver.keys.reload(key).keys]

    def reload_certificates(self) -> None:
        """Read the certificate, its key and the authority's file again, and make every connection again with them.

        If they cannot be used the old ones stay in use, and ConfigError says why. The authority's file may hold its
        list of revoked certificates: whose stands there is not heard any more. Messages are not lost, they wait for the
        new connections.
        """
        identity, transport = self._driver.identity, self._driver.transport
        if identity is None or not isinstance(transport, TcpTransport):
            raise UsageError("this member joined without a certificate: there is nothing to read again")
        transport.use_tls(identity.read_again(self.me.name))

    async def inspect(self) -> None:
        """Let `ringcast status`, `explain` and `top` ask this member, on a Unix socket of this user."""
        path = socket_path(self.name, self.me.endpoint)
        answers: dict[str, Callable[[], dict[str, Any]]]
        answers = {"status": lambda: dict(self.status()), "who": lambda: {"group": self.name, "name": self.me.name}}
        inspection = Inspection(path, answers, self._be_watched)
        await inspection.open()
        self._at_end(inspection.close)

    @contextmanager
    def _be_watched(self) -> Iterator[Callable[[], dict[str, Any]]]:
        """Somebody looks at what this member does, a few times a second (runtime/watching.py)."""
        watch, driver = Watch(), self._driver
        news = present(self._node, driver.now_ns())
        driver.watch(watch.append)

        def look() -> dict[str, Any]:
            nonlocal driver, news
            if self._driver is not driver:  # a new incarnation
                driver = self._driver
                driver.watch(watch.append)
            events, news = [*news, *watch.take()], []
            return {
                "member": self.me,
                "group": self.name,
                "now_ns": driver.now_ns(),
                "events": [as_row(event) for event in events],
                "missed": watch.missed,
                "waiting": [asdict(wait) for wait in self.waiting()],
            }

        try:
            yield look
        finally:
            driver.unwatch(watch.append)

    def _merge_states_with(self, hooks: tuple[GetState, SetState, MergeState]) -> None:
        """After a merge the application makes one state of those of all sides (runtime/reunion.py)."""
        self._state.hold_merging(hooks, self._reading.tell, lambda error: self._end(error, "no state"))

    # ---- coming back (runtime/rejoin.py)

    @property
    def _is_going(self) -> bool:
        """It was closed, or is on its way out."""
        return self._closing is not None or self._left is not None

    def _come_back(self, driver: Driver, why: str) -> None:
        """The place is lost: go on as the new incarnation that this driver has.

        What was delivered before stays to be read. Whoever waits gets PlaceLost: what a message was built on may count
        no more, so the application decides whether to send it again.
        """
        self._reading.keep(Rejoin(self.me, why))
        error = PlaceLost(f"{self.me} lost its place in group {self.name!r} ({why})")
        self._sending.expel(error)
        self._ordered.expel(error)
        self._last_view = self.view
        self._take_over(driver)
        self._state.begin(on_failed=lambda error: self._end(error, "no state"))
        self._reading.wake()

    # ---- the end

    def _at_end(self, close: Callable[[], Awaitable[None]]) -> None:
        """Something else that ends with this group."""
        self._endings.append(close)

    async def leave(self, timeout: float | None = None) -> None:
        """Go in good order: what was sent reaches the others, they agree on a view without this member, then close.

        Without an agreement within the config's `leave_ns` (or `timeout` seconds, if that is shorter) it goes anyway.
        """
        self._home.check()
        try:
            if self._closing is None:
                await self._leave(timeout)
        except RingcastError:
            if self._closing is None:
                raise
            # It is out: another call that leaves or closes was first, or its place ended meanwhile.
        finally:
            await self.close()

    async def _leave(self, timeout: float | None) -> None:
        own = self._config.leave_ns / 1e9  # this long after it was asked the node itself goes, whatever the others say
        seconds = own if timeout is None else min(timeout, own)
        limit, half = Limit(seconds), Limit(seconds / 2)
        with suppress(WaitExpired):
            await self._sending.until_left(half)
        await self._ordered.drain(half)
        left = self._left = asyncio.get_running_loop().create_future()
        self._driver.execute(self._node.leave(self._driver.now_ns()))
        if self._node.coordination is None:
            return
        try:
            with self._waits.during("leave", limit.left(), lambda: why_not_left(self._driver)):
                async with asyncio.timeout_at(limit.at):
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
        self._home.check()
        self._sending.flush_outbox()
        self._end(GroupClosed(f"the group {self.name!r} was closed"), "ended", is_asked=True)
        await self._close_what_ends_with_it()

    async def _close_what_ends_with_it(self) -> None:
        while self._endings:
            await self._endings.pop()()

    def _end(self, error: RingcastError, how: str, *, is_asked: bool = False) -> None:
        if self._closing is not None:
            return
        self._closing = error
        self._told = "closed" if is_asked else type(error).__name__
        self._sending.close(error)
        self._ordered.close(error)
        self._reading.close(None if is_asked else error)
        self._look()
        self._driver.close(how)

    async def __aenter__(self) -> Group:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
