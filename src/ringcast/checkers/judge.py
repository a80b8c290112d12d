"""The verdict over a run: every checker fed with every recording, and the words of the contract.

Per guarantee: violated if any violation; unjudged if nothing was examined or a needed record is missing; else held.
Overall: violated if any is; unjudged if events were dropped, a member of some view has no recording, no guarantee was
examined, or a required one did not hold; else held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ringcast.checkers.clocks import Clocks
from ringcast.checkers.contacts import CONTACT_KINDS, Contacts, noted
from ringcast.checkers.g01_fifo import FifoChecker
from ringcast.checkers.g02_bounded import BoundChecker
from ringcast.checkers.g03_purged import PurgeChecker
from ringcast.checkers.g04_views import ViewChecker
from ringcast.checkers.g05_agreed_cut import CutChecker
from ringcast.checkers.g06_separation import SeparationChecker
from ringcast.checkers.g07_suspensions_end import SuspensionChecker
from ringcast.checkers.g08_no_hearsay import HearsayChecker
from ringcast.checkers.g09_whole_merge import WholeMergeChecker
from ringcast.checkers.g10_merge_repeats_nothing import MergeResetChecker
from ringcast.checkers.g11_local_order import LocalOrderChecker
from ringcast.checkers.g12_one_order import OneOrderChecker
from ringcast.checkers.g13_causality import CausalityChecker
from ringcast.checkers.g14_liveness import LivenessChecker
from ringcast.checkers.g15_handed_over import HandedChecker
from ringcast.checkers.g16_all_destinations import DestinationChecker
from ringcast.checkers.g17_one_primary import PrimaryChecker
from ringcast.checkers.g18_state import StateChecker
from ringcast.checkers.shape import Checker, Finding, Report, joined
from ringcast.checkers.truth import Recorded, Truth, truth_of, truths
from ringcast.checkers.views import installed
from ringcast.errors import UsageError
from ringcast.model import Address, Event, Kind
from ringcast.trace import Recording, as_addresses, is_harness

_VIEW = Kind.VIEW  # looked up once, not for every event

WHOLE = "WHOLE"  # may be required like a guarantee: no recording is cut
GUARANTEES = tuple(f"G{number}" for number in range(1, 19))

CHECKERS: dict[str, Callable[[], Checker]] = {
    "G1": FifoChecker,
    "G2": BoundChecker,
    "G3": PurgeChecker,
    "G4": ViewChecker,
    "G5": CutChecker,
    "G6": SeparationChecker,
    "G7": SuspensionChecker,
    "G8": HearsayChecker,
    "G9": WholeMergeChecker,
    "G10": MergeResetChecker,
    "G11": LocalOrderChecker,
    "G12": OneOrderChecker,
    "G13": CausalityChecker,
    "G14": LivenessChecker,
    "G15": HandedChecker,
    "G16": DestinationChecker,
    "G17": PrimaryChecker,
    "G18": StateChecker,
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known about a run, guarantee by guarantee."""

    verdict: str
    findings: dict[str, Finding]
    events: int
    dropped_events: int
    reasons: list[str] = field(default_factory=list)  # why it is not `held`, or what was not exercised
    not_judged: list[str] = field(default_factory=list)  # what these recordings cannot show
    recordings: int = 0  # that could be read, also without an event

    @property
    def exit_code(self) -> int:
        return {"held": 0, "violated": 1, "unjudged": 2}[self.verdict]

    @property
    def unexercised(self) -> list[str]:
        return [name for name, finding in self.findings.items() if finding.verdict == "unjudged"]

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "guarantees": {name: _finding_json(finding) for name, finding in self.findings.items()},
            "events": self.events,
            "dropped_events": self.dropped_events,
            "reasons": self.reasons,
            "not_judged": self.not_judged,
            "recordings": self.recordings,
        }


def judge(recordings: Iterable[Recording], require: Iterable[str] = ()) -> Judgement:
    """Feed every recording to every checker, group by group, up to its first hole."""
    parts = [_Part(group) for group in _groups(list(recordings))]
    findings = {name: joined([part.findings[name] for part in parts]) for name in CHECKERS} if parts else {}
    known = [recorded for part in parts for recorded in part.known]
    absent = [member for part in parts for member in part.absent]
    events, dropped = sum(r.events for r in known), sum(r.dropped for r in known)
    truth = truths(truth_of(part.known, part.absent) for part in parts)
    return decide(findings, events, dropped, absent, require, truth, recordings=len(known))


def _groups(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """The recordings of each group. Of most runs little is read for it: it ends when all are known to be one group."""
    contacts = Contacts({recording.member: recording.header.group for recording in recordings})
    for recording in recordings:
        if contacts.is_settled(recording.member):
            continue
        for event in recording.judgeable():
            if event.kind in CONTACT_KINDS:
                noted(contacts, recording.member, event.kind, event.peer, event.detail)
                if contacts.is_settled(recording.member):
                    break
    parts = [dict.fromkeys(part) for part in contacts.parts()]
    return [[recording for recording in recordings if recording.member in part] for part in parts]


class _Part:
    """One group, examined."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        bench = _Bench([make() for make in CHECKERS.values()])
        members: dict[Address, None] = {}
        self.known: list[Recorded] = []
        clocks = _clocks(recordings)
        for recording in recordings:
            clock = clocks[recording.member]
            recorded = Recorded(recording.member, clock, recording.closed, recording.dropped)
            recorded.is_harness = is_harness(recording.member)
            member = recording.member
            for index, event in enumerate(recording.judgeable()):
                if not index and clock != recording.header.clock:
                    event = replace(event, detail={**(event.detail or {}), "clock": clock})
                bench.on_event(member, index, event)
                recorded.events, recorded.last_ns = index + 1, event.t_ns
                if event.kind is _VIEW:
                    _note_view(recorded, members, event)
            recorded.closed = recording.closed  # a damaged block is found while reading
            recorded.dropped = recording.dropped
            self.known.append(recorded)
        closed = {recording.member: recording.is_whole for recording in recordings}
        self.findings = bench.finish(closed)
        self.absent = [member for member in members if member not in closed]


def _clocks(recordings: Sequence[Recording]) -> dict[Address, str]:
    """The clock of each member, as far as its messages and roll calls do not say otherwise."""
    clocks = Clocks({recording.member: recording.header.clock for recording in recordings})
    for recording in recordings if clocks.is_needed else ():
        member, view = recording.member, None
        for event in recording.judgeable():
            if event.kind is _VIEW and event.view is not None:
                view = event.view
                members = as_addresses((event.detail or {}).get("members"))
                clocks.on_view(member, view.creator, members, event.t_ns)
            elif event.kind is Kind.ROLL_CALL:
                clocks.on_roll_call(member, event.detail or {}, event.t_ns)
            elif event.kind is Kind.SEND and not event.stream:
                clocks.sent(member, view, event.t_ns)
            elif event.kind is Kind.DELIVER and not event.stream and event.peer is not None:
                clocks.delivered(member, event.peer, view, event.t_ns)
    return clocks.names()


def decide(
    findings: dict[str, Finding],
    events: int,
    dropped: int,
    absent: Sequence[object],
    require: Iterable[str] = (),
    truth: Truth | None = None,
    *,
    recordings: int = 0,
) -> Judgement:
    """The overall verdict from the findings; used by everyone who judges, so that the words mean one thing."""
    truth = truth or Truth()
    findings = {name: findings.get(name) or Report(name).finding() for name in GUARANTEES}
    for finding in findings.values():
        if finding.examined:
            finding.missing.extend(truth.missing)
    required = parse_require(require)
    doubts = [*truth.missing, *_doubts(findings, dropped, absent, required)]
    if WHOLE in required:
        doubts += [f"{sentence}, and whole recordings are required" for sentence in truth.cut]
    if "G13" in required and truth.clocks > 1:
        doubts.append("G13 is required, and members are on different clocks: its part by real time was not judged")
    if any(finding.violation_count for finding in findings.values()):
        verdict = "violated"
        reasons = [v.sentence for finding in findings.values() for v in finding.violations[:1]]
    else:
        verdict = "unjudged" if doubts else "held"
        reasons = doubts or _quiet(findings)
    concerned = ", ".join(name for name, finding in findings.items() if finding.examined)
    lost = [f"{sentence} ({concerned})" if concerned else sentence for sentence in truth.lost]
    return Judgement(verdict, findings, events, dropped, reasons, [*lost, *truth.not_judged], recordings)


def parse_require(require: Iterable[str]) -> list[str]:
    """Names of guarantees (or `whole`), also as comma-separated lists; UsageError names one that does not exist."""
    names = [name.strip().upper() for part in require for name in part.split(",") if name.strip()]
    for name in names:
        if name not in (*GUARANTEES, WHOLE):
            raise UsageError(f"unknown guarantee {name!r}: there are G1 to G18, and `whole` for whole recordings")
    return names


def _doubts(findings: dict[str, Finding], dropped: int, absent: Sequence[object], required: Sequence[str]) -> list[str]:
    doubts = []
    if dropped:
        doubts.append(f"{dropped} events were dropped while recording")
    if absent:
        doubts.append(f"no recording of {', '.join(map(str, absent[:10]))}, a member of a view")
    if not any(finding.examined for finding in findings.values()):
        doubts.append("no guarantee was examined")
    for name in required:
        if name != WHOLE and findings[name].verdict == "unjudged":
            why = findings[name].missing[0] if findings[name].missing else "nothing was examined"
            doubts.append(f"{name} is required and unjudged: {why}")
    return doubts


def _quiet(findings: dict[str, Finding]) -> list[str]:
    names = [name for name, finding in findings.items() if finding.verdict == "unjudged"]
    return [f"not exercised: {', '.join(names)}"] if names else []


class _Bench:
    """Routes each event to the checkers that want its kind."""

    def __init__(self, checkers: Sequence[Checker]) -> None:
        self._checkers = checkers
        self._by_kind = {kind: [(c.guarantee, c.on_event) for c in checkers if kind in c.kinds] for kind in Kind}
        self._faults: dict[str, Report] = {c.guarantee: Report(c.guarantee) for c in checkers}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        for guarantee, on_event in self._by_kind[event.kind]:
            try:
                on_event(member, index, event)
            except (ValueError, TypeError, LookupError) as error:
                why = f"event {index} of {member} ({event.kind.name}) cannot be judged: {error}"
                self._faults[guarantee].lacks(why)

    def finish(self, closed: dict[Address, bool]) -> dict[str, Finding]:
        findings = {}
        for checker in self._checkers:
            finding = checker.finish(closed)
            finding.missing.extend(self._faults[checker.guarantee].finding().missing)
            findings[checker.guarantee] = finding
        return findings


def _note_view(recorded: Recorded, members: dict[Address, None], event: Event) -> None:
    """Whoever was a member of some recorded view, in the order of first sight."""
    try:
        view = installed(event)
    except (ValueError, TypeError, LookupError):
        return
    members.update(dict.fromkeys(view.members))
    recorded.views[view.id] = view.members


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "verdict": finding.verdict,
        "examined": finding.examined,
        "violations": finding.violation_count,
        "evidence": [violation.to_json() for violation in finding.violations],
        "missing": finding.missing,
    }
