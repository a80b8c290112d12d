"""G18, the one order: what a state includes of it, message by message; asked only where something is suspicious.

A state includes what its giver had dequeued before the view of the cut, and what the states include that the giver had
loaded itself before. Whoever loads it throws away nothing else for it, and is handed nothing of that behind it. What a
giver had read before a MergeView may or may not be in the merged state. Read again are, of those who loaded or gave
states, what they dequeued, spooled, were handed and threw away in the one order (`ordered`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Fact, Out, Wanted, name_of
from ringcast.pipeline.rules.packed import pack_columns, unpack_columns
from ringcast.pipeline.rules.piece import Piece
from ringcast.pipeline.rules.run import NEVER, Control, Run, View

GUARANTEE = "G18"
ORDERED = "ordered"


class _Row(NamedTuple):
    kind: int
    place: int
    sender: str
    first: int
    last: int
    to_some: int


class _Load(NamedTuple):
    place: int
    view: View
    giver: str
    is_merged: bool


@dataclass(slots=True)
class _Member:
    views: dict[View, int] = field(default_factory=dict)  # where each was installed
    loads: list[_Load] = field(default_factory=list)
    dequeued: defaultdict[str, list[_Row]] = field(default_factory=lambda: defaultdict(list))
    rows: list[_Row] = field(default_factory=list)

    def dequeued_at(self, sender: str, number: int) -> int | None:
        """Where it dequeued this message."""
        rows = self.dequeued.get(sender, [])
        at = bisect_left(rows, number, key=lambda row: row.last)
        return rows[at].place if at < len(rows) and rows[at].first <= number else None


def wanted(run: Run, suspicious: Iterable[str]) -> Iterator[Wanted]:
    members = [*suspicious]
    if members:
        members += [
            row.member for row in run.control(Kind.STATE) if row.detail.get("step") in ("given", "cut", "merged")
        ]
    for member in dict.fromkeys(members):
        yield Wanted(GUARANTEE, member, 0, NEVER, 0, 0, ORDERED)


def read_again(piece: Piece, wanted: Iterable[Wanted], out: Out) -> None:
    if not any(want.what == ORDERED for want in wanted):
        return
    at = piece.where(Kind.DEQUEUE, Kind.HANDED, Kind.UNREAD, Kind.SPOOLED)
    kind, is_set = piece.kind[at], piece.value[at] != 0
    is_void = (kind == Kind.UNREAD) & ((piece.peer[at] < 0) | is_set)
    is_void[is_void] = [piece.detail_of(place).get("told") == "state" for place in at[is_void].tolist()]
    named = piece.peer[at] >= 0
    at = at[is_void | (named & ((kind == Kind.DEQUEUE) | (is_set & (kind != Kind.UNREAD))))]
    if len(at):
        columns = (
            piece.kind[at],
            at + piece.first_index,
            piece.peer[at],
            piece.first[at],
            piece.last[at],
            piece.other[at],
        )
        data = pack_columns(*(np.asarray(column, dtype=np.int64) for column in columns))
        out.fact(ORDERED, index=piece.index(at[0]), text="\n".join(piece.keys[:-1]), data=data)


def compare_again(run: Run, out: Out) -> None:
    facts = run.by_member(GUARANTEE, ORDERED)
    if not facts:
        return
    everybody = {member.key: _Member() for member in run}
    for member, parts in facts.items():
        for row in _rows(parts):
            (everybody[member].dequeued[row.sender] if row.kind == Kind.DEQUEUE else everybody[member].rows).append(row)
    for view in run.control(Kind.VIEW):
        if view.view is not None:
            everybody[view.member].views.setdefault(view.view, view.index)
    sides: defaultdict[View, list[str]] = defaultdict(list)
    for moved in run.control(Kind.STATE):
        _on_state(moved, everybody[moved.member], sides)
    for member in facts:
        _Joiner(run, everybody, sides, member, out).judge()


def _rows(parts: Sequence[Fact]) -> Iterator[_Row]:
    for part in parts:
        senders = part.text.split("\n")
        for kind, index, peer, *run in zip(*(c.tolist() for c in unpack_columns(part.data, 6)), strict=True):
            yield _Row(kind, index, "" if peer < 0 else senders[peer], *run)


def _on_state(row: Control, member: _Member, sides: defaultdict[View, list[str]]) -> None:
    if row.view is None or not row.peer:
        return
    step, purpose = row.detail["step"], row.detail["purpose"]
    if step == "loaded":
        member.loads.append(_Load(row.index, row.view, row.peer, purpose == "merge"))
    elif step == "given" and purpose == "side":
        sides[row.view].append(row.member)


class _Joiner:
    """One member that loaded a state."""

    def __init__(
        self, run: Run, everybody: dict[str, _Member], sides: defaultdict[View, list[str]], member: str, out: Out
    ) -> None:
        self._run, self._everybody, self._sides, self._out = run, everybody, sides, out
        self._key, self._member = member, everybody[member]

    def judge(self) -> None:
        spooled: list[_Row] = []
        for row in self._member.rows:
            if row.kind == Kind.SPOOLED:
                spooled += [] if row.to_some else [row]
            elif row.kind == Kind.HANDED:
                self._behind(row)
            elif row.sender:
                self._thrown(row, row.place, is_named=True)
            else:
                for one in spooled:
                    self._thrown(one, row.place, is_named=False)
                spooled = []

    def _thrown(self, row: _Row, index: int, *, is_named: bool) -> None:
        before = [load for load in self._member.loads if load.place < index][-1:]
        loads = [*before, *[load for load in self._member.loads if load.place >= index][:1]]
        if not is_named and any(load.is_merged for load in loads):
            return  # A side of which nobody with a state is left has taken its state with it, and what followed.
        included = [entry for load in loads for entry in self._included(load, may_be=True)]
        own = any(giver == row.sender for giver, _, _ in included)  # Without self-delivery it dequeued none of its own.
        if not loads or own or not all(self._run.is_whole(giver) for giver, _, _ in included):
            return
        for number in range(row.first, row.last + 1):
            if not self._has(included, row.sender, number):
                what = f"threw away the ordered {number} of {name_of(row.sender)} for a state that does not include it"
                self._out.violation(index, f"{name_of(self._key)} {what}", row.sender, self._key)
                return

    def _behind(self, row: _Row) -> None:
        load = next((one for one in reversed(self._member.loads) if one.place < row.place and not one.is_merged), None)
        if load is None:
            return
        cut = self._member.views.get(load.view, 0)
        included = list(self._included(load, may_be=False))
        if not all(self._run.is_whole(giver) for giver, _, _ in self._included(load, may_be=True)):
            return
        for number in range(row.first, row.last + 1):
            at = self._member.dequeued_at(row.sender, number)
            if at is not None and at < cut and self._has(included, row.sender, number):
                what = f"was handed {number} of {name_of(row.sender)}, which is in the state it had loaded"
                self._out.violation(row.place, f"{name_of(self._key)} {what}", row.sender, self._key)
                return

    def _included(self, load: _Load, *, may_be: bool) -> Iterator[tuple[str, int, View]]:
        """Whose dequeued messages the state includes: behind which place of its recording, up to which view."""
        to_do, seen = [(giver, load.view) for giver in self._givers(load)], set()
        while to_do:
            giver, cut = to_do.pop()
            there = self._everybody.get(giver)
            if (giver, cut) in seen:
                continue
            seen.add((giver, cut))
            loads = [] if there is None else [one for one in there.loads if one.view[0] < cut[0]]
            since = 0
            if there is not None and loads and loads[-1].is_merged and not may_be:
                since = there.views.get(loads[-1].view, 0)
            yield giver, since, cut
            if loads:
                to_do += [(source, loads[-1].view) for source in self._givers(loads[-1])]

    def _givers(self, load: _Load) -> list[str]:
        return [load.giver, *(self._sides.get(load.view, []) if load.is_merged else [])]

    def _has(self, included: Iterable[tuple[str, int, View]], sender: str, number: int) -> bool:
        for giver, since, cut in included:
            there = self._everybody.get(giver)
            at = None if there is None else there.dequeued_at(sender, number)
            if there is not None and at is not None and since <= at < there.views.get(cut, 0):
                return True
        return False
