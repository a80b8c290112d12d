"""The local halves of all rules as Spark tasks: one per member, and one per unit of ordered messages.

A task reads its own row groups: raw events never go through a shuffle or the row hop between Spark and Python.
What comes back are facts, a few rows per view. Rules can be chosen, so that each can be measured alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from ringcast.pipeline.rules import g01, g02, g03, g05, g10, g11
from ringcast.pipeline.rules.facts import FACTS, Facts
from ringcast.pipeline.rules.g12 import Order
from ringcast.pipeline.rules.g13 import Causality
from ringcast.pipeline.rules.member import Batch, Member, batches, load_member, name_of
from ringcast.pipeline.rules.unit import Span, load_unit, plan_units, split_by_view
from ringcast.pipeline.tables import Dataset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LocalRule(Protocol):
    def on_batch(self, batch: Batch) -> None: ...

    def finish(self) -> None: ...


Maker = Callable[[Member, Facts], LocalRule]
FLOW_RULES: dict[str, Maker] = {rule.GUARANTEE: rule.Local for rule in (g01, g02, g03, g05, g10)}
ORDER_RULES: dict[str, Maker] = {"G11": g11.Local}
UNIT_RULES = ("G12", "G13")
_QUEUE_COLUMNS = ["kind", "index", "epoch", "peer", "first", "count", "value"]
_UNIT_COLUMNS = ["kind", "index", "t_ns", "epoch", "creator", "peer", "first", "count", "value"]


def scan_member(dataset: Dataset, code: int, chosen: Sequence[str]) -> pa.RecordBatch:
    """The facts of one member."""
    facts = Facts()
    member = load_member(dataset, code)
    for path, columns, rules in (
        (dataset.flow(code), None, FLOW_RULES),
        (dataset.order(code), _QUEUE_COLUMNS, ORDER_RULES),
    ):
        running = [make(member, facts) for name, make in rules.items() if name in chosen]
        for batch in batches(path, columns) if running else ():
            for rule in running:
                rule.on_batch(batch)
        for rule in running:
            rule.finish()
    return facts.batch()


def scan_unit(dataset: Dataset, span: Span, chosen: Sequence[str]) -> pa.RecordBatch:
    """The facts of one unit: what all members ordered in a few views."""
    facts = Facts()
    rows = dataset.members()
    names = [name_of(row) for row in rows]
    order = Order(names, facts)
    causality = Causality(names, facts, len({row["clock"] for row in rows}) == 1)
    views: dict[tuple[int, int], dict[int, Batch]] = {}
    for code, batch in enumerate(load_unit(dataset, span, len(rows), _UNIT_COLUMNS)):
        for view, part in split_by_view(batch).items():
            views.setdefault(view, {})[code] = part
    for view, parts in sorted(views.items()):
        if "G12" in chosen:
            order.on_view(view, parts, partial(_together, dataset, rows, view))
        if "G13" in chosen:
            causality.on_view(view, parts, partial(_together, dataset, rows, view))
    return facts.batch()


def _together(dataset: Dataset, rows: list[dict[str, Any]], view: tuple[int, int]) -> dict[int, object]:
    """For each member where it went from this view; None if it left, crashed or was cut off there."""
    if view[1] < 0:
        return {row["code"]: "the bus" for row in rows}
    return {row["code"]: _next_view(load_member(dataset, row["code"]), view, row) for row in rows}


def _next_view(member: Member, view: tuple[int, int], row: dict[str, Any]) -> object:
    ids = [installed.view for installed in member.installed]
    if view in ids and ids.index(view) + 1 < len(ids):
        return ids[ids.index(view) + 1]
    return "the end" if row["is_whole"] and row["how"] == "ended" else None


def scan(spark: SparkSession, dataset: Dataset, chosen: Sequence[str]) -> DataFrame:
    """The facts of all members, written beside the tables they come from."""
    from pyspark.sql.pandas.types import from_arrow_schema

    work = _work(dataset, chosen)
    frame = spark.createDataFrame(work, "slot int, code int, first long, end long").repartition(len(work), "slot")
    path = str(dataset.root / "facts")
    facts = frame.mapInArrow(_task(str(dataset.root), tuple(chosen)), from_arrow_schema(FACTS))
    facts.coalesce(_slots(spark)).write.mode("overwrite").parquet(path)
    return spark.read.schema(from_arrow_schema(FACTS)).parquet(path)


def _slots(spark: SparkSession) -> int:
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context; the cluster decides
        return 8


def _work(dataset: Dataset, chosen: Sequence[str]) -> list[tuple[int, int, int, int]]:
    members = len(dataset.members())
    work: list[tuple[int, int, int]] = []
    if any(name in chosen for name in (*FLOW_RULES, *ORDER_RULES)):
        work += [(code, 0, 0) for code in range(members)]
    if any(name in chosen for name in UNIT_RULES):
        work += [(-1, span.first, span.end) for span in plan_units(dataset, members)]
    return [(slot, *item) for slot, item in enumerate(work or [(-1, 0, 0)])]


def _task(root: str, chosen: Sequence[str]) -> Any:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dataset = Dataset(Path(root))
        for batch in rows:
            for item in batch.to_pylist():
                if item["code"] >= 0:
                    yield scan_member(dataset, item["code"], chosen)
                else:
                    yield scan_unit(dataset, Span(item["first"], item["end"]), chosen)

    return run
