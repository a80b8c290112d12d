"""The same group for scripts and threads: no `await`, the same names.

    with ringcast.sync.join("chat", seeds=["10.0.0.1:7001"]) as group:
        group.send(b"hello")
        for event in group: ...

Each group has a thread of its own with an event loop, on which the asynchronous Group lives; calls are handed to it and
waited for. Every method may be called from any thread; several readers share the events, each event goes to one.
Not faster and not slower protocol: for many small messages use `send_many` and `batches`, a hand-over costs about as
much as a hundred messages. A MemoryTransport cannot be used here: its members must share one loop.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from inspect import iscoroutinefunction
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar, cast

from ringcast import runtime
from ringcast.errors import GroupClosed, UsageError, WaitExpired
from ringcast.model import Address, Batch, Config, Delivery, GroupEvent, Message, Notice, View
from ringcast.order import Order
from ringcast.runtime import (
    Found,
    GetState,
    HostPort,
    KeySource,
    MergeState,
    Partition,
    RecordTo,
    SetState,
    Status,
    To,
    Transport,
    WhenFull,
)

PlainSetState = Callable[[Iterator[bytes]], None]
T = TypeVar("T")
Taken = Message | Batch | Notice | runtime.OpenRun

SIGNAL_SECONDS = 0.5  # at most, until a signal is handled while the main thread waits
COUNT_SECONDS = 0.02  # between two counts of what a reader was handed out of an open run


class Answer(Generic[T]):
    """What a call on the loop came to; given there, once, and awaited by one thread.

    Whoever waits holds no lock that the loop needs: a signal may raise in it between any two steps, and one that raises
    while a Condition is entered (of a Future, say) leaves that locked for good, and with it the loop.
    """

    def __init__(self) -> None:
        self.task: asyncio.Task[T] | None = None
        self.is_given = False
        self.is_left = False  # whoever waited was interrupted
        self._value: T | None = None
        self._error: BaseException | None = None
        self._waiting = threading.Lock()
        self._waiting.acquire()

    def give(self, value: T | None, error: BaseException | None = None) -> None:
        if not self.is_given:
            self.is_given, self._value, self._error = True, value, error
            self._waiting.release()

    def wait(self) -> T:
        """In slices where signals are handled: one that comes just before a thread falls asleep does not wake it."""
        is_main = threading.current_thread() is threading.main_thread()
        while not self._waiting.acquire(timeout=SIGNAL_SECONDS if is_main else -1):
            pass
        if self._error is not None:
            raise self._error
        return cast(T, self._value)


class LoopThread:
    """An event loop that turns in a thread of its own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        # Not `Thread.is_alive`: a signal that raises inside it makes CPython 3.11 take a running thread for a dead one.
        self._is_over = threading.Event()
        self._unanswered: dict[Answer[Any], None] = {}
        self._is_ending = False
        self._what = f"group {name!r}"
        self._is_forked = False
        runtime.ends_with_fork(self)
        self._thread = threading.Thread(target=self._run, name=f"ringcast {name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(self._ended.wait())
                self._is_ending = True  # What still runs is cancelled.
        finally:
            # In this order: who asks adds its answer, then looks whether it is over, so nobody is left without one.
            self._is_over.set()
            for answer in list(self._unanswered):
                answer.give(None, GroupClosed("the group was closed"))

    def on_forked(self) -> None:
        """In the child there is no such thread."""
        self._is_forked = True

    def check(self) -> None:
        if self._is_forked:
            raise UsageError(f"{self._what} belongs to the parent of this process, which forked after it had joined")

    def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run this on the loop and wait; what interrupts the wait cancels it.

        The coroutine is made over there: a signal may raise in this thread between any two steps, and a coroutine
        made here would then be left behind that nobody awaits.
        """
        self.check()
        if threading.current_thread() is self._thread:
            raise UsageError(
                f"a group of ringcast.sync was called on its own thread {self._thread.name!r}, from get_state or "
                "another function that it calls: what waits here stops the group; use another thread"
            )
        answer: Answer[T] = Answer()
        self._unanswered[answer] = None
        try:
            if self._is_over.is_set():
                raise GroupClosed("the group was closed")
            self.soon(self._begin, work, answer, threading.current_thread())
            return answer.wait()
        except BaseException:
            answer.is_left = True
            if not answer.is_given:
                self.soon(self._withdraw, answer)
            raise
        finally:
            self._unanswered.pop(answer, None)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, T]], answer: Answer[T], thread: threading.Thread) -> None:
        if answer.is_left:
            return
        answer.task = self.loop.create_task(_begun(work, thread))
        answer.task.add_done_callback(lambda task: self._hand_over(task, answer))

    def _hand_over(self, task: asyncio.Task[T], answer: Answer[T]) -> None:
        """From the loop to whoever waits, if that one still does."""
        if task.cancelled():
            answer.give(None, GroupClosed("the group was closed") if self._is_ending else CancelledError())
        elif (error := task.exception()) is not None:
            answer.give(None, error)
        else:
            answer.give(task.result())

    def _withdraw(self, answer: Answer[Any]) -> None:
        if answer.task is not None:
            answer.task.cancel()

    def soon(self, do: Callable[..., None], *arguments: object) -> None:
        """On the loop, without waiting for it; nothing if it is over."""
        if not self._is_forked:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(do, *arguments)

    def end(self) -> None:
        if not self._is_over.is_set() and not self._is_forked:
            self.soon(self._ended.set)
            self._is_over.wait()


async def _begun(work: Callable[[], Coroutine[Any, Any, T]], thread: threading.Thread) -> T:
    """Whatever goes wrong with it, from its making on, is the task's answer. It is done for this thread."""
    runtime.CALLING_THREAD.set(thread)
    return await work()


class Receipt:
    """Of an ordered message that was queued."""

    def __init__(self, thread: LoopThread, receipt: runtime.Receipt) -> None:
        self._thread = thread
        self._receipt = receipt

    @property
    def stamp(self) -> str | None:
        """The stamp of the message's place, once it has one."""
        return self._receipt.stamp

    def wait(self, timeout: float | None = None) -> str:
        """Wait for the message's place in the one order; gives its stamp. WaitExpired after `timeout` seconds."""

        async def finished() -> str:
            try:
                async with asyncio.timeout(timeout):
                    return await self._receipt
            except TimeoutError:
                raise WaitExpired(f"an ordered message got no place within {timeout} s") from None

        return self._thread.call(finished)


class Group:
    """A member's place in a group, for threads. Use as `with`; it leaves at the end of the block."""

    def __init__(self, thread: LoopThread, group: runtime.Group, leave_on_sigterm: bool = True) -> None:
        self._thread = thread
        self._group = group
        self._leave_on_sigterm = leave_on_sigterm
        self._reading = threading.Lock()
        self._messages: Iterator[Message] = iter(())  # of the run that is being read
        self._place: object = None  # of that run, in the one order
        self._is_ordered = False  # something in the one order was read
        self._taken: deque[Taken] = deque()  # by the loop
        self._is_counting = False
        self._former: Any = None

    # ---- who is here

    @property
    def name(self) -> str:
        return self._group.name

    @property
    def me(self) -> Address:
        return self._group.me

    @property
    def view(self) -> View:
        return self._group.view

    @property
    def members(self) -> tuple[Address, ...]:
        return self._group.members

    @property
    def coordinator(self) -> Address | None:
        return self._group.coordinator

    # ---- sending

    def send(
        self,
        payload: bytes,
        *,
        to: To = None,
        order: Order = Order.FIFO,
        timeout: float | None = None,
        when_full: WhenFull = None,
    ) -> None:
        """One message to the group, or to some of its members; waits while the window is full."""
        self._thread.call(lambda: self._group.send(payload, to=to, order=order, timeout=timeout, when_full=when_full))

    def send_many(self, payloads: Sequence[bytes], *, timeout: float | None = None) -> None:
        """A list of messages, in order; the fast way."""
        self._thread.call(lambda: self._group.send_many(payloads, timeout=timeout))

    def flush(self, timeout: float = 60.0) -> None:
        """Wait until everything sent so far has been acked by all who must have it."""
        self._thread.call(lambda: self._group.flush(timeout))

    def queue(
        self, payload: bytes, *, to: To = None, timeout: float | None = None, when_full: WhenFull = None
    ) -> Receipt:
        """Like `send(order=TOTAL)`, but does not wait for the place: `receipt.wait()` does, and gives its stamp."""
        call = self._thread.call
        return Receipt(
            self._thread, call(lambda: self._group.queue(payload, to=to, timeout=timeout, when_full=when_full))
        )

    def queue_many(
        self, payloads: Sequence[bytes], *, to: To = None, timeout: float | None = None, when_full: WhenFull = None
    ) -> Receipt:
        """Queue a list of messages in the one order; the receipt is that of the last."""
        call = self._thread.call
        return Receipt(
            self._thread, call(lambda: self._group.queue_many(payloads, to=to, timeout=timeout, when_full=when_full))
        )

    def barrier(self, timeout: float = 60.0) -> str:
        """Wait until everything ordered before now was handled here; gives the stamp of that place."""
        return self._thread.call(lambda: self._group.barrier(timeout))

    def stamp(self) -> str:
        return self._thread.call(lambda: self._on_loop(self._group.stamp))

    def after(self, stamp: str, timeout: float = 60.0) -> None:
        """Wait until this member has handled everything up to a stamp that another member gave."""
        self._thread.call(lambda: self._group.after(stamp, timeout))

    # ---- reading

    def receive(self, timeout: float | None = None) -> GroupEvent:
        """The next event. WaitExpired after `timeout` seconds, GroupClosed (or what ended it) when there is no more."""
        self._thread.check()
        self._ask()
        with self._reading:
            return self._receive(timeout)

    def receive_many(self, limit: int, timeout: float | None = None) -> list[GroupEvent]:
        """At least one event, waiting for it as `receive` does, and what else is there, up to the limit."""
        if limit < 1:
            raise UsageError(f"receive_many needs a limit of at least 1, got {limit}")
        self._thread.check()
        self._ask()
        with self._reading:
            events = [self._receive(timeout)]
            with suppress(WaitExpired, GroupClosed):
                while len(events) < limit:
                    events.append(self._receive(0))
            return events

    def receive_batch(self, timeout: float | None = None) -> Batch | Notice:
        """The next run of messages, or another event; the fast way."""
        self._thread.check()
        self._ask()
        with self._reading:
            while True:
                event = self._next(lambda: self._group.receive_batch(timeout))
                self._note_order(event)
                if isinstance(event, Message):  # Left by a reader that was interrupted.
                    return event.as_batch()
                if not isinstance(event, runtime.OpenRun):  # Such a one still lies at the place.
                    return event

    def _receive(self, timeout: float | None) -> GroupEvent:
        while True:
            for message in self._messages:
                self._count_soon()
                if self._place is not None:
                    thread = threading.current_thread()
                    self._group._reader(thread).give(self._place, thread)
                return message
            event = self._next(lambda: self._group._receive_run(timeout))
            self._note_order(event)
            if isinstance(event, Batch):  # Left by a reader that was interrupted.
                self._messages, self._place = runtime.OpenRun(event, None).messages, event._place
            elif isinstance(event, runtime.OpenRun):
                self._messages, self._place = event.messages, event.batch._place
            else:
                return event

    def _note_order(self, event: object) -> None:
        if not self._is_ordered:
            delivery = event.batch if isinstance(event, runtime.OpenRun) else event
            delivery = delivery._delivery if isinstance(delivery, Message) else delivery
            self._is_ordered = isinstance(delivery, Delivery) and delivery._place is not None

    def _next(self, take: Callable[[], Coroutine[Any, Any, Taken]]) -> Taken:
        """What the loop took; a reader that was interrupted leaves it to the next."""
        if not self._taken:
            self._thread.call(lambda: self._keep(take()))
        return self._taken.popleft()

    async def _keep(self, taking: Coroutine[Any, Any, Taken]) -> None:
        self._taken.append(await taking)

    def _count_soon(self) -> None:
        """Messages of an open run are handed over in this thread; the loop counts them from time to time (G15)."""
        if not self._is_counting:
            self._is_counting = True
            self._thread.soon(self._count, -1)

    def _count(self, before: int) -> None:
        """On the loop, and again as long as there is progress."""
        handed = self._group._count_handed()
        self._is_counting = handed != before
        if self._is_counting:
            self._thread.loop.call_later(COUNT_SECONDS, self._count, handed)
        elif self._group._count_handed() != handed:
            self._count_soon()

    def __iter__(self) -> Iterator[GroupEvent]:
        """Every event, from where reading stopped. Ends and raises as the asynchronous one does."""
        return self._until_closed(self.receive)

    def batches(self) -> Iterator[Batch | Notice]:
        """The same, messages in runs."""
        return self._until_closed(self.receive_batch)

    def _until_closed(self, receive: Callable[[], T]) -> Iterator[T]:
        try:
            while True:
                try:
                    event = receive()
                except GroupClosed:
                    if self._group._was_lost:
                        raise
                    return
                yield event
        finally:  # Who leaves the loop has handled what it was given.
            self._ask()

    def _ask(self) -> None:
        """This thread has handled what it was given of the one order (`barrier`); before it waits for its turn."""
        if self._thread._is_forked:
            return
        if self._is_ordered:
            reader = self._group._reader(threading.current_thread())
            if reader.place is not None:
                reader.place = None
                self._thread.soon(self._group._has_handled)

    # ---- waiting for others

    def ready(self, timeout: float | None = None) -> View:
        """Wait until this member may send (again); gives the view."""
        return self._thread.call(lambda: self._group.ready(timeout))

    def wait_for(self, members: int, timeout: float | None = None) -> View:
        """Wait until the group has so many members, this one included; gives the view."""
        return self._thread.call(lambda: self._group.wait_for(members, timeout))

    # ---- words

    @property
    def drops(self) -> dict[str, int]:
        """What peers sent that was not used, by reason."""
        return self._thread.call(lambda: self._on_loop(lambda: self._group.drops))

    @property
    def retransmitted(self) -> int:
        """Messages of the group that this member sent again."""
        return self._thread.call(lambda: self._on_loop(lambda: self._group.retransmitted))

    def inspect(self) -> None:
        """Let `ringcast status`, `explain` and `top` ask this member."""
        self._thread.call(self._group.inspect)

    def waiting(self) -> list[runtime.Waiting]:
        return self._thread.call(lambda: self._on_loop(self._group.waiting))

    def explain(self) -> str:
        """In words: what waits, and why."""
        return self._thread.call(lambda: self._on_loop(self._group.explain))

    def status(self) -> Status:
        return self._thread.call(lambda: self._on_loop(self._group.status))

    def metrics(self) -> str:
        return self._thread.call(lambda: self._on_loop(self._group.metrics))

    def reload_keys(self, key: KeySource | None = None) -> list[str]:
        """Read the key file again, or use another `key` from now on; the names of the keys, the primary one first."""
        return self._thread.call(lambda: self._on_loop(lambda: self._group.reload_keys(key)))

    def reload_certificates(self) -> None:
        """Read the certificate, its key and the authority's file again, and make every connection again with them."""
        self._thread.call(lambda: self._on_loop(self._group.reload_certificates))

    @staticmethod
    async def _on_loop(ask: Callable[[], T]) -> T:
        return ask()

    # ---- the end

    def leave(self, timeout: float | None = None) -> None:
        """Go in good order: what was sent reaches the others, they agree on a view without this member."""
        self._end(lambda: self._group.leave(timeout))

    def close(self) -> None:
        """End at once. Whoever waits gets GroupClosed."""
        self._end(self._group.close)

    def _end(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            self._thread.call(work)
        except GroupClosed:
            pass
        finally:
            self._thread.end()

    def __enter__(self) -> Group:
        self._former = _exit_on_sigterm() if self._leave_on_sigterm else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._former is not None:
            signal.signal(signal.SIGTERM, self._former)
        self.leave()


def join(
    group: str,
    *,
    name: str | None = None,
    bind: HostPort = "127.0.0.1:0",
    advertise: HostPort | None = None,
    seeds: HostPort | Iterable[HostPort] = (),
    discovery: runtime.Discovery | None = None,
    transport: Transport | str = "udp",
    config: Config | str = "local",
    expect: int = 0,
    found: Found | None = None,
    remember: str | Path | None = None,
    observer: bool = False,
    record: RecordTo | None = None,
    inspect: bool = True,
    timeout: float | None = 60.0,
    on_exclusion: runtime.OnExclusion = "merge",
    get_state: GetState | None = None,
    set_state: SetState | PlainSetState | None = None,
    merge_state: MergeState | None = None,
    partition: Partition = "all",
    primary_mark: str | Path | None = None,
    quorum: int = 0,
    key: KeySource | None = None,
    certificate: str | Path | None = None,
    private_key: str | Path | None = None,
    authority: str | Path | None = None,
    unencrypted: bool = False,
    leave_on_sigterm: bool = True,
    metrics: HostPort | None = None,
) -> Group:
    """As `ringcast.join`, with the same options; returns when the first view (and the state) is there.

    `get_state` and `set_state` may be plain functions; `set_state` then gets a plain iterator, in a thread of its own.
    """
    joining = runtime.join(
        group,
        name=name,
        bind=bind,
        advertise=advertise,
        seeds=seeds,
        discovery=discovery,
        transport=transport,
        config=config,
        expect=expect,
        found=found,
        remember=remember,
        observer=observer,
        record=record,
        inspect=inspect,
        timeout=timeout,
        on_exclusion=on_exclusion,
        get_state=get_state,
        set_state=None if set_state is None else _on_a_loop(set_state),
        merge_state=merge_state,
        partition=partition,
        primary_mark=primary_mark,
        quorum=quorum,
        key=key,
        certificate=certificate,
        private_key=private_key,
        authority=authority,
        unencrypted=unencrypted,
        leave_on_sigterm=leave_on_sigterm,
        metrics=metrics,
    )

    async def enter() -> runtime.Group:
        return await joining

    return _opened(group, enter, leave_on_sigterm)


def open_fixed(
    group: str,
    me: str,
    members: Mapping[str, str],
    *,
    transport: Transport,
    config: Config | None = None,
    record: RecordTo | None = None,
    key: KeySource | None = None,
    unencrypted: bool = False,
) -> Group:
    """As `ringcast.open_fixed`."""
    options: dict[str, Any] = {"config": config, "record": record, "key": key, "unencrypted": unencrypted}
    return _opened(group, lambda: runtime.open_fixed(group, me, members, transport=transport, **options))


def _opened(name: str, enter: Callable[[], Coroutine[Any, Any, runtime.Group]], leave_on_sigterm: bool = True) -> Group:
    thread = LoopThread(name)
    try:
        return Group(thread, thread.call(enter), leave_on_sigterm)
    except BaseException:
        thread.end()
        raise


def _on_a_loop(set_state: SetState | PlainSetState) -> SetState:
    """A coroutine function as it is; a plain one in a thread of its own."""
    if iscoroutinefunction(set_state):
        return cast(SetState, set_state)
    return _in_a_thread(cast(PlainSetState, set_state))


def _in_a_thread(set_state: Callable[[Iterator[bytes]], None]) -> Callable[[AsyncIterator[bytes]], Awaitable[None]]:
    """A plain `set_state`, for the loop: it blocks its own thread while it waits for the next chunk."""

    async def load(chunks: AsyncIterator[bytes]) -> None:
        loop = asyncio.get_running_loop()

        def each() -> Iterator[bytes]:
            while (chunk := asyncio.run_coroutine_threadsafe(_next_of(chunks), loop).result()) is not None:
                yield chunk

        await asyncio.to_thread(set_state, each())

    return load


async def _next_of(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


def _exit_on_sigterm() -> Any:
    """Let SIGTERM end the block and not the process, if nobody else has asked for it; gives the handler to restore."""
    if threading.current_thread() is not threading.main_thread():
        return None
    former = signal.getsignal(signal.SIGTERM)
    if former is not signal.SIG_DFL:
        return None
    signal.signal(signal.SIGTERM, _exit)
    return former


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
