"""Many seeds over all cores, and what they showed together.

Each run is one task in a process of its own kind (spawned, so nothing of this process can leak into it); a seed gives
the same outcome wherever it runs.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from ringcast.model import SECOND
from ringcast.sim.options import draw
from ringcast.sim.run import Outcome, simulate


@dataclass(frozen=True, slots=True)
class Task:
    """One seed, and what was asked for."""

    seed: int
    members: tuple[int, int]
    fixed: bool
    record: Path | None = None

    def __call__(self) -> Outcome:
        where = None if self.record is None else self.record / f"seed-{self.seed}"
        return simulate(draw(self.seed, self.members, fixed=self.fixed), where)


def run_all(tasks: list[Task], processes: int | None = None) -> Iterator[Outcome]:
    """Outcomes in the order in which they are ready."""
    processes = min(processes or os.cpu_count() or 1, len(tasks))
    if processes <= 1:
        yield from (task() for task in tasks)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(_call, tasks, chunksize=1)


def _call(task: Task) -> Outcome:
    return task()


@dataclass(slots=True)
class Summary:
    """What a batch showed; grows by one outcome at a time."""

    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    @property
    def failed(self) -> list[Outcome]:
        return sorted((outcome for outcome in self.outcomes if not outcome.is_good), key=lambda o: o.seed)

    def to_json(self) -> dict[str, Any]:
        outcomes = sorted(self.outcomes, key=lambda outcome: outcome.seed)
        result: dict[str, Any] = {
            "runs": len(outcomes),
            "violations": sum(max(len(o.sentences), sum(o.violated.values())) for o in self.failed),
            "failed_seeds": [outcome.seed for outcome in self.failed],
            "simulated_seconds": sum(outcome.simulated_ns for outcome in outcomes) / SECOND,
            "faults": dict(sorted(_total(outcome.faults for outcome in outcomes).items())),
            "resumed": dict(sorted(_total(outcome.resumed for outcome in outcomes).items())),
            "guarantees": _guarantees(outcomes),
            "per_run": {
                "simulated_seconds": _spread([outcome.simulated_ns / SECOND for outcome in outcomes]),
                "faults": _spread([sum(outcome.faults.values()) for outcome in outcomes]),
                "deliveries": _spread([outcome.deliveries for outcome in outcomes]),
                "settled": sum(outcome.is_settled for outcome in outcomes),
            },
            "failures": [outcome.to_json() for outcome in self.failed[:20]],
        }
        if len(outcomes) == 1:
            result["trace_hash"] = outcomes[0].trace_hash
        return result


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
    return {"min": min(figures, default=0), "median": median(figures) if figures else 0}
