"""Many small runs, each judged alone: a Spark task takes whole runs, from their recordings to a verdict.

For sweeps of simulated runs, where starting a job for each would cost far more than judging it. What a task gives back
is the verdict as `ringcast check --json` prints it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ringcast.pipeline.ingest import ingest_here
from ringcast.pipeline.judge import judge_here
from ringcast.pipeline.scan import slots_of
from ringcast.trace import read_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def judge_runs(spark: SparkSession, runs: Sequence[Path]) -> list[dict[str, Any]]:
    """The verdicts over the recordings below each of these directories, in the same order."""
    slots = max(1, min(slots_of(spark), len(runs)))
    paths = [str(run) for run in runs]
    tasks = spark.range(0, len(paths), 1, slots)
    told = tasks.mapInArrow(_task(paths), "run long, verdict string").collect()
    verdicts = {row["run"]: json.loads(row["verdict"]) for row in told}
    return [verdicts[number] for number in range(len(paths))]


def judge_run_here(run: Path) -> dict[str, Any]:
    with TemporaryDirectory(prefix="ringcast-") as place:
        return judge_here(ingest_here(read_run([run]), Path(place))).to_json()


def _task(paths: Sequence[str]) -> Any:
    def judge(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            for number in batch.column("id").to_pylist():
                verdict = json.dumps(judge_run_here(Path(paths[number])))
                yield pa.RecordBatch.from_pydict({"run": [number], "verdict": [verdict]})

    return judge
