"""How fast the pipeline judges: a generated history, each rule alone, all together, and DuckDB beside them on the
same files.

Figures count single message deliveries. The history is the default one (8 members, FIFO runs, a quarter TOTAL to
random subsets, a view change per 100,000 deliveries, a merge per million); making and writing it is not part of what
is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ringcast.checkers import GUARANTEES
from ringcast.model import Kind

if TYPE_CHECKING:
    from ringcast.pipeline import Dataset

PERIOD_DELIVERIES = 1_000_000


@dataclass(slots=True)
class Result:
    deliveries: int
    events: int
    megabytes: float
    mean_run: float
    verdict: str = ""
    seconds: float = 0.0
    rule_seconds: dict[str, float] = field(default_factory=dict)
    duckdb_seconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        duckdb = sum(self.duckdb_seconds.values())
        return {
            "deliveries": self.deliveries,
            "events": self.events,
            "megabytes": round(self.megabytes, 1),
            "mean_run": round(self.mean_run, 2),
            "verdict": self.verdict,
            "seconds": round(self.seconds, 2),
            "deliveries_per_second": round(self.deliveries / self.seconds) if self.seconds else None,
            "rows_per_second": round(self.events / self.seconds) if self.seconds else None,
            "rules": {name: self._speed(s) for name, s in self.rule_seconds.items()},
            "duckdb_deliveries_per_second": round(self.deliveries / duckdb) if duckdb else None,
            "duckdb": {name: self._speed(s) for name, s in self.duckdb_seconds.items()},
        }

    def _speed(self, seconds: float) -> dict[str, Any]:
        return {"seconds": round(seconds, 2), "deliveries_per_second": round(self.deliveries / max(seconds, 1e-9))}


def run_pipeline(deliveries: int, each_rule: bool, master: str | None, say: Callable[[str], None]) -> Result:
    """Make a history of about this many deliveries and judge it."""
    from ringcast.pipeline import Shape, make_period, spark_session, write_dataset

    turns = max(1, round(deliveries / PERIOD_DELIVERIES))
    period = make_period(1, Shape(deliveries=min(deliveries, PERIOD_DELIVERIES)))
    with TemporaryDirectory(prefix="ringcast-bench-") as place:
        say(f"writing {turns * period.deliveries:,} deliveries")
        dataset = write_dataset(Path(place), period, turns)
        delivers = [e for events in period.events for e in events if e.kind is Kind.DELIVER]
        mean_run = sum(e.count for e in delivers) / len(delivers)
        events = turns * sum(map(len, period.events))
        result = Result(turns * period.deliveries, events, _megabytes(dataset), mean_run)
        with spark_session(master) as spark:
            _measure(spark, dataset, result, each_rule, say)
        say("DuckDB on the same files")
        result.duckdb_seconds = duckdb_seconds(dataset)
    return result


def _measure(spark: Any, dataset: Dataset, result: Result, each_rule: bool, say: Callable[[str], None]) -> None:
    from ringcast.pipeline import judge_dataset

    say("starting Spark and its workers")
    judge_dataset(spark, dataset, chosen=("G4",))
    say("judging all guarantees")
    started = time.perf_counter()
    result.verdict = judge_dataset(spark, dataset).verdict
    result.seconds = time.perf_counter() - started
    for name in GUARANTEES if each_rule else ():
        say(f"judging {name}")
        started = time.perf_counter()
        judge_dataset(spark, dataset, chosen=(name,))
        result.rule_seconds[name] = time.perf_counter() - started


def _megabytes(dataset: Dataset) -> float:
    return sum(path.stat().st_size for path in dataset.root.rglob("*.parquet")) / 1e6


def duckdb_seconds(dataset: Dataset) -> dict[str, float]:
    """FIFO, agreement and latency as DuckDB does them."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"create view flow as {_source(dataset, 'flow')}")
    connection.execute(f"create view ordered as {_source(dataset, 'order')}")
    return {name: _timed(connection, queries) for name, queries in _QUERIES.items()}


def _source(dataset: Dataset, table: str) -> str:
    files = f"{dataset.root}/{table}/*.parquet"
    code = "cast(regexp_extract(filename, '([0-9]+)\\.parquet$', 1) as integer)"
    return f"select *, {code} as member from read_parquet('{files}', filename=true)"


def _timed(connection: Any, queries: Sequence[str]) -> float:
    started = time.perf_counter()
    for query in queries:
        found = connection.execute(query).fetchone()
        if query.startswith("/* none */") and found[0] != 0:
            raise AssertionError(f"DuckDB found {found[0]} faults in a clean history")
    return time.perf_counter() - started


_QUERIES = {
    "fifo": [
        f"""/* none */ select count(*) from (
            select kind, "first", lag(case when kind = {int(Kind.OFFSET)} then "value" else "first" + "count" - 1 end)
                over (partition by member, peer, stream order by "index") as before
            from flow where kind in ({int(Kind.DELIVER)}, {int(Kind.OFFSET)}))
        where kind = {int(Kind.DELIVER)} and "first" <> coalesce(before, 0) + 1""",
        f"""/* none */ select count(*) from (
            select "first", lag("first") over (partition by member, peer order by "index") as before
            from ordered where kind = {int(Kind.DEQUEUE)})
        where "first" <= before""",
    ],
    "agreement": [
        f"""/* none */ select count(*) from (
            select epoch, creator, peer, count(distinct (low, high, total)) as different from (
                select member, epoch, creator, peer, min("first") as low, max("first" + "count") as high,
                    sum("count") as total
                from flow where kind = {int(Kind.DELIVER)} and stream = 0 group by all)
            group by all) where different > 1""",
    ],
    "latency": [
        f"""select quantile_cont(took, 0.99) from (
            select d.t_ns - s.t_ns as took
            from (select peer, t_ns, "first" + "count" - 1 as last from flow where kind = {int(Kind.DELIVER)}) d
            asof join (select member, t_ns, "first" + "count" - 1 as last from flow where kind = {int(Kind.SEND)}) s
            on d.peer = s.member and d.last <= s.last)""",
    ],
}
