"""Who went together from view to view, with the order events of each: what G12 and G13 are judged on.

Members that installed V and directly after it W form one company, those that ended in V in good order another. A member
that crashed or was cut off in V belongs to none: it may have ordered differently what was not settled yet. Events
without a view are those of a bus: there everybody is in one company, for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import detail_of

ORDER_KINDS = (Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE)
PASSAGE_KINDS = (Kind.VIEW, Kind.CLOSED, *ORDER_KINDS)


@dataclass(slots=True)
class Stay:
    """What one member did to the order in one view, with the place of each event in its recording."""

    member: Address
    view: ViewId | None
    events: list[tuple[int, Event]] = field(default_factory=list)

    def of(self, *kinds: Kind) -> Iterator[tuple[int, Event]]:
        return ((index, event) for index, event in self.events if event.kind in kinds)


@dataclass(frozen=True, slots=True)
class Company:
    """Members that were in `view` and went on to `next` together (None: they ended in it, or it is a bus)."""

    view: ViewId | None
    next: ViewId | None
    stays: list[Stay]

    @property
    def where(self) -> str:
        return "on the bus" if self.view is None else f"in view {self.view}"


class Passages:
    def __init__(self) -> None:
        self._now: dict[Address, Stay] = {}
        self._ended_well: dict[Address, None] = {}
        self._companies: dict[tuple[ViewId | str, ViewId | None], Company] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.kind is Kind.CLOSED:
            if detail_of(event.detail).get("how", "ended") == "ended":
                self._ended_well[member] = None
            return
        stay = self._now.get(member)
        if event.kind is Kind.VIEW:
            if stay is not None and stay.view is not None:
                self._enter(stay, event.view)
            self._now[member] = Stay(member, event.view)
            return
        if stay is None:
            stay = self._now[member] = Stay(member, event.view)
        stay.events.append((index, event))

    def on_message(self, member: Address, index: int, event: Event) -> None:
        """A message that was sent or delivered in a view, among what the member did to the order."""
        stay = self._now.get(member)
        if stay is not None and stay.view is not None:
            stay.events.append((index, event))

    def _enter(self, stay: Stay, to: ViewId | None) -> None:
        key = (bus_of(stay.member) if stay.view is None else stay.view, to)
        company = self._companies.get(key)
        if company is None:
            company = self._companies[key] = Company(stay.view, to, [])
        company.stays.append(stay)

    def companies(self, closed: Closed) -> list[Company]:
        """Everybody is where it ended; call once."""
        for member, stay in self._now.items():
            if stay.view is None or (member in self._ended_well and closed.get(member, False)):
                self._enter(stay, None)
        self._now = {}
        return [company for company in self._companies.values() if any(stay.events for stay in company.stays)]


def bus_of(member: Address) -> str:
    """The bus of a peer: two buses are two companies. Others without a view are taken for peers of one."""
    return member.endpoint if member.endpoint.startswith("bus:") else ""
