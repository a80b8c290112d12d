"""Getting the state when a simulated process joins with it: part by part, before it reads anything else.

If the provider is gone half way, another begins with a later cut: what came of the first is void, and so is every
message that was delivered before that cut, for it is in the state. Where no part comes for a while it is given up.
Invariant: a part is acked when it was read, so what waits here is bounded by the stream's window.
"""

from __future__ import annotations

from collections import deque

from ringcast.core import AwaitState, Deliver, StateOver
from ringcast.sim.tally import Tally, read_tally


class StateLoading:
    """One process's way to the state: `tally` when it has it, `error` when it never will; both None meanwhile."""

    __slots__ = ("_has_begun", "_is_whole", "arrived", "cut", "error", "parts", "replaced", "since_ns", "tally")

    def __init__(self) -> None:
        self.tally: Tally | None = None
        self.error: str | None = None
        self.cut: AwaitState | None = None  # whose state it is, as of which view; None: of nobody, it founded the group
        self.arrived: deque[Deliver] = deque()
        self.parts: list[bytes] = []
        self.since_ns: int | None = None  # when anything came last
        self.replaced = 0  # how often another provider began anew
        self._is_whole = False
        self._has_begun = False

    @property
    def is_over(self) -> bool:
        return self.tally is not None or self.error is not None

    @property
    def is_silent(self) -> bool:
        """Parts are waited for, and there is none to be read."""
        return self._has_begun and not (self.is_over or self.arrived or self._is_whole)

    # ---- what the core says

    def on_await(self, now_ns: int, order: AwaitState) -> deque[Deliver]:
        """A provider begins, perhaps in the place of another; returns the parts of the other that nobody will read."""
        self.replaced += self._has_begun
        self._has_begun = True
        self.cut = order
        self.since_ns = now_ns
        self.parts.clear()
        self._is_whole = False
        void, self.arrived = self.arrived, deque()
        return void

    def on_part(self, delivery: Deliver) -> None:
        self.arrived.append(delivery)

    def on_over(self, over: StateOver) -> None:
        if over.error is not None:
            self.fail(over.error)
        elif not self._has_begun:
            self.tally = Tally()  # The first member of a group has nothing to get.
        else:
            self._is_whole = True

    # ---- the application

    def take(self, now_ns: int) -> Deliver:
        """Read what arrived first."""
        delivery = self.arrived.popleft()
        self.parts.extend(delivery.payloads)
        self.since_ns = now_ns
        return delivery

    @property
    def is_complete(self) -> bool:
        """Everything was read, and nothing was made of it yet."""
        return self._is_whole and not (self.arrived or self.is_over)

    def finish(self) -> None:
        """Make a state of what was read; what is no state is an error."""
        try:
            self.tally = read_tally(b"".join(self.parts))
        except ValueError as error:
            self.fail(str(error))
        self.parts.clear()

    def fail(self, why: str) -> None:
        if not self.is_over:
            self.error = why
