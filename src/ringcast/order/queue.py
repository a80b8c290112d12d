"""One receiver's queue of message instances, read in the one order of seed 002.

Invariants: the front is the instance with the least (key, sender, number); what is popped is committed, and nothing
that is or will be staged under the seed's rule can come before it; a queue whose front is only staged reads as empty.

Every change that can make the front readable answers whether it did, so that a waiter can be woken (O08).

Not here: who gives out counter values, how messages travel, how many may wait. The bound is that of the rings which
feed the queue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

from ringcast.order.key import committed_key, staged_key


class Ordered(Protocol):
    """A sender's identity: ties between equal keys are broken by it."""

    def __lt__(self, other: Any, /) -> bool: ...


S = TypeVar("S", bound=Ordered)
T = TypeVar("T")


@dataclass(slots=True)
class Instance(Generic[S, T]):
    """One message (or one batch: one tick, its messages ordered by index) as one receiver holds it."""

    sender: S
    number: int
    item: T
    seq_lower: int
    seq: int | None = None

    @property
    def key(self) -> int:
        return staged_key(self.seq_lower) if self.seq is None else committed_key(self.seq)


@dataclass(slots=True)
class OrderQueue(Generic[S, T]):
    """Instances by (sender, number), and a heap in which outdated entries stay until they surface."""

    _instances: dict[tuple[S, int], Instance[S, T]] = field(default_factory=dict)
    _heap: list[tuple[int, S, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._instances)

    def stage(self, sender: S, number: int, seq_lower: int, item: T) -> None:
        """Take a copy whose seq is not known yet. This can hide the front, never reveal it."""
        if (sender, number) in self._instances:
            raise ValueError(f"message {number} of {sender} is staged twice")
        instance = Instance(sender, number, item, seq_lower)
        self._instances[sender, number] = instance
        self._push(instance)

    def commit(self, sender: S, number: int, seq: int) -> bool:
        """Give a staged instance its place; true if the front became readable."""
        instance = self._staged(sender, number)
        lower = instance.seq_lower
        if seq <= lower:
            raise ValueError(f"message {number} of {sender} gets seq {seq}, not above its seq_lower {lower}")
        was_readable = self.front() is not None
        instance.seq = seq
        self._push(instance)
        return self._reveals(was_readable)

    def rekey(self, sender: S, number: int, seq_lower: int) -> bool:
        """Raise the lower bound of a staged instance; true if the front became readable."""
        instance = self._staged(sender, number)
        lower = instance.seq_lower
        if seq_lower < lower:
            raise ValueError(f"seq_lower of message {number} of {sender} would fall from {lower} to {seq_lower}")
        was_readable = self.front() is not None
        instance.seq_lower = seq_lower
        self._push(instance)
        return self._reveals(was_readable)

    def remove(self, sender: S, number: int) -> bool:
        """Drop an instance that will never be committed; true if the front became readable."""
        self._staged(sender, number)
        was_readable = self.front() is not None
        del self._instances[sender, number]
        self._compact()
        return self._reveals(was_readable)

    def front(self) -> Instance[S, T] | None:
        """The next message, or None: empty, or the least instance is still staged."""
        least = self.least()
        return None if least is None or least.seq is None else least

    def least(self) -> Instance[S, T] | None:
        """The least instance, committed or not: when nothing is readable this is what everything waits for."""
        while self._heap:
            key, sender, number = self._heap[0]
            instance = self._instances.get((sender, number))
            if instance is not None and instance.key == key:
                return instance
            heappop(self._heap)
        return None

    def pop(self) -> Instance[S, T] | None:
        front = self.front()
        if front is not None:
            heappop(self._heap)
            del self._instances[front.sender, front.number]
        return front

    def is_staged(self, sender: S, number: int) -> bool:
        instance = self._instances.get((sender, number))
        return instance is not None and instance.seq is None

    def staged(self) -> list[Instance[S, T]]:
        """What is not committed yet, in order of arrival."""
        return [instance for instance in self._instances.values() if instance.seq is None]

    def _staged(self, sender: S, number: int) -> Instance[S, T]:
        instance = self._instances.get((sender, number))
        if instance is None:
            raise ValueError(f"message {number} of {sender} is not in the queue")
        if instance.seq is not None:
            raise ValueError(f"message {number} of {sender} already has seq {instance.seq}")
        return instance

    def _push(self, instance: Instance[S, T]) -> None:
        heappush(self._heap, (instance.key, instance.sender, instance.number))
        self._compact()

    def _compact(self) -> None:
        # Outdated entries deep in the heap would pile up behind a front that never moves.
        if len(self._heap) > 2 * len(self._instances) + 16:
            self._heap = [(held.key, held.sender, held.number) for held in self._instances.values()]
            heapify(self._heap)

    def _reveals(self, was_readable: bool) -> bool:
        return not was_readable and self.front() is not None
