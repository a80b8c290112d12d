"""Tables written by Spark's writers, by path or by catalog name, and what of the input they already have.

Every table is partitioned by `bucket`, a number made of the run's name, so that ten thousand small runs are some files
and not ten thousand. Judging a run again replaces its rows: the buckets it belongs to are written anew with the other
runs' rows kept. So the same input twice changes nothing, and a run that grew is replaced, never doubled. One writer at
a time. Works with any format that Spark can write (`spark.sql.sources.default`, Parquet unless set).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringcast.errors import UsageError
from ringcast.pipeline.judging import only, runs_of
from ringcast.pipeline.reading import read
from ringcast.pipeline.results import BUCKETS, SCHEMA, TABLES, bucket_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ringcast.pipeline.judging import Application

_LAST = ("verdicts", "segments")


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

    def has_others(self, runs: Sequence[str]) -> bool:
        """Does a bucket of these runs hold another run too? Of every run there is a row in `segments`."""
        segments = self.read("segments")
        return segments is not None and only(_of_buckets(segments, runs), "run", runs, "left_anti").first() is not None

    def write(self, table: str, frame: DataFrame, runs: Sequence[str], filled: Collection[str], others: bool) -> None:
        """Replace what the table has of these runs by the rows of this frame, in which no other run is.

        `filled`: of which runs it has rows. `others`: in their buckets other runs may be, which stay. Of a bucket that
        none of these runs has, nothing is touched: it may hold what nobody would make again.
        """
        old, rows = self.read(table), frame
        if old is None:
            self._save(table, rows, is_new=True)
            return
        if others:
            kept = only(_of_buckets(old, runs), "run", runs, "left_anti").select(*frame.columns)
            rows = kept.unionByName(frame)  # what is read is replaced when all of it is written
        left = set(map(bucket_of, runs)) - set(map(bucket_of, filled))
        emptied = _buckets(old, left) - (_buckets(rows, left) if others else set()) if left else set()
        if filled or others:
            self._save(table, rows, is_new=False)
        for bucket in sorted(emptied):  # Replacing buckets leaves those that have no rows any more.
            self._empty(table, bucket)

    def begin(self, runs: Sequence[str], others: bool) -> None:
        """From here on until `segments` is written again, `unseen` takes these runs for new: no size is NULL."""
        from pyspark.sql import functions as F

        segments = self.read("segments")
        if segments is None:
            return
        begun = only(_of_buckets(segments, runs), "run", runs).withColumn("bytes", F.lit(None).cast("bigint"))
        if not begun.isEmpty():
            self.write("segments", begun, runs, runs, others)

    def _save(self, table: str, rows: DataFrame, is_new: bool) -> None:
        name = self.name(table)
        if table in TABLES:  # what is small: one file for each bucket, runs together
            rows = rows.repartition("bucket").sortWithinPartitions("bucket", "run")
        writer = rows.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        if self.is_path:
            writer.partitionBy("bucket").save(name)
        elif is_new:
            writer.partitionBy("bucket").saveAsTable(name)
        else:
            writer.insertInto(name, overwrite=True)

    def _empty(self, table: str, bucket: int) -> None:
        name = self.name(table)
        if self.is_path:
            self._load(table).limit(0).drop("bucket").write.mode("overwrite").save(f"{name}/bucket={bucket}")
            return
        try:
            self.spark.sql(f"alter table {name} drop if exists partition (bucket = {bucket})")
        except Exception:  # a catalog that knows no partitions, but rows
            self.spark.sql(f"delete from {name} where bucket = {bucket}")

    def check_version(self) -> None:
        verdicts = self.read("verdicts")
        other = None if verdicts is None else verdicts.where(verdicts["schema_version"] != SCHEMA).first()
        if other is not None:
            version = other["schema_version"]
            raise UsageError(f"the tables in {self.place} have schema {version}, this version writes {SCHEMA}")


def write_tables(
    store: TableStore, application: Application, runs: Sequence[str], events_of: Sequence[str] = ()
) -> None:
    """Write every table of these runs; from the URIs `events_of` every single event, too.

    `verdicts` behind the rest: who sees it sees the rest. `segments` last of all: what it names, with its size, was
    written to its end, whatever interrupted the others.
    """
    others = store.has_others(runs)
    store.begin(runs, others)
    if events_of:
        _write_events(store, events_of, runs)
    for table in (*(table for table in TABLES if table not in _LAST), *_LAST):
        store.write(table, application.table(table), runs, application.filled(table), others)


def _write_events(store: TableStore, uris: Sequence[str], runs: Sequence[str]) -> None:
    """Every single event of these runs as a row: large, only on demand."""
    from pyspark.sql import functions as F

    bucket = (F.crc32(F.col("run").cast("binary")) % BUCKETS).cast("int")
    events = only(read(store.spark, uris), "run", runs)
    events = events.withColumn("schema_version", F.lit(SCHEMA)).withColumn("bucket", bucket)
    columns = [name for name in events.columns if name not in ("run", "bucket")]
    store.write("events", events.select(*columns, "run", "bucket"), runs, runs, others=True)


def _buckets(frame: DataFrame, among: Collection[int]) -> set[int]:
    """Those of these buckets in which the frame has rows."""
    return {row["bucket"] for row in frame.where(frame["bucket"].isin(*among)).select("bucket").distinct().collect()}


def _of_buckets(frame: DataFrame, runs: Sequence[str]) -> DataFrame:
    return frame.where(frame["bucket"].isin(*sorted(set(map(bucket_of, runs)))))


def unseen(store: TableStore, files: DataFrame) -> DataFrame:
    """Of these segments those of runs with something new: every segment of a run that has one the tables lack."""
    from pyspark.sql import functions as F

    known = store.read("segments")
    if known is None:
        return files
    sizes = files.select("path", F.length("content").alias("bytes"))
    new = sizes.join(known.select("path", "bytes"), ["path", "bytes"], "left_anti").select("path")
    runs = runs_of(files.join(new, "path", "left_semi"))
    again = only(known, "run", runs).select("path")
    return files.join(new.union(again).distinct(), "path", "left_semi")
