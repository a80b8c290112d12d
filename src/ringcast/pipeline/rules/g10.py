"""G10, merge repeats nothing.

Local half: how far each window had come when an OFFSET was set (`reset`), and when the installation of a MergeView
was over (`kept`), that is at the first message after it. Joined half: an OFFSET that belongs to a MergeView must be
for somebody else, who comes from another subgroup, above what was there, and equal to the digest; and who comes from
another subgroup is nowhere below the digest. Every way in which a merge can touch a window is one of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables
from ringcast.pipeline.rules.member import Batch, Installed, Member

GUARANTEE = "G10"


class Local:
    """Positions in the multicast of each sender, looked at only where a merge touches them."""

    def __init__(self, member: Member, facts: Facts) -> None:
        self._me = member
        self._facts = facts
        self._ready: dict[int, int] = {}
        self._merges = [view for view in member.installed if view.is_merge]
        self._installing: Installed | None = None

    def on_batch(self, batch: Batch) -> None:
        wanted = np.isin(batch.kind, (Kind.DELIVER, Kind.OFFSET, Kind.SEND, Kind.TAKEN)) & (batch.stream == 0)
        events = batch.where(wanted)
        stops = [int(i) for i in events.index[events.kind == Kind.OFFSET]]
        stops += [view.index for view in self._merges if len(events) and view.index <= events.index[-1]]
        done = 0
        for stop in sorted(stops):
            at = int(np.searchsorted(events.index, stop))
            self._pass(events, done, at)
            done = at
            if self._merges and self._merges[0].index == stop:
                self._settle()
                self._installing = self._merges.pop(0)
            else:
                self._reset(events, at)
                done = at + 1
        self._pass(events, done, len(events))

    def _pass(self, events: Batch, start: int, stop: int) -> None:
        if start >= stop:
            return
        self._settle()
        runs = events.between(start, stop).of(Kind.DELIVER)
        for sender in np.unique(runs.peer).tolist():
            mine = runs.peer == sender
            self._ready[sender] = max(self._ready.get(sender, 0), int((runs.first + runs.count - 1)[mine].max()))

    def _reset(self, events: Batch, at: int) -> None:
        sender, value = int(events.peer[at]), int(events.value[at])
        before = self._ready.get(sender, -1)
        self._facts.add("reset", member=self._me.code, index=int(events.index[at]), first=before, value=value)
        self._ready[sender] = value

    def _settle(self) -> None:
        view, self._installing = self._installing, None
        if view is None:
            return
        where = {"member": self._me.code, "epoch": view.view[0], "creator": view.view[1], "index": view.index}
        for peer in view.members:
            if peer != self._me.code:
                self._facts.add("kept", peer=peer, value=self._ready.get(peer, 0), **where)

    def finish(self) -> None:
        for view in self._merges:  # no message came after these
            self._settle()
            self._installing = view
        self._settle()


def joined(tables: Tables, facts: Facts) -> None:
    merges = tables.merge_views()
    known = {
        (row.member, row.number, row.number_creator): _Merge.of(row.member, row.subgroups, row.digest)
        for row in merges.itertuples(index=False)
    }
    _resets(tables, facts, known)
    _kept(tables, facts, known)


@dataclass(frozen=True, slots=True)
class _Merge:
    """What a MergeView says to one member: who comes from the same side, and where everybody stands."""

    mates: frozenset[int]
    digest: dict[int, int]

    @classmethod
    def of(cls, member: int, subgroups: Any, digest: Any) -> _Merge:
        side = next((group for group in subgroups if member in group), ())
        entries = () if digest is None else digest
        return cls(frozenset(map(int, side)), {entry["member"]: entry["delivered"] for entry in entries})


def _resets(tables: Tables, facts: Facts, known: dict[tuple[int, int, int], _Merge]) -> None:
    places = tables.fact("reset")[["member", "index", "first"]].rename(columns={"first": "before"})
    offsets = tables.control(Kind.OFFSET)
    for row in offsets[offsets["stream"] == 0].merge(places, on=["member", "index"]).itertuples(index=False):
        merge = known.get((row.member, row.number, row.number_creator))
        did = None if merge is None else _misdeed(merge, row)
        if did is not None:
            sentence = f"{tables.name(row.member)} {did} ({tables.name(row.peer)})"
            facts.violation(GUARANTEE, row.member, row.peer, row.index, sentence)


def _misdeed(merge: _Merge, row: Any) -> str | None:
    if row.peer == row.member:
        return f"overwrote its own entry with {row.value} in a merge"
    if row.before >= row.value:
        return f"had received up to {row.before} and reset its window to {row.value} in a merge"
    if row.before >= 0 and row.peer in merge.mates:
        return "reset the window of a member it was never apart from"
    if merge.digest.get(row.peer, row.value) != row.value:
        return f"reset its window to {row.value}, not to the digest"
    return None


def _kept(tables: Tables, facts: Facts, known: dict[tuple[int, int, int], _Merge]) -> None:
    is_whole = dict(zip(tables.members["code"], tables.members["is_whole"], strict=True))
    for row in tables.fact("kept").itertuples(index=False):
        merge = known.get((row.member, row.epoch, row.creator))
        if merge is None or row.peer in merge.mates:
            continue
        facts.examined(GUARANTEE, 1)
        # The end of a cut recording may stand in the middle of an installation.
        if row.value < merge.digest.get(row.peer, row.value) and is_whole[row.member]:
            sentence = f"{tables.name(row.member)} stayed at {row.value}, below the digest of the MergeView {row.epoch}"
            facts.violation(GUARANTEE, row.member, row.peer, row.index, sentence)
