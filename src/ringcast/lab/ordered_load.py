"""Load in the one order for as long as something else goes on: paced, to the view and to random subsets of it.

Receipts are not awaited one by one; how many messages were finished is told at the end. What was read, and in which
order, is judged from the recordings. A member that loses its place meanwhile goes on when it is back.
"""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import Any

from ringcast.errors import PlaceLost, UsageError
from ringcast.runtime import Group, Receipt

SUBSET_SHARE = 0.5


class OrderedLoad:
    """Queues messages until `stop` is called. The same face as `Load`."""

    def __init__(self, group: Group, first: int, size: int, rate: float, chunk: int) -> None:
        self.sent = 0
        self._group = group
        self._size = size
        self._rate = rate
        self._chunk = chunk
        self._random = Random(f"{group.me.name}/{first}")
        self._receipts: list[Receipt] = []
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def run(self) -> dict[str, Any]:
        started = time.monotonic()
        while not self._stopped:
            await self._queue_some()
            await asyncio.sleep(max(0.0, started + self.sent / self._rate - time.monotonic()))
        outcomes = await asyncio.gather(*self._receipts, return_exceptions=True)
        finished = sum(isinstance(outcome, str) for outcome in outcomes)
        return {"sent": 0, "queued": self.sent, "batches": len(outcomes), "finished_batches": finished}

    async def _queue_some(self) -> None:
        view = self._group.members
        is_subset = self._random.random() < SUBSET_SHARE
        to = self._random.sample(view, self._random.randint(1, len(view))) if is_subset else None
        payloads = [b"!" * self._size] * self._random.randint(1, self._chunk)
        try:
            self._receipts.append(await self._group.queue_many(payloads, to=to))
            self.sent += len(payloads)
        except (PlaceLost, UsageError):
            return  # Its destinations have gone meanwhile, or its own place.
