"""G11, local order: queue order at a sender and dequeue order at a receiver are respected.

A sender's numbers grow with every message that it begins to queue, and so do their places. A receiver dequeues a
sender's messages in the order of their numbers, each once; it gets only some of them, so there may be gaps but never
a step back. That all receivers agree is G12's matter.
"""

from __future__ import annotations

from collections import defaultdict

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.model import Address, Event, Kind

Place = tuple[int, int]


class LocalOrderChecker:
    guarantee = "G11"
    kinds = (Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._queued: dict[Address, int] = {}
        self._finished: dict[Address, tuple[int, Place]] = {}
        self._dequeued: defaultdict[Address, dict[Address, int]] = defaultdict(dict)
        self._on = {
            Kind.QUEUE_START: self._on_start,
            Kind.QUEUE_FINISH: self._on_finish,
            Kind.DEQUEUE: self._on_dequeue,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        self._on[event.kind](member, index, event)

    def _on_start(self, member: Address, index: int, event: Event) -> None:
        before = self._queued.get(member, 0)
        self._report.examined += event.count
        if event.first <= before:
            sentence = f"{member} began to queue its number {event.first} after {before}"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        self._queued[member] = max(before, event.first + event.count - 1)

    def _on_finish(self, member: Address, index: int, event: Event) -> None:
        """Numbers in the order of places: the sender's own order is part of the one order."""
        place = (event.view.number if event.view is not None else 0, event.value)
        number, before = self._finished.get(member, (0, (0, 0)))
        if (event.first > number) != (place > before) and place != before:
            sentence = f"{member}'s number {event.first} has the place {place}, its number {number} the place {before}"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        self._finished[member] = (event.first, place)

    def _on_dequeue(self, member: Address, index: int, event: Event) -> None:
        if event.peer is None:
            raise ValueError("a DEQUEUE event without a sender")
        last = self._dequeued[member]
        before = last.get(event.peer, 0)
        self._report.examined += event.count
        if event.first <= before:
            sentence = f"{member} dequeued number {event.first} of {event.peer} after {before}"
            self._report.violated((member, event.peer), index, sentence, Evidence.of(member, index, event))
        last[event.peer] = max(before, event.first + event.count - 1)

    def finish(self, closed: Closed) -> Finding:
        return self._report.finding()
