"""Rows that outlive the process that wrote them: a log in anonymous shared memory, made before the fork."""

from __future__ import annotations

import mmap
import struct
from typing import Final, NamedTuple

ROW: Final = struct.Struct("=QQQQ")
COUNT: Final = struct.Struct("=Q")


class Row(NamedTuple):
    seq: int
    who: int  # a producer's place; of a farewell, that of whoever left
    first: int  # 0: a farewell
    mask: int  # bit per consumer that the message was for


class SharedLog:
    """Written by one process, read by another when the first has ended. A row counts once it is complete."""

    def __init__(self, rows: int) -> None:
        self._memory = mmap.mmap(-1, COUNT.size + rows * ROW.size)
        self._written = 0

    def append(self, row: Row) -> None:
        ROW.pack_into(self._memory, COUNT.size + self._written * ROW.size, *row)
        self._written += 1
        COUNT.pack_into(self._memory, 0, self._written)

    def rows(self) -> list[Row]:
        (count,) = COUNT.unpack_from(self._memory, 0)
        return [Row(*ROW.unpack_from(self._memory, COUNT.size + index * ROW.size)) for index in range(count)]

    def is_full(self) -> bool:
        return COUNT.size + (self._written + 1) * ROW.size > len(self._memory)


class Flag:
    """One byte that everybody sees."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1)

    def raise_it(self) -> None:
        self._memory[0] = 1

    def is_raised(self) -> bool:
        return bool(self._memory[0])
