"""What a page is about, gathered from the tables of a run: the verdict, the figures, views and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ringcast.checkers import Judgement
from ringcast.pipeline.metrics import Changes, Metrics
from ringcast.pipeline.results import Outcome

KEPT_VIEWS = 2_000  # of a member; a timeline with more blocks shows nothing more
Block = tuple[float, float, str, bool]  # from, to, view, began with a merge
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    title: str
    judgement: Judgement
    metrics: Metrics
    names: Sequence[str]
    views: Mapping[str, Sequence[Row]]  # member -> rows of the table `views`
    end_ns: int
    endings: Mapping[str, str] = field(default_factory=dict)
    clocks: Sequence[str] = ()
    judge: str = "spark"

    @property
    def changes(self) -> Changes:
        return self.metrics.changes

    def seconds(self, t_ns: int) -> float:
        return (t_ns - self.metrics.start_ns) / 1e9

    def short(self, name: str) -> str:
        """The name without its incarnation where that is enough to tell members apart, ready for HTML."""
        plain = name.partition("#")[0]
        is_alone = sum(other.partition("#")[0] == plain for other in self.names) == 1
        return escape(plain if is_alone else name)

    @property
    def view_count(self) -> int:
        return len({(row["view"], row["view_creator"]) for rows in self.views.values() for row in rows})

    def blocks(self, name: str) -> list[Block]:
        """The views of a member, one after the other."""
        return [
            (
                self.seconds(row["t_ns"]),
                self.seconds(row["until_ns"]),
                f"{row['view']} of {self.short(row['view_creator'])}",
                bool(row["is_merge"]),
            )
            for row in self.views.get(name, ())[:KEPT_VIEWS]
        ]


def gather(outcome: Outcome, title: str) -> Subject:
    """The subject from the tables of one run."""
    members = outcome.tables["members"]
    views: dict[str, list[Row]] = {}
    for row in outcome.tables["views"]:
        views.setdefault(row["member"], []).append(row)
    starts = [row["first_ns"] for row in members if row["first_ns"] is not None]
    return Subject(
        title,
        outcome.judgement,
        Metrics.of(outcome.tables["metrics"], min(starts, default=0)),
        [row["member"] for row in members],
        views,
        max((row["last_ns"] for row in members), default=0),
        {row["member"]: _ending(row) for row in members},
        sorted({row["clock"] for row in members}),
        outcome.tables["verdicts"][0]["judge"],
    )


def _ending(row: Row) -> str:
    if row["dropped"]:
        return f"{row['dropped']:,} events dropped"
    return "whole" if row["closed"] else "cut"
