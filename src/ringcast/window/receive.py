"""The receive window: puts one sender's messages back in order, inside a ring that never grows.

Marks, all seqnos (`offset` at the start):

    freed <= handed <= ready <= highest        taken <= handed        freed = min(stable, handed)

    stable   the sender's low as it told us: every member has these, nobody will ask for them again
    taken    the application has read up to here; what we ack
    handed   given out by take_ready
    ready    received without gap; what roll call, cut and view work on
    highest  the highest seqno received or announced

Retaining, a delivered message stays in its slot until the sender's low passes it, so that survivors can repair
a crashed sender (G5). Otherwise `stable` is `taken`. Slots belong to (freed, freed + capacity], one each. (G1, G2)

It is no protocol: it neither acks nor asks, it says what is missing and how far things are.
"""

from __future__ import annotations

from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from ringcast.window.ranges import Ranges
from ringcast.window.ring import Ring

T = TypeVar("T")


class Admitted(NamedTuple):
    """What became of the messages of one run, as counts."""

    new: int
    old: int
    duplicate: int
    beyond: int


_ALL_NEW = tuple(Admitted(count, 0, 0, 0) for count in range(64))  # short runs are many: build their answer once


class ReceiveWindow(Generic[T]):
    """One sender's messages at one receiver.

    `limit` is the highest seqno accepted. A sender that no longer counts us (its low is above what we have in
    order) leaves the window orphaned: what is ready can still be taken, nothing more is accepted until `reset`.
    """

    __slots__ = (
        "_beyond_gap",
        "_fresh",
        "_ring",
        "freed",
        "handed",
        "highest",
        "is_orphaned",
        "limit",
        "ready",
        "retain",
        "stable",
        "taken",
    )

    freed: int
    stable: int
    taken: int
    handed: int
    ready: int
    highest: int
    limit: int
    is_orphaned: bool
    _fresh: list[T] | None

    def __init__(self, capacity: int, offset: int = 0, retain: bool = True) -> None:
        self._ring: Ring[T] = Ring(capacity)
        self._beyond_gap = Ranges()
        self.retain = retain
        self._start_at(offset)

    @property
    def capacity(self) -> int:
        return self._ring.capacity

    @property
    def occupancy(self) -> int:
        """How many slots are held."""
        return self.ready - self.freed + self._beyond_gap.count

    # ---- what the sender sends

    def advance_stable(self, low: int) -> None:
        """The sender says that everybody it counts has acked up to `low`."""
        if low > self.ready:
            self.is_orphaned = True
            self.limit = self.ready
        elif self.retain and low > self.stable:
            self.stable = low
            self._free()

    def note_highest(self, seqno: int) -> None:
        """The sender announced its highest seqno, so that a lost tail shows as missing."""
        self.highest = max(self.highest, min(seqno, self.limit))

    def add_run(self, first: int, items: list[T]) -> Admitted:
        """Accept what lies in (ready, limit] and is not here yet; the rest is counted and dropped."""
        ready = self.ready
        last = ready + len(items)
        if first != ready + 1 or ready != self.highest or last > self.limit:
            return self._add_ragged(first, items)
        self._ring.put_run(first, items)
        # The usual case is one run added, one run taken: the same list goes through uncopied.
        self._fresh = items if self.handed == ready else None
        self.ready = self.highest = last
        count = last - ready
        return _ALL_NEW[count] if count < 64 else Admitted(count, 0, 0, 0)

    def _add_ragged(self, first: int, items: list[T]) -> Admitted:
        """A run that overlaps, leaves or fills a gap, or does not fit."""
        count = len(items)
        last = first + count - 1
        old = min(count, max(0, self.ready + 1 - first))
        beyond = min(count, max(0, last - self.limit))
        begin, end = first + old, last - beyond
        new = 0
        for gap_first, gap_last in self._beyond_gap.gaps(begin, end):
            self._ring.put_run(gap_first, items[gap_first - first : gap_last - first + 1])
            new += gap_last - gap_first + 1
        if new:
            self._beyond_gap.add(begin, end)
            self.highest = max(self.highest, end)
            if begin == self.ready + 1:
                self._close_gap()
        return Admitted(new, old, count - old - beyond - new, beyond)

    def _close_gap(self) -> None:
        _, self.ready = self._beyond_gap.pop_first()
        self._fresh = None

    # ---- what the application reads

    def take_ready(self, upto: int | None = None) -> tuple[int, list[T]]:
        """(first, items): what came in order since the last call, at most up to `upto` (a cut)."""
        first = self.handed + 1
        last = self.ready if upto is None else min(upto, self.ready)
        if last < first:
            return first, []
        fresh, self._fresh = self._fresh, None
        items = fresh if fresh is not None and last == self.ready else self._ring.slice(first, last)
        self.handed = last
        if self.freed < self.stable:
            self._free()
        return first, items

    def mark_taken(self, upto: int) -> int:
        """The application has read up to here; returns how many of them it had not read before."""
        newly = upto - self.taken
        if newly <= 0:
            return 0
        assert upto <= self.handed, f"taken {upto} is above handed {self.handed}"
        self.taken = upto
        if not self.retain:
            self.stable = upto
            self._free()
        return newly

    # ---- repair

    def missing(self, max_ranges: int, max_messages: int, upto: int | None = None) -> list[tuple[int, int]]:
        """The gaps in (ready, upto], oldest first; without `upto`, up to the highest seqno known."""
        last = min(self.highest if upto is None else upto, self.limit)
        found: list[tuple[int, int]] = []
        for gap_first, gap_last in self._beyond_gap.gaps(self.ready + 1, last):
            if len(found) >= max_ranges or max_messages <= 0:
                break
            gap_last = min(gap_last, gap_first + max_messages - 1)
            found.append((gap_first, gap_last))
            max_messages -= gap_last - gap_first + 1
        return found

    def beyond(self, max_ranges: int) -> tuple[tuple[int, int], ...]:
        """What is held behind a gap, oldest first, in at most so many ranges."""
        return tuple(islice(self._beyond_gap, max_ranges))

    def holds(self, seqno: int) -> bool:
        return self.freed < seqno <= self.ready or seqno in self._beyond_gap

    def get_run(self, first: int, last: int) -> list[T]:
        """What is held of first..last, from `first` on without gap."""
        if first <= self.freed:
            return []
        end = self.ready if first <= self.ready else self._beyond_gap.end_of(first)
        return [] if end is None or last < first else self._ring.slice(first, min(last, end))

    def forget_beyond(self) -> int:
        """Drop what lies behind a gap that nobody will fill; returns how many. None of it was acked: a sender that
        lives after all will offer it again."""
        dropped = self._beyond_gap.count
        for first, last in self._beyond_gap:
            self._ring.clear(first, last)
        self._beyond_gap.drop_above(self.ready)
        self.highest = self.ready
        return dropped

    # ---- views

    def forget_unhanded(self) -> int:
        """Drop what was not handed out; returns how many. The next seqno expected is the one behind `handed`."""
        dropped = self.forget_beyond() + self.ready - self.handed
        self._ring.clear(self.handed + 1, self.ready)
        self.ready = self.highest = self.handed
        self.stable = min(self.stable, self.ready)
        self._fresh = None
        if self.is_orphaned:
            self.limit = self.ready
        return dropped

    def reset(self, offset: int) -> None:
        """Forget everything and start behind `offset`. Only forward: nothing is delivered twice. (G1, G10)"""
        if offset < self.ready:
            raise ValueError(f"a window that is ready up to {self.ready} cannot go back to {offset}")
        self._ring.clear_all()
        self._beyond_gap.clear()
        self._start_at(offset)

    def resize(self, capacity: int) -> bool:
        """Grow at once; shrink only while nothing is held. False: not now, ask again."""
        if capacity < 1:
            raise ValueError(f"a receive window needs a capacity of at least 1, not {capacity}")
        if capacity < self.capacity and self.occupancy:
            return False
        if capacity != self.capacity:
            self._ring.capacity = capacity
            self._open_limit()
            self.highest = max(self.ready, min(self.highest, self.freed + capacity))
        return True

    # ---- marks

    def _start_at(self, offset: int) -> None:
        self.freed = self.stable = self.taken = self.handed = self.ready = self.highest = offset
        self.is_orphaned = False
        self._fresh = None
        self._open_limit()

    def _free(self) -> None:
        freed = self.stable if self.stable < self.handed else self.handed
        if freed > self.freed:
            self._ring.free(freed)
            self.freed = freed
            if not self.is_orphaned:
                self.limit = freed + self._ring.capacity

    def _open_limit(self) -> None:
        if not self.is_orphaned:
            self.limit = self.freed + self._ring.capacity

    def check(self) -> None:
        """Every invariant of the window; for tests and the simulator."""
        freed, handed, ready, stable, taken = self.freed, self.handed, self.ready, self.stable, self.taken
        end = freed + self._ring.capacity
        assert freed <= handed <= ready <= self.highest <= end and taken <= handed and stable <= ready, self._marks()
        assert freed == (stable if stable < handed else handed), self._marks()
        assert self.retain or stable == taken, self._marks()
        assert self.limit == (ready if self.is_orphaned else end), self._marks()
        assert self._fresh is None or len(self._fresh) == ready - handed, self._marks()
        gap = self._beyond_gap
        if gap.count or gap._firsts:
            gap.check()
            first, last = gap.ends
            assert first > ready + 1 and last <= self.highest, (self._marks(), list(self._beyond_gap))
            assert self.occupancy <= self.capacity, (self.occupancy, self.capacity)

    def _marks(self) -> dict[str, int]:
        names = ("freed", "stable", "taken", "handed", "ready", "highest", "limit", "capacity")
        return {name: getattr(self, name) for name in names}
