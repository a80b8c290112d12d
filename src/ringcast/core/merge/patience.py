"""After a failed merge: who failed too often lately, and how long to pause. One sick member must not stop all healing.

The seed cancels a merge when anybody is missing; done for ever, that would keep everybody apart. So whoever was missing
in `patience` attempts is left out of the next. A failure is forgotten after 2·`patience` attempts that nobody spoilt.
One that others spoilt says nothing of it: if it counted, three sick parties would be forgiven in turn, each before the
last of them was left out, and the others would never meet. If nobody else is left to merge with, all are asked again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ringcast.core.entrance import RandomSource
from ringcast.core.merge.election import Party
from ringcast.model import Address


class Patience:
    """Bounded: whose first failure is the oldest gives way."""

    def __init__(self, patience: int, capacity: int) -> None:
        self.patience = patience
        self.capacity = capacity
        self._unspoilt = 0  # attempts in which nobody was missing
        self._missed: dict[Address, list[int]] = {}  # after how many of these it was missing, the latest times

    def on_attempt(self, missing: Collection[Address]) -> None:
        for member in missing:
            if member not in self._missed and len(self._missed) >= self.capacity:
                del self._missed[next(iter(self._missed))]
            self._missed[member] = [*self._missed.get(member, ()), self._unspoilt][-self.patience :]
        if not missing:
            self._unspoilt += 1
            self._age(self._unspoilt - 2 * self.patience)

    def _age(self, recent: int) -> None:
        aged = {m: [number for number in numbers if number > recent] for m, numbers in self._missed.items()}
        self._missed = {m: numbers for m, numbers in aged.items() if numbers}

    def has_run_out(self, member: Address) -> bool:
        return len(self._missed.get(member, ())) >= self.patience

    def admit(self, me: Address, parties: Collection[Party]) -> list[Party]:
        """The parties for the next attempt; all of them again, from the beginning, if otherwise none would be left."""
        if not any(party.coordinator != me and not self.has_run_out(party.coordinator) for party in parties):
            for party in parties:
                self._missed.pop(party.coordinator, None)
        wanted = [party for party in parties if party.coordinator == me or not self.has_run_out(party.coordinator)]
        return [self._trim(me, party) for party in wanted]

    def _trim(self, me: Address, party: Party) -> Party:
        kept = (me, party.coordinator)
        members = tuple(m for m in party.members if m in kept or not self.has_run_out(m))
        return replace(party, members=members)


class Pause:
    """How long a leader waits after a failed merge: random and doubling, so that two leaders collide once."""

    def __init__(self, first_ns: int, most_ns: int, random: RandomSource) -> None:
        self.first_ns = first_ns
        self.most_ns = most_ns
        self._random = random
        self._failures = 0
        self.until_ns = 0

    def on_failure(self, now_ns: int) -> None:
        longest = min(self.most_ns, self.first_ns << min(self._failures, 32))
        self.until_ns = now_ns + longest // 2 + int(longest * self._random.random()) // 2
        self._failures += 1

    def on_success(self) -> None:
        self._failures = 0
        self.until_ns = 0
