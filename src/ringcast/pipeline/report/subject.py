"""Everything a page needs, gathered from the tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from ringcast.checkers import Judgement
from ringcast.pipeline.metrics import measure
from ringcast.pipeline.report.page import Subject
from ringcast.pipeline.rules.member import name_of
from ringcast.pipeline.tables import Dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = ["member", "kind", "t_ns", "number", "number_creator", "subgroups", "cause", "value"]
KEPT_ROWS = 20_000  # a timeline with more blocks shows nothing more


def gather(spark: SparkSession, dataset: Dataset, judgement: Judgement, title: str) -> Subject:
    members = dataset.members()
    control: list[dict[str, Any]] = []
    for row in members:
        control += pq.read_table(dataset.control(row["code"]), columns=_COLUMNS).slice(0, KEPT_ROWS).to_pylist()
    end_ns = max((row["last_ns"] for row in members), default=0)
    names = [name_of(row) for row in members]
    return Subject(title, judgement, measure(spark, dataset), names, control, end_ns)
