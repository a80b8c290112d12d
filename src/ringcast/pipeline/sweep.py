"""A sweep: thousands of numbered runs (seeds) as a Spark job, a batch of them per task.

A Python task costs about as much as a tenth of a run, so seeds go in batches; and rounds of some tasks per slot come
back one after the other, so that whoever waits sees progress and can keep what is done. What a run is, and what its
bytes mean, is the caller's affair: it is pickled to the executors, which need ringcast and nothing else of this side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PER_TASK = 20
TASKS_PER_SLOT = 2
_SLOTS_OF_AN_UNKNOWN_CLUSTER = 16


def run_seeds(
    spark: SparkSession, seeds: Sequence[int], run: Callable[[int], bytes], per_task: int = PER_TASK
) -> Iterator[bytes]:
    """What `run` gives for each seed, in no particular order."""
    in_a_round = per_task * TASKS_PER_SLOT * _slots(spark)
    for begin in range(0, len(seeds), in_a_round):
        part = seeds[begin : begin + in_a_round]
        tasks = -(-len(part) // per_task)
        frame = spark.createDataFrame([(seed,) for seed in part], "seed long").repartition(tasks)
        for row in frame.mapInArrow(_mapper(run), "outcome binary").collect():
            yield bytes(row["outcome"])


def _mapper(run: Callable[[int], bytes]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def outcomes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [run(seed) for seed in batch.column("seed").to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], names=["outcome"])

    return outcomes


def _slots(spark: SparkSession) -> int:
    """How many tasks run at once; a session over Connect does not say."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:
        return _SLOTS_OF_AN_UNKNOWN_CLUSTER
