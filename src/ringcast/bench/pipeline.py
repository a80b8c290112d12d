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

from ringcast.bench.tree_memory import TreeMemory
from ringcast.checkers import GUARANTEES
from ringcast.errors import UsageError
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
    write_seconds: float = 0.0
    rss_megabytes_max: float = 0.0
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
            "write_seconds": round(self.write_seconds, 2),
            "rss_megabytes_max": round(self.rss_megabytes_max),
            "deliveries_per_second": round(self.deliveries / self.seconds) if self.seconds else None,
            "rows_per_second": round(self.events / self.seconds) if self.seconds else None,
            "rules": {name: self._speed(s) for name, s in self.rule_seconds.items()},
            "duckdb_deliveries_per_second": round(self.deliveries / duckdb) if duckdb else None,
            "duckdb": {name: self._speed(s) for name, s in self.duckdb_seconds.items()},
        }

    def _speed(self, seconds: float) -> dict[str, Any]:
        per_second = {"deliveries_per_second": self.deliveries, "rows_per_second": self.events}
        rates = {name: round(count / max(seconds, 1e-9)) for name, count in per_second.items()}
        return {"seconds": round(seconds, 2), **rates}


def run_pipeline(
    deliveries: int,
    each_rule: bool,
    master: str | None,
    say: Callable[[str], None],
    history: Path | None = None,
    write_only: bool = False,
) -> Result:
    """Make a history of about this many deliveries (or take the one in `history`) and judge it."""
    with TemporaryDirectory(prefix="ringcast-bench-") as place:
        result, dataset = _history(deliveries, history or Path(place), say)
        if not write_only:
            _judge(dataset, result, each_rule, master, say)
    return result


def _history(deliveries: int, place: Path, say: Callable[[str], None]) -> tuple[Result, Dataset]:
    from ringcast.pipeline import Dataset, Shape, make_period, write_dataset

    turns = max(1, round(deliveries / PERIOD_DELIVERIES))
    period = make_period(1, Shape(deliveries=min(deliveries, PERIOD_DELIVERIES)))
    events = turns * sum(map(len, period.events))
    dataset = Dataset(place)
    started = time.perf_counter()
    if not dataset.members_path.exists():
        say(f"writing {turns * period.deliveries:,} deliveries")
        write_dataset(place, period, turns)
    elif sum(row["events"] for row in dataset.members()) != events:
        raise UsageError(f"{place} holds another history than one of {deliveries} deliveries")
    delivers = [e for told in period.events for e in told if e.kind is Kind.DELIVER]
    mean_run = sum(e.count for e in delivers) / len(delivers)
    result = Result(turns * period.deliveries, events, _megabytes(dataset), mean_run)
    result.write_seconds = time.perf_counter() - started
    return result, dataset


def _judge(dataset: Dataset, result: Result, each_rule: bool, master: str | None, say: Callable[[str], None]) -> None:
    from ringcast.pipeline import spark_session

    with spark_session(master) as spark, TreeMemory() as memory:
        _measure(spark, dataset, result, each_rule, say)
    result.rss_megabytes_max = memory.highest_megabytes
    say("DuckDB on the same files")
    result.duckdb_seconds = duckdb_seconds(dataset)


def _measure(spark: Any, dataset: Dataset, result: Result, each_rule: bool, say: Callable[[str], None]) -> None:
    from ringcast.pipeline import judge_dataset

    say("starting Spark and its workers")
    _warm_up(spark)
    say("judging all guarantees")
    started = time.perf_counter()
    result.verdict = judge_dataset(spark, dataset).verdict
    result.seconds = time.perf_counter() - started
    for name in GUARANTEES if each_rule else ():
        say(f"judging {name}")
        started = time.perf_counter()
        judge_dataset(spark, dataset, chosen=(name,))
        result.rule_seconds[name] = time.perf_counter() - started


def _warm_up(spark: Any) -> None:
    """Judge something small, twice: then every worker has loaded what it needs."""
    from ringcast.pipeline import Shape, judge_dataset, make_period, write_dataset

    with TemporaryDirectory(prefix="ringcast-bench-") as place:
        dataset = write_dataset(Path(place), make_period(2, Shape(deliveries=20_000)), 1)
        for _ in range(2):
            judge_dataset(spark, dataset)


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
