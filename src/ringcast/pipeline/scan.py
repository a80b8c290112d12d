"""The local halves of all rules, in one pass over each member's events, as one Spark task per member.

The task reads its own row groups: raw events never go through a shuffle or the row hop between Spark and Python.
What comes back are facts, a few rows per view. Rules can be chosen, so that each can be measured alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from ringcast.pipeline.rules import g01, g02, g03, g05
from ringcast.pipeline.rules.facts import FACTS, Facts
from ringcast.pipeline.rules.member import Batch, Member, batches, load_member
from ringcast.pipeline.tables import Dataset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LocalRule(Protocol):
    def on_batch(self, batch: Batch) -> None: ...

    def finish(self) -> None: ...


FLOW_RULES: dict[str, Callable[[Member, Facts], LocalRule]] = {
    "G1": g01.Local,
    "G2": g02.Local,
    "G3": g03.Local,
    "G5": g05.Local,
}


def scan_member(dataset: Dataset, code: int, chosen: Sequence[str]) -> pa.RecordBatch:
    """The facts of one member."""
    facts = Facts()
    member = load_member(dataset, code)
    rules = [make(member, facts) for name, make in FLOW_RULES.items() if name in chosen]
    if rules:
        for batch in batches(dataset.flow(code)):
            for rule in rules:
                rule.on_batch(batch)
    for rule in rules:
        rule.finish()
    return facts.batch()


def scan(spark: SparkSession, dataset: Dataset, chosen: Sequence[str]) -> DataFrame:
    """The facts of all members, written beside the tables they come from."""
    from pyspark.sql.pandas.types import from_arrow_schema

    codes = [(row["code"],) for row in dataset.members()]
    work = spark.createDataFrame(codes, "code int").repartition(max(1, len(codes)), "code")
    path = str(dataset.root / "facts")
    task = _task(str(dataset.root), tuple(chosen))
    work.mapInArrow(task, from_arrow_schema(FACTS)).coalesce(1).write.mode("overwrite").parquet(path)
    return spark.read.schema(from_arrow_schema(FACTS)).parquet(path)


def _task(root: str, chosen: Sequence[str]) -> Any:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            for code in batch.column("code").to_pylist():
                yield scan_member(Dataset(Path(root)), code, chosen)

    return run
