"""One seed: options are drawn, a safety phase runs under faults, everything heals, a liveness phase follows, a verdict.

What went wrong is told in sentences, each with the word for what failed in front: a guarantee (G1…G18, by its checker);
`check`, an invariant broke or something raised; `contents`, an application read what was not sent, or not all of it;
`state`, an application got or has a state that cannot be true, or none without a true reason;
`liveness`, something waits although nothing is wrong; `lost`, a sender broke its promise; `storm`, too many repairs.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringcast.checkers import judge
from ringcast.core import Channel
from ringcast.model import MS, SECOND, Kind, ViewId
from ringcast.sim.cluster import Cluster
from ringcast.sim.contents import strange_contents
from ringcast.sim.options import Options
from ringcast.sim.ordered_load import OrderedWorkload
from ringcast.sim.storms import storms
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
    cluster = Cluster(
        options.members,
        seed=options.seed,
        config=options.config,
        link=options.link,
        multicasts=options.multicasts,
        fixed=options.fixed,
        state=options.state,
    )
    try:
        _live_through(cluster, options, outcome)
    except Exception as error:  # an invariant of ours broke; the recordings up to here may say more
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = str(error).partition("\n")[0]  # A sentence is one line; pytest adds its own to an assertion.
        outcome.sentences.append(f"check: {type(error).__name__} in {where.name} (line {where.lineno}): {what}")
    cluster.close_all()
    _judge(cluster, outcome)
    if record is not None:
        cluster.write_recordings(record)
    return outcome, cluster


def _live_through(cluster: Cluster, options: Options, outcome: Outcome) -> None:
    heal_ns = outcome.safety_ns = options.safety_ns
    workload = Workload(cluster, options.load, until_ns=heal_ns + _LOAD_AFTER_HEAL_NS)
    ordered = OrderedWorkload(cluster, options.ordered, until_ns=heal_ns + _LOAD_AFTER_HEAL_NS)
    begin = cluster.on_start = ordered.beside(workload.begin)
    for name in cluster.names:
        begin(name)
    for fault in options.faults:
        cluster.faults.plan(fault)
    cluster.clock.run_until(heal_ns)
    cluster.start_missing()  # their joins must end too
    is_poor = options.bound_ns > 2 * MORE_NS and _deliveries(cluster) < ENOUGH
    if is_poor:
        workload.extend(MORE_NS)
    cluster.heal(options.bound_ns)
    if is_poor:
        cluster.clock.run_until(workload.until_ns - SECOND)  # while everybody still sends
        if _deliveries(cluster) < LEAST:
            workload.hurry(_LAST_NS)
    outcome.is_settled = _settle(cluster, options, outcome, workload.until_ns)
    outcome.living = len(list(cluster.alive()))
    seconds = options.bound_ns / SECOND
    outcome.sentences += [f"liveness: {what} {seconds:g} s after the heal" for what in _unfinished(cluster)]
    strange = strange_contents(cluster, workload.ledger, is_complete=options.fixed)
    strange += ordered.strange(is_complete=options.fixed)
    outcome.sentences += [f"contents: {sentence}" for sentence in strange]
    if cluster.keeping is not None:
        outcome.sentences += [f"state: {sentence}" for sentence in cluster.keeping.strange(heal_ns)]
        outcome.states = dict(sorted(cluster.keeping.succession.counts.items()))
    outcome.sentences += [f"lost: {member.address}: {member.lost}" for member in cluster.alive() if member.lost]


def _settle(cluster: Cluster, options: Options, outcome: Outcome, load_until_ns: int) -> bool:
    """Let time pass until everything has been at rest for a while, at most until the bound."""
    clock = cluster.clock
    end_ns = options.safety_ns + options.bound_ns
    clock.run_until(min(end_ns, load_until_ns))
    rest, since_ns = _rest(cluster), clock.now_ns
    while clock.now_ns < end_ns:
        clock.run_until(min(end_ns, clock.now_ns + _LOOK_EVERY_NS))
        before, rest = rest, _rest(cluster)
        if rest is None or rest != before:
            since_ns = clock.now_ns
        elif clock.now_ns - since_ns >= STABLE_NS:
            cluster.note_heal(None, bound_ns=1)  # before the bound: what must hold from then on holds from here on
            clock.run_until(clock.now_ns + MS)
            break
    outcome.settled_ns = since_ns - options.safety_ns
    return rest is not None


def _rest(cluster: Cluster) -> ViewId | None:
    """The view that all share while nothing waits."""
    if not (cluster.is_settled() and cluster.share_a_view()):
        return None
    return next((member.node.view.id for member in cluster.alive()), None)


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
