"""The metrics of a run: units measured as Spark tasks, their rows added up by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ringcast.model import Kind
from ringcast.pipeline.metrics.histogram import percentile
from ringcast.pipeline.metrics.kernel import COLUMNS, METRICS, TimeSlots, measure_unit
from ringcast.pipeline.rules.unit import Span, load_unit, plan_units
from ringcast.pipeline.scan import slots_of
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
    pace: dict[int, dict[int, int]] = field(default_factory=dict)  # slot -> histogram of latencies
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
        """Of all pairs; a member's own copies would only hide what the others waited."""
        together: defaultdict[int, int] = defaultdict(int)
        for (sender, receiver), histogram in self.latency.items():
            for bucket, count in histogram.items() if sender != receiver else ():
                together[bucket] += count
        return dict(together)

    def latency_at(self, share: float) -> int | None:
        return percentile(self.all_latencies(), share)


def measure(spark: SparkSession, dataset: Dataset) -> Metrics:
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    slots = _slots(dataset)
    clocks = [row["clock"] for row in dataset.members()]
    spans = plan_units(dataset, len(clocks), "flow")
    metrics = Metrics(slots.start_ns, slots.width_ns)
    if not spans:
        return metrics
    tasks = spark.range(0, len(spans), 1, min(len(spans), slots_of(spark)))
    rows = tasks.mapInArrow(_task(str(dataset.root), clocks, slots, spans), from_arrow_schema(METRICS))
    merged = F.when(F.col("metric") == "occupancy", F.max("value")).otherwise(F.sum("value"))
    for row in rows.groupBy("metric", "member", "peer", "bin").agg(merged.alias("value")).collect():
        _place(metrics, row)
    return metrics


def measure_here(dataset: Dataset) -> Metrics:
    """The same in this process, without Spark: for what is small."""
    slots = _slots(dataset)
    clocks = [row["clock"] for row in dataset.members()]
    metrics = Metrics(slots.start_ns, slots.width_ns)
    for span in plan_units(dataset, len(clocks), "flow"):
        batches = load_unit(dataset, span, len(clocks), COLUMNS, "flow")
        for row in measure_unit(batches, slots, clocks).to_pylist():
            _place(metrics, row)
    return metrics


def _place(metrics: Metrics, row: Any) -> None:
    if row["metric"] == "latency":
        figures = metrics.latency.setdefault((row["peer"], row["member"]), {})
    elif row["metric"] == "pace":
        figures = metrics.pace.setdefault(row["peer"], {})
    else:
        figures = getattr(metrics, row["metric"]).setdefault(row["member"], {})
    before = figures.get(row["bin"], 0)
    figures[row["bin"]] = max(before, row["value"]) if row["metric"] == "occupancy" else before + row["value"]


def _slots(dataset: Dataset) -> TimeSlots:
    rows = dataset.members()
    end = max((row["last_ns"] for row in rows), default=0)
    starts = [_first_ns(dataset.control(row["code"])) for row in rows]
    start = min((s for s in starts if s is not None), default=0)
    return TimeSlots(start, max(1, (end - start) // SLOTS + 1))


def _first_ns(path: Path) -> int | None:
    times = pq.read_table(path, columns=["t_ns"])["t_ns"]
    return times[0].as_py() if len(times) else None


def _task(root: str, clocks: Sequence[str], slots: TimeSlots, spans: Sequence[Span]) -> Any:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            for number in batch.column("id").to_pylist():
                batches = load_unit(Dataset(Path(root)), spans[number], len(clocks), COLUMNS, "flow")
                yield measure_unit(batches, slots, clocks)

    return run
