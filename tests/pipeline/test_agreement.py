"""Checkers and rules, written apart, say the same about simulated runs: good ones, and bad ones with a planted bug.

A few runs in every `make test`; `make agreement` makes it three hundred and more (RINGCAST_AGREEMENT_RUNS).
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ringcast.checkers import Judgement
from ringcast.pipeline import Application
from ringcast.pipeline.reading import segment_files
from ringcast.sim import Outcome, draw, simulate
from ringcast.sim.planted import CANDIDATES, KNOWN, Planted, plant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNS = int(os.environ.get("RINGCAST_AGREEMENT_RUNS", "8"))
FIRST_SEED = int(os.environ.get("RINGCAST_AGREEMENT_FIRST_SEED", "0"))
BUGS = [bug for bug in (*KNOWN, *CANDIDATES) if bug.guarantee.startswith("G")]


def bug_of(number: int) -> Planted | None:
    """Every other run is good; the bad ones take turns among the bugs that break a guarantee."""
    return BUGS[number // 2 % len(BUGS)] if number % 2 else None


def run(number: int, record: Path) -> Outcome:
    bug = bug_of(number)
    with plant(bug) if bug else nullcontext():
        return simulate(draw(FIRST_SEED + number, (2, 5), fixed=bug.fixed if bug else False), record)


Said = dict[str, tuple[int, bool]]


def by_checkers(outcome: Outcome) -> Said:
    """Of each guarantee that was examined: how much, and was it violated?"""
    return {name: (n, bool(outcome.violated.get(name))) for name, n in outcome.examined.items() if n}


def by_rules(judgement: Judgement) -> Said:
    return {name: (f.examined, f.violation_count > 0) for name, f in judgement.findings.items() if f.examined}


@pytest.mark.needs("spark")
def test_checkers_and_rules_say_the_same_about_simulated_runs(spark: SparkSession, tmp_path: Path) -> None:
    paths = [tmp_path / f"run-{number}" for number in range(RUNS)]
    outcomes = [run(number, path) for number, path in enumerate(paths)]
    application = Application(segment_files(spark, str(tmp_path)), with_tables=False)
    judged = application.judge()
    application.close()
    verdicts = [judged[f"seed {FIRST_SEED + number}"] for number in range(RUNS)]
    differences = []
    broken: dict[str, int] = {}
    for number, (outcome, verdict) in enumerate(zip(outcomes, verdicts, strict=True)):
        checkers, rules = by_checkers(outcome), by_rules(verdict)
        for name in sorted({*checkers, *rules}):
            if checkers.get(name) != rules.get(name):
                bug = bug_of(number)
                where = f"seed {FIRST_SEED + number} ({bug.name if bug else 'good'})"
                differences.append(f"{where} {name}: checkers {checkers.get(name)}, rules {rules.get(name)}")
        for name, (_, is_violated) in rules.items():
            broken[name] = broken.get(name, 0) + is_violated
    print(f"{RUNS} runs, guarantees broken in runs: {broken}")
    assert not differences, "\n".join(differences)
