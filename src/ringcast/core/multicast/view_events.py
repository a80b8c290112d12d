"""What the recording says of a view that is being installed: an OFFSET for each window that is set, then the VIEW."""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.model import Address, Event, Kind, View


def view_events(
    now_ns: int, view: View, previous: View | None, starts: Mapping[Address, int], notes: Mapping[str, object]
) -> list[Event]:
    """`starts` = where windows were created or reset; `notes` = what else belongs into the VIEW."""
    cause = "merge" if view.is_merge else "join" if previous is None else "view"
    offsets = [
        Event(Kind.OFFSET, now_ns, view.id, member, value=start, detail={"cause": cause})
        for member, start in starts.items()
    ]
    detail: dict[str, object] = {
        "members": [list(member) for member in view.members],
        "observers": [list(member) for member in view.observers],
        "previous": None if previous is None else [previous.id.number, list(previous.id.creator)],
        "subgroups": [[list(member) for member in subgroup] for subgroup in view.subgroups],
        "capacity": view.capacity,
        "window_bytes": view.window_bytes,
    }
    return [*offsets, Event(Kind.VIEW, now_ns, view.id, detail=detail | dict(notes))]
