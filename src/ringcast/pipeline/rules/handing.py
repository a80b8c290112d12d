"""What is to be handed over, step by step: the exact half of `g15_handed_over.py`.

A step is (what, first, last, place in the recording, sender), of one stream or of the one order; in the order recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ringcast.checkers import run_text
from ringcast.pipeline.rules.fact import name_of

READY, HANDED, DROPPED, TAKEN, SPOOLED, VOID = range(6)
SPOOLED_TO_SOME = 6  # of the one order, to some members: no VOID, which is that of a state, throws it away
VOID_ALL = 7  # there will be no state, or the place ends


class Step(NamedTuple):
    what: int
    first: int
    last: int
    place: int
    sender: str


class Left(NamedTuple):
    """A run that waits to be handed over."""

    sender: str
    first: int
    last: int
    place: int


Blame = Callable[[Step, str], None]


class Line:
    """The runs of one stream (or of the one order, `is_ordered`) that wait, in the order in which they became ready."""

    def __init__(self, is_ordered: bool, blame: Blame) -> None:
        self.waiting: list[Left] = []
        self.spooled: dict[str, int] = {}
        self.to_some: set[tuple[str, int]] = set()  # of what was spooled: sender and first
        self._is_ordered = is_ordered
        self._blame = blame
        self._blamed = 0  # what was taken up to here has been blamed
        self._ready = 0  # up to here the stream was delivered

    def go(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if step.what == READY:
                self.ready(step)
            elif step.what == HANDED:
                self._hand(step)
            elif step.what == DROPPED:
                self._is_ready(step)
                self._drop(step.sender, step.first, step.last)
            elif step.what == TAKEN:
                self._take(step)
            elif step.what in (SPOOLED, SPOOLED_TO_SOME):
                self.spooled[step.sender] = step.last
                if step.what == SPOOLED_TO_SOME:
                    self.to_some.add((step.sender, step.first))
            else:
                kept = [] if step.what == VOID_ALL else [run for run in self.waiting if run[:2] in self.to_some]
                for sender, last in self.spooled.items():
                    self._drop(sender, 0, last, kept)

    def ready(self, step: Step) -> None:
        self._ready = max(self._ready, step.last)
        end = self.waiting[-1] if self.waiting else None
        if end is not None and end.sender == step.sender and end.last + 1 == step.first and not self._is_ordered:
            self.waiting[-1] = end._replace(last=step.last)
        else:
            self.waiting.append(Left(step.sender, step.first, step.last, step.place))

    def _hand(self, step: Step) -> None:
        """All of the step must stand first, in one piece; it goes on behind it in any case."""
        at = step.first
        while at <= step.last:
            head = self.waiting[0] if self.waiting else None
            if head is None or (head.sender, head.first) != (step.sender, at):
                self._blame(step, self._why(head, step, at))
                break
            at = min(head.last, step.last) + 1
            self._behind(head, at)
        if self._is_ordered:
            if at <= step.last:
                self._drop(step.sender, at, step.last)
            return
        while self.waiting and self.waiting[0].first <= step.last:  # delivered twice is a matter of G1
            self._behind(self.waiting[0], step.last + 1)

    def _behind(self, head: Left, at: int) -> None:
        """Of the first run what begins at `at` still waits."""
        if at > head.last:
            del self.waiting[0]
        else:
            self.waiting[0] = head._replace(first=at)

    def _why(self, head: Left | None, step: Step, at: int) -> str:
        if at > step.first:
            return f"of which {run_text(at, step.last - at + 1)} do not follow"
        if head is None or (head.sender == step.sender and head.first > at):
            return "which were not delivered, or handed over before"
        run = run_text(head.first, head.last - head.first + 1)
        return f"but {run} of {name_of(head.sender)} stand before them and were not handed over"

    def _drop(self, sender: str, first: int, last: int, but: Sequence[Left] = ()) -> None:
        kept: list[Left] = []
        for run in self.waiting:
            if run.sender != sender or run.last < first or run.first > last or run in but:
                kept.append(run)
            elif not self._is_ordered:  # an ordered run is dropped as a whole
                if run.first < first:
                    kept.append(run._replace(last=first - 1))
                if run.last > last:
                    kept.append(run._replace(first=last + 1))
        self.waiting = kept

    def _is_ready(self, step: Step) -> None:
        if not self._is_ordered and step.last > max(self._ready, self._blamed):
            self._blamed = step.last
            self._blame(step, "")

    def _take(self, step: Step) -> None:
        """Acks report it: it was delivered, and nothing of it may wait, except in the spool."""
        self._is_ready(step)
        if not self.waiting or step.last < self.waiting[0].first:
            return
        if step.last > max(self.spooled.get(step.sender, 0), self._blamed):
            self._blamed = step.last
            self._blame(step, "")
