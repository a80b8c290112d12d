"""Facts as Arrow rows, keyed by run: the form in which Spark moves them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import pyarrow as pa

from ringcast.pipeline.rules.fact import Fact

_TYPES: Mapping[str, Any] = {"str": pa.string(), "int": pa.int64(), "bytes": pa.binary()}
_COLUMNS = [(field.name, _TYPES[str(field.type)]) for field in fields(Fact)]
FACTS = pa.schema([("run", pa.string()), *_COLUMNS])


def batch_of(run: str, facts: Iterable[Fact]) -> pa.RecordBatch:
    """The facts of one run as rows of FACTS."""
    rows = list(facts)
    columns = [pa.array([run] * len(rows), pa.string())]
    columns += [pa.array([getattr(row, name) for row in rows], kind) for name, kind in _COLUMNS]
    return pa.RecordBatch.from_arrays(columns, schema=FACTS)


def facts_in(table: pa.Table | pa.RecordBatch) -> Iterator[Fact]:
    """Rows of FACTS as facts."""
    columns = (table.column(name).to_pylist() for name, _ in _COLUMNS)
    return (Fact(*row) for row in zip(*columns, strict=True))
