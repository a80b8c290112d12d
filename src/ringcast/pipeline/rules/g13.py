"""G13, causality: dequeued-before-queued and finished-before-started are respected, also through side channels.

Judged view by view on the seqs that G12 has shown to be the order. A message's seq must be above that of everything
that was dequeued or whose queueing was finished before its own queueing started: at the same member by the place in
its recording, at others by time, between members on one clock. "Everything before" is a running maximum, looked up
once per queued message and member, so nothing is missed. A real member of a group stamps an event with the begin of
its turn; the event had happened by the next later stamp (`known_by`), and from then on it counts. Messages of
different views are ordered by the view number; so (joined half) nobody began to queue in a view when somebody who
went on with him had a place in the next.
After a violation follow-ups appear: only the first in a view at a member is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import ITS_OWN_ID, NONE, VIEW_ID, Tables, tell
from ringcast.pipeline.rules.member import Array, Batch, View
from ringcast.trace import SIMULATED_CLOCK

GUARANTEE = "G13"
NEVER_NS = 1 << 62
_AFTER = ["to_epoch", "to_creator"]


class Causality:
    def __init__(self, names: Sequence[str], facts: Facts, clocks: Sequence[str]) -> None:
        self._names = names
        self._facts = facts
        self._clocks = clocks

    def on_view(self, view: View, parts: Mapping[int, Batch], together: Callable[[], Mapping[int, object]]) -> None:
        known = {member: part.of(Kind.DEQUEUE, Kind.QUEUE_FINISH) for member, part in parts.items()}
        times = {member: self._known_by(view, member, part) for member, part in known.items()}
        marks = {member: _Marks(part, times[member]) for member, part in known.items() if len(part)}
        for member, part in parts.items():
            self._note_times(view, member, part, times[member])
            starts, seqs = _started(part)
            if len(starts):
                self._facts.examined(GUARANTEE, len(starts))
                self._judge(view, member, starts, seqs, marks, together)

    def _known_by(self, view: View, member: int, part: Batch) -> Array:
        # On a bus (no view) and in a simulated world stamps are exact.
        is_exact = view[1] < 0 or self._clocks[member] == SIMULATED_CLOCK
        return np.maximum.accumulate(part.t_ns) if is_exact else known_by(part.t_ns)

    def _note_times(self, view: View, member: int, part: Batch, places: Array) -> None:
        starts = part.of(Kind.QUEUE_START)
        where = {"member": member, "epoch": view[0], "creator": view[1]}
        first = int(places[0]) if len(places) else None
        if not len(starts):
            self._facts.add("ordering", first=first, **where)
            return
        at = int(starts.t_ns.argmax())
        self._facts.add("ordering", first=first, last=int(starts.t_ns[at]), index=int(starts.index[at]), **where)

    def _judge(
        self,
        view: View,
        member: int,
        starts: Batch,
        seqs: Array,
        marks: Mapping[int, _Marks],
        together: Callable[[], Mapping[int, object]],
    ) -> None:
        for other, mark in marks.items():
            if other == member:
                before = mark.by_index(starts.index)
            elif self._clocks[other] == self._clocks[member]:
                before = mark.by_time(starts.t_ns)
            else:
                continue
            late = np.flatnonzero(before >= seqs)
            if len(late) and _go_together(together(), member, other):
                self._blame(view, member, other, starts, int(late[0]), int(seqs[late[0]]), int(before[late[0]]))
                return

    def _blame(self, view: View, member: int, other: int, starts: Batch, at: int, seq: int, before: int) -> None:
        who, whom = self._names[member], self._names[other]
        what = f"{who} began to queue its {starts.first[at]} when {whom} already had the message with seq {before}"
        sentence = f"in view {view[0]} {what}, yet it got seq {seq}"
        self._facts.violation(GUARANTEE, member, other, int(starts.index[at]), sentence)


def _go_together(went: Mapping[int, object], member: int, other: int) -> bool:
    return went.get(member) is not None and went.get(member) == went.get(other)


def known_by(stamps: Array) -> Array:
    """When the events with these stamps had happened at the latest: the next later stamp."""
    times = np.maximum.accumulate(stamps)
    bounds: Array = np.r_[times, NEVER_NS][np.searchsorted(times, times, side="right")]
    return bounds


class _Marks:
    """The highest seq that a member had dequeued or finished, by place in its recording and by time."""

    def __init__(self, events: Batch, times: Array) -> None:
        self._index = events.index
        self._times = times
        self._highest = np.r_[-1, np.maximum.accumulate(events.value)]

    def by_index(self, index: Array) -> Array:
        found: Array = self._highest[np.searchsorted(self._index, index, side="left")]
        return found

    def by_time(self, t_ns: Array) -> Array:
        found: Array = self._highest[np.searchsorted(self._times, t_ns, side="left")]
        return found


def joined(tables: Tables, facts: Facts) -> None:
    """Between views: nobody began to queue in a view when somebody who went on with him had a place in the next.

    A place counts if whoever had it went on from there or ended there in good order: what a member ordered that
    crashed or was cut off may have been unsettled, so it is not part of the order of those who went on.
    """
    steps = tables.steps().merge(tables.traits("member", clock="clock"), on="member")
    times = tables.fact("ordering")[["member", *VIEW_ID, "first", "last", "index"]]
    stays = pd.concat([steps[["member", *VIEW_ID]], _ended_well(tables)])
    places = times[times["first"] != NONE].merge(stays, on=["member", *VIEW_ID])
    places = places.rename(columns={"epoch": "to_epoch", "creator": "to_creator"})[["member", *_AFTER, "first"]]
    together = [*VIEW_ID, *_AFTER, "clock"]
    earliest = steps.merge(places, on=["member", *_AFTER]).groupby(together, as_index=False)["first"].min()
    starts = times[times["last"] != NONE][["member", *VIEW_ID, "last", "index"]]
    begun = steps.drop(columns="index").merge(starts, on=["member", *VIEW_ID]).merge(earliest, on=together)
    tell(facts, GUARANTEE, begun[begun["last"] > begun["first"]], lambda row: _too_late(tables, row))


def _ended_well(tables: Tables) -> pd.DataFrame:
    """The last view of each member whose recording ends there in good order."""
    last = tables.views().groupby("member", as_index=False)[["number", "number_creator"]].last()
    last = last.rename(columns=ITS_OWN_ID).merge(tables.traits("member", how="how", is_whole="is_whole"), on="member")
    return last[last["is_whole"] & (last["how"] == "ended")][["member", *VIEW_ID]]


def _too_late(tables: Tables, row: Any) -> str:
    began = f"{tables.name(row.member)} began to queue in view {row.epoch}"
    return f"{began} when somebody who went on with it had a place in view {row.to_epoch}"


def _started(part: Batch) -> tuple[Batch, Array]:
    """Queue starts whose queueing was finished in this view, with the seq they got."""
    starts, finishes = part.of(Kind.QUEUE_START), part.of(Kind.QUEUE_FINISH)
    if not len(starts) or not len(finishes):
        return part.where(np.zeros(len(part), dtype=bool)), np.zeros(0, dtype=np.int64)
    order = np.argsort(finishes.first, kind="stable")
    firsts, seqs = finishes.first[order], finishes.value[order]
    at = np.minimum(np.searchsorted(firsts, starts.first), len(firsts) - 1)
    is_finished = firsts[at] == starts.first
    return starts.where(is_finished), seqs[at[is_finished]]
