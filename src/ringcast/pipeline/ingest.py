"""Recordings into tables: each member's events, in its own order, up to the first hole (what follows is not judged).

One task per recording. A task reads blocks as columns, never single events, except those of the control plane, which
are few. Not a judge: malformed details are carried along as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ringcast.model import Address, Kind
from ringcast.pipeline.codes import Codes
from ringcast.pipeline.control import detail_columns, view_columns
from ringcast.pipeline.tables import (
    CONTROL,
    FLOW,
    MEMBERS,
    ORDER,
    PACKING,
    ROW_GROUP_EVENTS,
    ROW_GROUP_LEAST,
    Dataset,
    packing,
)
from ringcast.trace import Columns, Recording, read_recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLOW_KINDS = (
    *(Kind.SEND, Kind.DELIVER, Kind.ACK, Kind.PURGE, Kind.TAKEN, Kind.REQUEST, Kind.REPAIR, Kind.DROP, Kind.OFFSET),
    *(Kind.WINDOW, Kind.VIEW),
)
ORDER_KINDS = (Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE, Kind.ABORTED)
_MOVES = (Kind.SEND, Kind.DELIVER, Kind.TAKEN)
_NOT_CONTROL = {kind for kind in (*FLOW_KINDS, *ORDER_KINDS) if kind not in (Kind.OFFSET, Kind.VIEW, Kind.DROP)}

Array = np.ndarray[Any, np.dtype[Any]]


class TableWriter:
    """Writes one event table of one member, cutting row groups at view changes."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, **packing(schema))
        self._held: list[pa.RecordBatch] = []
        self._rows = 0
        self._epoch: int | None = None

    def write(self, columns: dict[str, Array]) -> None:
        epochs = columns["epoch"]
        if not len(epochs):
            return
        cuts = [0, *(np.flatnonzero(np.diff(epochs)) + 1).tolist(), len(epochs)]
        for start, end in pairwise(cuts):
            if epochs[start] != self._epoch and self._rows >= ROW_GROUP_LEAST:
                self._flush()
            self._epoch = epochs[start]
            self._hold(columns, start, end)

    def _hold(self, columns: dict[str, Array], start: int, end: int) -> None:
        while start < end:
            stop = min(end, start + ROW_GROUP_EVENTS - self._rows)
            arrays = [pa.array(columns[f.name][start:stop], f.type) for f in self._schema]
            self._held.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._rows += stop - start
            start = stop
            if self._rows >= ROW_GROUP_EVENTS:
                self._flush()

    def _flush(self) -> None:
        if self._held:
            table = pa.Table.from_batches(self._held, self._schema).combine_chunks()
            self._writer.write_table(table, row_group_size=ROW_GROUP_EVENTS)
        self._held, self._rows = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


@dataclass(slots=True)
class _Position:
    """Where in its recording a member is, from block to block."""

    index: int = 0
    epoch: int = 0
    creator: int = -1
    moved: int = 0
    last_ns: int = 0
    control: list[dict[str, Any]] = field(default_factory=list)


def ingest_recording(recording: Recording, codes: Codes, dataset: Dataset) -> dict[str, Any]:
    """Write one member's tables; gives its row of the members table."""
    code = codes.of(recording.member)
    flow, order = TableWriter(dataset.flow(code), FLOW), TableWriter(dataset.order(code), ORDER)
    at = _Position()
    for block in recording.blocks():
        limit = block.count if recording.hole is None else min(block.count, recording.hole - at.index)
        if limit <= 0:
            break
        _ingest_block(block, limit, code, codes, at, flow, order)
    flow.close()
    order.close()
    pq.write_table(pa.Table.from_pylist(at.control, CONTROL), dataset.control(code), **PACKING)
    return _member_row(recording, code, at, codes)


def _ingest_block(
    block: Columns, limit: int, code: int, codes: Codes, at: _Position, flow: TableWriter, order: TableWriter
) -> None:
    raw = {name: np.asarray(values[:limit], dtype=np.int64) for name, values in block.numbers.items()}
    kinds = raw["kind"]
    index = at.index + np.arange(limit, dtype=np.int64)
    peers = _translated(raw["peer"], [codes.of(a) for a in block.addresses])
    numbers = _translated(raw["view"], [view.number for view in block.views])
    creators = _translated(raw["view"], [codes.of(view.creator) for view in block.views])
    epochs, epoch_creators = _installed(kinds, numbers, creators, at)
    moves = np.cumsum(np.isin(kinds, _MOVES) & (raw["stream"] == 0))
    columns = {**raw, "index": index, "peer": peers, "epoch": epochs, "creator": epoch_creators}
    flow.write(_chosen(columns, np.isin(kinds, FLOW_KINDS)))
    in_order = np.isin(kinds, ORDER_KINDS)
    # An ordered message belongs to the view in which it got its place, which the event itself names.
    ordered_in = {
        "epoch": np.where(numbers >= 0, numbers, epochs),
        "creator": np.where(numbers >= 0, creators, epoch_creators),
    }
    order.write(_chosen({**columns, **ordered_in}, in_order))
    for i in np.flatnonzero(~np.isin(kinds, list(_NOT_CONTROL))).tolist():
        at.control.append(_control_row(block, columns, i, code, codes, at.moved + int(moves[i])))
    at.index += limit
    at.moved += int(moves[-1])
    at.epoch, at.creator = int(epochs[-1]), int(epoch_creators[-1])
    at.last_ns = int(raw["t_ns"][-1])


def _translated(positions: Array, meanings: list[int]) -> Array:
    """Dictionary positions to their meanings; -1 stays -1."""
    return np.array([*meanings, -1], dtype=np.int64)[positions]


def _installed(kinds: Array, numbers: Array, creators: Array, at: _Position) -> tuple[Array, Array]:
    """The view that was installed at each event: the last VIEW at or before it."""
    latest = np.maximum.accumulate(np.where(kinds == Kind.VIEW, np.arange(len(kinds)), -1))
    before = latest < 0
    return np.where(before, at.epoch, numbers[latest]), np.where(before, at.creator, creators[latest])


def _chosen(columns: dict[str, Array], mask: Array) -> dict[str, Array]:
    return {name: values[mask] for name, values in columns.items()}


def _control_row(
    block: Columns, columns: dict[str, Array], i: int, code: int, codes: Codes, moved: int
) -> dict[str, Any]:
    names = ("index", "kind", "t_ns", "epoch", "creator", "peer", "stream", "first", "count", "value", "other")
    row: dict[str, Any] = {"member": code, "moved": moved, **{name: int(columns[name][i]) for name in names}}
    view = block.numbers["view"][i]
    row |= view_columns(block.views[view] if view >= 0 else None, codes)
    detail = block.numbers["detail"][i]
    return row | detail_columns(block.details[detail] if detail >= 0 else None, codes)


def _member_row(recording: Recording, code: int, at: _Position, codes: Codes) -> dict[str, Any]:
    config = recording.header.config
    return {
        "code": code,
        "group": recording.header.group,
        **recording.member._asdict(),
        "is_whole": recording.is_whole,
        "dropped": recording.dropped,
        "events": at.index,
        "clock": recording.header.clock,
        "capacity": config.get("capacity") or 0,
        "stream_capacity": max(config.get("stream_capacity") or 0, config.get("control_capacity") or 0),
        "self_delivery": bool(config.get("self_delivery", True)),
        "view_synchrony": bool(config.get("view_synchrony", True)),
        "last_ns": at.last_ns,
        "how": at.control[-1].get("how") if at.control and at.control[-1]["kind"] == Kind.CLOSED else None,
        "strangers": [str(stranger) for stranger in codes.strangers],
    }


def ingest_here(recordings: Iterable[Recording], root: Path) -> Dataset:
    """The same in this process, without Spark: for what is small."""
    dataset = Dataset(root)
    dataset.make_rooms()
    recordings = list(recordings)
    members = [recording.member for recording in recordings]
    rows = [ingest_recording(recording, Codes(members), dataset) for recording in recordings]
    dataset.write_members(sorted(rows, key=lambda row: row["code"]))
    return dataset


def ingest_recordings(spark: SparkSession, recordings: Iterable[Recording], root: Path) -> Dataset:
    """The tables of a run, written by one Spark task per recording."""
    dataset = Dataset(root)
    dataset.make_rooms()
    recordings = list(recordings)
    members = [recording.member for recording in recordings]
    work = [(str(recording.segments[0].parent),) for recording in recordings]
    frame = spark.createDataFrame(work, "path string").repartition(max(1, len(work)))
    rows = frame.mapInArrow(_task(members, root), _spark_schema())
    dataset.write_members(sorted((row.asDict() for row in rows.collect()), key=lambda row: row["code"]))
    return dataset


def _task(members: list[Address], root: Path) -> Any:
    def convert(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch.column("path").to_pylist():
                row = ingest_recording(read_recording(Path(path)), Codes(members), Dataset(root))
                yield pa.RecordBatch.from_pylist([row], MEMBERS)

    return convert


def _spark_schema() -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(MEMBERS)
