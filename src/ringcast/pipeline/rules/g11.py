"""G11, local order: queue order at a sender and dequeue order at a receiver are respected.

Local half. At a sender the numbers of queued runs grow, and their places grow with them. At a receiver, sorted by
sender and otherwise left in place, each dequeued run begins above the end of its predecessor: a receiver gets only
some of a sender's messages, so there may be gaps, but never a step back. That dequeue order agrees with one order
over all is G12's matter.
"""

from __future__ import annotations

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.member import Array, Batch, Member

GUARANTEE = "G11"


class Local:
    """The last number dequeued from each sender, and the last queued here."""

    def __init__(self, member: Member, facts: Facts) -> None:
        self._me = member
        self._facts = facts
        self._last: dict[int, int] = {}
        self._finished = (0, 0, 0)  # number, epoch, seq of the last finished run

    def on_batch(self, batch: Batch) -> None:
        dequeued = batch.of(Kind.DEQUEUE)
        if len(dequeued):
            self._facts.examined(GUARANTEE, int(dequeued.count.sum()))
            order = np.argsort(dequeued.peer, kind="stable")
            self._check(dequeued, order, dequeued.peer, "dequeued")
        queued = batch.of(Kind.QUEUE_START)
        if len(queued):
            self._check(queued, np.arange(len(queued)), np.full(len(queued), -1), "queued")
        self._check_places(batch.of(Kind.QUEUE_FINISH))

    def _check_places(self, finished: Batch) -> None:
        """A later number has a later place: the sender's own order is part of the one order."""
        places = list(zip(finished.first.tolist(), finished.epoch.tolist(), finished.value.tolist(), strict=True))
        numbers = np.r_[self._finished[0], finished.first]
        epochs, seqs = np.r_[self._finished[1], finished.epoch], np.r_[self._finished[2], finished.value]
        later = (np.diff(epochs) > 0) | ((np.diff(epochs) == 0) & (np.diff(seqs) > 0))
        same = (np.diff(epochs) == 0) & (np.diff(seqs) == 0)
        for i in np.flatnonzero(((np.diff(numbers) > 0) != later) & ~same).tolist():
            sentence = (
                f"{self._me.name(self._me.code)}'s number {numbers[i + 1]} has a place that does not fit its order"
            )
            self._facts.violation(GUARANTEE, self._me.code, -1, int(finished.index[i]), sentence)
        self._finished = places[-1] if places else self._finished

    def _check(self, runs: Batch, order: Array, keys: Array, did: str) -> None:
        key, first = keys[order], runs.first[order]
        end = first + runs.count[order] - 1
        starts = np.flatnonzero(np.r_[True, np.diff(key) != 0])
        before = np.r_[0, end[:-1]]
        before[starts] = [self._last.get(int(key[i]), 0) for i in starts]
        for i in np.flatnonzero(first <= before).tolist():
            me = self._me
            whose = me.name(int(key[i])) if key[i] >= 0 else "its own"
            sentence = f"{me.name(me.code)} {did} number {first[i]} of {whose} after {before[i]}"
            self._facts.violation(GUARANTEE, me.code, int(key[i]), int(runs.index[order[i]]), sentence)
        lasts = np.r_[starts[1:], len(key)] - 1
        self._last.update(zip(key[lasts].tolist(), end[lasts].tolist(), strict=True))

    def finish(self) -> None:
        return
