"""Recordings through Spark's own readers: any URI that Spark knows, globs, many runs at once.

    events = read(spark, "s3a://bucket/recordings/2026-*/")
    events.where("kind = 'DELIVER'").groupBy("run", "member").sum("count")

Nothing here or in a task opens a path: bytes come by `binaryFile`. Spark leaves out names that begin with `_`, so the
segments that are still being written are listed and read by Hadoop's file system in the driver; over Spark Connect
there is no such way, and they are not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ringcast.errors import UsageError
from ringcast.model import Kind
from ringcast.pipeline.progress import cause_of
from ringcast.pipeline.segment import Array, Segment, decode
from ringcast.trace import SUFFIX, UNDER_WAY, TraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = "path string, content binary"
_GLOB = re.compile(r"[][{}*?\\]")  # what Hadoop does not take literally
_LISTING = {"recursiveFileLookup": "true", "pathGlobFilter": "*" + SUFFIX}
DEPTH = 4  # a recording may lie this many directories below what was named
ROWS_AT_ONCE = 1 << 16
EVENTS = pa.schema(
    [
        ("run", pa.string()),
        ("group", pa.string()),
        ("member", pa.string()),
        ("incarnation", pa.int64()),
        ("segment", pa.int32()),
        ("index", pa.int64()),
        ("kind", pa.string()),
        ("t_ns", pa.int64()),
        ("view", pa.int64()),
        ("view_creator", pa.string()),
        ("peer", pa.string()),
        ("stream", pa.int64()),
        ("first", pa.int64()),
        ("count", pa.int64()),
        ("ordinal", pa.int64()),
        ("value", pa.int64()),
        ("other", pa.int64()),
        ("detail", pa.string()),
        ("content", pa.int64()),
    ]
)
_NUMBERS = ("stream", "first", "count", "ordinal", "value", "other", "content")
_KINDS = np.array([Kind(n).name if n in set(Kind) else "" for n in range(256)], dtype=object)


def read(spark: SparkSession, uri: str | Sequence[str], under_way: bool = True) -> DataFrame:
    """The events of every recording in or below these URIs, as rows. What cannot be read is left out."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return segment_files(spark, uri, under_way).mapInArrow(_to_events, from_arrow_schema(EVENTS))


def segment_files(spark: SparkSession, uri: str | Sequence[str], under_way: bool = True) -> DataFrame:
    """Every segment in or below these URIs: path and content."""
    uris = [uri] if isinstance(uri, str) else list(uri)
    files, unfinished = _listed(spark, uris, under_way)
    files = files.select("path", "content")
    return files.unionByName(spark.createDataFrame(unfinished, FILES)) if unfinished else files


def segment_sizes(spark: SparkSession, uri: str | Sequence[str]) -> dict[str, int]:
    """The size of every segment in or below these URIs; of those that are finished nothing is read."""
    files, unfinished = _listed(spark, [uri] if isinstance(uri, str) else list(uri), True)
    sizes = {row["path"]: int(row["length"]) for row in files.select("path", "length").collect()}
    return sizes | {path: len(content) for path, content in unfinished}


def chosen_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Read these segments, by the paths that a listing gave, and nothing else."""
    finished = [literally(path) for path in paths if not is_under_way(path)]
    rest = _contents(spark, filter(is_under_way, paths))
    if not finished:
        return spark.createDataFrame(rest, FILES)
    files = spark.read.format("binaryFile").options(**_LISTING).load(finished).select("path", "content")
    return files.unionByName(spark.createDataFrame(rest, FILES)) if rest else files


def _listed(spark: SparkSession, uris: list[str], under_way: bool) -> tuple[DataFrame, list[tuple[str, bytearray]]]:
    try:
        unfinished = _under_way(spark, uris) if under_way else []
        return spark.read.format("binaryFile").options(**_LISTING).load(uris), unfinished
    except Exception as error:
        raise UsageError(_cannot_list(uris, error)) from error


def literally(path: str) -> str:
    """A path that Hadoop takes for no pattern."""
    return _GLOB.sub(r"\\\g<0>", path)


def is_under_way(path: str) -> bool:
    return path.rpartition("/")[2].startswith(UNDER_WAY)


def events_of(segment: Segment) -> Iterator[pa.RecordBatch]:
    """The rows of one segment."""
    for begin in range(0, len(segment), ROWS_AT_ONCE):
        yield _batch(segment, begin, min(len(segment), begin + ROWS_AT_ONCE))


def _to_events(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
            try:
                segment = decode(content.as_buffer(), path.as_py())
            except TraceError:
                continue
            yield from events_of(segment)


def _batch(segment: Segment, begin: int, end: int) -> pa.RecordBatch:
    header, part = segment.header, slice(begin, end)
    views = segment.view[part]
    columns = {
        "run": _constant(header.run, end - begin),
        "group": _constant(header.group, end - begin),
        "member": _constant(str(header.member), end - begin),
        "incarnation": pa.array(np.full(end - begin, header.incarnation)),
        "segment": pa.array(np.full(end - begin, header.number, dtype=np.int32)),
        "index": pa.array(header.first_index + np.arange(begin, end)),
        "kind": pa.array(_KINDS[segment.kind[part]], pa.string()),
        "t_ns": pa.array(segment.t_ns[part]),
        "view": _chosen(views, [view.number for view in segment.views], pa.int64()),
        "view_creator": _chosen(views, [str(view.creator) for view in segment.views], pa.string()),
        "peer": _chosen(segment.peer[part], [str(address) for address in segment.addresses], pa.string()),
        **{name: pa.array(getattr(segment, name)[part]) for name in _NUMBERS},
        "detail": _details(segment, segment.detail[part]),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in EVENTS.names], schema=EVENTS)


def _constant(value: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), count)


def _chosen(places: Array, meanings: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Places in a list as what stands there; none where the place is -1."""
    return pa.array([*meanings, None], kind).take(pa.array(np.where(places < 0, len(meanings), places)))


def _details(segment: Segment, places: Array) -> pa.Array:
    texts = np.full(len(places), None, dtype=object)
    for at in np.flatnonzero(places >= 0).tolist():
        texts[at] = json.dumps(segment.details[int(places[at])], default=str)
    return pa.array(texts, pa.string())


def _under_way(spark: SparkSession, uris: Sequence[str]) -> list[tuple[str, bytearray]]:
    """Segments that are still being written, or whose writer was killed: path and content."""
    jvm = getattr(spark, "_jvm", None)
    context = getattr(spark, "_jsc", None)
    if jvm is None or context is None:
        return []
    found = []
    for uri in uris:
        system = jvm.org.apache.hadoop.fs.Path(uri).getFileSystem(context.hadoopConfiguration())
        for depth in range(DEPTH + 1):
            pattern = uri.rstrip("/") + "/*" * depth + f"/{UNDER_WAY}*{SUFFIX}"
            statuses = system.globStatus(jvm.org.apache.hadoop.fs.Path(pattern)) or ()
            found += [status.getPath().toString() for status in statuses]
    return _contents(spark, found)


def _contents(spark: Any, paths: Iterable[str]) -> list[tuple[str, bytearray]]:
    """Path and content of segments under way; without those that were finished meanwhile."""
    found = []
    for name in paths:
        path = spark._jvm.org.apache.hadoop.fs.Path(name)
        content = _bytes_of(path.getFileSystem(spark._jsc.hadoopConfiguration()), path)
        if content:
            found.append((name, bytearray(content)))
    return found


def _bytes_of(system: Any, path: Any) -> bytes:
    """All of a file, or nothing if it was finished, and so renamed, after it was listed: then it is seen as such."""
    try:
        stream = system.open(path)
    except Exception as error:
        if "FileNotFound" in str(error):
            return b""
        raise
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()


def _cannot_list(uris: Sequence[str], error: Exception) -> str:
    told = cause_of(error)
    if "PATH_NOT_FOUND" in str(error):
        return f"there is nothing at {', '.join(uris)}"
    if "Relative path in absolute URI" in told:
        told = f"Hadoop knows no names with a colon, and there is {told.rpartition('URI: ')[2]!r} (--judge local does)"
    return f"Spark cannot list {', '.join(uris)}: {told[:300]}"
