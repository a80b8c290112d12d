"""Messages to random subsets in one order, and what each member read of them."""

from __future__ import annotations

import asyncio
import random

from ringcast.model import Batch
from ringcast.order import TOTAL
from ringcast.runtime import Group

MARK = b"\x03total "


class Subsets:
    """Sends to subsets drawn from a seed, several at a time, and keeps what came, in the order in which it was read."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.read: list[str] = []

    def concerns(self, batch: Batch) -> bool:
        return batch.payloads[0].startswith(MARK)

    def take(self, batch: Batch) -> None:
        self.read += [payload[len(MARK) :].decode() for payload in batch.payloads]

    async def send(self, count: int, seed: str) -> None:
        """Each message waits for its place in the order; eight are under way at a time."""
        chance = random.Random(f"{seed}/{self._group.me.name}")
        members = self._group.members
        turns = asyncio.Semaphore(8)

        async def one(number: int) -> None:
            to = chance.sample(members, chance.randint(1, len(members)))
            async with turns:
                await self._group.send(MARK + f"{self._group.me.name}{number}".encode(), to=to, order=TOTAL)

        await asyncio.gather(*(one(number) for number in range(count)))


def disagreement(reads: dict[str, list[str]]) -> str | None:
    """Two members that read two common messages in different orders, in words; None if all agree pairwise."""
    for one, first in reads.items():
        for other, second in reads.items():
            common = dict.fromkeys(set(first) & set(second))
            if [m for m in first if m in common] != [m for m in second if m in common]:
                return f"{one} and {other} read their common messages in different orders"
    return None
