"""Seeds as a Spark job: the same outcomes as here, whatever the batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ringcast.pipeline import run_seeds
from ringcast.sim import Asked, Outcome, Summary, Sweeper, Task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = Asked(members=(2, 2))


def test_a_sweep_gives_the_same_outcomes_as_runs_in_this_process(spark: SparkSession) -> None:
    lines = list(run_seeds(spark, range(3), Sweeper(ASKED), per_task=2))
    swept = sorted((msgspec.json.decode(line, type=Outcome) for line in lines), key=lambda outcome: outcome.seed)
    assert [outcome.seed for outcome in swept] == [0, 1, 2]
    here = Task(2, ASKED)()
    assert swept[2].trace_hash == here.trace_hash
    assert Summary(swept).to_json()["runs"] == 3


def test_more_seeds_than_fit_a_round_come_in_several(spark: SparkSession) -> None:
    found = sorted(int(line) for line in run_seeds(spark, range(23), lambda seed: str(seed).encode(), per_task=2))
    assert found == list(range(23))
