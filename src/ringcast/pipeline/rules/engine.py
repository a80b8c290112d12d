"""All rules over the segments of a run: kernels, comparisons, what is read again, and the verdict.

    segment ──kernels──► facts ──comparisons──► results, and ranges to be read again ──the same kernels──► results

A rule is a module with GUARANTEE and some of: `kernel(piece, out)` over one segment; `compare(run, out)` over all facts
of a run; `read_again(piece, wanted, out)` and `compare_again(run, out)` for the ranges that a comparison wanted to see
message by message. `facts_of` and `facts_again` are what a task runs on one segment, `Comparison` what runs on the
facts of one run; `judge` does all of it in this process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from ringcast.checkers import (
    CONTACT_KINDS,
    GUARANTEES,
    Contacts,
    Evidence,
    Finding,
    Judgement,
    Recorded,
    Violation,
    decide,
    describe,
    noted,
    truth_of,
    truths,
)
from ringcast.model import Event, Kind, ViewId
from ringcast.pipeline.rules import (
    control,
    g01_fifo,
    g02_bounded,
    g03_purged,
    g04_views,
    g05_agreed_cut,
    g06_separation,
    g07_suspensions_end,
    g08_no_hearsay,
    g09_whole_merge,
    g10_merge_repeats_nothing,
    g11_local_order,
    g12_one_order,
    g13_by_messages,
    g13_causality,
    g14_liveness,
    g15_handed_over,
    g16_all_destinations,
    g16_private_messages,
    g17_one_primary,
    g18_state,
)
from ringcast.pipeline.rules.fact import (
    EXAMINED,
    HIDDEN,
    KEPT_VIOLATIONS,
    LACKS,
    VIOLATION,
    Fact,
    Out,
    Wanted,
    address_of,
)
from ringcast.pipeline.rules.piece import Piece
from ringcast.pipeline.rules.run import Member, Run
from ringcast.pipeline.segment import Segment

RULES: tuple[ModuleType, ...] = (
    g01_fifo,
    g02_bounded,
    g03_purged,
    g04_views,
    g05_agreed_cut,
    g06_separation,
    g07_suspensions_end,
    g08_no_hearsay,
    g09_whole_merge,
    g10_merge_repeats_nothing,
    g11_local_order,
    g12_one_order,
    g13_causality,
    g13_by_messages,
    g14_liveness,
    g15_handed_over,
    g16_all_destinations,
    g16_private_messages,
    g17_one_primary,
    g18_state,
)
AROUND = 2  # events shown on each side of a violation
EVENT = "event"
_SEEN = ""  # the rule of what the engine wants to see: events around violations


def facts_of(segment: Segment, rules: Sequence[ModuleType] = RULES) -> list[Fact]:
    """What the kernels find in one segment."""
    piece = Piece(segment)
    rows = [control.segment_fact(piece, segment), *control.kernel(piece)]
    for rule in rules:
        rows += _run(rule, "kernel", Out(rule.GUARANTEE, piece.member, piece.number), piece)
    return rows


def _run(rule: ModuleType, name: str, out: Out, *arguments: Any) -> list[Fact]:
    """One half of one rule. A record that lacks what its kind must carry leaves the guarantee unjudged, not the run."""
    half: Callable[..., None] | None = getattr(rule, name, None)
    if half is None:
        return []
    try:
        half(*arguments, out)
    except (ValueError, TypeError, LookupError) as error:
        out.lacks(f"a record cannot be judged: {type(error).__name__}: {error}")
    return out.done()


def facts_again(segment: Segment, wanted: Sequence[Wanted], rules: Sequence[ModuleType] = RULES) -> list[Fact]:
    """What is wanted of this segment, message by message."""
    piece = Piece(segment)
    end = piece.first_index + len(piece)
    mine = [w for w in wanted if w.member == piece.member and w.first_index < end and w.end_index > piece.first_index]
    by_rule: defaultdict[str, list[Wanted]] = defaultdict(list)
    for want in mine:
        by_rule[want.rule].append(want)
    rows = _events(piece, by_rule.pop(_SEEN, []))
    for rule in rules:
        if rule.GUARANTEE in by_rule:
            out = Out(rule.GUARANTEE, piece.member, piece.number)
            rows += _run(rule, "read_again", out, piece, by_rule[rule.GUARANTEE])
    return rows


def _events(piece: Piece, wanted: Sequence[Wanted]) -> list[Fact]:
    places: set[int] = set()
    for want in wanted:
        first, end = want.first_index - piece.first_index, want.end_index - piece.first_index
        places.update(range(max(0, first), min(len(piece), end)))
    return [
        Fact(_SEEN, EVENT, piece.member, piece.number, index=piece.index(place), text=describe(_event(piece, place)))
        for place in sorted(places)
    ]


def _event(piece: Piece, place: int) -> Event:
    peer = piece.keys[int(piece.peer[place])]
    return Event(
        Kind(int(piece.kind[place])),
        int(piece.t_ns[place]),
        piece.view_of(place),
        address_of(peer) if peer else None,
        int(piece.stream[place]),
        int(piece.first[place]),
        int(piece.count[place]),
        int(piece.ordinal[place]),
        int(piece.value[place]),
        int(piece.other[place]),
        piece.detail_of(place) or None,
    )


class Comparison:
    """The rules over the facts of one run; `wanted` is what is to be read again before `judgement` is final."""

    def __init__(self, facts: Iterable[Fact], rules: Sequence[ModuleType] = RULES) -> None:
        self.rules = rules
        self.runs = [Run(part) for part in _by_group(facts)]
        self._results: list[Fact] = []
        self.wanted: list[Wanted] = []
        for run in self.runs:
            self._results += [fact for fact in run.facts if fact.what in (VIOLATION, EXAMINED, LACKS, HIDDEN)]
            for rule in rules:
                out = Out(rule.GUARANTEE)
                self._results += _run(rule, "compare", out, run)
                self.wanted += out.wanted
        self.wanted += self._evidence_wanted(self._results)

    @staticmethod
    def _evidence_wanted(results: Iterable[Fact]) -> list[Wanted]:
        places = {(f.member, f.index) for f in results if f.what == VIOLATION and f.index >= 0}
        return [Wanted(_SEEN, member, index - AROUND, index + AROUND + 1) for member, index in sorted(places)]

    def again(self, facts: Iterable[Fact]) -> list[Wanted]:
        """Judge what was read again; returns the places of events to be shown beside what that found."""
        facts = list(facts)
        self._results += [fact for fact in facts if fact.what in (EVENT, LACKS)]
        found: list[Fact] = []
        for run in self.runs:
            run.add(fact for fact in facts if fact.member in run.members_by_key)
            for rule in self.rules:
                found += _run(rule, "compare_again", Out(rule.GUARANTEE), run)
        self._results += found
        return self._evidence_wanted(found)

    def show(self, facts: Iterable[Fact]) -> list[Wanted]:
        """Events to be shown beside violations; nothing more is wanted then."""
        self._results += [fact for fact in facts if fact.what == EVENT]
        return []

    def findings(self) -> dict[str, Finding]:
        return findings_of(self._results)

    def judgement(self, require: Iterable[str] = ()) -> Judgement:
        members = [member for run in self.runs for member in run]
        absent = [address_of(key) for run in self.runs for key in run.absent]
        events, dropped = sum(m.events for m in members), sum(m.dropped for m in members)
        truth = truths(truth_of(map(_recorded, run), [address_of(key) for key in run.absent]) for run in self.runs)
        return decide(self.findings(), events, dropped, absent, require, truth, recordings=len(members))


def _recorded(member: Member) -> Recorded:
    views = {
        ViewId(stay.view.id[0], address_of(stay.view.id[1])): tuple(map(address_of, stay.view.members))
        for stay in member.stays
        if stay.view is not None
    }
    return Recorded(
        member.address,
        member.clock,
        member.closed,
        member.dropped,
        member.events,
        member.last_ns,
        views,
        member.is_harness,
    )


def _by_group(facts: Iterable[Fact]) -> list[list[Fact]]:
    """The facts of each group: members that never had to do with each other are judged apart, also under one name."""
    facts = list(facts)
    groups = {f.member: control.group_of(f) for f in facts if not f.rule and f.what == "segment"}
    addresses = {key: address_of(key) for key in groups}
    contacts = Contacts({address: groups[key] for key, address in addresses.items()})
    for fact in facts:
        if not fact.rule and fact.what == "control" and not contacts.is_settled(addresses[fact.member]):
            kind, detail = control.kind_and_detail(fact)
            if kind in CONTACT_KINDS:
                noted(contacts, addresses[fact.member], kind, address_of(fact.peer) if fact.peer else None, detail)
    parts = contacts.parts()
    number = {address: at for at, part in enumerate(parts) for address in part}
    found: list[list[Fact]] = [[] for _ in parts]
    for fact in facts:
        if fact.member in addresses:
            found[number[addresses[fact.member]]].append(fact)
    return found


def judge(segments: Sequence[Segment], require: Iterable[str] = (), rules: Sequence[ModuleType] = RULES) -> Judgement:
    """The verdict over the segments of one run, in this process."""
    comparison = Comparison((fact for segment in segments for fact in facts_of(segment, rules)), rules)
    wanted = comparison.wanted
    if wanted:
        wanted = comparison.again(fact for segment in segments for fact in facts_again(segment, wanted, rules))
    if wanted:
        comparison.show(fact for segment in segments for fact in facts_again(segment, wanted, rules))
    return comparison.judgement(require)


def findings_of(rows: Iterable[Fact]) -> dict[str, Finding]:
    """Result rows, however many tasks they come from, as findings."""
    examined: defaultdict[str, int] = defaultdict(int)
    hidden: defaultdict[str, int] = defaultdict(int)
    violations: defaultdict[str, dict[tuple[str, int, str], Fact]] = defaultdict(dict)
    lacks: defaultdict[str, dict[str, None]] = defaultdict(dict)
    events: dict[tuple[str, int], str] = {}
    for row in rows:
        if row.what == EXAMINED:
            examined[row.rule] += row.value
        elif row.what == HIDDEN:
            hidden[row.rule] += row.value
        elif row.what == LACKS:
            lacks[row.rule][row.text] = None
        elif row.what == VIOLATION:
            violations[row.rule].setdefault((row.member, row.index, row.text), row)
        elif row.what == EVENT:
            events[row.member, row.index] = row.text
    return {
        name: Finding(
            name,
            examined[name],
            [_violation(row, events) for row in sorted(violations[name].values(), key=_order)[:KEPT_VIOLATIONS]],
            len(violations[name]) + hidden[name],
            list(lacks[name])[:10],
        )
        for name in GUARANTEES
    }


def _order(row: Fact) -> tuple[Any, ...]:
    return address_of(row.member), row.index, row.text


def _violation(row: Fact, events: Mapping[tuple[str, int], str]) -> Violation:
    members = tuple(address_of(key) for key in (row.member, row.peer) if key)
    around = range(row.index - AROUND, row.index + AROUND + 1)
    evidence = tuple(
        Evidence(members[0], index, events[row.member, index]) for index in around if (row.member, index) in events
    )
    return Violation(row.rule, members, max(0, row.index), row.text, evidence)
