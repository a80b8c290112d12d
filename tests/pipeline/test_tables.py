"""Tables on disk: every question of docs/tables.md has an answer, the same input twice changes nothing, what grew is
replaced, and a file that is no recording is a row with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.falsified import FALSIFIED
from pipeline.test_truth import as_segments
from ringcast.errors import UsageError
from ringcast.pipeline import Application, segment_files
from ringcast.pipeline.reading import chosen_files
from ringcast.pipeline.results import TABLES, describe_tables
from ringcast.pipeline.writing import TableStore, unseen, write_tables
from ringcast.sim import draw, simulate
from ringcast.trace.story import Story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("spark")
PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
QUESTIONS = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def judge_into(store: TableStore, runs: Path, incremental: bool = False) -> list[str]:
    uri = str(runs)
    store.check()
    files = chosen_files(store.spark, unseen(store, [uri])) if incremental else segment_files(store.spark, uri)
    application = Application(files)
    try:
        judged = list(application.judge())
        if judged:
            write_tables(store, application, judged)
    finally:
        application.close()
    return judged


class Failing(TableStore):
    """The disk is full for one table, one that others stand before."""

    def append(self, table: str, frame: DataFrame) -> None:
        if table == "views":
            raise OSError("no space left")
        super().append(table, frame)


def interrupt(store: TableStore, runs: Path) -> None:
    with pytest.raises(OSError, match="no space left"):
        judge_into(Failing(store.spark, store.place), runs)


def counts(store: TableStore) -> dict[str, dict[str, int]]:
    """How many rows the newest judgement of each run has in each table; every table is there."""
    parts = []
    for name in TABLES:
        frame = store.newest(name)
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
    assert store.newest("members") is None
    assert len(judge_into(store, runs, incremental=True)) >= 2, "nothing of it was written to its end"
    first = counts(store)
    bad = spark.read.parquet(store.name("segments")).where("reason is not null").collect()
    assert {Path(row["path"]).name for row in bad} == {"stray.rct"}
    assert spark.read.parquet(store.name("violations")).count() == 0, "a table without rows can be read"

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
    for name in TABLES:
        table = store.newest(name)
        assert table is not None
        table.createOrReplaceTempView(name)
    assert len(QUESTIONS) == 10
    answers = [spark.sql(question).collect() for question in QUESTIONS]
    assert answers[0] == [] and len(answers[3]) > 0 and len(answers[6]) > 0

    before = counts(store)
    interrupt(store, runs)  # judged again, as by a newer version
    assert counts(store) == before, "what was not written to its end is not seen"
    assert set(judge_into(store, runs)) >= set(before)
    assert counts(store) == before, "the same input twice changes nothing that is seen"


def declared(table: str, without_lists: bool = False) -> str:
    """The columns of a table as somebody else would declare them, in another order and with one more."""
    text = {"list<item: string>": "string" if without_lists else "array<string>", "timestamp[us]": "timestamp"}
    text |= {"int64": "bigint", "int32": "int", "bool": "boolean"}
    columns = describe_tables()["tables"][table]["columns"]
    rows = [f"`{name}` {text.get(column['type'], column['type'])}" for name, column in columns.items()]
    return ", ".join(["`owner` string", *reversed(rows)])


def precreate(spark: SparkSession, place: Path) -> TableStore:
    """By a database administrator, partitioned by the day of judging nothing knows of: by the run."""
    spark.sql(f"create database precreated location '{place.as_uri()}'")
    for table in TABLES:
        spark.sql(f"create table precreated.{table} ({declared(table)}) using parquet partitioned by (run)")
    return TableStore(spark, "precreated")


def register(spark: SparkSession, place: Path) -> TableStore:
    """Tables that were written by path, registered in a catalog afterwards."""
    as_segments(place / "first", Story("ab").view("ab").passed("ab", "a", 3).recordings())
    judge_into(TableStore(spark, str(place / "tables")), place / "first")
    spark.sql("create database registered")
    for table in TABLES:
        spark.sql(f"create table registered.{table} using parquet location '{(place / 'tables' / table).as_uri()}'")
    return TableStore(spark, "registered")


def make_v2(spark: SparkSession, place: Path) -> TableStore:
    """A catalog of version 2: a database behind JDBC, which has no lists."""
    settings = {"": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"}
    settings |= {".url": f"jdbc:derby:{place}/derby;create=true", ".driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    settings |= {".pushDownAggregate": "false", ".pushDownPredicate": "false"}
    for name, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.derby{name}", value)
    spark.sql("create namespace derby.history")
    for table in TABLES:
        spark.sql(f"create table derby.history.{table} ({declared(table, without_lists=True)})")
    return TableStore(spark, "derby.history")


@pytest.mark.parametrize("make", [precreate, register, make_v2])
def test_a_run_written_through_a_catalog_leaves_all_others(
    make: Callable[[SparkSession, Path], TableStore], spark: SparkSession, tmp_path: Path
) -> None:
    """A write that replaced partitions took the whole table here: of four runs one was left."""
    store = make(spark, tmp_path / "place")
    try:
        early = counts(store)
        for number in range(3):
            as_segments(tmp_path / f"run {number}", Story("ab").view("ab").passed("ab", "a", 3).recordings())
            judge_into(store, tmp_path / f"run {number}")
        found = counts(store)
        runs = [(tmp_path / f"run {number}").as_uri() for number in range(3)]
        assert set(found) == {*early, *(run.replace("%20", " ") for run in runs)}
        assert len({tuple(sorted(rows.items())) for rows in found.values()}) == 1
        assert all(rows["verdicts"] == 1 and rows["members"] == 2 for rows in found.values())
    finally:
        if "." not in store.place:
            spark.sql(f"drop database {store.place} cascade")


def test_a_foreign_table_in_the_place_and_a_schema_that_is_not_there_are_said_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(3).write.parquet(str(tmp_path / "members"))
    with pytest.raises(UsageError, match="is not a table of ringcast"):
        TableStore(spark, str(tmp_path)).check()
    with pytest.raises(UsageError, match="there is no schema nowhere to write tables into"):
        TableStore(spark, "nowhere").check()


def test_adding_a_run_reads_only_what_is_new(spark: SparkSession, tmp_path: Path) -> None:
    store, runs = TableStore(spark, str(tmp_path / "tables")), tmp_path / "runs"
    for number in range(3):
        as_segments(runs / str(number), Story("ab").view("ab").passed("ab", "a", 3).recordings())
    judge_into(store, runs)
    as_segments(runs / "new", Story("ab").view("ab").passed("ab", "a", 3).recordings())
    paths = unseen(store, [str(runs)])
    assert {Path(path).parents[1].name for path in paths} == {"new"}
    read = {row["path"] for row in chosen_files(spark, paths).collect()}
    assert read == set(paths)


def test_a_directory_that_grows_is_judged_anew_in_a_session_that_lives_on(spark: SparkSession, tmp_path: Path) -> None:
    """What one application kept must not answer the next one: the bad run was read again, and came out once more."""
    bad = next(one for one in FALSIFIED if one.guarantee == "G12")
    for runs in (1, 2):
        as_segments(tmp_path / f"run {runs}", bad.tell(True))
        application = Application(segment_files(spark, str(tmp_path)))
        judged = application.judge()
        application.close()
        assert [judgement.verdict for judgement in judged.values()] == ["violated"] * runs
