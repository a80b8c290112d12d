"""The lengths of consecutive messages, in bytes: a table, or one number when they are all alike.

Messages of a run mostly have one length. Then sums, cuts and room are arithmetic, and nothing walks over a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload


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
    table = list(map(len, payloads))
    return Alike(table[0], len(table)) if table and table.count(table[0]) == len(table) else table


def total(lengths: Sequence[int]) -> int:
    return lengths.each * lengths.many if type(lengths) is Alike else sum(lengths)


def largest(lengths: Sequence[int]) -> int:
    return lengths.each if type(lengths) is Alike else max(lengths)
