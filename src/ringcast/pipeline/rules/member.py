"""One member's side of a run, as the local halves of rules see it: who it is, which views it had, its events in
arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ringcast.model import Kind
from ringcast.pipeline.tables import Dataset

Array = np.ndarray[Any, np.dtype[Any]]
View = tuple[int, int]
BATCH_EVENTS = 1 << 17  # small enough to stay in the caches


@dataclass(frozen=True, slots=True)
class Installed:
    """A view as this member installed it; `offset` = where members new in it begin with our messages (-1 unknown)."""

    view: View
    index: int
    members: tuple[int, ...]
    capacity: int
    offset: int
    is_merge: bool
    mates: tuple[int, ...] = ()  # of a MergeView: who comes from the same subgroup


@dataclass(frozen=True, slots=True)
class Member:
    code: int
    names: Sequence[str]
    capacity: int
    stream_capacity: int
    delivers_own: bool
    installed: tuple[Installed, ...]

    def name(self, code: int) -> str:
        return self.names[code] if 0 <= code < len(self.names) else "somebody without a recording"


def load_member(dataset: Dataset, code: int) -> Member:
    rows = dataset.members()
    row = rows[code]
    names = [name_of(r) for r in rows]
    views = tuple(_installed(code, view) for view in _views(dataset.control(code)))
    return Member(code, names, row["capacity"], row["stream_capacity"], row["self_delivery"], views)


def name_of(row: dict[str, Any]) -> str:
    """How an address is written, here as everywhere."""
    from ringcast.model import Address

    return str(Address(row["name"], row["incarnation"], row["endpoint"]))


def _views(path: Path) -> list[dict[str, Any]]:
    columns = ["kind", "index", "number", "number_creator", "members", "subgroups", "capacity", "digest"]
    table = pq.read_table(path, columns=columns)
    wanted = pc.and_(pc.equal(table["kind"], int(Kind.VIEW)), pc.is_valid(table["members"]))
    rows: list[dict[str, Any]] = table.filter(wanted).to_pylist()
    return rows


def _installed(code: int, row: dict[str, Any]) -> Installed:
    own = [entry["delivered"] for entry in row["digest"] or () if entry["member"] == code]
    view = (row["number"] or 0, -1 if row["number_creator"] is None else row["number_creator"])
    members, capacity = tuple(row["members"]), row["capacity"] or 0
    mates = next((tuple(group) for group in row["subgroups"] or () if code in group), ())
    return Installed(view, row["index"], members, capacity, own[0] if own else -1, bool(row["subgroups"]), mates)


class Batch:
    """Consecutive events of one member as arrays of equal length.

    A choice of events takes out a column only when it is asked for, and each choice by kind is made once: rules that
    look at the same events share the arrays.
    """

    __slots__ = ("_chosen", "_columns", "_kinds", "_source")

    def __init__(self, columns: dict[str, Array]) -> None:
        self._columns = columns
        self._source: Batch | None = None
        self._chosen: Array | slice = slice(None)
        self._kinds: dict[tuple[Kind, ...], Batch] = {}

    def __getattr__(self, name: str) -> Array:
        column = self._columns.get(name)
        if column is None:
            if self._source is None or name.startswith("_"):
                raise AttributeError(name)
            column = self._columns[name] = getattr(self._source, name)[self._chosen]
        return column

    def __len__(self) -> int:
        return len(self.kind)

    def where(self, mask: Array) -> Batch:
        """The events that a mask (or an order of places) chooses."""
        if mask.dtype == np.bool_:
            if mask.all():
                return self
            mask = np.flatnonzero(mask)
        return self._choice(mask)

    def between(self, start: int, stop: int) -> Batch:
        return self._choice(slice(start, stop))

    def of(self, *kinds: Kind) -> Batch:
        found = self._kinds.get(kinds)
        if found is None:
            mask = self.kind == kinds[0]
            for kind in kinds[1:]:
                mask |= self.kind == kind
            found = self._kinds[kinds] = self.where(mask)
        return found

    def _choice(self, chosen: Array | slice) -> Batch:
        batch = Batch({})
        batch._source, batch._chosen = self, chosen
        return batch

    @classmethod
    def joined(cls, pieces: Sequence[Batch], names: Sequence[str]) -> Batch:
        return cls({name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in names})


def batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[Batch]:
    """A table of a member, some row groups at a time; the caller's thread reads."""
    file = pq.ParquetFile(path)
    held: list[int] = []
    rows = 0
    for group in range(file.num_row_groups):
        held.append(group)
        rows += file.metadata.row_group(group).num_rows
        if rows >= BATCH_EVENTS or group == file.num_row_groups - 1:
            table = file.read_row_groups(held, columns=columns, use_threads=False)
            yield Batch({name: table[name].to_numpy() for name in table.column_names})
            held, rows = [], 0
