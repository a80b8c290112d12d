"""A set that every member holds, with the promises of the replicated dictionary."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from ringcast.blocks.merging import Rule
from ringcast.blocks.table import Delete, Set, Swap, Table

T = TypeVar("T", bound=Hashable)


class ReplicatedSet(Table[T, bool], AbstractSet[T], Generic[T]):
    """`merge`: "union" keeps what any side has; "last" also heeds what a side has discarded; or "refuse"."""

    def __init__(self, name: str, item: type[T], *, merge: Rule = "union") -> None:
        super().__init__(name, item, bool, kind="set", merge=merge)

    def __contains__(self, item: object) -> bool:
        return item in self._entries

    def __iter__(self) -> Iterator[T]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"ReplicatedSet({self.name!r}, {set(self)!r})"

    __hash__ = object.__hash__

    async def add(self, item: T, *, timeout: float | None = None) -> bool:
        """Returns when it was applied here; whether it was not there before."""
        return bool(await self._write(Swap(item, [], [True]), timeout))

    async def update(self, items: Iterable[T], *, timeout: float | None = None) -> None:
        """Several at once."""
        await self._write(Set([(item, True) for item in items]), timeout)

    async def discard(self, item: T, *, timeout: float | None = None) -> bool:
        """Whether it was there."""
        return bool(await self._write(Delete(item), timeout))

    async def replace(self, items: Iterable[T], *, timeout: float | None = None) -> None:
        """Make these the whole content, everywhere; ends being apart after a merge."""
        await self._write_all([(item, True) for item in items], timeout)
