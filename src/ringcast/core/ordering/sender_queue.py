"""One sender's ordered batches at one member in one view, from the moment they are known until they have their place.

    held      staged here, waiting for the announcement          (staged marks their end)
    lacking   from the first batch on whose payloads are missing

Invariants: numbers only grow; every batch in `held` comes before every batch in `lacking`; what this member may ack to
the coordinator is `staged`. Because the coordinator announces in counter order on one stream, an announcement puts
every instance that is still staged behind it (its seq will be greater), so the queue rule of `ringcast.order` comes
down to: read in the order of announcement. (A property test holds this against `OrderQueue` with `rekey`.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import lt

from ringcast.window import Audit


@dataclass(slots=True)
class Batch:
    """Consecutive ordered messages of one sender that take one tick of the counter together.

    `to` holds its destinations as bits, by rank in the view; a batch with none is a barrier. Numbers count a sender's
    ordered messages and go on from view to view, so a number names a message for ever.
    `payloads` is None where this member does not hold them: not a destination, or not arrived yet.
    """

    first: int
    count: int
    to: int
    payloads: list[bytes] | None = None
    apart: bool = False  # its payloads travel on the streams to its destinations, not with it

    @property
    def last(self) -> int:
        return self.first + self.count - 1


def mask_of(ranks: Iterable[int]) -> int:
    mask = 0
    for rank in ranks:
        mask |= 1 << rank
    return mask


def ranks_of(mask: int) -> Iterator[int]:
    rank = 0
    while mask:
        if mask & 1:
            yield rank
        mask >>= 1
        rank += 1


class SenderQueue:
    """`bit` is this member's bit among destinations; `known` the highest number the sender has used."""

    __slots__ = ("_audit", "announced", "bit", "held", "known", "lacking", "staged")

    def __init__(self, bit: int, known: int = 0) -> None:
        self.bit = bit
        self.known = self.staged = self.announced = known
        self.held: deque[Batch] = deque()
        self.lacking: deque[Batch] = deque()
        self._audit = Audit()

    @property
    def awaits_place(self) -> bool:
        """Is anything staged here that gets its place only with our ack?"""
        return bool(self.held) and any(batch.to & self.bit for batch in self.held)

    # ---- what the sender sends

    def add(self, batch: Batch) -> None:
        """The next batch of the sender, in its order."""
        self.known = batch.last
        if batch.last <= self.announced:
            self.staged = batch.last  # Not for us, or it would have waited for our ack: others were faster.
        elif self.lacking or not self._has_all(batch):
            self.lacking.append(batch)
        else:
            self.held.append(batch)
            self.staged = batch.last

    def supply(self, first: int, payloads: list[bytes]) -> bool:
        """The payloads of a batch that waits for them; False if none does."""
        for batch in self.lacking:
            if batch.first == first and batch.payloads is None and batch.count == len(payloads):
                batch.payloads = payloads
                self._advance()
                return True
        return False

    def _has_all(self, batch: Batch) -> bool:
        return not batch.to & self.bit or batch.payloads is not None

    def _advance(self) -> None:
        while self.lacking and self._has_all(self.lacking[0]):
            batch = self.lacking.popleft()
            self.held.append(batch)
            self.staged = batch.last

    # ---- what the coordinator announces

    def announce(self, last: int) -> list[Batch]:
        """Everything up to this number has its place: the batches of it that are here, in order."""
        placed: list[Batch] = []
        while self.held and self.held[0].last <= last:
            placed.append(self.held.popleft())
        self.announced = max(self.announced, last)
        return placed

    # ---- the end of the view

    def unannounced(self) -> list[Batch]:
        return [*self.held, *self.lacking]

    def check(self) -> None:
        assert self.staged <= self.known, (self.staged, self.known)
        if not self.held and not self.lacking:  # nearly always, and the simulator asks after every ordered item
            return
        assert not self.lacking or not self._has_all(self.lacking[0]), self.lacking[0]
        if self.held:
            newest = self.held[-1]
            assert self._has_all(newest) and newest.last <= self.staged, (newest, self.staged)
            assert not self.lacking or newest.last < self.lacking[0].first, (newest, self.lacking[0])
        if self._audit.is_due(len(self.held) + len(self.lacking)):
            self._check_batches()

    def _check_batches(self) -> None:
        numbers = [batch.first for batch in self.unannounced()]
        assert all(map(lt, numbers, numbers[1:])), numbers
        assert all(map(self._has_all, self.held)), self.held


Upto = list[tuple[int, int]]


class Acks:
    """What the coordinator was told that this member has staged, sender by sender.

    An ack is cumulative and may be lost: what is staged and still waits for its place is said again at every interval.
    Pairs are (rank of the sender, highest number staged); a sender's own copies need no ack.
    """

    def __init__(self, queues: Sequence[SenderQueue] = ()) -> None:
        self._queues = queues
        self._told = [queue.staged for queue in queues]

    def news(self) -> Upto:
        """What was staged since the last time; it counts as told."""
        news = [(rank, queue.staged) for rank, queue in enumerate(self._queues) if queue.staged > self._told[rank]]
        for rank, number in news:
            self._told[rank] = number
        return news

    def again(self) -> Upto:
        """What waits for its place with our ack, which may have been lost."""
        return [(rank, queue.staged) for rank, queue in enumerate(self._queues) if queue.held and queue.awaits_place]
