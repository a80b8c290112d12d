"""Which recordings of a run are of one group: the same name alone does not say it.

Two groups may have one name (a test suite that records everything into one run). They are one group if they shared a
view, also through others; if one of them named the other (a JOIN, a suspicion, a merge); if the votes of a primary
view name an earlier incarnation, or a fixed quorum says that there is one group only. And whoever injects faults into a
run, or records that they are over, speaks of all members: then two halves that never met are a fault, not two groups.
Used by checkers and rules alike, so that both judge the same members together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringcast.model import Address, Kind
from ringcast.trace import as_address, as_addresses, detail_of, is_harness

CONTACT_KINDS = frozenset((Kind.VIEW, Kind.REQUESTED, Kind.SUSPECT, Kind.MERGE, Kind.FAULT, Kind.HEAL))


class Contacts:
    """Members by group name, united as contacts between them are noted."""

    def __init__(self, groups: Mapping[Address, str]) -> None:
        self._groups = dict(groups)
        self._above: dict[Address, Address] = {}
        self._left = dict.fromkeys(self._groups.values(), 0)  # how many parts each name still has
        for name in self._groups.values():
            self._left[name] += 1
        self._with_quorum: dict[str, Address] = {}
        self._viewless = dict.fromkeys(self._groups)
        for member, name in self._groups.items():
            if is_harness(member):
                self._unite_all(name)

    def is_settled(self, member: Address) -> bool:
        """Everybody of this group's name belongs together."""
        return self._left[self._groups[member]] == 1

    def on_event(self, member: Address, kind: Kind, peer: Address | None, detail: Mapping[str, Any]) -> None:
        """ValueError, TypeError or LookupError if the event lacks what its kind must carry."""
        if kind is Kind.VIEW:
            self._on_view(member, detail)
        elif kind is Kind.FAULT or kind is Kind.HEAL:
            self._unite_all(self._groups[member])
        elif peer is not None:
            self._unite(member, peer)

    def _on_view(self, member: Address, detail: Mapping[str, Any]) -> None:
        self._viewless.pop(member, None)
        named = [*as_addresses(detail["members"])]
        named += [as_address(one) for pair in detail.get("votes") or () for one in pair]
        if detail.get("quorum"):
            named.append(self._with_quorum.setdefault(self._groups[member], member))
        for other in named:
            self._unite(member, other)

    def parts(self) -> list[list[Address]]:
        """The members of each group, by name and first member. Who never was in a view belongs to the first."""
        anchors: dict[str, Address] = {}
        for member in sorted(self._groups, key=lambda member: (member in self._viewless, member)):
            anchor = anchors.setdefault(self._groups[member], member)
            if member in self._viewless:
                self._unite(member, anchor)
        found: dict[tuple[str, Address], list[Address]] = {}
        for member in sorted(self._groups):
            found.setdefault((self._groups[member], self._top(member)), []).append(member)
        return sorted(found.values(), key=lambda part: (self._groups[part[0]], part[0]))

    def _unite_all(self, name: str) -> None:
        members = [member for member, group in self._groups.items() if group == name]
        for member in members[1:]:
            self._unite(members[0], member)

    def _unite(self, one: Address, other: Address) -> None:
        first, second = self._top(one), self._top(other)
        if first == second:
            return
        groups = [self._groups.get(top) for top in (first, second)]
        if None not in groups and groups[0] != groups[1]:
            return  # names differ: an address that two groups use
        above, below = (first, second) if groups[0] is not None else (second, first)
        self._above[below] = above
        if None not in groups:
            self._left[self._groups[above]] -= 1

    def _top(self, member: Address) -> Address:
        while member in self._above:
            member = self._above[member]
        return member


def noted(contacts: Contacts, member: Address, kind: Kind, peer: Address | None, detail: Any) -> None:
    """The same for an event that may be damaged: then it says nothing."""
    try:
        contacts.on_event(member, kind, peer, detail_of(detail))
    except (ValueError, TypeError, LookupError):
        return
