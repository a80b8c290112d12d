"""A few integers, or columns of them, in the `data` of a fact."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from ringcast.pipeline.rules.piece import Array

_SAME = 255  # in the place of a width: the column before it once more
_NOTHING: Array = np.zeros(0, dtype=np.int64)


def pack(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def unpack(data: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(data, dtype="<i8").tolist()
    return numbers


def pack_columns(*columns: Array) -> bytes:
    """Columns of equal length, each as its smallest value and differences of the narrowest width."""
    if not len(columns[0]):
        return b""
    parts, before = [struct.pack("<I", len(columns[0]))], None
    for column in columns:
        low, high = int(column.min()), int(column.max())
        width = next(width for width in (0, 1, 2, 4, 8) if (high - low) >> 8 * width == 0)
        if width and before is not None and np.array_equal(column, before):
            width = _SAME
        parts.append(struct.pack("<Bq", width, low))
        if width == 8:
            parts.append(column.astype("<i8").tobytes())
        elif width and width != _SAME:
            parts.append((column - low).astype(f"<u{width}").tobytes())
        before = column
    return b"".join(parts)


def unpack_columns(data: bytes, count: int) -> list[Array]:
    """`count` columns; not to be written to."""
    if not data:
        return [_NOTHING] * count
    (rows,) = struct.unpack_from("<I", data)
    at, found = 4, list[Array]()
    for _ in range(count):
        width, low = struct.unpack_from("<Bq", data, at)
        at += 9
        if width == _SAME:
            found.append(found[-1])
        elif width == 0:
            found.append(np.full(rows, low, dtype=np.int64))
        elif width == 8:
            found.append(np.frombuffer(data, "<i8", rows, at))
        else:
            found.append(np.frombuffer(data, f"<u{width}", rows, at) + np.int64(low))
        at += 0 if width == _SAME else width * rows
    return found
