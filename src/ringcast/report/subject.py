"""What a report is about: the verdict, the figures, the course of the run and the events around each violation.

`Judged` is what a judge hands over, whether it was Spark, the rules in this process or the checkers; `gather` makes of
it everything that is drawn. Not a judge: nothing here decides whether a guarantee held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ringcast.checkers import Judgement, Violation
from ringcast.model import SECOND, Address, Event
from ringcast.page import Scene, shifts
from ringcast.report.axis import Knot, knots
from ringcast.report.metrics import Metrics
from ringcast.report.moments import Moment, moments_of
from ringcast.report.names import Names
from ringcast.sim import in_words

HISTORY = 20  # times as much as the live page keeps
SHOWN = 5  # violations of a guarantee that are shown with their events
AROUND = 6  # events before and behind

Row = Mapping[str, Any]
Place = tuple[str, int]  # member, index in its recording
Look = Callable[[Collection[Place]], Mapping[Place, Event]]


@dataclass(frozen=True, slots=True)
class About:
    """Where a report comes from. `recorded`: when the recordings were last written, if that is known."""

    title: str
    command: str
    sources: Sequence[str]
    made: str
    version: str
    recorded: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A run, judged and measured. `members` and `metrics` are rows of those tables, `control` the control events.

    `look` gives the events at these places of the recordings, as far as they are there.
    """

    judge: str
    judgement: Judgement
    members: Sequence[Row]
    metrics: Sequence[Row]
    control: Iterable[tuple[Address, Event]]
    look: Look


@dataclass(frozen=True, slots=True)
class Line:
    """An event near a violation."""

    t: float
    member: str
    kind: str
    words: str
    is_evidence: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A violation with the events around it; `place` is where the page can show it."""

    guarantee: str
    number: int
    sentence: str
    place: Place | None
    t: float | None
    lines: Sequence[Line] = ()

    @property
    def anchor(self) -> str:
        return f"{self.guarantee}-{self.number}"


@dataclass(frozen=True, slots=True)
class Subject:
    """Times in seconds since the run began; members by their full names, `names` says how people know them."""

    about: About
    judge: str
    judgement: Judgement
    members: Sequence[Row]
    metrics: Metrics
    names: Names
    scene: Mapping[str, Any]
    moments: Sequence[Moment]
    knots: Sequence[Knot]
    length: float
    origin: float  # where the first slot of the metrics begins
    violations: Sequence[Shown] = ()
    clocks: Sequence[str] = field(default=())

    @property
    def people(self) -> list[Row]:
        """The recordings of members, without that of the harness."""
        return [row for row in self.members if row["role"] != "harness"]


def gather(judged: Judged, about: About) -> Subject:
    """Everything that is drawn."""
    members = sorted(judged.members, key=lambda row: (row["name"], row["incarnation"]))
    clock_of = {row["member"]: row["clock"] for row in members}
    control = list(judged.control)
    clocks = sorted(set(clock_of.values()))
    added = _shifts(control, clock_of) if len(clocks) > 1 else {}
    scene = _scene(control, added)
    begin_ns = scene.begin_ns or 0
    ends_ns = {row["member"]: (row["last_ns"] or 0) + added.get(row["member"], 0) for row in members}
    length = (max([scene.now_ns, *ends_ns.values()]) - begin_ns) / SECOND
    drawn = _ended(scene.drawn(), {name: (t_ns - begin_ns) / SECOND for name, t_ns in ends_ns.items()}, length)
    metrics = Metrics.of(judged.metrics, begin_ns, added)
    names = Names(row["member"] for row in members)
    violations = _violations(judged, names, begin_ns, added)
    moments = moments_of(drawn, names, violations)
    steps = [step["t"] for merge in drawn["merges"] for step in merge["steps"]]
    return Subject(
        about,
        judged.judge,
        judged.judgement,
        members,
        metrics,
        names,
        drawn,
        moments,
        knots([*(moment.t for moment in moments), *steps], length),
        length,
        (metrics.start_ns - begin_ns) / SECOND,
        violations,
        clocks,
    )


def _shifts(control: Iterable[tuple[Address, Event]], clock_of: Mapping[str, str]) -> dict[str, int]:
    """What to add to the times of each member."""
    by_clock = shifts((clock_of.get(str(who), ""), event) for who, event in control)
    return {member: by_clock.get(clock, 0) for member, clock in clock_of.items()}


def _scene(control: Iterable[tuple[Address, Event]], added: Mapping[str, int]) -> Scene:
    moved = ((who, _moved(event, added.get(str(who), 0))) for who, event in control)
    scene = Scene(HISTORY)
    for who, event in sorted(moved, key=lambda item: item[1].t_ns):
        scene.on_event(who, event)
    return scene


def _moved(event: Event, by_ns: int) -> Event:
    return event if not by_ns else replace(event, t_ns=event.t_ns + by_ns)


def _ended(drawn: dict[str, Any], ends: Mapping[str, float], length: float) -> dict[str, Any]:
    """A member whose end was not recorded was in its last view up to its last event; a fault nobody healed lasted."""
    spans = [{**span, "to": _end(span["to"], ends.get(span["member"], length))} for span in drawn["spans"]]
    faults = [{**fault, "to": _end(fault["to"], length)} for fault in drawn["faults"]]
    return {**drawn, "spans": spans, "faults": faults}


def _end(to: float | None, otherwise: float) -> float:
    return otherwise if to is None else to


def _violations(judged: Judged, names: Names, begin_ns: int, added: Mapping[str, int]) -> list[Shown]:
    found = [
        (name, number, violation, _places(violation) if number <= SHOWN else [])
        for name, finding in judged.judgement.findings.items()
        for number, violation in enumerate(finding.violations, 1)
    ]
    wanted = {place: None for *_, places in found for spot in places for place in _around(spot)}
    events = judged.look(wanted) if wanted else {}
    shown = []
    for name, number, violation, places in found:
        seconds = {
            place: (event.t_ns + added.get(place[0], 0) - begin_ns) / SECOND
            for place in {place: None for spot in places for place in _around(spot)}
            if (event := events.get(place)) is not None
        }
        lines = [
            Line(t, names.of(place[0]), events[place].kind.name, names.within(in_words(events[place])), place in places)
            for place, t in sorted(seconds.items(), key=lambda item: (item[1], item[0]))
        ]
        t = max((seconds[place] for place in places if place in seconds), default=None)
        place = places[0] if places else next(iter(_places(violation)), None)
        shown.append(Shown(name, number, names.within(violation.sentence), place, t, lines))
    return shown


def _places(violation: Violation) -> list[Place]:
    """Where to look: the events that were named, or the one of the first member."""
    named = [(str(item.member), item.index) for item in violation.evidence[:4]]
    return named or [(str(member), violation.index) for member in violation.members[:1]]


def _around(place: Place) -> list[Place]:
    member, index = place
    return [(member, near) for near in range(max(0, index - AROUND), index + AROUND + 1)]
