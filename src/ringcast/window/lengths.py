"""The lengths of consecutive messages, in bytes: a table, or one number when they are all alike.

Messages of a run mostly have one length. Then sums, cuts and room are arithmetic, and nothing walks over a table.
The same on the wire (`LengthTable`): the table stands before the payloads, so that they are cut by one struct call; if
all have one length the table is that one number. Empty messages always have the full table: otherwise a few bytes could
claim thousands of them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import overload

CUTTER_ITEMS = 1_024  # a cached struct costs memory per item, and the sender chooses the count


class Alike(Sequence[int]):
    """`many` messages of `each` bytes; reads like the table it stands for."""

    __slots__ = ("each", "many")

    def __init__(self, each: int, many: int) -> None:
        self.each = each
        self.many = many

    def __len__(self) -> int:
        return self.many

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Alike: ...
    def __getitem__(self, at: int | slice) -> int | Alike:
        if isinstance(at, slice):
            return Alike(self.each, len(range(self.many)[at]))
        if not -self.many <= at < self.many:
            raise IndexError(at)
        return self.each


def lengths_of(payloads: Sequence[bytes]) -> Sequence[int]:
    """The length of each."""
    if len(payloads) == 1:
        return Alike(len(payloads[0]), 1)
    table = list(map(len, payloads))
    return Alike(table[0], len(table)) if table and table.count(table[0]) == len(table) else table


def total(lengths: Sequence[int]) -> int:
    return lengths.each * lengths.many if type(lengths) is Alike else sum(lengths)


def largest(lengths: Sequence[int]) -> int:
    return lengths.each if type(lengths) is Alike else max(lengths)


@lru_cache(maxsize=64)
def cutter(length: int, count: int) -> struct.Struct:
    """Cuts so many payloads of one length at once."""
    return struct.Struct(f"{length}s" * count)


class LengthTable:
    """A length table in fields of one size (a struct code), before the payloads it describes."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._one = struct.Struct(f"<{code}")
        self.field_bytes = self._one.size

    def pack(self, payloads: Sequence[bytes], each: int = 0) -> tuple[bool, bytes]:
        """(is it one number, the table). `each`: the length of every payload, where that is known."""
        if each:
            return True, self._one.pack(each)
        lengths = list(map(len, payloads))
        if lengths[0] and lengths.count(lengths[0]) == len(lengths):
            return True, self._one.pack(lengths[0])
        return False, struct.pack(f"<{len(lengths)}{self._code}", *lengths)

    def read(self, data: bytes | memoryview, at: int, count: int, is_uniform: bool) -> tuple[list[bytes], int]:
        """(payloads, their bytes) of the table at `at`, up to the end of the data; ValueError if it does not fit."""
        start = at + self.field_bytes * (1 if is_uniform else count)
        if start > len(data):
            raise ValueError("without its lengths")
        if not is_uniform:
            ends = list(accumulate(struct.unpack_from(f"<{count}{self._code}", data, at), initial=start))
            if ends[-1] != len(data):
                raise ValueError("whose lengths do not add up")
            whole = bytes(data)  # cutting bytes costs less than cutting a view and copying each part
            return [whole[begin:end] for begin, end in pairwise(ends)], ends[-1] - start
        (length,) = self._one.unpack_from(data, at)
        if length == 0 or start + length * count != len(data):
            raise ValueError("whose lengths do not add up")
        if count > CUTTER_ITEMS or length > 0xFFFF:
            whole = bytes(data)
            return [whole[start + length * n : start + length * (n + 1)] for n in range(count)], length * count
        return list(cutter(length, count).unpack_from(data, start)), length * count
