"""One seed: options are drawn, a safety phase runs under faults, everything heals, a liveness phase follows, a verdict.

What went wrong is told in sentences, each with the word for what failed in front: a guarantee (G1…G18, by its checker);
`check`, an invariant broke or something raised; `contents`, an application read what was not sent, or not all of it;
`state`, an application got or has a state that cannot be true, or none without a true reason;
`liveness`, something waits although nothing is wrong; `lost`, a sender broke its promise; `storm`, too many repairs;
`views`, views without a cause.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringcast.checkers import judge
from ringcast.core import Channel
from ringcast.model import MS, SECOND, Kind, ViewId
from ringcast.sim.cluster import Cluster
from ringcast.sim.drawn import Drawn, drawn_by
from ringcast.sim.judging import count_of_views, most_views, storms, strange_contents, where_refused
from ringcast.sim.options import Options
from ringcast.sim.stateful import StatefulWorkload
from ringcast.sim.verdict import Broke
from ringcast.sim.workload import Workload

STABLE_NS = 1 * SECOND  # so long nothing may wait and no view may change before the liveness phase counts as over
ENOUGH = 600  # deliveries, of which faults that still hold their effect may take some
MORE_NS = 7 * SECOND
LEAST = 500  # deliveries that every run has
_LAST_NS = 3 * SECOND
_LOAD_AFTER_HEAL_NS = 1 * SECOND
_LOOK_EVERY_NS = 50 * MS


@dataclass(slots=True)
class Outcome:
    """What one run showed; small, because thousands travel between processes."""

    seed: int
    members: int
    simulated_ns: int = 0
    safety_ns: int = 0  # under faults
    settled_ns: int = 0  # from the heal until nothing waited any more, for good
    workload: str = "mixed"
    events: int = 0
    deliveries: int = 0
    living: int = 0  # processes at the end
    is_settled: bool = False
    faults: dict[str, int] = field(default_factory=dict)
    resumed: dict[str, int] = field(default_factory=dict)  # the view handler, by cause
    drawn: Drawn = field(default_factory=Drawn)
    views: int = 0  # different ones, over the whole run
    views_after_heal: int = 0  # the most that any member installed
    states: dict[str, int] = field(default_factory=dict)  # how joins with state ended
    examined: dict[str, int] = field(default_factory=dict)
    violated: dict[str, int] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)  # what went wrong, in words, most telling first
    trace_hash: str = ""
    cpu_ns: int = 0  # what it cost, where somebody measured that; the one field that differs from run to run

    @property
    def is_good(self) -> bool:
        return not self.sentences

    @property
    def failed(self) -> tuple[str, ...]:
        """The words for what failed, each once."""
        return tuple(dict.fromkeys(sentence.partition(":")[0] for sentence in self.sentences))

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "members": self.members,
            "workload": self.workload,
            "simulated_seconds": self.simulated_ns / SECOND,
            "deliveries": self.deliveries,
            "faults": self.faults,
            "sentences": self.sentences,
        }


def simulate(options: Options, record: Path | None = None) -> Outcome:
    """Run it and judge it."""
    return run_world(options, record)[0]


def run_world(options: Options, record: Path | None = None) -> tuple[Outcome, Cluster]:
    """The same, and the world as it ended, for those who want to tell its story."""
    outcome = Outcome(options.seed, options.members, workload=options.workload)
    outcome.drawn = drawn_by(options)
    workload = Workload(options.load, options.ordered, options.safety_ns + _LOAD_AFTER_HEAL_NS)
    stateful = None if options.state is None else StatefulWorkload(workload, options.state)
    cluster = Cluster(
        options.members,
        seed=options.seed,
        config=options.config,
        link=options.link,
        multicasts=options.multicasts,
        fixed=options.fixed,
        make_app=workload.make_app if stateful is None else stateful.make_app,
        on_exclusion=options.on_exclusion,
        configs=options.configs,
        partition=options.policy.partition,
        observers=options.policy.observers_of(options.names),
        primary_mark=options.policy.has_marks,
        quorum=options.policy.quorum,
        expect_again=options.members if options.policy.expects else 0,
        key_changes=options.key_changes,
    )
    with _without_log():
        try:
            _live_through(cluster, options, outcome, workload)
            if stateful is not None:
                _judge_states(cluster, outcome, stateful)
        except Exception as error:  # an invariant of ours broke; the recordings up to here may say more
            outcome.sentences.append(f"check: {_in_words(error)}")
        cluster.end_all()
    _judge(cluster, outcome)
    if record is not None:
        cluster.write_recordings(record)
    return outcome, cluster


@contextmanager
def _without_log() -> Iterator[None]:
    """What members log is about a simulated world."""
    log = logging.getLogger("ringcast")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was_disabled


def _in_words(error: Exception) -> str:
    """What was raised, where; in one line, because pytest adds lines of its own to an assertion."""
    origin = error.__cause__ if isinstance(error, Broke) and error.__cause__ is not None else error
    where = traceback.extract_tb(origin.__traceback__)[-1]
    what = str(origin).partition("\n")[0]
    return f"{type(origin).__name__} in {where.name} (line {where.lineno}): {what}"


def _judge_states(cluster: Cluster, outcome: Outcome, stateful: StatefulWorkload) -> None:
    succession = stateful.succession
    for process, error in cluster.refused:
        told = where_refused(cluster.events_of(process.address))
        if told is not None:
            succession.note_refusal(process.address, str(error), *told)
    outcome.sentences += [f"state: {sentence}" for sentence in succession.strange()]
    outcome.states = dict(sorted(succession.counts.items()))


def _live_through(cluster: Cluster, options: Options, outcome: Outcome, workload: Workload) -> None:
    heal_ns = outcome.safety_ns = options.safety_ns
    for fault in options.faults:
        cluster.faults.plan(fault)
    cluster.run_to(heal_ns)
    cluster.start_missing()  # their joins must end too
    is_poor = options.bound_ns > 2 * MORE_NS and _deliveries(cluster) < ENOUGH
    if is_poor:
        workload.extend(MORE_NS)
    cluster.heal(options.bound_ns)
    if is_poor:
        cluster.run_to(workload.until_ns - SECOND)  # while everybody still sends
        if _deliveries(cluster) < LEAST:
            workload.hurry(cluster, _LAST_NS)
    outcome.is_settled = _settle(cluster, options, outcome, workload.until_ns)
    outcome.living = len(list(cluster.alive()))
    seconds = options.bound_ns / SECOND
    outcome.sentences += [f"liveness: {what} {seconds:g} s after the heal" for what in _unfinished(cluster)]
    own_complete = outcome.is_settled and options.state is None
    strange = strange_contents(cluster, is_complete=options.fixed, own_complete=own_complete)
    outcome.sentences += [f"contents: {sentence}" for sentence in strange]
    _judge_views(cluster, options, outcome)
    if options.on_exclusion == "merge":
        outcome.sentences += [
            f"lost: {process.address}: {app.lost}" for process, app in cluster.applications() if app.lost
        ]


def _settle(cluster: Cluster, options: Options, outcome: Outcome, load_until_ns: int) -> bool:
    """Let time pass until everything has been at rest for a while, at most until the bound."""
    clock = cluster.clock
    end_ns = options.safety_ns + options.bound_ns
    cluster.run_to(min(end_ns, load_until_ns))
    rest, since_ns = _rest(cluster), clock.now_ns
    while clock.now_ns < end_ns:
        cluster.run_to(min(end_ns, clock.now_ns + _LOOK_EVERY_NS))
        before, rest = rest, _rest(cluster)
        if rest is None or rest != before:
            since_ns = clock.now_ns
        elif clock.now_ns - since_ns >= STABLE_NS:
            cluster.note_heal(None, bound_ns=1)  # before the bound: what must hold from then on holds from here on
            cluster.run_for(MS)
            break
    outcome.settled_ns = since_ns - options.safety_ns
    return rest is not None


def _rest(cluster: Cluster) -> ViewId | None:
    """The view that all share while nothing waits."""
    if not (cluster.is_settled() and cluster.share_a_view()):
        return None
    return next((member.node.view.id for member in cluster.alive()), None)


def _judge_views(cluster: Cluster, options: Options, outcome: Outcome) -> None:
    """Views need a cause: see judging.py."""
    if options.fixed:
        return
    outcome.views = count_of_views(cluster.recordings())
    most = most_views(options.faults, options.members, cluster.starts, options.config.readmit_max_ns)
    if outcome.views > most:
        outcome.sentences.append(
            f"views: {outcome.views} for {len(options.faults)} faults, at most {most} have a cause"
        )
    if outcome.is_settled:
        # A primary view may have shrunk to few, of whom half died: then those who are left wait for ever, and may.
        must_be_primary = options.policy.quorum > 0 or (options.policy.has_marks and not cluster.faults.dead)
        aside = [process for process in cluster.alive() if must_be_primary and not process.node.view.is_primary]
        outcome.sentences += [f"liveness: {process.address} is in a view that is not primary" for process in aside[:1]]


def _deliveries(cluster: Cluster) -> int:
    """How many messages applications were given: on the multicast and on streams, not what members tell each other."""
    return sum(
        event.count
        for recording in cluster.recordings()
        for event in recording.events
        if event.kind is Kind.DELIVER and event.stream % len(Channel) in (Channel.GROUP, Channel.PEER)
    )


def _unfinished(cluster: Cluster) -> Iterator[str]:
    if not cluster.share_a_view():
        yield "not all who live share one view"
    if not cluster.is_settled():
        yield "not everything was sent, acked and read"


def _judge(cluster: Cluster, outcome: Outcome) -> None:
    judgement = judge(cluster.recordings())
    outcome.simulated_ns = cluster.clock.now_ns
    outcome.events = judgement.events
    outcome.deliveries = _deliveries(cluster)
    outcome.trace_hash = cluster.trace_hash()
    faults: Counter[str] = Counter()
    resumed: Counter[str] = Counter()
    for recording in cluster.recordings():
        late = sum(event.kind is Kind.VIEW and event.t_ns >= outcome.safety_ns for event in recording.events)
        outcome.views_after_heal = max(outcome.views_after_heal, late)
        for event in recording.events:
            if event.kind is Kind.FAULT:
                faults[str((event.detail or {})["what"])] += 1
            elif event.kind is Kind.RESUME:
                resumed[str((event.detail or {}).get("cause"))] += 1
    outcome.sentences += [f"storm: {sentence}" for sentence in storms(cluster.recordings())]
    outcome.faults = dict(sorted(faults.items()))
    outcome.resumed = dict(sorted(resumed.items()))
    for name, finding in judgement.findings.items():
        outcome.examined[name] = finding.examined
        outcome.violated[name] = finding.violation_count
        outcome.sentences += [f"{name}: {violation.sentence}" for violation in finding.violations[:3]]
