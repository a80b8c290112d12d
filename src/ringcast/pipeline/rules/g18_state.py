"""G18, state: what a joiner loads is a provider's state at the cut of its view, whole, and then what is behind the cut.

Kernel: views, offsets, states and what is thrown away for a state are marks; between two marks one row for each line (a
sender's multicast, or its numbers in the one order): how far it is ready (`last`) and handed over (`value`), where the
last run that was handed over begins (`first`), the first that was handed over and the lowest, the last run that went
into the spool, and the runs that are not for the application, as far as they lie above what is handed over: positions
only grow, and nobody asks about what lies below. Thrown away is a row of its own (`thrown`).
Comparison: per member a fold over marks and rows in the order of its recording; what is asked at a mark needs only the
maxima and the last values before it, and which of two events between the same marks came first is never asked, so the
rows lose nothing. Then the bytes of each state at giver and taker, and of the merged ones among those who go on
together; and who was to get a state at its first view and was handed something without one. A run may end with items
that are not for the application, so what lies behind a cut is judged by where a run begins. What a giver with
a cut recording gave is unknown. What a state includes of the one order depends on its giver: where something of it was
thrown away for a state, or handed over although it lies before the cut, it is read again (`g18_ordered.py`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules import g18_ordered
from ringcast.pipeline.rules.fact import Fact, Out, name_of
from ringcast.pipeline.rules.g05_agreed_cut import Runs, merged
from ringcast.pipeline.rules.packed import pack, unpack
from ringcast.pipeline.rules.piece import Array, Piece, grouped
from ringcast.pipeline.rules.run import NEVER, Control, Run, View, keys_of

GUARANTEE = "G18"
LINE, THROWN = "line", "thrown"
Line = tuple[str, int]  # a sender, and 1 if these are its numbers in the one order
Place = dict[Line, int]


def kernel(piece: Piece, out: Out) -> None:
    thrown = piece.where(Kind.UNREAD)
    thrown = thrown[piece.stream[thrown] == 0]
    thrown = (
        thrown[[piece.detail_of(place).get("told") == "state" for place in thrown.tolist()]] if len(thrown) else thrown
    )
    for place in thrown.tolist():
        peer, is_ordered = piece.keys[int(piece.peer[place])], int(piece.value[place] != 0)
        run = {"first": int(piece.first[place]), "last": int(piece.last[place])}
        out.fact(THROWN, index=piece.index(place), peer=peer, value=is_ordered, **run)
    is_mark = (piece.kind == Kind.VIEW) | (piece.kind == Kind.STATE)
    is_mark |= (piece.kind == Kind.OFFSET) & (piece.stream == 0)
    is_mark[thrown] = True
    marks = np.cumsum(is_mark)
    at = piece.where(Kind.DELIVER, Kind.DEQUEUE, Kind.TAKEN, Kind.HANDED, Kind.SPOOLED)
    kind, is_set = piece.kind[at], piece.value[at] != 0
    is_kept = (kind == Kind.SPOOLED) & is_set & (piece.other[at] != 0)  # no void of the spool throws it away
    at = at[(piece.stream[at] == 0) & ((kind != Kind.TAKEN) | is_set) & ~is_kept]
    nameless = int((piece.peer[at] < 0).sum())
    if nameless:
        out.lacks(f"{nameless} events of {name_of(piece.member)} lack a sender")
    at = at[piece.peer[at] >= 0]
    kind, is_set = piece.kind[at], piece.value[at] != 0
    is_told = (kind == Kind.HANDED) | (kind == Kind.SPOOLED)
    is_ordered = (kind == Kind.DEQUEUE) | (is_told & is_set)
    order, starts = grouped(is_ordered.astype(np.int8), piece.peer[at], marks[at])
    if len(order):
        _lines(piece, at[order], is_ordered[order], starts, out)


def _lines(piece: Piece, at: Array, is_ordered: Array, starts: Array, out: Out) -> None:
    """One row for each line between two marks; `starts` are its beginnings in `at`."""
    kind, first, last, number = piece.kind[at], piece.first[at], piece.last[at], np.arange(len(at))
    is_handed, is_spooled = kind == Kind.HANDED, kind == Kind.SPOOLED
    is_ready = (kind == Kind.DELIVER) | (kind == Kind.DEQUEUE)
    lengths = np.diff(np.append(starts, len(at)))
    passed = count = np.zeros(len(starts), dtype=np.int64)
    ends = [np.full(len(starts), -1)] * 4
    if is_handed.any():
        passed = np.maximum.reduceat(np.where(is_handed, last, 0), starts)
        count = np.add.reduceat(is_handed.astype(np.int64), starts)
        lowest = np.minimum.reduceat(np.where(is_handed, first, NEVER), starts)
        is_lowest = is_handed & (first == np.repeat(lowest, lengths))
        ends[:3] = (
            np.minimum.reduceat(np.where(is_handed, number, len(at)), starts),  # the first that was handed over,
            np.minimum.reduceat(np.where(is_lowest, number, len(at)), starts),  # the first of the lowest,
            np.maximum.reduceat(np.where(is_handed, number, -1), starts),  # the last,
        )
    if is_spooled.any():
        ends[3] = np.maximum.reduceat(np.where(is_spooled, number, -1), starts)  # the last that went into the spool
    ready = np.maximum.reduceat(np.where(is_ready, last, 0), starts)
    runs = _unreadable(kind, first, last, starts, passed)
    columns = (starts, ready, count, passed, *ends)
    for line, (start, upto, handed, high, begin, low, end, spool) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        told = [piece.index(at[begin]), int(first[low]), piece.index(at[low])] if handed else [0, 0, 0]
        spooled = [int(first[spool]), int(last[spool])] if spool >= 0 else [0, 0]
        out.fact(
            LINE,
            index=piece.index(at[start]),
            peer=piece.keys[int(piece.peer[at[start]])],
            stream=int(is_ordered[start]),
            first=int(first[end]) if handed else 0,
            last=upto,
            count=handed,
            value=high,
            data=pack([*told, *spooled, *(edge for run in merged(runs.get(line, [])) for edge in run)]),
        )


def _unreadable(kind: Array, first: Array, last: Array, starts: Array, passed: Array) -> dict[int, Runs]:
    """By line, the runs that are not for the application and lie above what was handed over."""
    at = np.flatnonzero(kind == Kind.TAKEN)
    line = np.searchsorted(starts, at, side="right") - 1
    above = last[at] > passed[line]
    at, line = at[above], line[above]
    if not len(at):
        return {}
    first, last = first[at], last[at]
    heads = np.flatnonzero(np.append(True, (line[1:] != line[:-1]) | (first[1:] != last[:-1] + 1)))
    tails = np.append(heads[1:], len(at)) - 1
    found: defaultdict[int, Runs] = defaultdict(list)
    for number, low, high in zip(line[heads].tolist(), first[heads].tolist(), last[tails].tolist(), strict=True):
        found[number].append((low, high))
    return found


class _Moved(NamedTuple):
    """One state between two members."""

    giver: str
    taker: str
    view: View
    purpose: str


class _Bytes(NamedTuple):
    digest: str
    nbytes: int
    place: int


@dataclass(slots=True)
class _States:
    """What all members say of states."""

    given: dict[_Moved, _Bytes] = field(default_factory=dict)
    got: dict[_Moved, _Bytes] = field(default_factory=dict)
    due: list[_Moved] = field(default_factory=list)  # who was to get a state that it joins with
    stateless: defaultdict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    merged: defaultdict[View, dict[str, _Bytes]] = field(default_factory=lambda: defaultdict(dict))
    views: defaultdict[str, list[View]] = field(default_factory=lambda: defaultdict(list))
    suspicious: dict[str, None] = field(default_factory=dict)  # whose part of the one order is to be read again

    def next_view(self, member: str, view: View) -> View | None:
        views = self.views[member]
        behind = views[views.index(view) + 1 :] if view in views else []
        return behind[0] if behind else None


@dataclass(slots=True)
class _Member:
    key: str
    out: Out
    states: _States
    ready: Place = field(default_factory=dict)
    passed: Place = field(default_factory=dict)  # up to where everything was handed over, or is part of a state
    begun: Place = field(default_factory=dict)  # where the last run that was handed over begins
    at_view: dict[View, Place] = field(default_factory=dict)
    unreadable: defaultdict[Line, Runs] = field(default_factory=lambda: defaultdict(list))
    spooled: dict[Line, tuple[int, int]] = field(default_factory=dict)
    first_handed: Place = field(default_factory=dict)  # where, before it had any state
    thrown: dict[Line, tuple[int, int]] = field(default_factory=dict)  # where the last run begins, and its index
    loaded: View | None = None
    stateless: dict[str, int] = field(default_factory=dict)  # by sender: where, before anything was loaded
    has_state: bool = False  # one that it joined with, a merged one, or its own: it founded a group

    # ---- marks

    def on_view(self, row: Control) -> None:
        if row.view is None:
            raise ValueError("a VIEW event without an id")
        self.at_view[row.view] = dict(self.ready)
        is_first = not self.states.views[self.key]
        self.has_state = self.has_state or (is_first and keys_of(row.detail.get("members")) == (self.key,))
        self.states.views[self.key].append(row.view)

    def on_offset(self, row: Control) -> None:
        if not row.peer:
            return
        line = (row.peer, 0)
        for place in (self.ready, self.passed):
            _raise(place, line, row.value)
        if row.view is not None and row.view in self.at_view:  # it stands behind its view
            self.at_view[row.view][line] = self.ready[line]

    def on_thrown(self, fact: Fact) -> None:
        if fact.peer:
            runs = {(fact.peer, fact.value): (fact.first, fact.last)}
        else:
            runs, self.spooled = self.spooled, {}
        if any(is_ordered for _, is_ordered in runs):
            self.states.suspicious[self.key] = None
        for line, (first, last) in runs.items():
            _raise(self.passed, line, last)
            self.thrown[line] = (first, fact.index)

    def on_state(self, row: Control) -> None:
        step, purpose = row.detail["step"], row.detail["purpose"]
        if row.view is None or not row.peer:
            raise ValueError("a STATE event without a view or a peer")
        if step == "cut":
            if purpose != "merge":  # the merged state is no longer that of any view
                self._judge_cut(row.view, row.index)
            if purpose == "join":
                self.states.due.append(_Moved(self.key, row.peer, row.view, purpose))
            return
        content = _Bytes(row.detail["digest"], row.value, row.index)
        if step == "given":
            self.states.given[_Moved(self.key, row.peer, row.view, purpose)] = content
            return
        self.has_state = self.has_state or step == "loaded"
        if step == "loaded" and purpose == "merge":
            self.states.merged[row.view][self.key] = content
        if row.peer != self.key:
            self.states.got[_Moved(row.peer, self.key, row.view, purpose)] = content
        if step == "loaded" and purpose == "join":
            self._judge_before(row.view)
            self.loaded = row.view

    # ---- between marks

    def on_line(self, fact: Fact) -> None:
        line = (fact.peer, fact.stream)
        first_handed, lowest, lowest_at, spool_first, spool_last, *ends = unpack(fact.data)
        if fact.last:
            _raise(self.ready, line, fact.last)
        self.unreadable[line] += zip(ends[::2], ends[1::2], strict=True)
        if spool_last:
            self.spooled[line] = (spool_first, spool_last)
        if not fact.count:
            return
        _raise(self.passed, line, fact.value)
        self.unreadable[line] = [run for run in self.unreadable[line] if run[1] > self.passed[line]]
        self.begun[line] = fact.first
        if not self.has_state:
            self.stateless[line[0]] = min(first_handed, self.stateless.get(line[0], first_handed))
            self.first_handed.setdefault(line, first_handed)
        elif self.loaded is not None and lowest <= self.at_view.get(self.loaded, {}).get(line, 0):
            if line[1]:
                self.states.suspicious[self.key] = None
                return
            sentence = f"was handed {lowest} of {name_of(line[0])}, which is in the state it had loaded"
            self._violated(lowest_at, sentence, line)

    # ---- what is asked

    def _judge_cut(self, view: View, index: int) -> None:
        self.out.examined(1)
        cut = self.at_view.get(view)
        if cut is None:
            self.out.violation(
                index, f"{name_of(self.key)} cut its state at {_name(view)}, which it never had", "", self.key
            )
            return
        for line in dict.fromkeys([*cut, *self.begun]):
            before, passed, begun = cut.get(line, 0), self.passed.get(line, 0), self.begun.get(line, 0)
            if begun > before or not _covers(merged(self.unreadable[line]), passed + 1, before):
                what = f"up to {begun if begun > before else passed} of {name_of(line[0])}"
                sentence = f"gave its state when its application had been given {what}, and the cut of {_name(view)}"
                self._violated(index, f"{sentence} is at {before}", line)

    def _judge_before(self, view: View) -> None:
        """At a joiner: nothing was handed over yet, and nothing thrown away that is behind the cut."""
        self.out.examined(1)
        for line, index in self.first_handed.items():
            sentence = f"was handed messages of {name_of(line[0])} before the state that it joined with was loaded"
            self._violated(index, sentence, line)
        cut = self.at_view.get(view, {})
        for line, (first, index) in self.thrown.items():
            if first > cut.get(line, 0):
                what = f"{first} of {name_of(line[0])} as part of its state, which was cut at {cut.get(line, 0)}"
                self._violated(index, f"threw away {what}", line)

    def _violated(self, index: int, sentence: str, line: Line) -> None:
        self.out.violation(index, f"{name_of(self.key)} {sentence}", line[0], self.key)


def _raise(place: Place, line: Line, number: int) -> None:
    place[line] = max(place.get(line, 0), number)


def _covers(runs: Runs, first: int, last: int) -> bool:
    return first > last or any(low <= first and last <= high for low, high in runs)


def _name(view: View) -> str:
    return f"{name_of(view[1])}|{view[0]}"


def compare(run: Run, out: Out) -> None:
    states = _States()
    marks = run.control_by_member(Kind.VIEW, Kind.OFFSET, Kind.STATE)
    lines, thrown = run.by_member(GUARANTEE, LINE), run.by_member(GUARANTEE, THROWN)
    for member in run:
        key = member.key
        steps: list[Control | Fact] = [*marks.get(key, []), *lines.get(key, []), *thrown.get(key, [])]
        judged = _Member(key, out, states)
        _fold(judged, sorted(steps, key=lambda step: step.index))
        if not judged.has_state:
            states.stateless[key] = judged.stateless
    for moved, got in states.got.items():
        _same_bytes(run, moved, got, states.given.get(moved), out)
    for moved in states.due:
        _was_given(states, moved, out)
    for view, loaded in states.merged.items():
        _one_state(run, states, view, loaded, out)
    out.want(g18_ordered.wanted(run, states.suspicious))


read_again, compare_again = g18_ordered.read_again, g18_ordered.compare_again


def _fold(member: _Member, steps: list[Control | Fact]) -> None:
    on_mark = {Kind.VIEW: member.on_view, Kind.OFFSET: member.on_offset, Kind.STATE: member.on_state}
    for step in steps:
        if isinstance(step, Fact):
            (member.on_line if step.what == LINE else member.on_thrown)(step)
            continue
        kind = Kind(step.kind)
        try:
            on_mark[kind](step)
        except (ValueError, TypeError, LookupError) as error:
            where = f"event {step.index} of {name_of(member.key)} ({kind.name})"
            member.out.lacks(f"{where} cannot be judged: {error}")


def _same_bytes(run: Run, moved: _Moved, got: _Bytes, given: _Bytes | None, out: Out) -> None:
    giver, taker, view = name_of(moved.giver), name_of(moved.taker), _name(moved.view)
    if given is not None:
        out.examined(1)
        if got[:2] != given[:2]:
            numbers = f"{got.nbytes} bytes ({got.digest}), it gave {given.nbytes} ({given.digest})"
            sentence = f"{taker} got another state of {giver} at {view}: {numbers}"
            out.violation(got.place, sentence, moved.giver, moved.taker)
    elif moved.giver not in run.members_by_key:
        out.lacks(f"there is no recording of {giver}")
    elif run.is_whole(moved.giver):
        sentence = f"{taker} holds a state of {view} that {giver} never gave whole"
        out.violation(got.place, sentence, moved.giver, moved.taker)
    else:
        out.lacks(f"what {giver} gave to {taker} at {view}")


def _was_given(states: _States, moved: _Moved, out: Out) -> None:
    """Its first view brought it a state: without one it is handed nothing."""
    if states.views[moved.taker][:1] != [moved.view]:
        return
    for sender, index in states.stateless.get(moved.taker, {}).items():
        without = f"without the state that {name_of(moved.giver)} was to give it at {_name(moved.view)}"
        sentence = f"{name_of(moved.taker)} was handed messages of {name_of(sender)} {without}"
        out.violation(index, sentence, moved.giver, moved.taker)


def _one_state(run: Run, states: _States, view: View, loaded: dict[str, _Bytes], out: Out) -> None:
    """Of those who went on together from the MergeView, and stayed together until they loaded, all loaded the same."""
    for first, member in combinations(loaded, 2):
        if states.next_view(first, view) != states.next_view(member, view):
            continue
        out.examined(1)
        one, other = loaded[first], loaded[member]
        stayed = _stayed(run, first, member, view, one) and _stayed(run, member, first, view, other)
        if stayed and one.digest != other.digest:
            pair = f"{name_of(member)} loaded {other.digest}, {name_of(first)} {one.digest}"
            sentence = f"behind {_name(view)} there is more than one merged state: {pair}"
            out.violation(other.place, sentence, first, member)


def _stayed(run: Run, member: str, other: str, cut: View, loaded: _Bytes) -> bool:
    """From the MergeView until it loaded, was the other one in each of its views?"""
    stays = [stay for stay in run.members_by_key[member].stays if stay.start <= loaded.place]
    views = [stay.view for stay in stays if stay.view is not None]
    cuts = [number for number, view in enumerate(views) if view.id == cut]
    return bool(cuts) and all(other in view.members for view in views[cuts[0] :])
