"""What a page is about, gathered from the tables of a run: the verdict, the figures, views and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from ringcast.checkers import Judgement
from ringcast.model import Kind
from ringcast.pipeline.metrics import Metrics, measure, measure_here
from ringcast.pipeline.metrics.changes import COLUMNS, Changes
from ringcast.pipeline.rules.member import name_of
from ringcast.pipeline.tables import Dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT_VIEWS = 2_000  # of a member; a timeline with more blocks shows nothing more
Block = tuple[float, float, str, bool]  # from, to, view, began with a merge


@dataclass(frozen=True, slots=True)
class Subject:
    title: str
    judgement: Judgement
    metrics: Metrics
    names: Sequence[str]
    views: Sequence[Mapping[str, Any]]  # VIEW events: member, t_ns, number, number_creator, subgroups
    end_ns: int
    changes: Changes = field(default_factory=Changes)
    endings: Sequence[str] = ()
    clocks: Sequence[str] = ()
    last_ns: Sequence[int] = ()  # when each recording ends

    def seconds(self, t_ns: int) -> float:
        return (t_ns - self.metrics.start_ns) / 1e9

    def short(self, code: int) -> str:
        """The name without its incarnation where that is enough to tell members apart, ready for HTML."""
        if not 0 <= code < len(self.names):
            return "?"
        plain = self.names[code].partition("#")[0]
        is_alone = sum(name.partition("#")[0] == plain for name in self.names) == 1
        return escape(plain if is_alone else self.names[code])

    @property
    def view_count(self) -> int:
        return len({(row["number"], row["number_creator"]) for row in self.views})

    def blocks(self, code: int) -> list[Block]:
        """The views of a member, one after the other."""
        mine = [row for row in self.views if row["member"] == code and row["number"] is not None]
        last_ns = self.last_ns[code] if code < len(self.last_ns) else self.end_ns
        ends = [*(row["t_ns"] for row in mine[1:]), last_ns][: len(mine)]
        return [
            (
                self.seconds(row["t_ns"]),
                self.seconds(end),
                f"{row['number']} of {self.short(row['number_creator'])}",
                bool(row["subgroups"]),
            )
            for row, end in zip(mine, ends, strict=True)
        ]


def gather(spark: SparkSession | None, dataset: Dataset, judgement: Judgement, title: str) -> Subject:
    """Measured by Spark, or in this process if there is none."""
    members = dataset.members()
    views: list[dict[str, Any]] = []
    changes = Changes()
    for row in members:
        views += read_views(dataset, row["code"])
        changes.add(pq.read_table(dataset.control(row["code"]), columns=COLUMNS).to_pylist())
    return Subject(
        title,
        judgement,
        measure_here(dataset) if spark is None else measure(spark, dataset),
        [name_of(row) for row in members],
        views,
        max((row["last_ns"] for row in members), default=0),
        changes,
        [_ending(row) for row in members],
        sorted({row["clock"] for row in members}),
        [row["last_ns"] for row in members],
    )


def read_views(dataset: Dataset, code: int) -> list[dict[str, Any]]:
    names = ["member", "kind", "t_ns", "number", "number_creator", "subgroups"]
    table = pq.read_table(dataset.control(code), columns=names)
    rows: list[dict[str, Any]] = table.filter(pc.equal(table["kind"], int(Kind.VIEW))).slice(0, KEPT_VIEWS).to_pylist()
    return rows


def _ending(row: Mapping[str, Any]) -> str:
    if row["dropped"]:
        return f"{row['dropped']:,} events dropped"
    return "whole" if row["is_whole"] else "cut"
