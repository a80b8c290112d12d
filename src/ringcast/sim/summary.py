"""What many runs showed together, as the JSON that others rely on.

For each thing that makes a run worth its time (how long under faults, how many faults, deliveries, whether and how soon
it came to rest) the least and the median; and how often each kind of fault and each cause of resuming occurred, with
the zeros, so that what was never reached can be seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ringcast.model import SECOND
from ringcast.sim.drawn import POLICIES
from ringcast.sim.fault_draws import LONG_NS, ORDINARY_MEMBERS
from ringcast.sim.faults import KINDS
from ringcast.sim.run import Outcome

# The four causes of seed 004, each with what a recording calls it.
CAUSES = {
    "view installed or failed": ("view-installed", "view-failed"),
    "merge ended": ("merge-ended",),
    "merge view or leader gone": ("merge-view", "leader-gone"),
    "resumer": ("resumer",),
}


@dataclass(slots=True)
class Summary:
    """Grows by one outcome at a time."""

    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    @property
    def failed(self) -> list[Outcome]:
        return sorted((outcome for outcome in self.outcomes if not outcome.is_good), key=lambda o: o.seed)

    def to_json(self) -> dict[str, Any]:
        outcomes = sorted(self.outcomes, key=lambda outcome: outcome.seed)
        simulated_ns = sum(outcome.simulated_ns for outcome in outcomes)
        resumed = _total(outcome.resumed for outcome in outcomes)
        result: dict[str, Any] = {
            "runs": len(outcomes),
            "violations": sum(max(len(o.sentences), sum(o.violated.values())) for o in self.failed),
            "failed_seeds": [outcome.seed for outcome in self.failed],
            "simulated_seconds": simulated_ns / SECOND,
            "simulated_hours": simulated_ns / SECOND / 3600,
            "simulated_seconds_per_cpu_second": _rate(outcomes, "simulated_ns") / SECOND,
            "deliveries_per_cpu_second": _rate(outcomes, "deliveries"),
            "views_after_heal": max((outcome.views_after_heal for outcome in outcomes), default=0),
            "faults": _faults(outcomes),
            "resumed": dict(sorted(resumed.items())),
            "resume_causes": {cause: sum(resumed[name] for name in names) for cause, names in CAUSES.items()},
            "states": dict(sorted(_total(outcome.states for outcome in outcomes).items())),
            "workloads": dict(sorted(Counter(outcome.workload for outcome in outcomes).items())),
            "drawn": _drawn(outcomes),
            "views": sum(outcome.views for outcome in outcomes),
            "guarantees": _guarantees(outcomes),
            "per_run": _per_run(outcomes),
            "failures": [outcome.to_json() for outcome in self.failed[:20]],
        }
        if len(outcomes) == 1:
            result["trace_hash"] = outcomes[0].trace_hash
        return result


def _per_run(outcomes: list[Outcome]) -> dict[str, Any]:
    return {
        "simulated_seconds": _spread([outcome.simulated_ns / SECOND for outcome in outcomes]),
        "seconds_under_faults": _spread([outcome.safety_ns / SECOND for outcome in outcomes]),
        "faults": _spread([sum(outcome.faults.values()) for outcome in outcomes]),
        "deliveries": _spread([outcome.deliveries for outcome in outcomes]),
        "living_at_the_end": _spread([outcome.living for outcome in outcomes]),
        "settled": sum(outcome.is_settled for outcome in outcomes),
        "seconds_to_settle": _spread([outcome.settled_ns / SECOND for outcome in outcomes]),
    }


def _faults(outcomes: list[Outcome]) -> dict[str, int]:
    total = _total(outcome.faults for outcome in outcomes)
    total["crash"] += total.pop("crashed", 0)
    return {kind: total[kind] for kind in sorted({*KINDS, *total})}


def _rate(outcomes: list[Outcome], what: str) -> float:
    """So much of it per second of the CPU, over the runs whose cost was measured."""
    measured = [outcome for outcome in outcomes if outcome.cpu_ns]
    cpu_ns = sum(outcome.cpu_ns for outcome in measured)
    return SECOND * sum(getattr(outcome, what) for outcome in measured) / cpu_ns if cpu_ns else 0.0


def _total(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


def _guarantees(outcomes: list[Outcome]) -> dict[str, dict[str, int]]:
    examined = _total(outcome.examined for outcome in outcomes)
    violated = _total(outcome.violated for outcome in outcomes)
    return {name: {"examined": examined[name], "violations": violated[name]} for name in examined}


def _spread(figures: list[float] | list[int]) -> dict[str, float]:
    return {
        "min": min(figures, default=0),
        "median": median(figures) if figures else 0,
        "max": max(figures, default=0),
    }


def _drawn(outcomes: list[Outcome]) -> dict[str, Any]:
    """How often each thing was drawn; of faults, how often they began and how long the longest was to last."""
    longest: dict[str, float] = {}
    for outcome in outcomes:
        for kind, seconds in outcome.drawn.longest.items():
            longest[kind] = max(longest.get(kind, 0.0), seconds)
    policies, count = Counter(word for outcome in outcomes for word in outcome.drawn.policies), _faults(outcomes)
    return {
        "members": {str(number): times for number, times in sorted(Counter(o.members for o in outcomes).items())},
        "workloads": dict(sorted(Counter(outcome.workload for outcome in outcomes).items())),
        "policies": {word: policies[word] for word in POLICIES},
        "faults": {kind: {"count": count[kind], "longest_seconds": longest.get(kind)} for kind in KINDS},
        "large_runs": sum(map(_is_large, outcomes)),
        "longest_fault_seconds": max(longest.values(), default=0.0),
    }


def _is_large(outcome: Outcome) -> bool:
    longest = max(outcome.drawn.longest.values(), default=0.0)
    return outcome.members > ORDINARY_MEMBERS[1] or longest > LONG_NS / SECOND
