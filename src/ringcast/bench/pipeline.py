"""How fast the pipeline judges: recordings of a generated history, from their bytes to the verdict, by Spark; what each
step costs in one process; and DuckDB beside it on the same events as Parquet.

Figures count single message deliveries. The history is the default one (8 members, FIFO runs, a quarter TOTAL to
random subsets, a view change per 100,000 deliveries, a merge per million), or one single view; making and writing it is
not part of what is timed. Reading and decoding are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ringcast.bench.process_tree import TreeUse
from ringcast.model import Kind

PERIOD_DELIVERIES = 1_000_000
STEP_SEGMENTS = 16  # so many segments are taken for what each step costs


@dataclass(slots=True)
class Result:
    deliveries: int
    events: int
    megabytes: float
    mean_run: float
    verdict: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    write_seconds: float = 0.0
    rss_megabytes_max: float = 0.0
    largest_process_megabytes: float = 0.0
    step_seconds: dict[str, float] = field(default_factory=dict)  # CPU, of `step_events`
    step_events: int = 0
    duckdb_seconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        duckdb = sum(self.duckdb_seconds.values())
        per_million = 1e6 / max(1, self.step_events)
        return {
            "deliveries": self.deliveries,
            "events": self.events,
            "megabytes": round(self.megabytes, 1),
            "mean_run": round(self.mean_run, 2),
            "verdict": self.verdict,
            "seconds": round(self.seconds, 2),
            "cpu_seconds": round(self.cpu_seconds, 2),
            "write_seconds": round(self.write_seconds, 2),
            "rss_megabytes_max": round(self.rss_megabytes_max),
            "largest_python_process_megabytes": round(self.largest_process_megabytes),
            "deliveries_per_second": round(self.deliveries / self.seconds) if self.seconds else None,
            "events_per_second": round(self.events / self.seconds) if self.seconds else None,
            "cpu_seconds_per_million_events": round(self.cpu_seconds * 1e6 / self.events, 3) if self.events else None,
            "steps": {name: round(s * per_million, 3) for name, s in self.step_seconds.items()},
            "rules": {name: self._speed(s) for name, s in self.step_seconds.items() if name.startswith("G")},
            "duckdb_deliveries_per_second": round(self.deliveries / duckdb) if duckdb else None,
            "duckdb": {name: {"seconds": round(s, 2)} for name, s in self.duckdb_seconds.items()},
        }

    def _speed(self, seconds: float) -> dict[str, Any]:
        """What this rule alone would do in one process."""
        share = self.deliveries * self.step_events / max(1, self.events)
        return {"deliveries_per_second": round(share / max(seconds, 1e-9))}


def run_pipeline(
    deliveries: int,
    each_step: bool,
    master: str | None,
    say: Callable[[str], None],
    history: Path | None = None,
    write_only: bool = False,
    single_view: bool = False,
) -> Result:
    """Make a history of about this many deliveries (or take the one in `history`) and judge it."""
    with TemporaryDirectory(prefix="ringcast-bench-") as place:
        result, recordings = _history(deliveries, history or Path(place), single_view, say)
        if write_only:
            return result
        _judge(recordings, result, master, say)
        if each_step:
            say("what each step costs in one process")
            measure_steps(sorted(recordings.rglob("*.rct")), result)
            say("DuckDB on the same events")
            with TemporaryDirectory(prefix="ringcast-bench-") as tables:
                result.duckdb_seconds = duckdb_seconds(recordings, Path(tables))
    return result


def _history(deliveries: int, place: Path, single_view: bool, say: Callable[[str], None]) -> tuple[Result, Path]:
    from ringcast.bench.history import Shape, make_period, write_recordings

    turns = max(1, round(deliveries / PERIOD_DELIVERIES))
    shape = Shape(deliveries=min(deliveries, PERIOD_DELIVERIES), views=0 if single_view else 10)
    period = make_period(1, shape)
    recordings = place / f"{'one-view' if single_view else 'views'}-{turns * period.deliveries}"
    started = time.perf_counter()
    if not recordings.exists():
        say(f"writing {turns * period.deliveries:,} deliveries")
        write_recordings(recordings, period, turns)
    events = turns * sum(map(len, period.events)) + 2 * len(period.addresses)
    delivers = [e for told in period.events for e in told if e.kind is Kind.DELIVER]
    mean_run = sum(e.count for e in delivers) / len(delivers)
    megabytes = sum(path.stat().st_size for path in recordings.rglob("*.rct")) / 1e6
    result = Result(turns * period.deliveries, events, megabytes, mean_run)
    result.write_seconds = time.perf_counter() - started
    return result, recordings


def _judge(recordings: Path, result: Result, master: str | None, say: Callable[[str], None]) -> None:
    from ringcast.pipeline import Application, segment_files, spark_session

    with spark_session(master) as spark, TreeUse() as use:
        say("starting Spark and its workers")
        _warm_up(spark)
        say("judging all guarantees")
        started, cpu = time.perf_counter(), use.cpu_seconds()
        application = Application(segment_files(spark, str(recordings)), with_tables=False)
        (judgement,) = application.judge().values()
        result.seconds = time.perf_counter() - started
        result.cpu_seconds = use.cpu_seconds() - cpu
        result.verdict, result.events = judgement.verdict, judgement.events
        application.close()
    result.rss_megabytes_max = use.highest_megabytes
    result.largest_process_megabytes = use.largest_python_megabytes


def _warm_up(spark: Any) -> None:
    """Judge something small, twice: then every worker has loaded what it needs."""
    from ringcast.bench.history import Shape, make_period, write_recordings
    from ringcast.pipeline import Application, segment_files

    with TemporaryDirectory(prefix="ringcast-bench-") as place:
        write_recordings(Path(place), make_period(2, Shape(deliveries=20_000)), 1)
        for _ in range(2):
            application = Application(segment_files(spark, place))
            application.judge()
            application.close()


def measure_steps(paths: Sequence[Path], result: Result) -> None:
    """CPU seconds of decoding, of each rule's kernel, of the metrics and of the comparison, in this process."""
    from ringcast.pipeline import decode, rule_steps

    contents = [(str(path), path.read_bytes()) for path in _spread(paths)]
    started = time.process_time()
    segments = [decode(data, path) for path, data in contents]
    result.step_seconds["decode"] = time.process_time() - started
    result.step_events = sum(len(segment) for segment in segments)
    for name, step in rule_steps():
        started = time.process_time()
        for segment in segments:
            step(segment)
        # A guarantee may have two rules.
        result.step_seconds[name] = result.step_seconds.get(name, 0.0) + time.process_time() - started


def _spread(paths: Sequence[Path]) -> Iterable[Path]:
    return paths[:: max(1, len(paths) // STEP_SEGMENTS)][:STEP_SEGMENTS]


def duckdb_seconds(recordings: Path, place: Path) -> dict[str, float]:
    """FIFO, agreement and latency as DuckDB does them."""
    import duckdb

    _write_parquet(recordings, place)
    connection = duckdb.connect()
    connection.execute(f"create view events as select * from read_parquet('{place}/*.parquet')")
    return {name: _timed(connection, queries) for name, queries in _QUERIES.items()}


def _write_parquet(recordings: Path, place: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ringcast.pipeline import decode

    codes: dict[object, int] = {}
    for number, path in enumerate(sorted(recordings.rglob("*.rct"))):
        segment = decode(path.read_bytes(), str(path))
        peers = [codes.setdefault(address, len(codes)) for address in segment.addresses]
        views = [f"{view.number} {view.creator}" for view in segment.views]
        columns = {
            "member": np.full(len(segment), codes.setdefault(segment.header.member, len(codes))),
            "index": segment.index,
            "epoch": pa.array([*views, None]).take(pa.array(np.where(segment.view < 0, len(views), segment.view))),
            "peer": np.array([*peers, -1])[segment.peer],
            **{name: getattr(segment, name) for name in ("kind", "t_ns", "stream", "first", "count", "value")},
        }
        pq.write_table(pa.table(columns), place / f"{number:06d}.parquet", compression="zstd")


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
            from events where kind in ({int(Kind.DELIVER)}, {int(Kind.OFFSET)}))
        where kind = {int(Kind.DELIVER)} and "first" <> coalesce(before, 0) + 1""",
        f"""/* none */ select count(*) from (
            select "first", lag("first") over (partition by member, peer order by "index") as before
            from events where kind = {int(Kind.DEQUEUE)})
        where "first" <= before""",
    ],
    "agreement": [
        f"""/* none */ select count(*) from (
            select epoch, peer, count(distinct (low, high, total)) as different from (
                select member, epoch, peer, min("first") as low, max("first" + "count") as high,
                    sum("count") as total
                from events where kind = {int(Kind.DELIVER)} and stream = 0 group by all)
            group by all) where different > 1""",
    ],
    "latency": [
        f"""select quantile_cont(took, 0.99) from (
            select d.t_ns - s.t_ns as took
            from (select peer, t_ns, "first" + "count" - 1 as last from events where kind = {int(Kind.DELIVER)}) d
            asof join (select member, t_ns, "first" + "count" - 1 as last from events where kind = {int(Kind.SEND)}) s
            on d.peer = s.member and d.last <= s.last)""",
    ],
}
