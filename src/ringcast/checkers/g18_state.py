"""G18, state: what a joiner loads is a provider's state at the cut of its view, whole, and then what is behind the cut.

At a giver: when `get_state` was called, its application had been given everything before the view of the cut and
nothing behind it. Between giver and receiver: the bytes are the same. At a joiner: nothing was handed over that is part
of the state, nothing thrown away that is not, and nothing handed over without a state if one was to be given to it at
its first view. After a merge whose states become one, members that go on together loaded the same bytes.
Messages are counted per sender, those of the one order by their own numbers. Of the one order a state includes what its
giver had dequeued before the cut, and what the states that the giver had loaded itself include: nothing else may be
thrown away for it, and nothing of it handed over behind it. A run may end with items that are not for
the application (they may stand behind the cut), so what lies behind a cut is judged by where a run begins. What a giver
with a cut recording gave is unknown. Who had parted before it loaded the merged state may have another one, also if it
is together with the others again: those who are left make it anew. Needs STATE, and HANDED, UNREAD and
SPOOLED for the messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from ringcast.checkers.runs import Runs
from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import as_addresses, detail_of

Line = tuple[Address, bool]  # a sender, and whether these are its numbers in the one order
Place = dict[Line, int]


class _Moved(NamedTuple):
    """One state between two members, as one of them saw it."""

    giver: Address
    taker: Address
    view: ViewId
    purpose: str


@dataclass(slots=True)
class _Bytes:
    digest: str
    nbytes: int
    evidence: Evidence
    company: tuple[Address, ...] = ()  # with whom the member was from the view of the cut until now


@dataclass(slots=True)
class _Loaded:
    """A state that a member loaded."""

    view: ViewId
    evidence: Evidence
    giver: Address
    is_merged: bool = False


@dataclass(frozen=True, slots=True)
class _Ordered:
    """A run of the one order that was thrown away for a state, or handed over behind one."""

    sender: Address
    first: int
    last: int
    evidence: Evidence
    loads: int  # how many states the member had loaded before
    is_named: bool = True  # not thrown away with all of the spool


@dataclass(slots=True)
class _Member:
    ready: Place = field(default_factory=dict)  # delivered or dequeued, or where a window begins
    at_view: dict[ViewId, Place] = field(default_factory=dict)
    views: list[ViewId] = field(default_factory=list)
    companies: list[tuple[Address, ...]] = field(default_factory=list)  # the members of each
    passed: Place = field(default_factory=dict)  # up to where everything was handed over, or is part of a state
    begun: Place = field(default_factory=dict)  # where the last run that was handed over begins
    unreadable: dict[Line, Runs] = field(default_factory=dict)  # not for the application
    spooled: dict[Line, tuple[int, int]] = field(default_factory=dict)  # where the last run begins and ends
    first_handed: dict[Line, Evidence] = field(default_factory=dict)  # before it had any state
    stateless: dict[Address, Evidence] = field(default_factory=dict)  # by sender, before anything was loaded
    void: dict[Line, tuple[int, Evidence]] = field(default_factory=dict)  # the last run thrown away for a state
    loaded: _Loaded | None = None
    loads: list[_Loaded] = field(default_factory=list)
    dequeued: dict[Address, Runs] = field(default_factory=dict)
    spooled_ordered: dict[Address, Runs] = field(default_factory=dict)  # those to the whole view
    thrown: list[_Ordered] = field(default_factory=list)
    behind: list[_Ordered] = field(default_factory=list)  # handed over although its number lies before the cut
    has_state: bool = False  # one that it joined with, a merged one, or its own: it founded a group

    def company_since(self, cut: ViewId) -> tuple[Address, ...]:
        """Who was in every view from this one on."""
        first, *later = self.companies[self.views.index(cut) :] if cut in self.views else [()]
        return tuple(who for who in first if all(who in members for members in later))


class StateChecker:
    guarantee = "G18"
    kinds = (
        Kind.VIEW,
        Kind.OFFSET,
        Kind.DELIVER,
        Kind.DEQUEUE,
        Kind.TAKEN,
        Kind.HANDED,
        Kind.UNREAD,
        Kind.SPOOLED,
        Kind.STATE,
    )

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._given: dict[_Moved, _Bytes] = {}
        self._got: dict[_Moved, _Bytes] = {}
        self._due: list[_Moved] = []  # who was to get a state that it joins with
        self._merged: defaultdict[ViewId, dict[Address, _Bytes]] = defaultdict(dict)  # loaded behind this MergeView
        self._on = {
            Kind.VIEW: self._on_view,
            Kind.OFFSET: self._on_offset,
            Kind.DELIVER: self._on_ready,
            Kind.DEQUEUE: self._on_ready,
            Kind.TAKEN: self._on_taken,
            Kind.HANDED: self._on_handed,
            Kind.UNREAD: self._on_unread,
            Kind.SPOOLED: self._on_spooled,
            Kind.STATE: self._on_state,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        self._on[event.kind](member, index, event, state)

    # ---- how far everything has come

    def _on_view(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.view is None:
            raise ValueError("a VIEW event without an id")
        state.at_view[event.view] = dict(state.ready)
        state.companies.append(as_addresses(detail_of(event.detail).get("members")))
        state.has_state = state.has_state or state.companies == [(member,)]
        state.views.append(event.view)

    def _on_offset(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is None or event.stream:
            return
        line = (event.peer, False)
        state.ready[line] = max(state.ready.get(line, 0), event.value)
        state.passed[line] = max(state.passed.get(line, 0), event.value)
        if event.view in state.at_view:  # It stands behind its view.
            state.at_view[event.view][line] = state.ready[line]

    def _on_ready(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream == 0:
            _raise(state.ready, _line(event, event.kind is Kind.DEQUEUE), event)
        if event.kind is Kind.DEQUEUE and event.peer is not None:
            state.dequeued.setdefault(event.peer, Runs()).add(event.first, event.first + event.count - 1)

    def _on_taken(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream == 0 and event.value:  # Nothing in it is for the application.
            runs = state.unreadable.setdefault(_line(event, False), Runs())
            runs.add(event.first, event.first + event.count - 1)

    # ---- what the application got

    def _on_handed(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream:
            return
        line = _line(event, bool(event.value))
        _raise(state.passed, line, event)
        state.begun[line] = event.first
        here = Evidence.of(member, index, event)
        if not state.has_state:
            state.stateless.setdefault(line[0], here)
            state.first_handed.setdefault(line, here)
        elif state.loaded is not None and event.first <= (cut := self._cut_of(state, state.loaded.view).get(line, 0)):
            if line[1]:  # It may have gone to others than the giver.
                last = min(cut, event.first + event.count - 1)
                state.behind.append(_Ordered(line[0], event.first, last, here, len(state.loads)))
                return
            sentence = f"{member} was handed {event.first} of {line[0]}, which is in the state it had loaded"
            self._report.violated((member, line[0]), index, sentence, state.loaded.evidence, here)

    def _on_spooled(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream or (event.value and event.other):
            return
        line, last = _line(event, bool(event.value)), event.first + event.count - 1
        state.spooled[line] = (event.first, last)
        if event.value:
            state.spooled_ordered.setdefault(line[0], Runs()).add(event.first, last)

    def _on_unread(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream or detail_of(event.detail).get("told") != "state":
            return
        here = Evidence.of(member, index, event)
        if event.peer is None:  # All of the spool.
            voided, state.spooled = state.spooled, {}
            ordered, state.spooled_ordered = state.spooled_ordered, {}
            thrown = [(sender, *run) for sender, runs in ordered.items() for run in runs.pairs()]
        else:
            voided = {_line(event, bool(event.value)): (event.first, event.first + event.count - 1)}
            thrown = [(event.peer, event.first, event.first + event.count - 1)] if event.value else []
        is_named = event.peer is not None
        state.thrown += [_Ordered(*run, here, len(state.loads), is_named) for run in thrown]
        for line, (first, last) in voided.items():
            state.passed[line] = max(state.passed.get(line, 0), last)
            state.void[line] = (first, here)

    # ---- states

    def _on_state(self, member: Address, index: int, event: Event, state: _Member) -> None:
        detail = detail_of(event.detail)
        step, purpose = detail["step"], detail["purpose"]
        if event.view is None or event.peer is None:
            raise ValueError("a STATE event without a view or a peer")
        here = Evidence.of(member, index, event)
        if step == "cut":
            if purpose != "merge":  # The merged state is no longer that of any view.
                self._check_cut(member, event.view, state, here)
            if purpose == "join":
                self._due.append(_Moved(member, event.peer, event.view, purpose))
            return
        content = _Bytes(detail["digest"], event.value, here, state.company_since(event.view))
        if step == "given":
            self._given[_Moved(member, event.peer, event.view, purpose)] = content
            return
        state.has_state = state.has_state or step == "loaded"
        if step == "loaded" and purpose == "merge":
            self._merged[event.view][member] = content
        if event.peer != member:
            self._got[_Moved(event.peer, member, event.view, purpose)] = content
        if step == "loaded":
            loaded = _Loaded(event.view, here, event.peer, purpose == "merge")
            state.loads.append(loaded)
            state.spooled_ordered = {}
            if purpose == "join":
                self._check_before(member, event.view, state, here)
                state.loaded = loaded

    def _cut_of(self, state: _Member, view: ViewId) -> Place:
        return state.at_view.get(view, {})

    def _check_cut(self, member: Address, view: ViewId, state: _Member, here: Evidence) -> None:
        self._report.examined += 1
        if view not in state.at_view:
            self._report.violated((member,), here.index, f"{member} cut its state at {view}, which it never had", here)
            return
        cut = self._cut_of(state, view)
        for line in dict.fromkeys([*cut, *state.begun]):
            before, passed, begun = cut.get(line, 0), state.passed.get(line, 0), state.begun.get(line, 0)
            unread = state.unreadable.get(line, Runs()).first_missing(passed + 1, before) if passed < before else None
            if begun > before or unread is not None:
                what = f"up to {begun if begun > before else passed} of {line[0]}, and the cut of {view} is at {before}"
                sentence = f"{member} gave its state when its application had been given {what}"
                self._report.violated((member, line[0]), here.index, sentence, here)

    def _check_before(self, member: Address, view: ViewId, state: _Member, here: Evidence) -> None:
        """At a joiner: nothing was handed over yet, and nothing thrown away that is behind the cut."""
        self._report.examined += 1
        for line, handed in state.first_handed.items():
            sentence = f"{member} was handed messages of {line[0]} before the state that it joined with was loaded"
            self._report.violated((member, line[0]), handed.index, sentence, handed, here)
        cut = self._cut_of(state, view)
        for line, (first, thrown) in state.void.items():
            if first > cut.get(line, 0):
                what = f"{first} of {line[0]} as part of its state, which was cut at {cut.get(line, 0)}"
                self._report.violated((member, line[0]), thrown.index, f"{member} threw away {what}", thrown, here)

    # ---- the end

    def finish(self, closed: Closed) -> Finding:
        for moved, got in self._got.items():
            self._compare(moved, got, closed)
        for moved in self._due:
            self._check_due(moved)
        for cut, loaded in self._merged.items():
            self._compare_merged(cut, loaded)
        for member, state in self._members.items():
            self._check_ordered(member, state, closed)
        return self._report.finding()

    def _compare(self, moved: _Moved, got: _Bytes, closed: Closed) -> None:
        given = self._given.get(moved)
        if given is None:
            if moved.giver not in closed:
                self._report.lacks_recording_of(moved.giver)
            elif closed[moved.giver]:
                sentence = f"{moved.taker} holds a state of {moved.view} that {moved.giver} never gave whole"
                self._violated(moved, got, sentence)
            else:
                self._report.lacks(f"what {moved.giver} gave to {moved.taker} at {moved.view}")
            return
        self._report.examined += 1
        if (given.digest, given.nbytes) != (got.digest, got.nbytes):
            numbers = f"{got.nbytes} bytes ({got.digest}), it gave {given.nbytes} ({given.digest})"
            self._violated(moved, got, f"{moved.taker} got another state of {moved.giver} at {moved.view}: {numbers}")

    def _check_due(self, moved: _Moved) -> None:
        """Its first view brought it a state: without one it is handed nothing."""
        joiner = self._members.get(moved.taker)
        if joiner is None or joiner.has_state or joiner.views[:1] != [moved.view]:
            return
        for sender, handed in joiner.stateless.items():
            without = f"without the state that {moved.giver} was to give it at {moved.view}"
            sentence = f"{moved.taker} was handed messages of {sender} {without}"
            self._report.violated((moved.taker, moved.giver), handed.index, sentence, handed)

    # ---- the one order

    def _check_ordered(self, member: Address, state: _Member, closed: Closed) -> None:
        for run in state.thrown:
            loads = state.loads[max(0, run.loads - 1) : run.loads + 1]  # the state before it, or the one to come
            if not loads or not all(self._is_known(load, closed) for load in loads):
                continue
            if not run.is_named and any(load.is_merged for load in loads):
                continue  # A side of which nobody with a state is left has taken its state with it, and what followed.
            included = [entry for load in loads for entry in self._included(load, may_be=True)]
            if any(who == run.sender for who, _, _ in included):
                continue  # Without self-delivery a giver has what it sent itself, and dequeued none of it.
            missing = next((n for n in range(run.first, run.last + 1) if not self._has(included, run.sender, n)), None)
            if missing is not None:
                sentence = (
                    f"{member} threw away the ordered {missing} of {run.sender} for a state that does not include it"
                )
                self._report.violated((member, run.sender), run.evidence.index, sentence, run.evidence)
        for run in state.behind:
            load = state.loads[run.loads - 1]
            if self._is_known(load, closed):
                included = list(self._included(load, may_be=False))
                found = next((n for n in range(run.first, run.last + 1) if self._has(included, run.sender, n)), None)
                if found is not None:
                    sentence = f"{member} was handed {found} of {run.sender}, which is in the state it had loaded"
                    self._report.violated(
                        (member, run.sender), run.evidence.index, sentence, load.evidence, run.evidence
                    )

    def _is_known(self, load: _Loaded, closed: Closed) -> bool:
        return all(who in closed and closed[who] for who, _, _ in self._included(load, may_be=True))

    def _included(self, load: _Loaded, *, may_be: bool) -> Iterator[tuple[Address, ViewId | None, ViewId]]:
        """Whose dequeued messages this state includes: from which view on, up to which cut."""
        to_do, seen = [(giver, load.view) for giver in self._givers(load)], set()
        while to_do:
            giver, cut = to_do.pop()
            if (giver, cut) in seen:
                continue
            seen.add((giver, cut))
            there = self._members.get(giver)
            before = (
                None if there is None else next((x for x in reversed(there.loads) if x.view.number < cut.number), None)
            )
            # What a member had read before a MergeView may be no part of the merged state.
            yield giver, None if may_be or before is None or not before.is_merged else before.view, cut
            if before is not None:
                to_do += [(source, before.view) for source in self._givers(before)]

    def _givers(self, load: _Loaded) -> list[Address]:
        if not load.is_merged:
            return [load.giver]
        sides = [moved.giver for moved in self._given if moved.view == load.view and moved.purpose == "side"]
        return list(dict.fromkeys([load.giver, *sides]))

    def _has(self, included: Iterable[tuple[Address, ViewId | None, ViewId]], sender: Address, number: int) -> bool:
        for giver, since, cut in included:
            there = self._members.get(giver)
            if there is None or cut not in there.at_view:
                continue
            after = 0 if since is None else there.at_view.get(since, {}).get((sender, True), 0)
            inside = after < number <= there.at_view[cut].get((sender, True), 0)
            if inside and there.dequeued.get(sender, Runs()).within(number, number):
                return True
        return False

    def _violated(self, moved: _Moved, got: _Bytes, sentence: str) -> None:
        self._report.violated((moved.taker, moved.giver), got.evidence.index, sentence, got.evidence)

    def _compare_merged(self, cut: ViewId, loaded: dict[Address, _Bytes]) -> None:
        """Among those who went on together from the MergeView, and stayed together until they loaded it."""
        for (first, one), (member, other) in combinations(loaded.items(), 2):
            if self._next_view(first, cut) != self._next_view(member, cut):
                continue
            self._report.examined += 1
            if other.digest != one.digest and first in other.company and member in one.company:
                pair = f"{member} loaded {other.digest}, {first} {one.digest}"
                sentence = f"behind {cut} there is more than one merged state: {pair}"
                self._report.violated((member, first), other.evidence.index, sentence, other.evidence)

    def _next_view(self, member: Address, cut: ViewId) -> ViewId | None:
        views = self._members[member].views
        behind = views[views.index(cut) + 1 :] if cut in views else []
        return behind[0] if behind else None


def _line(event: Event, is_ordered: bool) -> Line:
    if event.peer is None:
        raise ValueError(f"a {event.kind.name} event without a sender")
    return event.peer, is_ordered


def _raise(place: Place, line: Line, event: Event) -> None:
    place[line] = max(place.get(line, 0), event.first + event.count - 1)
