"""A few integers, or columns of them, in the `data` of a fact."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from ringcast.pipeline.rules.piece import Array


def pack(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def unpack(data: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(data, dtype="<i8").tolist()
    return numbers


def pack_columns(*columns: Array) -> bytes:
    """Columns of equal length."""
    return np.stack(columns).astype("<i8").tobytes() if len(columns[0]) else b""


def unpack_columns(data: bytes, count: int) -> list[Array]:
    return list(np.frombuffer(data, dtype="<i8").reshape(count, -1))
