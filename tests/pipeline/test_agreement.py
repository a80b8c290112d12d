"""Checkers and rules, written apart, say the same about simulated runs: good ones, and bad ones with a planted bug.

Each run is simulated and judged by the checkers once, then by the rules twice: in this process, and together with the
others on Spark. A few runs in every `make test`; `make agreement` makes it three hundred and more
(RINGCAST_AGREEMENT_RUNS).
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
from ringcast.pipeline.rules import engine
from ringcast.pipeline.segment import decode
from ringcast.sim import Outcome, draw, simulate
from ringcast.sim.planted import CANDIDATES, KNOWN, Planted, options_for, plant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNS = int(os.environ.get("RINGCAST_AGREEMENT_RUNS", "18"))
FIRST_SEED = int(os.environ.get("RINGCAST_AGREEMENT_FIRST_SEED", "0"))
ALWAYS = ("G7", "G15", "G16", "G18")  # bugs that break one of these are in the few runs of `make test`
BUGS = sorted(
    (bug for bug in (*KNOWN, *CANDIDATES) if bug.guarantee.startswith("G")), key=lambda bug: bug.guarantee not in ALWAYS
)


def bug_of(number: int) -> Planted | None:
    """Every third run is good; the bad ones take turns among the bugs that break a guarantee."""
    return BUGS[(number - number // 3 - 1) % len(BUGS)] if number % 3 else None


def name_of(number: int) -> str:
    bug = bug_of(number)
    return f"seed {FIRST_SEED + number} ({bug.name if bug else 'good'})"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agreement")


@pytest.fixture(scope="module")
def outcomes(place: Path) -> list[Outcome]:
    """What the checkers say of each run; its recordings are in `place`, below its number."""
    return [run(number, place / str(number)) for number in range(RUNS)]


def run(number: int, record: Path) -> Outcome:
    bug, seed = bug_of(number), FIRST_SEED + number
    with plant(bug) if bug else nullcontext():
        return simulate(options_for(bug, seed) if bug else draw(seed, (2, 5)), record)


Said = dict[str, tuple[int, bool]]


def by_checkers(outcome: Outcome) -> Said:
    """Of each guarantee that was examined: how much, and was it violated?"""
    return {name: (n, bool(outcome.violated.get(name))) for name, n in outcome.examined.items() if n}


def by_rules(judgement: Judgement) -> Said:
    return {name: (f.examined, f.violation_count > 0) for name, f in judgement.findings.items() if f.examined}


@pytest.mark.parametrize("number", range(RUNS), ids=name_of)
def test_rules_in_this_process_say_what_checkers_say(number: int, outcomes: list[Outcome], place: Path) -> None:
    paths = sorted((place / str(number)).rglob("*.rct"))
    judgement = engine.judge([decode(path.read_bytes(), str(path)) for path in paths])
    assert by_rules(judgement) == by_checkers(outcomes[number])


@pytest.mark.needs("spark")
def test_rules_on_spark_say_what_checkers_say(spark: SparkSession, outcomes: list[Outcome], place: Path) -> None:
    application = Application(segment_files(spark, str(place)), with_tables=False)
    judged = application.judge()
    application.close()
    differences = []
    broken: dict[str, int] = {}
    for number, outcome in enumerate(outcomes):
        checkers, rules = by_checkers(outcome), by_rules(judged[f"seed {FIRST_SEED + number}"])
        for name in sorted({*checkers, *rules}):
            if checkers.get(name) != rules.get(name):
                said = f"checkers {checkers.get(name)}, rules {rules.get(name)}"
                differences.append(f"{name_of(number)} {name}: {said}")
        for name, (_, is_violated) in rules.items():
            broken[name] = broken.get(name, 0) + is_violated
    print(f"{RUNS} runs, guarantees broken in runs: {broken}")
    assert not differences, "\n".join(differences)
    assert len(judged) == RUNS and any(broken.values())
