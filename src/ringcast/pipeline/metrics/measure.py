"""The metrics of a run: units measured as Spark tasks, their rows added up by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ringcast.model import Kind
from ringcast.pipeline.metrics.histogram import percentile
from ringcast.pipeline.metrics.kernel import COLUMNS, METRICS, TimeSlots, measure_unit
from ringcast.pipeline.rules.unit import Span, load_unit, plan_units
from ringcast.pipeline.tables import Dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOTS = 120


@dataclass(slots=True)
class Metrics:
    """Figures of a run; times in ns, slots counted from `start_ns` in steps of `slot_ns`."""

    start_ns: int
    slot_ns: int
    latency: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)  # (sender, receiver) -> histogram
    delivered: dict[int, dict[int, int]] = field(default_factory=dict)  # member -> slot -> messages
    sent: dict[int, dict[int, int]] = field(default_factory=dict)
    occupancy: dict[int, dict[int, int]] = field(default_factory=dict)
    events: dict[int, dict[int, int]] = field(default_factory=dict)  # member -> kind -> events
    messages: dict[int, dict[int, int]] = field(default_factory=dict)

    def total(self, kind: Kind) -> int:
        return sum(by_kind.get(int(kind), 0) for by_kind in self.messages.values())

    def runs(self, kind: Kind) -> int:
        return sum(by_kind.get(int(kind), 0) for by_kind in self.events.values())

    @property
    def mean_run(self) -> float:
        return self.total(Kind.DELIVER) / max(1, self.runs(Kind.DELIVER))

    @property
    def repeated_share(self) -> float:
        """Messages sent again, as a share of those sent."""
        return self.total(Kind.REPAIR) / max(1, self.total(Kind.SEND))

    def all_latencies(self) -> dict[int, int]:
        together: defaultdict[int, int] = defaultdict(int)
        for histogram in self.latency.values():
            for bucket, count in histogram.items():
                together[bucket] += count
        return dict(together)

    def latency_at(self, share: float) -> int | None:
        return percentile(self.all_latencies(), share)


def measure(spark: SparkSession, dataset: Dataset) -> Metrics:
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    slots = _slots(dataset)
    members = len(dataset.members())
    spans = [(i, span.first, span.end) for i, span in enumerate(plan_units(dataset, members, "flow"))]
    metrics = Metrics(slots.start_ns, slots.width_ns)
    if not spans:
        return metrics
    work = spark.createDataFrame(spans, "slot int, first long, end long").repartition(len(spans), "slot")
    rows = work.mapInArrow(_task(str(dataset.root), members, slots), from_arrow_schema(METRICS))
    merged = F.when(F.col("metric") == "occupancy", F.max("value")).otherwise(F.sum("value"))
    for row in rows.groupBy("metric", "member", "peer", "bin").agg(merged.alias("value")).collect():
        _place(metrics, row)
    return metrics


def _place(metrics: Metrics, row: Any) -> None:
    if row["metric"] == "latency":
        metrics.latency.setdefault((row["peer"], row["member"]), {})[row["bin"]] = row["value"]
    else:
        getattr(metrics, row["metric"]).setdefault(row["member"], {})[row["bin"]] = row["value"]


def _slots(dataset: Dataset) -> TimeSlots:
    rows = dataset.members()
    end = max((row["last_ns"] for row in rows), default=0)
    starts = [_first_ns(dataset.control(row["code"])) for row in rows]
    start = min((s for s in starts if s is not None), default=0)
    return TimeSlots(start, max(1, (end - start) // SLOTS + 1))


def _first_ns(path: Path) -> int | None:
    times = pq.read_table(path, columns=["t_ns"])["t_ns"]
    return times[0].as_py() if len(times) else None


def _task(root: str, members: int, slots: TimeSlots) -> Any:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            for item in batch.to_pylist():
                span = Span(item["first"], item["end"])
                yield measure_unit(load_unit(Dataset(Path(root)), span, members, COLUMNS, "flow"), slots)

    return run
