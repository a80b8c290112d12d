"""Tables written by Spark's writers, by path or by catalog name, and what of the input they already have.

Every table is partitioned by `run`, and a run's partition is replaced as a whole: judging the same input again changes
nothing, and a run that grew is replaced, never doubled. Works with any format that Spark can write
(`spark.sql.sources.default`, Parquet unless set).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringcast.errors import UsageError
from ringcast.pipeline.reading import read
from ringcast.pipeline.results import SCHEMA, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ringcast.pipeline.judging import Application


@dataclass(frozen=True, slots=True)
class TableStore:
    """Where tables are: below a URI, or in a catalog (`catalog.schema`, `schema`)."""

    spark: SparkSession
    place: str

    @property
    def is_path(self) -> bool:
        return "/" in self.place or ":" in self.place

    def name(self, table: str) -> str:
        return f"{self.place.rstrip('/')}/{table}" if self.is_path else f"{self.place}.{table}"

    def read(self, table: str) -> DataFrame | None:
        """The table, or None if it was never written; UsageError if another version wrote it."""
        name = self.name(table)
        try:
            frame = self._load(table) if self.is_path else self.spark.table(name)
            frame.schema  # noqa: B018 - over Connect a missing table is told here
        except Exception as error:
            if any(word in str(error) for word in ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "UNABLE_TO_INFER")):
                return None
            raise UsageError(f"the table {name} cannot be read: {str(error).partition(chr(10))[0][:300]}") from error
        if "schema_version" not in frame.columns:
            raise UsageError(f"{name} is not a table of ringcast")
        return frame

    def _load(self, table: str) -> DataFrame:
        """With its schema: a table without rows has no file that would tell it."""
        from pyspark.sql.pandas.types import from_arrow_schema

        reader = self.spark.read
        if table in TABLES:
            reader = reader.schema(from_arrow_schema(TABLES[table].schema))
        return reader.load(self.name(table))

    def write(self, table: str, frame: DataFrame) -> None:
        """Replace the partitions of the runs in this frame."""
        name = self.name(table)
        writer = frame.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        if self.is_path:
            writer.partitionBy("run").save(name)
        elif self.read(table) is None:
            writer.partitionBy("run").saveAsTable(name)
        else:
            writer.insertInto(name, overwrite=True)

    def check_version(self) -> None:
        verdicts = self.read("verdicts")
        other = None if verdicts is None else verdicts.where(verdicts["schema_version"] != SCHEMA).first()
        if other is not None:
            version = other["schema_version"]
            raise UsageError(f"the tables in {self.place} have schema {version}, this version writes {SCHEMA}")


def write_tables(store: TableStore, application: Application, runs: Sequence[str]) -> None:
    """Write every table of these runs; runs without violations lose those they had."""
    for table in TABLES:
        if table != "verdicts":
            _forget_emptied(store, table, application, runs)
            store.write(table, application.table(table).coalesce(8))
    store.write("verdicts", application.table("verdicts").coalesce(8))  # last: who sees it sees the rest


def write_events(store: TableStore, uris: Sequence[str]) -> None:
    """Every single event as a row: large, only on demand."""
    from pyspark.sql import functions as F

    events = read(store.spark, uris).withColumn("schema_version", F.lit(SCHEMA))
    columns = [name for name in events.columns if name != "run"]
    store.write("events", events.select(*columns, "run"))


def _forget_emptied(store: TableStore, table: str, application: Application, runs: Sequence[str]) -> None:
    """Replacing partitions leaves one that has no rows any more. It is rare (a violation that was none) and small."""
    if table != "violations":
        return
    old = store.read(table)
    if old is None:
        return
    had = {row["run"] for row in old.where(old["run"].isin(list(runs))).select("run").distinct().collect()}
    has = {row["run"] for row in application.table(table).select("run").distinct().collect()}
    if not had - has:
        return
    kept = old.where(~old["run"].isin(list(had - has))).localCheckpoint()
    name = store.name(table)
    writer = kept.write.mode("overwrite").option("partitionOverwriteMode", "static")
    if store.is_path:
        writer.partitionBy("run").save(name)
    else:
        writer.insertInto(name, overwrite=True)


def unseen(store: TableStore, files: DataFrame) -> DataFrame:
    """Of these segments those of runs with something new: every segment of a run that has one the tables lack."""
    from pyspark.sql import functions as F

    from ringcast.pipeline.judging import runs_of

    known = store.read("segments")
    if known is None:
        return files
    sizes = files.select("path", F.length("content").alias("bytes"))
    new = sizes.join(known.select("path", "bytes"), ["path", "bytes"], "left_anti").select("path")
    runs = runs_of(files.join(new, "path", "left_semi"))
    again = known.where(known["run"].isin(runs)).select("path")
    return files.join(new.union(again).distinct(), "path", "left_semi")
