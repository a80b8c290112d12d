"""`spark.read.format("ringcast").load(path)`: events of recordings on this machine, for SQL and notebooks.

A Python data source opens paths with Python and knows no Hadoop file system, so only local paths and `file:` are taken;
everything else is for `ringcast.pipeline.read(spark, uri)`. Register it once with `spark.dataSource.register`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from ringcast.errors import UsageError
from ringcast.pipeline.reading import EVENTS, events_of
from ringcast.pipeline.segment import decode
from ringcast.trace import SUFFIX, TraceError

if TYPE_CHECKING:
    import pyarrow as pa


class RingcastSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "ringcast"

    def schema(self) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(EVENTS)

    def reader(self, schema: Any) -> DataSourceReader:
        return _Reader(local_path(self.options.get("path", "")))


class _Reader(DataSourceReader):
    def __init__(self, root: Path) -> None:
        self._root = root

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(str(path)) for path in sorted(self._root.rglob("*" + SUFFIX))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        path = Path(partition.value)
        try:
            yield from events_of(decode(path.read_bytes(), str(path)))
        except TraceError:
            return


def local_path(path: str) -> Path:
    """The directory that a local path or a `file:` URI names; UsageError for every other scheme."""
    if not path:
        raise UsageError('give the recordings: spark.read.format("ringcast").load(path)')
    parts = urlparse(path)
    if parts.scheme not in ("", "file"):
        raise UsageError(
            f"the ringcast source reads local paths only; for {path} use ringcast.pipeline.read(spark, uri)"
        )
    return Path(parts.path if parts.scheme else path)
