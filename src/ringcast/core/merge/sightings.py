"""What others announced that is not our view: outsiders, and members of our view that have another.

Ids only grow at a member (G4), so of what one peer announces the highest counts and the rest is old news: A|6, A|7,
A|9, A|8 from A is one view, A|9. Not evidence: announcements may be late, so real views are read before anything else.
"""

from __future__ import annotations

from collections.abc import Container
from enum import Enum, auto
from typing import NamedTuple

from ringcast.model import Address, View, ViewId


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


class Outsiders:
    """Endpoints outside the view to which our view id is told in turn: lost members, and what discovery found.

    A few at a time, so the cost does not grow with the group; never forgotten because of time, for a partition may
    last. Where a member left, our view is told for a while, because a process that starts there again may know nobody;
    then nobody is told anything until somebody there is heard, whatever discovery says (Y19). Bounded: the longest
    known gives way. Not addresses: who is there now may be a new process.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._endpoints: dict[str, None] = {}
        self._left: dict[str, int] = {}  # until when it is told

    def __len__(self) -> int:
        return len(self._endpoints)

    def find(self, endpoint: str) -> None:
        """Discovery knows of this place."""
        if endpoint not in self._left:
            self.remember(endpoint)

    def remember(self, endpoint: str) -> None:
        """Somebody is or was there."""
        self._left.pop(endpoint, None)
        if endpoint not in self._endpoints and len(self._endpoints) >= self.capacity:
            del self._endpoints[next(iter(self._endpoints))]
        self._endpoints.setdefault(endpoint)

    def forget(self, endpoint: str, until_ns: int = 0) -> None:
        """Announce to a place that a member left, until this moment."""
        self._endpoints.pop(endpoint, None)
        if len(self._left) >= self.capacity:
            del self._left[next(iter(self._left))]
        self._left[endpoint] = until_ns

    def just_left(self, now_ns: int, count: int, inside: Container[str]) -> tuple[str, ...]:
        """Up to so many places from which somebody left a while ago, the last first."""
        places = [place for place, until_ns in self._left.items() if now_ns < until_ns and place not in inside]
        return tuple(places[-count:])

    def next_in_turn(self, count: int, inside: Container[str]) -> tuple[str, ...]:
        """The next `count` that are not inside; whoever was told is then the last to be told again."""
        chosen: list[str] = []
        for endpoint in self._endpoints:
            if len(chosen) == count:
                break
            if endpoint not in inside:
                chosen.append(endpoint)
        for endpoint in chosen:
            del self._endpoints[endpoint]
            self._endpoints[endpoint] = None
        return tuple(chosen)


class Rereading:
    """One round of reading real views: who was asked, and who answered."""

    def __init__(self) -> None:
        self.answers: dict[Address, View] = {}
        self.acting: dict[Address, Address] = {}  # who answered -> who coordinates its view, as it says
        self._asked: dict[Address, None] = {}

    def ask(self, peer: Address) -> bool:
        """True if this peer was not asked before."""
        if peer in self._asked:
            return False
        self._asked[peer] = None
        return True

    def on_answer(self, peer: Address, view: View, acting: Address | None) -> bool:
        """False if nobody asked for it."""
        if peer not in self._asked or peer not in view:
            return False
        self.answers[peer] = view
        if acting is not None:
            self.acting[peer] = acting
        return True

    def is_led(self, peer: Address) -> bool:
        """Does somebody there take others in? Not where only observers are left."""
        acting = self.acting.get(peer)
        return acting is None or acting not in self.answers[peer].observers

    @property
    def is_complete(self) -> bool:
        return len(self.answers) == len(self._asked)

    @property
    def silent(self) -> tuple[Address, ...]:
        return tuple(peer for peer in self._asked if peer not in self.answers)
