"""What a simulated world's recordings say about views, for tests."""

from __future__ import annotations

from ringcast.model import Event, Kind
from ringcast.testing import World


def views_of(world: World, since_ns: int = 0) -> dict[str, list[Event]]:
    """The views that each member installed after this moment, in its own order."""
    found: dict[str, list[Event]] = {}
    for recording in world.recordings():
        views = [event for event in recording.events if event.kind is Kind.VIEW and event.t_ns > since_ns]
        if recording.header.member.name in world.names:
            found.setdefault(recording.header.member.name, []).extend(views)
    return found


def members_of(view: Event) -> list[str]:
    return sorted(member[0] for member in (view.detail or {})["members"])


def is_merge(view: Event) -> bool:
    return bool((view.detail or {})["subgroups"])
