"""What the coordinator was told that this member has staged, sender by sender.

An ack is cumulative and may be lost: what is staged and still waits for its place is said again at every interval.
Pairs are (rank of the sender, highest number staged); a sender's own copies need no ack.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringcast.core.ordering.sender_queue import SenderQueue

Upto = list[tuple[int, int]]


class Acks:
    def __init__(self, lines: Sequence[SenderQueue] = ()) -> None:
        self._lines = lines
        self._told = [line.staged for line in lines]

    def news(self) -> Upto:
        """What was staged since the last time; it counts as told."""
        news = [(rank, line.staged) for rank, line in enumerate(self._lines) if line.staged > self._told[rank]]
        for rank, number in news:
            self._told[rank] = number
        return news

    def again(self) -> Upto:
        """What waits for its place with our ack, which may have been lost."""
        return [(rank, line.staged) for rank, line in enumerate(self._lines) if line.awaits_place]
