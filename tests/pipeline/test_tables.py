"""Tables on disk: every question of docs/tables.md has an answer, the same input twice changes nothing, what grew is
replaced, and a file that is no recording is a row with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipeline.test_truth import as_segments
from ringcast.pipeline import Application, segment_files
from ringcast.pipeline.results import SCHEMA, TABLES, bucket_of
from ringcast.pipeline.writing import TableStore, unseen, write_tables
from ringcast.sim import draw, simulate
from ringcast.trace.story import Story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("spark")
PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
QUESTIONS = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def judge_into(store: TableStore, runs: Path, incremental: bool = False) -> list[str]:
    files = segment_files(store.spark, str(runs))
    application = Application(unseen(store, files) if incremental else files)
    judged = list(application.judge())
    if judged:
        write_tables(store, application, judged)
    application.close()
    return judged


class Failing(TableStore):
    """The disk is full for one table, one that others stand before."""

    def write(self, table: str, *rows: Any, **more: Any) -> None:
        if table == "views":
            raise OSError("no space left")
        super().write(table, *rows, **more)


def interrupt(store: TableStore, runs: Path) -> None:
    with pytest.raises(OSError, match="no space left"):
        judge_into(Failing(store.spark, store.place), runs)


def counts(store: TableStore) -> dict[str, dict[str, int]]:
    """How many rows each run has in each table; every table is there."""
    parts = []
    for name in TABLES:
        frame = store.read(name)
        assert frame is not None, name
        parts.append(frame.select("run", F.lit(name).alias("table")))
    found: dict[str, dict[str, int]] = {}
    for row in reduce(DataFrame.unionAll, parts).groupBy("run", "table").count().collect():
        found.setdefault(row["run"], {})[row["table"]] = row["count"]
    return found


def test_tables_answer_are_written_once_and_what_is_new_is_added(spark: SparkSession, tmp_path: Path) -> None:
    store, runs = TableStore(spark, str(tmp_path / "tables")), tmp_path / "runs"
    *early, late = Story("abc").view("abc").passed("abc", "a", 3).recordings()
    growing = (runs / "growing").as_uri()
    simulate(draw(1, (3, 3)), runs / "one")
    as_segments(runs / "growing", early)
    (runs / "stray.rct").write_bytes(b"no recording")
    interrupt(store, runs)
    assert store.read("members") is not None
    assert len(judge_into(store, runs, incremental=True)) == 3, "nothing of it was written to its end"
    first = counts(store)
    bad = spark.read.parquet(store.name("segments")).where("reason is not null").collect()
    assert [Path(row["path"]).name for row in bad] == ["stray.rct"]

    simulate(draw(2, (3, 3)), runs / "two")
    as_segments(runs / "growing", [late])
    assert sorted(judge_into(store, runs, incremental=True)) == [growing, "seed 2"]
    after = counts(store)
    was, grown, new = first.pop(growing), after.pop(growing), after.pop("seed 2")
    assert after == first, "what is not new stays as it was"
    assert (was["members"], was["segments"], was["verdicts"]) == (2, 2, 1)
    assert (grown["members"], grown["segments"], grown["verdicts"], grown["coverage"]) == (3, 3, 1, was["coverage"])
    assert new["verdicts"] == 1 and new["coverage"] == first["seed 1"]["coverage"]
    assert judge_into(store, runs, incremental=True) == []
    buckets = {bucket_of(run) for run in ("seed 1", "seed 2", growing)}
    assert len(list((tmp_path / "tables" / "metrics").glob("bucket=*/*.parquet"))) == len(buckets)

    for name in TABLES:
        table = store.read(name)
        assert table is not None
        table.createOrReplaceTempView(name)
    assert len(QUESTIONS) == 10
    answers = [spark.sql(question).collect() for question in QUESTIONS]
    assert answers[0] == [] and len(answers[3]) > 0 and len(answers[6]) > 0

    interrupt(store, runs)  # judged again, as by a newer version
    files = segment_files(spark, str(runs))
    assert unseen(store, files).count() == files.count()


@pytest.fixture(params=["path", "catalog"])
def store(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[TableStore]:
    if request.param == "path":
        yield TableStore(spark, str(tmp_path))
        return
    spark.sql(f"create database history location '{tmp_path.as_uri()}'")
    try:
        yield TableStore(spark, "history")
    finally:
        spark.sql("drop database history cascade")


def same_bucket(run: str) -> str:
    return next(name for n in range(10_000) if bucket_of(name := f"run {n}") == bucket_of(run) and name != run)


def test_of_a_run_judged_again_nothing_old_is_left_and_the_others_stay(store: TableStore) -> None:
    one, same, other = "run 0", same_bucket("run 0"), "run 1"
    schema = from_arrow_schema(TABLES["violations"].schema)

    def write(sentences: dict[str, str], runs: list[str]) -> None:
        rows = [
            {"sentence": text, "schema_version": SCHEMA, "run": run, "bucket": bucket_of(run)}
            for text, run in sentences.items()
        ]
        frame = store.spark.createDataFrame(rows, schema)
        store.write("violations", frame, runs, list(sentences.values()), others=True)

    def written() -> dict[str, str]:
        found = store.read("violations")
        assert found is not None
        return {row["sentence"]: row["run"] for row in found.collect()}

    assert store.read("violations") is None
    write({"a": one, "b": other}, [one, other])
    write({"c": same}, [same])
    assert written() == {"a": one, "b": other, "c": same}
    write({"d": one}, [one, other])  # the other one has none any more, and its bucket goes
    assert written() == {"c": same, "d": one}
    write({}, [same])  # nor has this one, and in its bucket another stays
    assert written() == {"d": one}
    write({}, [one])
    assert written() == {}
