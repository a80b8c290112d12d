"""Tables written by Spark's writers, by path or by catalog name, and what of the input they already have.

Every table is partitioned by `bucket`, a number made of the run's name, so that ten thousand small runs are some files
and not ten thousand. Judging a run again replaces its rows: the buckets it belongs to are written anew with the other
runs' rows kept. So the same input twice changes nothing, and a run that grew is replaced, never doubled. One writer at
a time. Works with any format that Spark can write (`spark.sql.sources.default`, Parquet unless set).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
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
_AT_ONCE = 4


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

        `filled`: of which runs it has rows. `others`: in their buckets other runs may be, which stay.
        """
        old, rows, mode = self.read(table), frame, "dynamic"
        if old is not None and others:
            kept = only(_of_buckets(old, runs), "run", runs, "left_anti").select(*frame.columns)
            rows = kept.localCheckpoint().unionByName(frame)  # read before its files are replaced
        left = set(map(bucket_of, runs)) - set(map(bucket_of, filled))
        if old is not None and left and self._emptied(old, rows, left):
            # Replacing partitions would leave those that have no rows any more.
            elsewhere = _of_buckets(old, runs, is_in=False).select(*frame.columns).localCheckpoint()
            rows, mode = elsewhere.unionByName(rows), "static"
        if old is None or filled or mode == "static":
            self._save(table, rows, mode, is_new=old is None)

    def _emptied(self, old: DataFrame, rows: DataFrame, buckets: Collection[int]) -> bool:
        had, has = (
            {row["bucket"] for row in part.where(part["bucket"].isin(*buckets)).select("bucket").distinct().collect()}
            for part in (old, rows)
        )
        return bool(had - has)

    def _save(self, table: str, rows: DataFrame, mode: str, is_new: bool) -> None:
        name = self.name(table)
        if table in TABLES:  # what is small: one file for each bucket, runs together
            rows = rows.repartition("bucket").sortWithinPartitions("bucket", "run")
        writer = rows.write.mode("overwrite").option("partitionOverwriteMode", mode)
        if self.is_path:
            writer.partitionBy("bucket").save(name)
        elif is_new or mode == "static":  # Made anew: inserting goes by the mode that the table was made with.
            writer.option("partitionOverwriteMode", "dynamic").partitionBy("bucket").saveAsTable(name)
        else:
            writer.insertInto(name, overwrite=True)

    def check_version(self) -> None:
        verdicts = self.read("verdicts")
        other = None if verdicts is None else verdicts.where(verdicts["schema_version"] != SCHEMA).first()
        if other is not None:
            version = other["schema_version"]
            raise UsageError(f"the tables in {self.place} have schema {version}, this version writes {SCHEMA}")


def write_tables(store: TableStore, application: Application, runs: Sequence[str]) -> None:
    """Write every table of these runs.

    `verdicts` behind the rest: who sees it sees the rest. `segments` last of all: of what it names `unseen` says that
    it was written, whatever interrupted the others.
    """
    others = store.has_others(runs)

    def write(table: str) -> None:
        store.write(table, application.table(table), runs, application.filled(table), others)

    pool = ThreadPoolExecutor(_AT_ONCE)  # of a small table most is waiting for the one before
    try:
        list(pool.map(write, [table for table in TABLES if table not in _LAST]))
    finally:
        pool.shutdown(cancel_futures=True)
    for table in _LAST:
        write(table)


def write_events(store: TableStore, uris: Sequence[str], runs: Sequence[str]) -> None:
    """Every single event of these runs as a row: large, only on demand."""
    from pyspark.sql import functions as F

    bucket = (F.crc32(F.col("run").cast("binary")) % BUCKETS).cast("int")
    events = only(read(store.spark, uris), "run", runs)
    events = events.withColumn("schema_version", F.lit(SCHEMA)).withColumn("bucket", bucket)
    columns = [name for name in events.columns if name not in ("run", "bucket")]
    store.write("events", events.select(*columns, "run", "bucket"), runs, runs, others=True)


def _of_buckets(frame: DataFrame, runs: Sequence[str], is_in: bool = True) -> DataFrame:
    """The rows in the buckets of these runs, or in the others."""
    found = frame["bucket"].isin(*sorted(set(map(bucket_of, runs))))
    return frame.where(found if is_in else ~found)


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
