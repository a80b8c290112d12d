"""The tables of a run in Parquet, field by field, and where they lie.

    ROOT/members.parquet        who recorded: one row per recording
    ROOT/flow/CODE.parquet      multicast and stream events, one file per member, in its own order
    ROOT/order/CODE.parquet     queue and dequeue events, likewise
    ROOT/control/CODE.parquet   everything else, with its details as typed columns
    ROOT/facts/SLOT.parquet     what the local halves of rules left, one file per task

Members are numbered (`code`) in the order of their addresses. `epoch`, `creator`: the view that the member had
installed. Row groups are cut at view changes and hold at most a million events; numbers that grow are delta-packed,
codes go through a dictionary: 4.6 bytes per event, the smallest and among the fastest layouts tried
(docs/design/pipeline.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_EVENTS = 1 << 20
ROW_GROUP_LEAST = 1 << 14  # a view change cuts only a row group that has at least this many

_I64, _I32, _I16, _I8 = pa.int64(), pa.int32(), pa.int16(), pa.int8()

FLOW = pa.schema(
    [
        ("index", _I64),
        ("kind", _I8),
        ("t_ns", _I64),
        ("epoch", _I64),
        ("creator", _I32),
        ("peer", _I32),
        ("stream", _I64),
        ("first", _I64),
        ("count", _I32),
        ("ordinal", _I64),
        ("value", _I64),
        ("other", _I64),
    ]
)

ORDER = pa.schema(
    [
        ("index", _I64),
        ("kind", _I8),
        ("t_ns", _I64),
        ("epoch", _I64),
        ("creator", _I32),
        ("peer", _I32),
        ("first", _I64),
        ("count", _I32),
        ("ordinal", _I64),
        ("value", _I64),
    ]
)

_CODES = pa.list_(_I32)
_DIGEST = pa.list_(pa.struct([("member", _I32), ("low", _I64), ("delivered", _I64), ("received", _I64)]))

CONTROL = pa.schema(
    [
        ("member", _I32),
        ("index", _I64),
        ("moved", _I64),  # multicast messages (events) that had moved at this member before
        ("kind", _I8),
        ("t_ns", _I64),
        ("epoch", _I64),
        ("creator", _I32),
        ("number", _I64),  # the event's own view: of VIEW and OFFSET the one that is installed
        ("number_creator", _I32),
        ("peer", _I32),
        ("stream", _I64),
        ("first", _I64),
        ("count", _I32),
        ("value", _I64),
        ("other", _I64),
        ("members", _CODES),
        ("observers", _CODES),
        ("subgroups", pa.list_(_CODES)),
        ("digest", _DIGEST),
        ("previous_number", _I64),
        ("previous_creator", _I32),
        ("capacity", _I64),
        ("synchrony", pa.bool_()),
        ("asked", _CODES),
        ("cancelled", _CODES),
        ("origin", _I32),
        ("has_view", pa.bool_()),
        ("step", pa.string()),
        ("cause", pa.string()),
        ("purpose", pa.string()),
        ("outcome", pa.string()),
        ("merge_id", pa.string()),
        ("about", pa.string()),
        ("what", pa.string()),
        ("how", pa.string()),
        ("reason", pa.string()),  # of a DROP
        ("malformed", pa.string()),
    ]
)

MEMBERS = pa.schema(
    [
        ("code", _I32),
        ("group", pa.string()),
        ("name", pa.string()),
        ("incarnation", _I64),
        ("endpoint", pa.string()),
        ("is_whole", pa.bool_()),
        ("dropped", _I64),
        ("events", _I64),
        ("clock", pa.string()),
        ("capacity", _I64),
        ("stream_capacity", _I64),
        ("self_delivery", pa.bool_()),
        ("view_synchrony", pa.bool_()),
        ("last_ns", _I64),
        ("how", pa.string()),  # how it ended: ended, left, crashed; nothing if that was not recorded
        ("strangers", pa.list_(pa.string())),  # who it speaks of that has no recording
    ]
)

_THROUGH_DICTIONARY = {"kind", "epoch", "creator", "peer", "stream", "count"}
PACKING: dict[str, Any] = {"compression": "zstd", "compression_level": 1}


def packing(schema: pa.Schema) -> dict[str, Any]:
    """How the columns of an event table are written."""
    delta = {name: "DELTA_BINARY_PACKED" for name in schema.names if name not in _THROUGH_DICTIONARY}
    return {
        **PACKING,
        "use_dictionary": [n for n in schema.names if n in _THROUGH_DICTIONARY],
        "column_encoding": delta,
    }


@dataclass(frozen=True, slots=True)
class Dataset:
    """Where the tables of one run lie."""

    root: Path

    def flow(self, code: int) -> Path:
        return self.root / "flow" / f"{code:06d}.parquet"

    def order(self, code: int) -> Path:
        return self.root / "order" / f"{code:06d}.parquet"

    def control(self, code: int) -> Path:
        return self.root / "control" / f"{code:06d}.parquet"

    def facts(self, slot: int) -> Path:
        return self.root / "facts" / f"{slot:06d}.parquet"

    def clear_facts(self) -> None:
        for path in self.facts(0).parent.glob("*.parquet"):
            path.unlink()

    def write_facts(self, slot: int, facts: pa.Table) -> None:
        """In one step: a task that is tried again replaces what it wrote."""
        draft = self.facts(slot).with_suffix(".draft")
        pq.write_table(facts, draft, **PACKING)
        draft.replace(self.facts(slot))

    def read_facts(self) -> list[pa.Table]:
        return [pq.read_table(path) for path in sorted(self.facts(0).parent.glob("*.parquet"))]

    @property
    def members_path(self) -> Path:
        return self.root / "members.parquet"

    def make_rooms(self) -> None:
        for name in ("flow", "order", "control", "facts"):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def write_members(self, rows: list[dict[str, Any]]) -> None:
        pq.write_table(pa.Table.from_pylist(rows, MEMBERS), self.members_path, **PACKING)

    def members(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self.members_path).to_pylist()
        return rows
