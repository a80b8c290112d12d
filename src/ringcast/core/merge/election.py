"""Who leads a merge: a pure function of the views that members really have. It elects itself, so it is alive."""

from __future__ import annotations

from ringcast.core.merge.parties import Views, parties_of
from ringcast.model import Address


def coordinators(views: Views) -> list[Address]:
    """The actual ones: first in their own view."""
    return [holder for holder, view in views.items() if view.coordinator == holder]


def choose_leader(views: Views) -> Address:
    """Lowest of the actual coordinators; if there is none (cyclic views), of the creators that speak for a party."""
    spokesmen = [party.coordinator for party in parties_of(views)]
    creators = [view.id.creator for view in views.values() if view.id.creator in spokesmen]
    return min(coordinators(views) or creators or spokesmen)
