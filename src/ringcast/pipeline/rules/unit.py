"""A stretch of a run that can be judged alone: what all members ordered in some consecutive view numbers.

View numbers only grow at a member (G4), and a message is dequeued in the view it was ordered in, so each view lies in
one unit. Units are planned from Parquet footers, of about a million events each; a task reads the row groups that
overlap its unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ringcast.pipeline.rules.member import Batch
from ringcast.pipeline.tables import Dataset

UNIT_EVENTS = 1 << 20


@dataclass(frozen=True, slots=True)
class Span:
    """View numbers from `first` up to, not including, `end`."""

    first: int
    end: int
    rows: int = 0  # about so many events


def plan_units(dataset: Dataset, members: int, table: str = "order") -> list[Span]:
    """Spans that together cover everything, cut where somebody's row group begins."""
    groups = [group for code in range(members) for group in _groups(_path(dataset, table, code))]
    if not groups:
        return []
    groups.sort()
    spans: list[Span] = []
    first, rows = groups[0][0], 0
    for epoch, count in groups:
        if rows >= UNIT_EVENTS and epoch > first:
            spans.append(Span(first, epoch, rows))
            first, rows = epoch, 0
        rows += count
    return [*spans, Span(first, 1 << 62, rows)]


def _path(dataset: Dataset, table: str, code: int) -> Path:
    return dataset.order(code) if table == "order" else dataset.flow(code)


def rows_of(path: Path) -> int:
    rows: int = pq.ParquetFile(path).metadata.num_rows
    return rows


def _groups(path: Path) -> list[tuple[int, int]]:
    """The first view number and the number of events of each row group."""
    meta = pq.ParquetFile(path).metadata
    column = meta.schema.names.index("epoch")
    parts = (meta.row_group(i) for i in range(meta.num_row_groups))
    return [(part.column(column).statistics.min, part.num_rows) for part in parts]


def load_unit(dataset: Dataset, span: Span, members: int, columns: list[str], table: str = "order") -> list[Batch]:
    """The events of each member in this span, in its own order."""
    return [_load(_path(dataset, table, code), span, columns) for code in range(members)]


def _load(path: Path, span: Span, columns: list[str]) -> Batch:
    file = pq.ParquetFile(path)
    column = file.metadata.schema.names.index("epoch")
    wanted = []
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        if statistics.min < span.end and statistics.max >= span.first:
            wanted.append(group)
    table = file.read_row_groups(wanted, columns=columns, use_threads=False)
    batch = Batch({name: table[name].to_numpy() for name in columns})
    inside = (batch.epoch >= span.first) & (batch.epoch < span.end)
    return batch if inside.all() else batch.where(inside)


def split_by_view(batch: Batch, names: Sequence[str]) -> dict[tuple[int, int], Batch]:
    """The same events apart by view; a member is in one view at a time, so each is a slice or a few joined."""
    if not len(batch):
        return {}
    change = np.flatnonzero((np.diff(batch.epoch) != 0) | (np.diff(batch.creator) != 0)) + 1
    bounds = np.r_[0, change, len(batch)]
    parts: dict[tuple[int, int], list[Batch]] = {}
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        view = (int(batch.epoch[start]), int(batch.creator[start]))
        parts.setdefault(view, []).append(batch.between(start, stop))
    return {view: pieces[0] if len(pieces) == 1 else Batch.joined(pieces, names) for view, pieces in parts.items()}
