"""A dictionary that every member holds: all apply the same changes in one order, newcomers get it whole.

    prices = ReplicatedDict("prices", str, int)
    async with blocks.join("shop", prices, seeds=[...]):
        await prices.set("tea", 4)
        prices["tea"], dict(prices)

Reads are local: they see everything that this member did, and everything up to where it has read; behind `sync()` also
everything that anybody had finished before. A partition leaves each side with a dictionary of its own, and the merge
makes one of them by the rule given; with `partition="primary"` one side only can write.
What is read must not be changed in place.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from ringcast.blocks.merging import MergeRule
from ringcast.blocks.table import GRAVES, Delete, Set, Swap, Table
from ringcast.blocks.tokens import Token

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Absent:
    """The key is not there: for `compare_and_set`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


class ReplicatedDict(Table[K, V], Mapping[K, V], Generic[K, V]):
    """`merge`: "last" (the last writer), "union", "sum", "refuse", or a function of the key and the sides' values.

    `graves`: so many deleted keys are remembered, so that a merge does not bring them back.
    """

    def __init__(
        self, name: str, key: type[K], value: type[V], *, merge: MergeRule[K, V] = "last", graves: int = GRAVES
    ) -> None:
        super().__init__(name, key, value, kind="dict", merge=merge, graves=graves)

    # ---- reading, here

    def __getitem__(self, key: K) -> V:
        return self._entries[key].value

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"ReplicatedDict({self.name!r}, {dict(self)!r})"

    __hash__ = object.__hash__

    # ---- writing, everywhere

    async def set(self, key: K, value: V, *, token: Token | None = None, timeout: float | None = None) -> None:
        """Returns when it was applied here. With a `token` it is refused (StaleToken) if this key has seen a newer."""
        await self._write(Set([(key, value)], token), timeout)

    async def update(self, items: Mapping[K, V] | Iterable[tuple[K, V]], *, timeout: float | None = None) -> None:
        """Several at once: nobody sees some of them without the others."""
        pairs = items.items() if isinstance(items, Mapping) else items
        await self._write(Set(list(pairs)), timeout)

    async def delete(self, key: K, *, token: Token | None = None, timeout: float | None = None) -> bool:
        """Whether it was there."""
        return bool(await self._write(Delete(key, token), timeout))

    async def compare_and_set(
        self,
        key: K,
        expected: V | Absent,
        new: V | Absent,
        *,
        token: Token | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Set it (or with ABSENT delete it) if it is what is expected in the one order of all; whether it was."""
        swap = Swap(key, _listed(expected), _listed(new), token)
        return bool(await self._write(swap, timeout))

    async def replace(self, items: Mapping[K, V], *, timeout: float | None = None) -> None:
        """Make this the whole content, everywhere; also where a merge left sides apart, which ends by it."""
        await self._write_all(items.items(), timeout)


def _listed(value: V | Absent) -> list[V]:
    return [] if isinstance(value, Absent) else [value]
