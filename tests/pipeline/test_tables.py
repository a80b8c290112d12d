"""Tables on disk: every question of docs/tables.md has an answer, the same input twice changes nothing, what grew is
replaced, and a file that is no recording is a row with its reason."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tables")
    simulate(draw(1, (3, 3)), root / "runs" / "one")
    (root / "runs" / "stray.rct").write_bytes(b"no recording")
    return root


def judge_into(store: TableStore, place: Path, incremental: bool = False) -> list[str]:
    files = segment_files(store.spark, str(place / "runs"))
    application = Application(unseen(store, files) if incremental else files)
    judged = list(application.judge())
    if judged:
        write_tables(store, application, judged)
    application.close()
    return judged


def counts(store: TableStore) -> dict[str, int]:
    frames = {name: frame for name in TABLES if (frame := store.read(name)) is not None}
    parts = [frame.select(F.lit(name).alias("table")) for name, frame in frames.items()]
    rows = reduce(DataFrame.unionAll, parts).groupBy("table").count().collect()
    return dict.fromkeys(frames, 0) | {row["table"]: row["count"] for row in rows}


def test_tables_answer_are_written_once_and_grow_by_new_runs(spark: SparkSession, place: Path) -> None:
    store = TableStore(spark, str(place / "tables"))
    judge_into(store, place)
    first = counts(store)
    assert first["verdicts"] == 1 and set(first) == set(TABLES)
    bad = spark.read.parquet(store.name("segments")).where("reason is not null").collect()
    assert [Path(row["path"]).name for row in bad] == ["stray.rct"]
    judge_into(store, place)
    assert counts(store) == first
    assert judge_into(store, place, incremental=True) == []
    simulate(draw(2, (3, 3)), place / "runs" / "two")
    assert judge_into(store, place, incremental=True) == ["seed 2"]
    after = counts(store)
    assert after["verdicts"] == 2 and after["coverage"] == 2 * first["coverage"]
    assert len(list((place / "tables" / "metrics").glob("bucket=*/*.parquet"))) == 2
    for name in TABLES:
        table = store.read(name)
        assert table is not None
        table.createOrReplaceTempView(name)
    assert len(QUESTIONS) == 10
    answers = [spark.sql(question).collect() for question in QUESTIONS]
    assert answers[0] == [] and len(answers[3]) > 0 and len(answers[6]) > 0


def test_tables_in_a_catalog_are_written_once_and_found_again(spark: SparkSession, tmp_path: Path) -> None:
    as_segments(tmp_path / "runs" / "one", Story("ab").view("ab").passed("ab", "a", 3).recordings())
    spark.sql(f"create database history location '{(tmp_path / 'history').as_uri()}'")
    try:
        store = TableStore(spark, "history")
        (run,) = judge_into(store, tmp_path)
        first = counts(store)
        assert set(first) == set(TABLES) and (first["verdicts"], first["members"]) == (1, 2)
        assert [row["verdict"] for row in spark.sql("select verdict from history.verdicts").collect()] == ["held"]
        assert judge_into(store, tmp_path, incremental=True) == []
        assert judge_into(store, tmp_path) == [run]
        assert counts(store) == first
    finally:
        spark.sql("drop database history cascade")


def same_bucket(run: str) -> str:
    return next(name for n in range(10_000) if bucket_of(name := f"run {n}") == bucket_of(run) and name != run)


def test_of_a_run_judged_again_nothing_old_is_left_and_the_others_stay(spark: SparkSession, tmp_path: Path) -> None:
    store = TableStore(spark, str(tmp_path))
    one, same, other = "run 0", same_bucket("run 0"), "run 1"
    schema = from_arrow_schema(TABLES["violations"].schema)

    def write(sentences: dict[str, str], runs: list[str]) -> None:
        rows = [
            {"sentence": text, "schema_version": SCHEMA, "run": run, "bucket": bucket_of(run)}
            for text, run in sentences.items()
        ]
        store.write("violations", spark.createDataFrame(rows, schema), runs, list(sentences.values()), others=True)

    def written() -> dict[str, str]:
        return {row["sentence"]: row["run"] for row in spark.read.parquet(store.name("violations")).collect()}

    write({"a": one, "b": other}, [one, other])
    write({"c": same}, [same])
    assert written() == {"a": one, "b": other, "c": same}
    write({"d": one}, [one, other])  # the other one has none any more, and its bucket goes
    assert written() == {"c": same, "d": one}
