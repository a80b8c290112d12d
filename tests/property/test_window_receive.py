"""The receive window against a model that keeps every message in a dict and looks at each one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ringcast.window import Admitted, ReceiveWindow

Item = tuple[int, int]  # (seqno, which copy): a second copy must never replace the first

CAPACITIES = st.integers(1, 12)
NEAR = st.integers(-6, 16)
PART = st.integers(0, 20)
OFFSETS = st.sampled_from([0, 0, 1, 5, 100, -10, 2**63 - 11])


def between(low: int, high: int, part: int) -> int:
    """A number in low..high, the upper end first, because that is where things move."""
    return high - part % (high - low + 1)


class Model:
    """What a receive window means, written down as slowly as possible."""

    def __init__(self, capacity: int, offset: int, retain: bool) -> None:
        self.capacity = capacity
        self.retain = retain
        self.start_at(offset)

    def start_at(self, offset: int) -> None:
        self.held: dict[int, Item] = {}
        self.stable = self.taken = self.handed = self.ready = self.announced = offset
        self.is_orphaned = False

    @property
    def freed(self) -> int:
        return min(self.stable, self.handed)

    @property
    def limit(self) -> int:
        return self.ready if self.is_orphaned else self.freed + self.capacity

    @property
    def highest(self) -> int:
        return max([self.ready, self.announced, *self.held])

    def forget_freed(self) -> None:
        if not self.retain:
            self.stable = self.taken
        self.held = {seqno: item for seqno, item in self.held.items() if seqno > self.freed}

    def add(self, seqno: int, item: Item) -> str:
        if seqno <= self.ready:
            return "old"
        if seqno > self.limit:
            return "beyond"
        if seqno in self.held:
            return "duplicate"
        self.held[seqno] = item
        return "new"

    def close_gaps(self) -> None:
        while self.ready + 1 in self.held:
            self.ready += 1

    def gaps(self, upto: int) -> list[int]:
        return [seqno for seqno in range(self.ready + 1, min(upto, self.limit) + 1) if seqno not in self.held]


class ReceiveWindowMachine(RuleBasedStateMachine):
    """Runs, overlaps, lows, takes, resets, resizes in any order; G1 and G2 after every step."""

    @initialize(capacity=CAPACITIES, offset=OFFSETS, retain=st.booleans())
    def start(self, capacity: int, offset: int, retain: bool) -> None:
        self.window: ReceiveWindow[Item] = ReceiveWindow(capacity, offset, retain)
        self.model = Model(capacity, offset, retain)
        self.delivered_upto = offset
        self.copies = 0

    def run_from(self, first: int, count: int) -> list[Item]:
        self.copies += 1
        return [(seqno, self.copies) for seqno in range(first, first + count)]

    def add(self, first: int, count: int) -> None:
        items = self.run_from(first, count)
        # One message at a time, then close the gaps: whether a message is old is decided before the run.
        verdicts = [self.model.add(item[0], item) for item in items]
        self.model.close_gaps()
        expected = Admitted(*(verdicts.count(verdict) for verdict in Admitted._fields))
        assert self.window.add_run(first, items) == expected

    @rule(count=st.integers(0, 14))
    def add_in_order(self, count: int) -> None:
        self.add(self.model.ready + 1, count)

    @rule(distance=NEAR, count=st.integers(0, 14))
    def add_anywhere(self, distance: int, count: int) -> None:
        self.add(self.model.ready + distance, count)

    @rule(distance=NEAR)
    def add_one(self, distance: int) -> None:
        self.add(self.model.ready + distance, 1)

    @rule(part=PART)
    def hear_a_low(self, part: int) -> None:
        self.hear(between(self.model.stable - 1, self.model.ready, part))

    @rule(part=PART, count=st.integers(1, 6))
    def receive_and_deliver(self, part: int, count: int) -> None:
        """The usual life of a window: a low, a run, and everything ready goes out."""
        self.hear_a_low(part)
        self.add(self.model.ready + 1, count)
        self.take()

    def hear(self, low: int) -> None:
        self.window.advance_stable(low)
        if self.model.retain:
            self.model.stable = max(self.model.stable, low)
        self.model.forget_freed()

    @rule(beyond=st.integers(1, 3), chance=st.integers(0, 2))
    def hear_a_low_that_leaves_us_out(self, beyond: int, chance: int) -> None:
        if chance == 0:
            self.window.advance_stable(self.model.ready + beyond)
            self.model.is_orphaned = True

    @rule(distance=NEAR)
    def hear_the_highest(self, distance: int) -> None:
        seqno = self.model.ready + distance
        self.model.announced = max(self.model.announced, min(seqno, self.model.limit))
        self.window.note_highest(seqno)

    @rule()
    def take(self) -> None:
        self.expect_taken(self.model.ready, self.window.take_ready())

    @rule(distance=NEAR)
    def take_up_to_a_cut(self, distance: int) -> None:
        cut = self.model.handed + distance
        self.expect_taken(min(cut, self.model.ready), self.window.take_ready(cut))

    def expect_taken(self, upto: int, got: tuple[int, list[Item]]) -> None:
        first, items = got
        assert first == self.delivered_upto + 1 == self.model.handed + 1
        assert items == [self.model.held[seqno] for seqno in range(first, upto + 1)]
        self.model.handed = self.delivered_upto = first + len(items) - 1
        self.model.forget_freed()

    @rule(part=PART)
    def read(self, part: int) -> None:
        upto = between(self.model.taken - 1, self.model.handed, part)
        newly = max(0, upto - self.model.taken)
        assert self.window.mark_taken(upto) == newly
        self.model.taken += newly
        self.model.forget_freed()

    @rule(forward=st.integers(0, 5), chance=st.integers(0, 5))
    def reset(self, forward: int, chance: int) -> None:
        if chance == 0:
            offset = self.model.ready + forward
            self.window.reset(offset)
            self.model.start_at(offset)
            self.delivered_upto = offset

    @rule(chance=st.integers(0, 3))
    def forget_what_was_not_handed_out(self, chance: int) -> None:
        if chance == 0:
            model = self.model
            above = [seqno for seqno in model.held if seqno > model.handed]
            assert self.window.forget_unhanded() == len(above)
            model.held = {seqno: item for seqno, item in model.held.items() if seqno <= model.handed}
            model.ready = model.announced = model.handed
            model.stable = min(model.stable, model.ready)

    @rule(back=st.integers(1, 5))
    def refuse_to_go_back(self, back: int) -> None:
        with pytest.raises(ValueError, match="cannot go back"):
            self.window.reset(self.model.ready - back)

    @rule(capacity=CAPACITIES)
    def resize(self, capacity: int) -> None:
        possible = capacity >= self.model.capacity or not self.model.held
        assert self.window.resize(capacity) == possible
        if possible:
            self.model.capacity = capacity
            self.model.announced = min(self.model.announced, self.model.freed + capacity)

    @rule(ranges=st.integers(0, 4), messages=st.integers(0, 8), distance=st.none() | NEAR)
    def ask_what_is_missing(self, ranges: int, messages: int, distance: int | None) -> None:
        upto = None if distance is None else self.model.ready + distance
        gaps = self.model.gaps(self.model.highest if upto is None else upto)
        asked = self.window.missing(ranges, messages, upto)
        assert len(asked) <= ranges
        listed = [seqno for first, last in asked for seqno in range(first, last + 1)]
        assert listed == gaps[: len(listed)] and len(listed) <= messages
        assert listed == gaps[:messages] or len(asked) == ranges
        assert all(last + 1 < first for (_, last), (first, _) in pairwise(asked))

    @rule(distance=NEAR, count=st.integers(0, 14))
    def ask_for_a_repair(self, distance: int, count: int) -> None:
        first = self.model.ready + distance
        expected: list[Item] = []
        while len(expected) < count and first + len(expected) in self.model.held:
            expected.append(self.model.held[first + len(expected)])
        assert self.window.get_run(first, first + count - 1) == expected

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "window"):
            return
        self.window.check()
        for mark in ("stable", "taken", "handed", "ready", "highest", "freed", "limit", "is_orphaned", "capacity"):
            assert getattr(self.window, mark) == getattr(self.model, mark), mark
        assert self.window.occupancy == len(self.model.held) <= self.model.capacity

    @invariant()
    def holds_exactly_what_the_model_holds(self) -> None:
        if not hasattr(self, "window"):
            return
        near = range(self.model.freed - 2, self.model.freed + self.model.capacity + 3)
        assert [seqno for seqno in near if self.window.holds(seqno)] == sorted(self.model.held)
        slots = range(self.model.freed + 1, self.model.freed + self.model.capacity + 1)
        held = dict(self.window._ring.items())
        assert [held.get(seqno) for seqno in slots] == [self.model.held.get(seqno) for seqno in slots]


TestReceiveWindow = ReceiveWindowMachine.TestCase
TestReceiveWindow.settings = settings(max_examples=settings().max_examples, stateful_step_count=40)
