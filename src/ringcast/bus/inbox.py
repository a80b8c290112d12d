"""What waits for one peer of a LocalBus: the ordered queue, its bound, and those who wait for either.

Invariant: batches of one sender hold at most `ring_bytes` here, counted as a shared ring would count them.
`stage`, `commit` and `abort` are parts of whole steps (aside.py), which their caller takes; the rest are such steps.
"""

from __future__ import annotations

import threading
from collections import Counter as Multiset
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ringcast.bus.aside import Waiters, until, whole
from ringcast.bus.message import Cause, Message, Payload, PeerLeft, Run, messages
from ringcast.order import OrderQueue

FRAME_BYTES: Final = 48
LENGTH_BYTES: Final = 4


def longest(ring_bytes: int) -> int:
    """The longest message: alone in a frame that fills a ring."""
    return ring_bytes - FRAME_BYTES - LENGTH_BYTES


def frame_bytes(payloads: list[bytes]) -> int:
    return (FRAME_BYTES + sum(LENGTH_BYTES + len(payload) for payload in payloads) + 7) // 8 * 8


def ticks(payloads: list[bytes], ring_bytes: int) -> list[list[bytes]]:
    """Cut a long batch into parts that fit half a ring, each of which takes one place in the order."""
    parts: list[list[bytes]] = []
    room = 0
    for payload in payloads:
        size = LENGTH_BYTES + len(payload)
        if not parts or size > room:
            parts.append([])
            room = ring_bytes // 2 - FRAME_BYTES
        parts[-1].append(payload)
        room -= size
    return parts


@dataclass(frozen=True, slots=True)
class Batch:
    """The messages of one tick; or, without payloads, a notice or a barrier."""

    sender: str
    first: int
    payloads: list[bytes] = field(default_factory=list)
    left: Cause | None = None
    barrier: int = 0

    @property
    def size(self) -> int:
        return 0 if self.left else frame_bytes(self.payloads)


class Inbox:
    """One peer's queue. `mail` is woken when something becomes readable, `room` when something was dequeued."""

    def __init__(self, ring_bytes: int) -> None:
        self._lock = threading.Lock()
        self._mail, self._room = Waiters(), Waiters()
        self.is_closed = False
        self.barrier_passed = 0
        self._ring_bytes = ring_bytes
        self._queue: OrderQueue[int, Batch] = OrderQueue()
        self._used: Multiset[int] = Multiset()
        self._kept: deque[Message | PeerLeft] = deque()
        self._open: tuple[Batch, int, int, int] | None = None  # batch, its sender, its seq, messages already taken
        self._unclaimed: list[Run | PeerLeft] = []  # taken for the main thread, which was interrupted before it had it

    def has_room(self, sender: int, size: int) -> bool:
        return self.is_closed or self._used[sender] + size <= self._ring_bytes

    def wait_for_room(self, sender: int, size: int, timeout: float | None) -> bool:
        return bool(self._until(self._room, lambda: self.has_room(sender, size), timeout))

    def wait_for_mail(self, timeout: float) -> None:
        self._until(self._mail, lambda: self.is_closed or self._has_next(), timeout)

    def _until(self, waiters: Waiters, is_true: Callable[[], bool], timeout: float | None) -> bool | None:
        def look(waiter: threading.Lock) -> bool | None:
            with self._lock:
                if is_true():
                    return True
                waiters.add(waiter)
                return None

        return until(look, lambda waiter: self._forget(waiters, waiter), timeout)

    def _forget(self, waiters: Waiters, waiter: threading.Lock) -> None:
        with self._lock:
            waiters.drop(waiter)

    def stage(self, sender: int, number: int, seq_lower: int, batch: Batch) -> None:
        with self._lock:
            self._queue.stage(sender, number, seq_lower, batch)
            self._used[sender] += batch.size

    def commit(self, sender: int, number: int, seq: int) -> None:
        with self._lock:
            if self._queue.is_staged(sender, number) and self._queue.commit(sender, number, seq):
                self._mail.wake()

    def abort(self, sender: int, number: int, size: int) -> None:
        """Drop a staged batch; one that was not staged here is none of ours."""
        with self._lock:
            if self._queue.is_staged(sender, number):
                self._used[sender] -= size
                if self._queue.remove(sender, number):
                    self._mail.wake()

    def take(self, limit: int, timeout: float | None) -> list[Run | PeerLeft]:
        """Return what is ready; wait for the first."""
        return self.claim(self.draw(limit, timeout))

    def draw(self, limit: int, timeout: float | None, stop_at_barrier: bool = False) -> list[Run | PeerLeft]:
        """Return what is ready; wait for the first. Behind a barrier it can stop, and then be empty.

        What the main thread takes it has to `claim`: it may be interrupted before, and then takes the same again.
        """
        is_main = threading.current_thread() is threading.main_thread()

        def look(waiter: threading.Lock) -> list[Run | PeerLeft] | None:
            with self._lock:
                if is_main and self._unclaimed:
                    self._kept.extendleft(reversed(messages(self._unclaimed)))
                    self._unclaimed = []
                if not self.is_closed and not self._has_next():
                    self._mail.add(waiter)
                    return None
                taken = self._take(limit, stop_at_barrier)
                if is_main:
                    self._unclaimed = taken
                return taken

        return until(look, lambda waiter: self._forget(self._mail, waiter), timeout) or []

    def claim(self, taken: list[Run | PeerLeft]) -> list[Run | PeerLeft]:
        """Give what was taken to the application; nothing if a signal handler has taken it meanwhile."""
        if not taken or threading.current_thread() is not threading.main_thread():
            return taken
        if self._unclaimed is not taken:
            return []
        self._unclaimed = []
        return taken

    def _take(self, limit: int, stop_at_barrier: bool) -> list[Run | PeerLeft]:
        taken: list[Run | PeerLeft] = []
        barrier = self.barrier_passed
        while limit > 0 and self._has_next() and not (stop_at_barrier and self.barrier_passed != barrier):
            item = self._next(limit)
            if item is not None:
                taken.append(item)
                limit -= len(item.payloads) if isinstance(item, Run) else 1
        self._room.wake()
        return taken

    def give_back(self, items: list[Message | PeerLeft]) -> None:
        def give() -> None:
            with self._lock:
                self._kept.extendleft(reversed(items))
                self._mail.wake()

        whole(give)

    def close(self) -> None:
        with self._lock:
            self.is_closed = True
            self._mail.wake()
            self._room.wake()

    def _has_next(self) -> bool:
        return bool(self._kept) or self._open is not None or self._queue.front() is not None

    def _next(self, limit: int) -> Run | PeerLeft | None:
        """None: it was a barrier."""
        if self._kept:
            kept = self._kept.popleft()
            return Run(kept.sender, kept.number, kept.seq, [kept.payload], 0) if isinstance(kept, Message) else kept
        if self._open is None:
            front = self._queue.pop()
            assert front is not None and front.seq is not None
            self._open = (front.item, front.sender, front.seq, 0)
        return self._from_open(limit)

    def _from_open(self, limit: int) -> Run | PeerLeft | None:
        assert self._open is not None
        batch, sender, seq, done = self._open
        part = batch.payloads[done : done + limit]
        self._open = (batch, sender, seq, done + len(part))
        if done + len(part) == len(batch.payloads):
            self._open = None
            self._used[sender] -= batch.size
        if batch.left is not None:
            return PeerLeft(batch.sender, batch.left, seq, sender)
        if batch.barrier:
            self.barrier_passed = batch.barrier
            return None
        return Run(batch.sender, batch.first + done, seq, part, sender)


def as_bytes(payloads: Sequence[Payload]) -> list[bytes]:
    return [bytes(memoryview(payload)) for payload in payloads]
