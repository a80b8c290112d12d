"""Tables written by Spark's writers, by path or by catalog name, and what of the input they already have.

Rows are only ever added, so nothing that is there can be lost, whoever made the table and whatever its catalog and
format are. Each judging of a run has its moment (`judged_at`); what a reader wants are the rows of each run's newest
judgement (`TableStore.newest`). `verdicts` is written last: a moment without a row in it was interrupted, and does not
count. So the same input twice changes nothing that is seen, and a run that grew is seen as it was judged last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ringcast._version import __version__
from ringcast.errors import UsageError
from ringcast.pipeline.judging import described, only, runs_of
from ringcast.pipeline.progress import cause_of
from ringcast.pipeline.reading import chosen_files, read, segment_sizes
from ringcast.pipeline.results import SCHEMA, TABLES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from ringcast.pipeline.judging import Application

LAST = "verdicts"
_ABSENT = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "UNABLE_TO_INFER")


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

    def check(self) -> None:
        """Raise UsageError where these tables cannot be written: no such schema, or something else has their names."""
        if not self.is_path and not self._has_schema():
            raise UsageError(
                f"there is no schema {self.place} to write tables into; a directory has a slash in its name"
            )
        for table in TABLES:
            frame = self.read(table)
            other = None if frame is None else frame.where(frame["schema_version"] != SCHEMA).first()
            if other is not None:
                version = other["schema_version"]
                raise UsageError(f"the tables in {self.place} have schema {version}, this version writes {SCHEMA}")

    def _has_schema(self) -> bool:
        try:
            self.spark.sql(f"show tables in {self.place}").first()
        except Exception:
            return False
        return True

    def read(self, table: str) -> DataFrame | None:
        """Every row, also of older judgements; None if there is no table. UsageError if it is not one of ringcast."""
        name = self.name(table)
        try:
            frame = self.spark.read.load(name) if self.is_path else self.spark.table(name)
            columns = frame.columns  # over Connect a missing table is told here
        except Exception as error:
            if any(word in str(error) for word in _ABSENT):
                return None
            raise UsageError(f"the table {name} cannot be read: {cause_of(error)}") from error
        if not {"schema_version", "run"} <= set(columns):
            raise UsageError(f"{name} is not a table of ringcast")
        return frame

    def newest(self, table: str) -> DataFrame | None:
        """The rows of each run's newest judgement that was written to its end."""
        from pyspark.sql import functions as F

        frame, verdicts = self.read(table), self.read(LAST)
        if frame is None or verdicts is None:
            return None
        newest = verdicts.groupBy("run").agg(F.max("judged_at").alias("judged_at"))
        return frame.join(newest, ["run", "judged_at"], "left_semi")

    def append(self, table: str, frame: DataFrame) -> None:
        """Add these rows; a table that is there is taken as it is: its columns, their order, its format."""
        name, old = self.name(table), self.read(table)
        if self.is_path:
            frame.write.mode("append").save(name)
        elif old is None:
            frame.write.saveAsTable(name)
        else:
            lacking = [column for column in frame.columns if column not in old.columns]
            if lacking:
                raise UsageError(f"the table {name} has no column {', '.join(lacking)}")
            frame.select(*(_fitting(frame, field) for field in old.schema)).write.insertInto(name)


def _fitting(frame: DataFrame, field: StructField) -> Column:
    """The column for one of a table that somebody else made: lists as JSON where it has text, nothing for one more."""
    from pyspark.sql import functions as F

    if field.name not in frame.columns:
        return F.lit(None).cast(field.dataType).alias(field.name)
    is_list = frame.schema[field.name].dataType.typeName() == "array"
    column = F.col(field.name)
    return F.to_json(column).alias(field.name) if is_list and field.dataType.typeName() == "string" else column


def write_tables(
    store: TableStore, application: Application, runs: Sequence[str], events_of: Sequence[str] = ()
) -> None:
    """Add what was judged of these runs to every table; from the URIs `events_of` every single event, too."""
    from pyspark.sql import functions as F

    about = {"judged_at": F.lit(datetime.now(UTC).replace(tzinfo=None)).cast("timestamp")}
    of_run = {"version": F.lit(__version__), "application": F.lit(application.id)}
    if events_of:
        events = only(read(store.spark, events_of), "run", runs).withColumn("schema_version", F.lit(SCHEMA))
        store.append("events", events.withColumns(about))
    for table in (*(table for table in TABLES if table != LAST), LAST):
        if application.filled(table) or store.read(table) is None:
            described(store.spark, f"ringcast: write {table}")
            rows = application.table(table).sortWithinPartitions("run").withColumns(about)
            store.append(table, rows.withColumns(of_run) if table == LAST else rows)


def unseen(store: TableStore, uris: Sequence[str]) -> list[str]:
    """The segments below these URIs that are to be judged: all of each run that has one which the tables lack.

    Paths and sizes come without contents; read are only the segments that are new.
    """
    segments, judged = store.read("segments"), store.newest("segments")
    sizes = segment_sizes(store.spark, uris)
    if segments is None or judged is None:
        return list(sizes)
    known = judged.unionByName(segments.where(segments["reason"].isNotNull())).select("run", "path", "bytes").collect()
    new = sizes.keys() - {row["path"] for row in known if sizes.get(row["path"]) == row["bytes"]}
    runs = set(runs_of(chosen_files(store.spark, sorted(new)))) if new else set()
    again = {row["path"] for row in known if row["run"] in runs}
    return sorted(new | (again & sizes.keys()))
