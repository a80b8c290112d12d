"""The local halves of all rules as Spark tasks, one per core; a task gets members and units of ordered messages.

A task reads its own row groups and writes its own facts: nothing goes through a shuffle or the row hop between Spark
and Python. Facts are a few rows per view; a task that is tried again writes the same file again.
Rules can be chosen, so that each can be measured alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from ringcast.pipeline.rules import g01, g02, g03, g05, g10, g11
from ringcast.pipeline.rules.facts import FACTS, Facts
from ringcast.pipeline.rules.g12 import Order
from ringcast.pipeline.rules.g13 import Causality
from ringcast.pipeline.rules.member import Batch, Member, batches, load_member, name_of
from ringcast.pipeline.rules.unit import Span, load_unit, plan_units, rows_of, split_by_view
from ringcast.pipeline.tables import FLOW, Dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LocalRule(Protocol):
    def on_batch(self, batch: Batch) -> None: ...

    def finish(self) -> None: ...


Maker = Callable[[Member, Facts], LocalRule]
FLOW_RULES: dict[str, Maker] = {rule.GUARANTEE: rule.Local for rule in (g01, g02, g03, g05, g10)}
ORDER_RULES: dict[str, Maker] = {"G11": g11.Local}
UNIT_RULES = ("G12", "G13")
# No rule on the multicast looks at time, the widest of all columns.
_FLOW_COLUMNS = [name for name in FLOW.names if name != "t_ns"]
_QUEUE_COLUMNS = ["kind", "index", "epoch", "peer", "first", "count", "value"]
_UNIT_COLUMNS = ["kind", "index", "t_ns", "epoch", "creator", "peer", "first", "count", "value"]


def scan_member(dataset: Dataset, code: int, chosen: Sequence[str]) -> pa.RecordBatch:
    """The facts of one member."""
    facts = Facts()
    member = load_member(dataset, code)
    for path, columns, rules in (
        (dataset.flow(code), _FLOW_COLUMNS, FLOW_RULES),
        (dataset.order(code), _QUEUE_COLUMNS, ORDER_RULES),
    ):
        running = [make(member, facts) for name, make in rules.items() if name in chosen]
        for batch in batches(path, columns) if running else ():
            for rule in running:
                rule.on_batch(batch)
        for rule in running:
            rule.finish()
    return facts.batch()


def scan_unit(dataset: Dataset, span: Span, chosen: Sequence[str]) -> pa.RecordBatch:
    """The facts of one unit: what all members ordered in a few views."""
    facts = Facts()
    rows = dataset.members()
    names = [name_of(row) for row in rows]
    order = Order(names, facts)
    causality = Causality(names, facts, [row["clock"] for row in rows])
    views: dict[tuple[int, int], dict[int, Batch]] = {}
    for code, batch in enumerate(load_unit(dataset, span, len(rows), _UNIT_COLUMNS)):
        for view, part in split_by_view(batch, _UNIT_COLUMNS).items():
            views.setdefault(view, {})[code] = part
    for view, parts in sorted(views.items()):
        if "G12" in chosen:
            order.on_view(view, parts, partial(_together, dataset, rows, view))
        if "G13" in chosen:
            causality.on_view(view, parts, partial(_together, dataset, rows, view))
    return facts.batch()


def _together(dataset: Dataset, rows: list[dict[str, Any]], view: tuple[int, int]) -> dict[int, object]:
    """For each member where it went from this view; None if it left, crashed or was cut off there."""
    if view[1] < 0:
        return {row["code"]: "the bus" for row in rows}
    return {row["code"]: _next_view(load_member(dataset, row["code"]), view, row) for row in rows}


def _next_view(member: Member, view: tuple[int, int], row: dict[str, Any]) -> object:
    ids = [installed.view for installed in member.installed]
    if view in ids and ids.index(view) + 1 < len(ids):
        return ids[ids.index(view) + 1]
    return "the end" if row["is_whole"] and row["how"] == "ended" else None


def scan_here(dataset: Dataset, chosen: Sequence[str]) -> list[pa.Table]:
    """The facts of all members, found in this process."""
    return [_scanned(dataset, piece, chosen) for piece in plan_pieces(dataset, chosen)]


@dataclass(frozen=True, slots=True)
class Piece:
    """Work that can be done alone: a member (`span` is None), or a unit of ordered messages."""

    rows: int
    code: int
    span: Span | None = None


def plan_pieces(dataset: Dataset, chosen: Sequence[str]) -> list[Piece]:
    """All pieces, largest first, planned from Parquet footers."""
    members = len(dataset.members())
    pieces: list[Piece] = []
    by_flow = any(name in chosen for name in FLOW_RULES)
    by_order = any(name in chosen for name in ORDER_RULES)
    for code in range(members) if by_flow or by_order else ():
        rows = by_flow * rows_of(dataset.flow(code)) + by_order * rows_of(dataset.order(code)) // 4
        pieces.append(Piece(rows, code))
    if any(name in chosen for name in UNIT_RULES):
        pieces += [Piece(span.rows, -1, span) for span in plan_units(dataset, members)]
    return sorted(pieces, key=lambda piece: -piece.rows)


def share_out(pieces: Sequence[Piece], slots: int) -> list[list[Piece]]:
    """To each slot about the same: the next largest piece goes where least is."""
    shares: list[list[Piece]] = [[] for _ in range(max(1, min(slots, len(pieces))))]
    loads = [0] * len(shares)
    for piece in pieces:
        least = loads.index(min(loads))
        shares[least].append(piece)
        loads[least] += piece.rows
    return shares


def _scanned(dataset: Dataset, piece: Piece, chosen: Sequence[str]) -> pa.Table:
    if piece.span is None:
        return pa.Table.from_batches([scan_member(dataset, piece.code, chosen)])
    return pa.Table.from_batches([scan_unit(dataset, piece.span, chosen)])


def scan(spark: SparkSession, dataset: Dataset, chosen: Sequence[str]) -> None:
    """The facts of all members, written beside the tables they come from: one task per core, each with its share."""
    dataset.clear_facts()
    shares = share_out(plan_pieces(dataset, chosen), slots_of(spark))
    tasks = spark.range(0, len(shares), 1, len(shares))
    tasks.mapInArrow(_task(str(dataset.root), tuple(chosen), shares), "pieces long").collect()


def slots_of(spark: SparkSession) -> int:
    """How many tasks run at once."""
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context; the cluster decides
        return 8


def _task(root: str, chosen: Sequence[str], shares: Sequence[Sequence[Piece]]) -> Any:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dataset = Dataset(Path(root))
        for batch in rows:
            for slot in batch.column("id").to_pylist():
                found = [_scanned(dataset, piece, chosen) for piece in shares[slot]]
                dataset.write_facts(slot, pa.concat_tables(found) if found else FACTS.empty_table())
                yield pa.RecordBatch.from_pydict({"pieces": [len(found)]})

    return run
