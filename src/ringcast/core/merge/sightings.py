"""What others announced that is not our view: outsiders, and members of our view that have another.

Ids only grow at a member (G4), so of what one peer announces the highest counts and the rest is old news: A|6, A|7,
A|9, A|8 from A is one view, A|9. Not evidence: announcements may be late, so real views are read before anything else.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from ringcast.model import Address, ViewId


class Sighting(NamedTuple):
    view: ViewId
    coordinator: Address | None


class Sightings:
    """Bounded: the longest unchanged gives way."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._seen: dict[Address, Sighting] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, peer: Address) -> bool:
        return peer in self._seen

    def has_view(self, view: ViewId) -> bool:
        return any(sighting.view == view for sighting in self._seen.values())

    def note(self, peer: Address, sighting: Sighting) -> bool:
        """False if it is old news."""
        known = self._seen.get(peer)
        if known is not None and known.view > sighting.view:
            return False
        if known is None and len(self._seen) >= self.capacity:
            del self._seen[next(iter(self._seen))]
        self._seen[peer] = sighting
        return True

    def drop(self, peer: Address) -> None:
        self._seen.pop(peer, None)

    def items(self) -> list[tuple[Address, Sighting]]:
        return list(self._seen.items())

    def coordinators(self) -> list[Address]:
        """Those that announced themselves as the coordinator of their view."""
        return [peer for peer, sighting in self._seen.items() if sighting.coordinator == peer]

    def whom_to_ask(self, each: int) -> list[Address]:
        """For each view seen its coordinator, if known, and up to `each` of those who announced it."""
        asked: dict[Address, None] = {}
        counts: dict[ViewId, int] = {}
        for peer, sighting in self._seen.items():
            if sighting.coordinator is not None:
                asked.setdefault(sighting.coordinator)
            counts[sighting.view] = counts.get(sighting.view, 0) + 1
            if counts[sighting.view] <= each:
                asked.setdefault(peer)
        return list(asked)


class Lag(Enum):
    """What to do about a member that has another view than ours."""

    WAIT = auto()
    BRING_UP = auto()  # give it our view; who sent it may be dead
    OVERDUE = auto()  # that has lasted too long


OFFERS = 4  # within the limit, less one


class Dissent:
    """Since when a member of our view has announced another view."""

    def __init__(self, limit_ns: int, repeat_ns: int) -> None:
        self.limit_ns = limit_ns
        self.repeat_ns = repeat_ns
        self._since: dict[Address, int] = {}
        self._next: dict[Address, int] = {}

    def __contains__(self, member: Address) -> bool:
        return member in self._since

    def note(self, now_ns: int, member: Address) -> Lag:
        """Each answer is given once and then again after a while, not with every heartbeat."""
        since = self._since.setdefault(member, now_ns)
        if now_ns < self._next.setdefault(member, since + self.limit_ns // OFFERS):
            return Lag.WAIT
        if now_ns - since < self.limit_ns:
            self._next[member] = min(now_ns + self.limit_ns // OFFERS, since + self.limit_ns)
            return Lag.BRING_UP
        self._next[member] = now_ns + self.repeat_ns
        return Lag.OVERDUE

    def drop(self, member: Address) -> None:
        self._since.pop(member, None)
        self._next.pop(member, None)

    def clear(self) -> None:
        self._since.clear()
        self._next.clear()
