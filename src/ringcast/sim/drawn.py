"""What runs were made of, counted, so that what was never drawn can be seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from ringcast.model import SECOND
from ringcast.sim.fault_draws import LONG_NS, ORDINARY_MEMBERS
from ringcast.sim.faults import KINDS, LASTING_KINDS
from ringcast.sim.options import Options
from ringcast.sim.stateful import LARGE

# With the zeros: whatever a seed can draw besides members, workload and faults.
POLICIES = (
    "observers",
    "primary with mark files",
    "primary with a quorum",
    "a config per member",
    "expect on restart",
    "merge_state",
    "a large state",
    "a slow set_state",
    "a state that fails half way",
    "IP multicast",
)


@dataclass(slots=True)
class Drawn:
    """One run: the words of POLICIES that it drew, and the seconds of the longest fault of each kind."""

    policies: list[str] = field(default_factory=list)
    longest: dict[str, float] = field(default_factory=dict)


class Run(Protocol):
    """What is known of a run."""

    members: int
    workload: str
    faults: dict[str, int]
    drawn: Drawn


def drawn_by(options: Options) -> Drawn:
    longest: dict[str, float] = {}
    for fault in options.faults:
        if fault.kind in LASTING_KINDS:
            seconds = (fault.until_ns - fault.at_ns) / SECOND
            longest[fault.kind] = max(longest.get(fault.kind, 0.0), seconds)
    return Drawn(list(_words(options)), longest)


def _words(options: Options) -> Iterator[str]:
    yield from options.policy.words()
    state = options.state
    if state is not None:
        if state.merges:
            yield "merge_state"
        if state.padding >= LARGE:
            yield "a large state"
        if state.loading_ns:
            yield "a slow set_state"
        if state.failing_share:
            yield "a state that fails half way"
    if options.multicasts:
        yield "IP multicast"


def table_of_drawn(runs: Iterable[Run]) -> dict[str, Any]:
    """How often each thing was drawn; of faults, how often they began and how long the longest was to last."""
    runs = list(runs)
    count: Counter[str] = Counter()
    longest: dict[str, float] = {}
    policies = Counter(word for run in runs for word in run.drawn.policies)
    for run in runs:
        count.update(run.faults)
        for kind, seconds in run.drawn.longest.items():
            longest[kind] = max(longest.get(kind, 0.0), seconds)
    count["crash"] += count.pop("crashed", 0)
    large = [run for run in runs if run.members > ORDINARY_MEMBERS[1] or _longest(run) > LONG_NS / SECOND]
    return {
        "members": {str(number): times for number, times in sorted(Counter(run.members for run in runs).items())},
        "workloads": dict(sorted(Counter(run.workload for run in runs).items())),
        "policies": {word: policies[word] for word in POLICIES},
        "faults": {kind: {"count": count[kind], "longest_seconds": longest.get(kind)} for kind in KINDS},
        "large_runs": len(large),
        "longest_fault_seconds": max(longest.values(), default=0.0),
    }


def _longest(run: Run) -> float:
    return max(run.drawn.longest.values(), default=0.0)
