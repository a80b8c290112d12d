"""The send window against a model that keeps every message in a dict and counts each run's bytes."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ringcast.window import SendWindow, Space

CAPACITIES = st.integers(1, 12)
SIZES = st.integers(0, 60)
MAX_BYTES = 100


class SendWindowMachine(RuleBasedStateMachine):
    """The model: a dict of what is unacked, and a list of runs with their bytes."""

    @initialize(capacity=CAPACITIES, offset=st.sampled_from([0, 0, 5, -10, 2**63 - 11]))
    def start(self, capacity: int, offset: int) -> None:
        self.window: SendWindow[int] = SendWindow(capacity, MAX_BYTES, offset)
        self.held: dict[int, int] = {}
        self.runs: list[tuple[int, int]] = []
        self.low = self.high = offset
        self.capacity = self.bound = capacity

    @property
    def bytes(self) -> int:
        return sum(nbytes for last, nbytes in self.runs if last > self.low)

    def fits(self, count: int, nbytes: int, together: bool = False) -> bool:
        in_slots = len(self.held) + count <= self.bound
        alone = not self.held and (count == 1 or together)
        return in_slots and (self.bytes + nbytes <= MAX_BYTES or alone)

    def add(self, sizes: list[int], together: bool = False) -> None:
        items = list(range(self.high + 1, self.high + len(sizes) + 1))
        assert self.window.add_run(items, sum(sizes), together=together) == self.high + 1
        self.held.update(zip(items, items, strict=True))
        self.high += len(sizes)
        self.runs.append((self.high, sum(sizes)))

    @rule(sizes=st.lists(SIZES, min_size=1, max_size=14), together=st.booleans())
    def add_if_there_is_room(self, sizes: list[int], together: bool) -> None:
        fits = self.fits(len(sizes), sum(sizes), together)
        assert self.window.space.takes(len(sizes), sum(sizes), together=together) == fits
        if fits:
            self.add(sizes, together)

    @rule(sizes=st.lists(SIZES, max_size=14))
    def add_what_fits(self, sizes: list[int]) -> None:
        count = self.window.space.fit(sizes)
        assert count == max(n for n in range(len(sizes) + 1) if n == 0 or self.fits(n, sum(sizes[:n])))
        if count:
            self.add(sizes[:count])

    @rule(distance=st.integers(-4, 16))
    def purge(self, distance: int) -> None:
        upto = min(self.low + distance, self.high)
        assert self.window.purge(self.low + distance) == max(0, upto - self.low)
        self.low = max(self.low, upto)
        self.held = {seqno: item for seqno, item in self.held.items() if seqno > self.low}
        if not self.held:
            self.capacity = self.bound

    @rule(capacity=CAPACITIES)
    def resize(self, capacity: int) -> None:
        possible = capacity >= self.capacity or not self.held
        assert self.window.resize(capacity) == possible
        self.bound = capacity
        if possible:
            self.capacity = capacity

    @rule(distance=st.integers(-4, 16), count=st.integers(0, 14))
    def ask_for_a_repair(self, distance: int, count: int) -> None:
        first = self.low + distance
        expected = [seqno for seqno in range(first, first + count) if seqno in self.held]
        assert self.window.get_run(first, first + count - 1) == (expected if first in self.held else [])

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "window"):
            return
        self.window.check()
        assert (self.window.low, self.window.high, self.window.bytes) == (self.low, self.high, self.bytes)
        assert (self.window.capacity, self.window.bound) == (self.capacity, self.bound)
        assert self.window.occupancy == len(self.held) <= self.capacity
        slots_left = max(0, self.bound - len(self.held))
        assert self.window.space == Space(slots_left, MAX_BYTES - self.bytes, is_empty=not self.held)
        slots = range(self.low + 1, self.low + self.capacity + 1)
        held = dict(self.window._ring.items())
        assert [held.get(seqno) for seqno in slots] == [self.held.get(seqno) for seqno in slots]


TestSendWindow = SendWindowMachine.TestCase
TestSendWindow.settings = settings(max_examples=settings().max_examples, stateful_step_count=40)
