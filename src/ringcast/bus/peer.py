"""What every peer can do, on whichever bus: the contract, and the forms that are built on the plain ones.

Cancel-safe: a cancelled `aqueue` has queued nothing, a cancelled `aqueue_many` a leading part of its payloads in whole
ticks, a cancelled `adequeue` or `abarrier` has taken nothing.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import NoReturn, Self, TypeVar

from ringcast.bus.doorbell import Doorbell
from ringcast.bus.errors import BusFull, BusWaitExpired
from ringcast.bus.message import Message, Payload, PeerLeft, Policy, Run, messages

R = TypeVar("R")


class Peer(ABC):
    """One attached peer. Its threads may share it; each call queues or dequeues on its own."""

    name: str

    def queue(
        self, payload: Payload, *, to: str | Iterable[str], timeout: float | None = None, policy: Policy = "wait"
    ) -> int:
        """Queue one message for every peer named in `to` and return its place in the order.

        Returning means that queueing has finished: whatever is queued anywhere from now on comes after it (G13).
        """
        return self.queue_many([payload], to=to, timeout=timeout, policy=policy)

    @abstractmethod
    def queue_many(
        self,
        payloads: Sequence[Payload],
        *,
        to: str | Iterable[str],
        timeout: float | None = None,
        policy: Policy = "wait",
    ) -> int:
        """Queue a batch and return its place in the order (0 if it is empty).

        A batch that fits half a ring takes one place, nothing comes between its messages; a longer one is cut.
        """

    def dequeue(self, *, timeout: float | None = None) -> Message | PeerLeft:
        """The next message or notice; raises BusWaitExpired when the timeout passes."""
        items = self.dequeue_many(1, timeout=timeout)
        if not items:
            self._refuse_idle(timeout)
        return items[0]

    def dequeue_many(self, limit: int = 1024, *, timeout: float | None = None) -> list[Message | PeerLeft]:
        """What is ready, at most `limit`; waits for the first, and is empty only when the timeout passes."""
        return messages(self.dequeue_runs(limit, timeout=timeout))

    @abstractmethod
    def dequeue_runs(self, limit: int = 1024, *, timeout: float | None = None) -> list[Run | PeerLeft]:
        """As dequeue_many, with neighbouring messages of one batch as one Run."""

    @abstractmethod
    def names(self) -> list[str]:
        """Who is attached now, this peer included."""

    @abstractmethod
    def evict(self, name: str) -> None:
        """Give up a peer that lives but does not take part; it gets Fenced, the others a notice."""

    @abstractmethod
    def detach(self) -> None:
        """Leave. Everybody else gets one notice, behind all that this peer queued. Safe to call twice."""

    @abstractmethod
    def _place(self) -> int:
        """The incarnation: tells apart two who used one name, one after the other."""

    @abstractmethod
    def _last_number(self) -> int:
        """The number of the last message queued."""

    @abstractmethod
    def _refuse_idle(self, timeout: float | None, /) -> NoReturn:
        """Nothing came: BusWaitExpired."""

    @abstractmethod
    def _queue_barrier(self) -> int: ...

    @abstractmethod
    def _take_to_barrier(self, timeout: float | None, /) -> list[Run | PeerLeft]: ...

    @abstractmethod
    def _barrier_passed(self) -> int: ...

    @abstractmethod
    def _give_back(self, items: list[Message | PeerLeft], /) -> None: ...

    @abstractmethod
    def _arm_mail(self) -> None: ...

    @abstractmethod
    def _arm_room(self) -> None: ...

    @abstractmethod
    def _watch(self, send_waits: bool, /) -> None: ...

    @abstractmethod
    def _wait_for_mail(self, timeout: float | None, /) -> None: ...

    @abstractmethod
    def _wait_for_room(self, timeout: float | None, /) -> None: ...

    @abstractmethod
    def _wait_for_change(self, timeout: float | None, /) -> None: ...

    @abstractmethod
    def _bell(self) -> Doorbell: ...

    def barrier(self, *, timeout: float | None = None) -> list[Message | PeerLeft]:
        """Everything for this peer that is ordered before now.

        After a signal through a side channel: what was queued before the signal was given is in the answer or was
        dequeued earlier. (Seed 002's self-addressed message.)
        """
        wait = Patience(timeout)
        taken: list[Run | PeerLeft] = []
        barrier = self._queue_barrier()
        try:
            while not barrier or self._barrier_passed() < barrier:
                taken += self._take_to_barrier(wait.left())
                barrier = barrier or self._queue_barrier()
                wait.check(f"barrier of peer {self.name!r}")
        except BaseException:
            self._give_back(messages(taken))
            raise
        return messages(taken)

    def wait_for(self, *names: str, timeout: float | None = None) -> None:
        """Wait until all of these are attached."""
        wait = Patience(timeout)
        while missing := [name for name in names if name not in self.names()]:
            wait.check(f"peer {self.name!r}: nobody has attached as {', '.join(map(repr, missing))}")
            self._wait_for_change(wait.left())

    async def aqueue(self, payload: Payload, *, to: str | Iterable[str]) -> int:
        names = to if isinstance(to, str) else tuple(to)
        try:
            return self.queue(payload, to=names, policy="raise")
        except BusFull:
            return await self.aqueue_many([payload], to=names)

    async def aqueue_many(self, payloads: Sequence[Payload], *, to: str | Iterable[str]) -> int:
        names = to if isinstance(to, str) else tuple(to)
        while True:
            try:
                return self.queue_many(payloads, to=names, policy="raise")
            except BusFull as full:
                payloads = payloads[full.queued :]
            self._arm_room()
            try:
                return self.queue_many(payloads, to=names, policy="raise")
            except BusFull as full:
                payloads = payloads[full.queued :]
            await self._bell().wait()
            self._watch(True)

    async def adequeue(self) -> Message | PeerLeft:
        return (await self.adequeue_many(1))[0]

    async def adequeue_many(self, limit: int = 1024) -> list[Message | PeerLeft]:
        return await self._mail(lambda: self.dequeue_many(limit, timeout=0))

    async def adequeue_runs(self, limit: int = 1024) -> list[Run | PeerLeft]:
        return await self._mail(lambda: self.dequeue_runs(limit, timeout=0))

    async def abarrier(self) -> list[Message | PeerLeft]:
        taken: list[Run | PeerLeft] = []
        barrier = self._queue_barrier()
        try:
            while not barrier or self._barrier_passed() < barrier:
                self._arm_mail()
                taken += self._take_to_barrier(0)
                barrier = barrier or self._queue_barrier()
                if barrier and self._barrier_passed() < barrier:
                    await self._bell().wait()
                    self._watch(False)
        except BaseException:
            self._give_back(messages(taken))
            raise
        return messages(taken)

    async def await_for(self, *names: str) -> None:
        """Wait until all of these are attached."""
        while not set(names) <= set(self.names()):
            self._arm_mail()
            if not set(names) <= set(self.names()):
                await self._bell().wait()
                self._watch(False)

    async def _mail(self, take: Callable[[], list[R]]) -> list[R]:
        while not (items := take()):
            self._arm_mail()
            if items := take():
                break
            await self._bell().wait()
            self._watch(False)
        return items

    def __iter__(self) -> Iterator[Message | PeerLeft]:
        while True:
            yield self.dequeue()

    async def __aiter__(self) -> AsyncIterator[Message | PeerLeft]:
        while True:
            yield await self.adequeue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()


class Patience:
    """How much of a timeout is left."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._until = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def left_up_to(self, limit: float) -> float:
        left = self.left()
        return limit if left is None else min(left, limit)

    def check(self, what: str) -> None:
        if self._until is not None and time.monotonic() >= self._until:
            raise BusWaitExpired(f"{what}: waited {self._timeout} s in vain")
