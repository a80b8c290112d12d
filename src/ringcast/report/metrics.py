"""Figures of a run, from rows of the table `metrics`: those of the pipeline, or those that `measured` makes here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ringcast.model import Kind
from ringcast.report.changes import Changes
from ringcast.report.histogram import percentile

_OVER_TIME = ("delivered", "sent", "occupancy", "repair")
Row = Mapping[str, Any]
Histogram = dict[int, int]  # lower bounds of buckets in ns -> messages


@dataclass(slots=True)
class Metrics:
    """Figures of a run; times in ns, slots counted from `start_ns` in steps of `slot_ns`; members by name."""

    start_ns: int = 0
    slot_ns: int = 1
    latency: dict[tuple[str, str], Histogram] = field(default_factory=dict)  # (sender, receiver)
    pace: dict[int, Histogram] = field(default_factory=dict)  # slot -> histogram of latencies
    delivered: dict[str, dict[int, int]] = field(default_factory=dict)  # member -> slot -> messages
    sent: dict[str, dict[int, int]] = field(default_factory=dict)
    repair: dict[str, dict[int, int]] = field(default_factory=dict)
    occupancy: dict[str, dict[int, int]] = field(default_factory=dict)
    events: dict[str, dict[str, int]] = field(default_factory=dict)  # member -> kind -> events
    messages: dict[str, dict[str, int]] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)

    @classmethod
    def of(cls, rows: Iterable[Row], start_ns: int = 0, shifts: Mapping[str, int] | None = None) -> Metrics:
        """Figures of one run. `shifts`: what to add to the times of each member, where they are on different clocks."""
        rows = list(rows)
        metrics = cls(start_ns, _slot_ns(rows))
        if shifts:
            rows = [_shifted(row, shifts) for row in rows if row["metric"] != "pace"]
        begins = [row["t_ns"] for row in rows if row["t_ns"] is not None]
        metrics.start_ns = min(begins, default=start_ns)
        for row in rows:
            metrics._place(row)
        return metrics

    def _place(self, row: Row) -> None:
        metric, value = row["metric"], row["value"]
        if metric == "latency":
            self.latency.setdefault((row["peer"], row["member"]), {})[row["low_ns"]] = value
        elif metric == "pace":
            self.pace.setdefault(self._slot(row), {})[row["low_ns"]] = value
        elif metric in _OVER_TIME:
            of_member, slot = getattr(self, metric).setdefault(row["member"], {}), self._slot(row)
            of_member[slot] = (
                max(of_member.get(slot, 0), value) if metric == "occupancy" else of_member.get(slot, 0) + value
            )
        elif metric in ("events", "messages"):
            getattr(self, metric).setdefault(row["member"], {})[row["label"]] = value
        else:
            self.changes.place(metric, row["label"], value)

    def _slot(self, row: Row) -> int:
        return int(row["t_ns"] - self.start_ns) // self.slot_ns

    def total(self, kind: Kind) -> int:
        return sum(by_kind.get(kind.name, 0) for by_kind in self.messages.values())

    def runs(self, kind: Kind) -> int:
        return sum(by_kind.get(kind.name, 0) for by_kind in self.events.values())

    @property
    def mean_run(self) -> float:
        return self.total(Kind.DELIVER) / max(1, self.runs(Kind.DELIVER))

    @property
    def repeated_share(self) -> float:
        """Messages sent again, as a share of those sent."""
        return self.total(Kind.REPAIR) / max(1, self.total(Kind.SEND))

    def all_latencies(self) -> Histogram:
        """Of all pairs; a member's own copies would only hide what the others waited."""
        together: defaultdict[int, int] = defaultdict(int)
        for (sender, receiver), histogram in self.latency.items():
            for low, count in histogram.items() if sender != receiver else ():
                together[low] += count
        return dict(together)

    def latency_at(self, share: float) -> int | None:
        return percentile(self.all_latencies(), share)


def _slot_ns(rows: Iterable[Row]) -> int:
    """The width of the slots: they are equal, so it is the smallest step at any member."""
    begins: dict[tuple[str, str | None], dict[int, None]] = {}
    for row in rows:
        if row["t_ns"] is not None:
            begins.setdefault((row["metric"], row["member"]), {})[row["t_ns"]] = None
    steps = (after - before for times in begins.values() for before, after in pairwise(sorted(times)))
    return min(steps, default=1)


def _shifted(row: Row, shifts: Mapping[str, int]) -> Row:
    return row if row["t_ns"] is None else {**row, "t_ns": row["t_ns"] + shifts.get(row["member"] or "", 0)}
