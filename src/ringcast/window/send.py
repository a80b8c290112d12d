"""The send window: what was sent and is not yet acked by all.

`low` is the highest seqno acked by everybody, `high` the highest sent; messages in (low, high] are held for
retransmission. At most `capacity` of them, and at most `max_bytes` bytes, except that one message always
fits an empty window. (G2)

A seqno exists only once its message is in the window: ask for room first, then add; nothing can fail in between.
It does not know who acks: the ack map does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import Generic, NamedTuple, TypeVar

from ringcast.window.lengths import Alike
from ringcast.window.ring import AT_ONCE, Audit, Ring

T = TypeVar("T")


class Space(NamedTuple):
    """Room for so many messages, of so many bytes in all. What is empty takes one message of any size."""

    slots: int
    nbytes: int
    is_empty: bool

    def takes(self, count: int, nbytes: int, *, together: bool = False) -> bool:
        """True if `count` items of `nbytes` in all have room; `together`: they are the pieces of one message."""
        return count <= self.slots and (nbytes <= self.nbytes or (self.is_empty and (count == 1 or together)))

    def fit(self, sizes: Sequence[int]) -> int:
        """Count the leading messages, of these sizes, for which there is room."""
        count = sizes.many if type(sizes) is Alike else len(sizes)
        if type(sizes) is Alike and sizes.each:
            count = min(count, self.slots)
            within = self.nbytes // sizes.each
        elif count <= self.slots and sum(sizes) <= self.nbytes:
            return count
        else:
            count = min(count, self.slots)
            within = bisect_right(list(accumulate(islice(sizes, count))), self.nbytes)
        if within >= count:
            return count
        return 1 if self.is_empty and within < 1 else max(0, within)


NO_SPACE = Space(0, 0, False)


class SendWindow(Generic[T]):
    """One stream's unacked messages at their sender.

    Bytes are counted per run: a run that is partly purged counts in full until its last message is.
    `bound` is how many messages may be unacked; it is below `capacity` only between a `resize` to less
    and the moment the window is empty.
    """

    __slots__ = ("_audit", "_bytes_before", "_ring", "_runs", "bound", "bytes", "high", "low", "max_bytes")

    def __init__(self, capacity: int, max_bytes: int, offset: int = 0) -> None:
        if max_bytes < 1:
            raise ValueError(f"a send window needs max_bytes of at least 1, not {max_bytes}")
        self._ring: Ring[T] = Ring(capacity)
        self._runs: deque[tuple[int, int]] = deque()  # (last seqno, bytes) of each run not fully purged
        self.bound = capacity
        self.max_bytes = max_bytes
        self._bytes_before = 0  # held when less was allowed than before
        self._audit = Audit()
        self.low = self.high = offset
        self.bytes = 0

    @property
    def capacity(self) -> int:
        return self._ring.capacity

    @property
    def occupancy(self) -> int:
        return self.high - self.low

    # ---- room

    @property
    def space(self) -> Space:
        """The room that is left now."""
        slots = self.low + self.bound - self.high
        return Space(slots if slots > 0 else 0, self.max_bytes - self.bytes, self.high == self.low)

    # ---- contents

    def add_run(self, items: list[T], nbytes: int, *, together: bool = False) -> int:
        """Give the items the next seqnos; returns the first. The caller has asked for room."""
        count, high, total = len(items), self.high, self.bytes + nbytes
        last = high + count
        if last > self.low + self.bound or total > self.max_bytes or not items:  # What it was asked, or a mistake.
            may_add = self.space.takes(count, nbytes, together=together)
            assert items and may_add, f"no room for {count} messages of {nbytes} bytes: {self._marks()}"
        first = high + 1
        self._ring.put_run(first, items)
        self.high, self.bytes = last, total
        self._runs.append((last, nbytes))
        return first

    def purge(self, upto: int) -> int:
        """Drop what everybody has acked; returns how many messages that were."""
        if upto > self.high:
            upto = self.high
        purged = upto - self.low
        if purged <= 0:
            return 0
        self._ring.free(upto)
        self.low = upto
        runs = self._runs
        while runs and runs[0][0] <= upto:
            self.bytes -= runs.popleft()[1]
        if upto == self.high and self.bound < self.capacity:
            self._ring.capacity = self.bound
        return purged

    def get_run(self, first: int, last: int) -> list[T]:
        """What is held of first..last, from `first` on. Nothing if `first` was purged: that request came too late."""
        last = min(last, self.high)
        return self._ring.slice(first, last) if self.low < first <= last else []

    # ---- views

    def resize(self, capacity: int) -> bool:
        """Bind new messages to `capacity` at once, and have it as soon as that is possible.

        A window grows at once but is not shrunk while it holds anything. False: that is still to come; it
        happens by itself when the window is empty.
        """
        if capacity < 1:
            raise ValueError(f"a send window needs a capacity of at least 1, not {capacity}")
        self.bound = capacity
        if capacity < self.capacity and self.occupancy:
            return False
        if capacity != self.capacity:
            self._ring.capacity = capacity
        return True

    def limit_bytes(self, max_bytes: int) -> None:
        """Bind new messages to `max_bytes`; what is held already may be more."""
        self.max_bytes = max_bytes
        self._bytes_before = self.bytes

    def check(self) -> None:
        """Every invariant of the window; for tests and the simulator."""
        low, high, bound, capacity, runs = self.low, self.high, self.bound, self._ring.capacity, self._runs
        assert low <= high <= low + capacity, self._marks()
        assert 1 <= bound <= capacity and (bound == capacity or low != high), self._marks()
        if not runs:  # the usual case, and the simulator asks after every packet
            assert self.bytes == 0 and low == high, (self.bytes, self._marks())
            return
        (first_last, first_bytes), (last, nbytes) = runs[0], runs[-1]
        assert low < first_last <= last == high and len(runs) <= high - low, (runs, self._marks())
        assert self.bytes <= max(self.max_bytes, self._bytes_before) or len(runs) == 1, (self.bytes, runs)
        if len(runs) == 1:
            assert self.bytes == nbytes, (self.bytes, runs)
        elif len(runs) <= AT_ONCE or self._audit.is_due(len(runs)):
            self._check_runs()
        else:
            assert first_last < runs[1][0] and runs[-2][0] < last, (runs, self._marks())
            assert self.bytes >= first_bytes + nbytes, (self.bytes, runs)

    def _check_runs(self) -> None:
        before, held = self.low, 0
        for last, nbytes in self._runs:
            assert before < last, (self._runs, self._marks())
            before, held = last, held + nbytes
        assert self.bytes == held, (self.bytes, self._runs)

    def _marks(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("low", "high", "bound", "bytes", "max_bytes", "capacity")}
