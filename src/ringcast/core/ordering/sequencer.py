"""The counter, at the coordinator of one view: a batch gets its value when all its destinations have staged it.

One sender's batches get their values in that sender's order, whatever their destinations: a batch waits for all earlier
ones of its sender. A value exists only once its announcement has been sent, so a view that comes in between finds
nothing half given. What is known of each sender's batches is kept in the queues of the senders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringcast.core.ordering.envelope import MOST_RUNS, Announcement, Ticks
from ringcast.core.ordering.sender_queue import Batch, SenderQueue, ranks_of


class Sequencer:
    """`acked[member][sender]`, by rank: this member has staged that sender's messages up to here."""

    def __init__(self, members: int) -> None:
        self.seq = 0
        self._acked = [[0] * members for _ in range(members)]
        self._everybody = (1 << members) - 1
        self._floors: list[int | None] = [None] * members  # the smallest ack of each sender; None = look again
        self._next = 0  # whose turn it is to be first

    def on_staged(self, member: int, upto: Iterable[tuple[int, int]]) -> bool:
        """True if anything is new."""
        acked = self._acked[member]
        news = False
        for sender, number in upto:
            if 0 <= sender < len(acked) and number > acked[sender]:
                if acked[sender] == self._floors[sender]:
                    self._floors[sender] = None
                acked[sender] = number
                news = True
        return news

    def next(self, queues: Sequence[SenderQueue]) -> Announcement | None:
        """What may be announced now; it counts from the moment this returns."""
        runs: list[Ticks] = []
        count = len(queues)
        for turn in range(count):
            rank = (self._next + turn) % count
            run = self._ready(rank, queues[rank])
            if run is not None:
                runs.append(run)
                if len(runs) == MOST_RUNS:
                    self._next = (rank + 1) % count
                    break
        if not runs:
            return None
        announcement = Announcement(self.seq + 1, runs)
        self.seq += announcement.ticks
        return announcement

    def _ready(self, rank: int, queue: SenderQueue) -> Ticks | None:
        ticks = last = 0
        for batch in queue.held:
            if not self._is_staged(rank, batch):
                break
            ticks, last = ticks + 1, batch.last
        return Ticks(rank, last, ticks) if ticks else None

    def _is_staged(self, rank: int, batch: Batch) -> bool:
        """Have all destinations staged it? The sender itself has its own copy."""
        if self._floor(rank) >= batch.last:
            return True
        if batch.to == self._everybody:
            return False
        return all(self._acked[member][rank] >= batch.last for member in ranks_of(batch.to))

    def _floor(self, sender: int) -> int:
        floor = self._floors[sender]
        if floor is None:
            floor = self._floors[sender] = min(acked[sender] for acked in self._acked)
        return floor

    def awaited(self, queues: Sequence[SenderQueue]) -> list[int]:
        """Whose ack is missing for the first batch of some sender."""
        missing: dict[int, None] = {}
        for rank, queue in enumerate(queues):
            for head in queue.unannounced()[:1]:
                missing |= dict.fromkeys(m for m in ranks_of(head.to) if self._acked[m][rank] < head.last)
        return list(missing)
