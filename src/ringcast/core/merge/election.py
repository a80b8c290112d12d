"""Who leads a merge, and who takes part in it: pure functions of the views that members really have.

The leader elects itself, so it is alive. A party is the members that share a view, asked through one of them. A member
stands in one party only: from every view those are taken out whose own view is another (`A: ABC, B: BC, C: BC` shrinks
A's to A). Members of whom no view is known stay where the latest view has them; the roll call will tell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ringcast.model import Address, View, ViewId

Views = Mapping[Address, View]  # whose view -> that view; the order repeats


@dataclass(frozen=True, slots=True)
class Party:
    coordinator: Address  # who is asked for all of them
    view: View
    members: tuple[Address, ...]  # in the order of the view
    via: Address | None = None  # the coordinator is silent to us, and this member of its view hears it

    def __str__(self) -> str:
        return f"{self.coordinator}:{','.join(map(str, self.members))}"


def sanitised(views: Views) -> dict[Address, tuple[Address, ...]]:
    """Each view without the members whose own view is known to be another."""
    return {
        holder: tuple(m for m in view.members if m not in views or views[m].id == view.id)
        for holder, view in views.items()
    }


def parties_of(
    views: Views, silent: Collection[Address] = (), acting: Mapping[Address, Address] = MappingProxyType({})
) -> list[Party]:
    """One party for each view, without those that were asked and stayed silent.

    `acting`: whom those who answered named as their coordinator. One that is silent to us only stays in its party, and
    speaks for it.
    """
    remaining = sanitised(views)
    latest: dict[Address, ViewId] = {}
    for view in views.values():
        for member in view.members:
            latest[member] = max(view.id, latest.get(member, view.id))
    parties: dict[ViewId, Party] = {}
    for holder, view in views.items():
        if view.id not in parties:
            shared = remaining[holder]
            first = _first_answered(view, shared, views, acting)
            named = acting.get(first, first)
            spokesman = named if named in shared and named in silent else first
            members = tuple(
                m for m in shared if m in views or m == spokesman or (m not in silent and latest[m] == view.id)
            )
            parties[view.id] = Party(spokesman, view, members, None if spokesman == first else first)
    return list(parties.values())


def _first_answered(
    view: View, members: tuple[Address, ...], views: Views, acting: Mapping[Address, Address]
) -> Address:
    """The view's coordinator if it answered for it, else the first that did; an observer only if there is no other.

    Who only announced its view some time ago may be dead: it speaks for a party only if nobody of it was read.
    """
    held = [m for m in members if m in views]
    answered = [m for m in held if m in acting] or held
    return view.leader(lambda m: m not in answered) or answered[0]


def coordinators(views: Views) -> list[Address]:
    """The actual ones: first in their own view."""
    return [holder for holder, view in views.items() if view.coordinator == holder]


def choose_leader(views: Views) -> Address:
    """Lowest of the actual coordinators; if there is none (cyclic views), of the creators that speak for a party."""
    spokesmen = [party.coordinator for party in parties_of(views)]
    creators = [view.id.creator for view in views.values() if view.id.creator in spokesmen]
    return min(coordinators(views) or creators or spokesmen)
