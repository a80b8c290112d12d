"""A peer of a LocalBus: the same contract as a SharedPeer, for threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from ringcast.bus.aside import whole
from ringcast.bus.doorbell import WATCH_S, Doorbell, ThreadDoorbell
from ringcast.bus.errors import BusFull, BusWaitExpired, Detached, Fenced, MessageTooLong
from ringcast.bus.inbox import Batch, Inbox, as_bytes, frame_bytes, longest, ticks
from ringcast.bus.message import Cause, Message, Payload, PeerLeft, Policy, Run
from ringcast.bus.names import destinations
from ringcast.bus.peer import Patience, Peer

if TYPE_CHECKING:
    from ringcast.bus.local import LocalBus


ROOM_POLL_S: Final = 0.002


class LocalPeer(Peer):
    """One thread's place on a local bus (threads may also share it)."""

    def __init__(self, bus: LocalBus, name: str, incarnation: int) -> None:
        self.name, self.incarnation = name, incarnation
        self.inbox = Inbox(bus.ring_bytes)
        self.left: Cause | None = None
        self.queueing = threading.RLock()  # One tick is queued at a time. Nobody waits for room while holding it.
        self._bus = bus
        self._transactions = self._number = 0
        self._doorbell = ThreadDoorbell()

    def queue_many(
        self,
        payloads: Sequence[Payload],
        *,
        to: str | Iterable[str],
        timeout: float | None = None,
        policy: Policy = "wait",
    ) -> int:
        if policy not in ("wait", "raise"):
            raise ValueError(f"policy is 'wait' or 'raise', not {policy!r}")
        held = as_bytes(payloads)
        self._refuse_long(max(map(len, held), default=0))
        self._refuse_if_gone()
        receivers, wait = self._receivers(to), Patience(0 if policy == "raise" else timeout)
        seq = queued = 0
        for part in ticks(held, self._bus.ring_bytes):
            placed = self._queue_tick(part, receivers)
            while isinstance(placed, LocalPeer):
                if not self._finds_room(placed, frame_bytes(part), wait):
                    raise self._full(placed, queued, len(held), policy)
                placed = self._queue_tick(part, receivers)
            seq = placed
            queued += len(part)
        return seq

    def dequeue_runs(self, limit: int = 1024, *, timeout: float | None = None) -> list[Run | PeerLeft]:
        if limit < 1:
            raise ValueError(f"dequeueing needs a limit of at least 1, not {limit}")
        wait = Patience(timeout)
        while True:
            taken = self.inbox.draw(limit, wait.left())
            self._refuse_if_gone()
            self._bus.ring_all()  # Who waits for room in an event loop does not hear the inbox.
            if taken or wait.left() == 0:
                return self.inbox.claim(taken)

    def names(self) -> list[str]:
        self._refuse_if_gone()
        return list(self._bus.attached())

    def evict(self, name: str) -> None:
        self._refuse_if_gone()
        self._bus.release(self._bus.named(name), "evicted")

    def detach(self) -> None:
        self._bus.release(self, "detached")
        self.left = "detached"
        self._doorbell.ring()

    def ring(self) -> None:
        """Wake tasks that wait in an event loop; threads are woken by the inbox itself."""
        self._doorbell.ring()

    def next_transaction(self) -> int:
        self._transactions += 1
        return self._transactions

    def _queue_tick(self, part: list[bytes], receivers: list[LocalPeer]) -> int | LocalPeer:
        """Queue this at one place of the order, which is returned; or the receiver that has no room for it."""
        return whole(lambda: self._place_tick(part, receivers))

    def _place_tick(self, part: list[bytes], receivers: list[LocalPeer]) -> int | LocalPeer:
        with self.queueing:
            self._refuse_if_gone()
            for receiver in receivers:
                if not receiver.inbox.has_room(self.incarnation, frame_bytes(part)):
                    return receiver
            seq = self._bus.send(self, receivers, Batch(self.name, self._number + 1, part))
            self._number += len(part)
            return seq

    def _finds_room(self, receiver: LocalPeer, size: int, wait: Patience) -> bool:
        while not receiver.inbox.wait_for_room(self.incarnation, size, wait.left_up_to(WATCH_S)):
            if wait.left() == 0:
                return False
            self._refuse_if_gone()
        self._refuse_if_gone()
        return True

    def _full(self, receiver: LocalPeer, queued: int, count: int, policy: Policy) -> BusFull | BusWaitExpired:
        words = (
            f"bus {self._bus.name!r}: the ring from {self.name!r} to {receiver.name!r} is full, "
            f"{queued} of {count} messages were queued"
        )
        return BusFull(words, queued) if policy == "raise" else BusWaitExpired(f"{words} in time", queued)

    def _receivers(self, to: str | Iterable[str]) -> list[LocalPeer]:
        peers = self._bus.attached()
        return [peers[name] for name in destinations(to, self.name, peers, self._bus.name)]

    def _refuse_long(self, length: int) -> None:
        if length > longest(self._bus.ring_bytes):
            raise MessageTooLong(
                f"a message of {length} bytes is too long for bus {self._bus.name!r}: with "
                f"ring_bytes={self._bus.ring_bytes} the longest has {longest(self._bus.ring_bytes)} bytes"
            )

    def _refuse_if_gone(self) -> None:
        if self.left == "detached":
            raise Detached(f"peer {self.name!r} of bus {self._bus.name!r} was detached")
        if self.left is not None:
            raise Fenced(f"peer {self.name!r} was given up by the others of bus {self._bus.name!r} ({self.left})")

    def _refuse_idle(self, timeout: float | None, /) -> NoReturn:
        raise BusWaitExpired(f"bus {self._bus.name!r}: nothing came for {self.name!r} within {timeout} s")

    def _place(self) -> int:
        return self.incarnation

    def _last_number(self) -> int:
        return self._number

    def _queue_barrier(self) -> int:
        return whole(self._place_barrier)

    def _place_barrier(self) -> int:
        with self.queueing:
            self._refuse_if_gone()
            if not self.inbox.has_room(self.incarnation, frame_bytes([b""])):
                return 0
            barrier = self._transactions + 1
            self._bus.send(self, [self], Batch(self.name, 0, [b""], barrier=barrier))
            return barrier

    def _take_to_barrier(self, timeout: float | None, /) -> list[Run | PeerLeft]:
        taken = self.inbox.draw(1 << 62, Patience(timeout).left_up_to(WATCH_S), True)
        self._refuse_if_gone()
        self._bus.ring_all()
        return self.inbox.claim(taken)

    def _barrier_passed(self) -> int:
        return self.inbox.barrier_passed

    def _give_back(self, items: list[Message | PeerLeft], /) -> None:
        self.inbox.give_back(items)

    def _arm_mail(self) -> None:
        self._refuse_if_gone()
        self._doorbell.arm()

    def _arm_room(self) -> None:
        self._arm_mail()

    def _watch(self, send_waits: bool, /) -> None:
        """Threads of one process do not die alone: there is nobody to look after."""

    def _wait_for_mail(self, timeout: float | None, /) -> None:
        self.inbox.wait_for_mail(Patience(timeout).left_up_to(WATCH_S))
        self._refuse_if_gone()

    def _wait_for_room(self, timeout: float | None, /) -> None:
        self._wait_for_mail(
            Patience(timeout).left_up_to(ROOM_POLL_S)
        )  # Room is somebody else's inbox: look again soon.

    def _wait_for_change(self, timeout: float | None, /) -> None:
        self._bus.wait_for_change(timeout)

    def _bell(self) -> Doorbell:
        return self._doorbell
