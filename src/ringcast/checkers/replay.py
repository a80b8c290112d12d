"""The recordings of members that went together, replayed by their messages alone: nobody's clock is looked at.

Each recording goes on until it delivers a message that was not sent yet in the replay. If all wait (a sender's part is
not there), the first of them goes on without that message's knowledge.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ringcast.checkers.passages import Stay
from ringcast.model import Address, Event, Kind

_STEPS = (Kind.SEND, Kind.DELIVER, Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE)


@dataclass(slots=True)
class _Sent:
    """One stream: up to where it was sent, and what its sender knew from which number on."""

    upto: int = 0
    numbers: list[int] = field(default_factory=list)
    knew: list[int] = field(default_factory=list)

    def add(self, event: Event, known: int) -> None:
        self.upto = max(self.upto, event.first + event.count - 1)
        if not self.knew or known > self.knew[-1]:
            self.numbers.append(event.first)
            self.knew.append(known)

    def carried(self, number: int) -> int:
        at = bisect_right(self.numbers, number)
        return self.knew[at - 1] if at else -1


class _Player:
    """One recording in the replay."""

    def __init__(self, stay: Stay) -> None:
        self.member = stay.member
        self.steps = list(stay.of(*_STEPS))
        self.at = 0
        self.own = -1  # the highest seq that it dequeued or finished
        self.known = -1  # or was brought by a message
        self.seqs = {event.first: event.value for _, event in stay.of(Kind.QUEUE_FINISH)}

    @property
    def is_over(self) -> bool:
        return self.at == len(self.steps)


Late = tuple[Address, int, Event, int, int]


class Replay:
    def __init__(self, stays: Sequence[Stay]) -> None:
        self._players = [_Player(stay) for stay in stays]
        self._by_member = {player.member: player for player in self._players}
        self._sent: dict[tuple[Address, int], _Sent] = {}

    def late(self) -> Iterator[Late]:
        """Who began to queue what, although a message had brought it a seq that is not below: its seq, and that one."""
        while not all(player.is_over for player in self._players):
            moved = False
            for player in self._players:
                before = player.at
                yield from self._play(player)
                moved = moved or player.at > before
            if not moved:
                stuck = next(player for player in self._players if not player.is_over)
                stuck.at += 1

    def _play(self, player: _Player) -> Iterator[Late]:
        while not player.is_over:
            index, event = player.steps[player.at]
            if event.kind is Kind.DELIVER and not self._deliver(player, event):
                return
            player.at += 1
            if event.kind is Kind.SEND:
                self._sent.setdefault((player.member, event.stream), _Sent()).add(event, player.known)
            elif event.kind is Kind.QUEUE_START:
                seq = player.seqs.get(event.first)
                if seq is not None and player.known >= seq > player.own:
                    yield player.member, index, event, seq, player.known
            elif event.kind is not Kind.DELIVER:
                player.own = max(player.own, event.value)
                player.known = max(player.known, event.value)

    def _deliver(self, player: _Player, event: Event) -> bool:
        """Take what the message brings; False if it was not sent yet."""
        sender, last = event.peer, event.first + event.count - 1
        if sender is None or sender == player.member or sender not in self._by_member:
            return True
        sent = self._sent.get((sender, event.stream))
        if (sent is None or sent.upto < last) and not self._by_member[sender].is_over:
            return False
        if sent is not None:
            player.known = max(player.known, sent.carried(last))
        return True
