"""After a failed merge: who failed too often lately, and how long to pause. One sick member must not stop all healing.

The seed cancels a merge when anybody is missing; done for ever, that would keep everybody apart. So whoever was missing
in `patience` of the last 2·`patience` attempts is left out of the next. An attempt without it counts too, and so its
failures age: after a while it is asked again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ringcast.core.entrance import RandomSource
from ringcast.core.merge.election import Party
from ringcast.model import Address


class Patience:
    def __init__(self, patience: int) -> None:
        self.patience = patience
        self._attempts = 0
        self._missed: dict[Address, list[int]] = {}  # the numbers of the attempts in which it was missing

    def on_attempt(self, missing: Collection[Address]) -> None:
        self._attempts += 1
        for member in missing:
            self._missed.setdefault(member, []).append(self._attempts)
        recent = self._attempts - 2 * self.patience
        aged = {m: [number for number in numbers if number > recent] for m, numbers in self._missed.items()}
        self._missed = {m: numbers for m, numbers in aged.items() if numbers}

    def has_run_out(self, member: Address) -> bool:
        return len(self._missed.get(member, ())) >= self.patience

    def admit(self, me: Address, parties: Collection[Party]) -> list[Party]:
        """The parties for the next attempt; all of them again if otherwise nobody would be left to merge with."""
        out = [self._trim(me, party) for party in parties if party.coordinator == me or self._is_wanted(party)]
        return out if len(out) > 1 else [self._trim(me, party) for party in parties]

    def _is_wanted(self, party: Party) -> bool:
        return not self.has_run_out(party.coordinator)

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
