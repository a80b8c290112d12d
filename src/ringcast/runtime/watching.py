"""What a member does, for somebody who watches: its trace events, many of one kind made one, a few times a second.

A watcher costs a dictionary look-up per event while it watches and nothing else. Runs of one stream that follow each
other become one run; of acks and purges the last one counts. What changes the course stays as it is and in its place.
Bounded: a watcher that does not keep up is told how many events it missed.
Not a recording: nothing may be judged from it.
"""

from __future__ import annotations

from typing import Any

from ringcast.core import Node
from ringcast.model import TRAFFIC, Address, Event, Kind, ViewId

MOST_EVENTS = 2_000  # kept between two looks

_ADDED = frozenset((Kind.SEND, Kind.DELIVER, Kind.REQUEST, Kind.REPAIR, Kind.DEQUEUE))
_REPLACED = frozenset((Kind.ACK, Kind.PURGE))
_LEFT_OUT = TRAFFIC - _ADDED - _REPLACED - {Kind.OFFSET}


class Watch:
    """Collects events between two looks."""

    def __init__(self) -> None:
        self.missed = 0
        self._events: list[Event] = []
        self._traffic: dict[tuple[Kind, Address | None, int], Event] = {}

    def append(self, event: Event) -> None:
        kind = event.kind
        if kind in _ADDED:
            known = self._traffic.get((kind, event.peer, event.stream))
            if known is not None:
                known.t_ns = event.t_ns
                known.count += event.count
                known.value, known.other = event.value, event.other
                return
            event = Event(
                kind, event.t_ns, event.view, event.peer, event.stream, event.first, event.count, 0, event.value,
                event.other,
            )  # fmt: skip
        elif kind not in _REPLACED:
            if kind not in _LEFT_OUT:
                self._add(event)
            return
        self._traffic[kind, event.peer, event.stream] = event

    def _add(self, event: Event) -> None:
        """Behind the traffic that came before it."""
        if self._traffic:
            self._events += self._traffic.values()
            self._traffic = {}
        self._events.append(event)
        if len(self._events) > MOST_EVENTS:
            self.missed += len(self._events) - MOST_EVENTS
            del self._events[:-MOST_EVENTS]

    def take(self) -> list[Event]:
        """Everything since the last look."""
        events = [*self._events, *self._traffic.values()]
        self._events, self._traffic = [], {}
        return events


def present(node: Node, now_ns: int) -> list[Event]:
    """Where a member is now, as events: what somebody who begins to watch must know first."""
    if not node.has_group:
        return []
    view, group = node.view, node.group
    window = group.outgoing.window
    detail: dict[str, Any] = {
        "members": view.members,
        "observers": view.observers,
        "subgroups": view.subgroups,
        "capacity": group.capacity,
    }
    if view.mark is not None:
        detail["primary"] = view.is_primary
    marks = [Event(Kind.OFFSET, now_ns, view.id, m, value=s.window.ready) for m, s in group.incoming.items()]
    sent = Event(Kind.SEND, now_ns, view.id, None, 0, window.high + 1, 0, 0, window.occupancy, window.low)
    return [Event(Kind.VIEW, now_ns, view.id, detail=detail), *marks, sent]


def as_row(event: Event) -> list[Any]:
    """An event for the wire between a member and its watcher; `as_event` reads it back."""
    return [
        int(event.kind), event.t_ns, event.view, event.peer, event.stream, event.first, event.count, event.ordinal,
        event.value, event.other, event.detail,
    ]  # fmt: skip


def as_event(row: list[Any]) -> Event:
    """The event that was written as a row; ValueError, TypeError or IndexError if it is none."""
    kind, t_ns, view, peer, stream, first, count, ordinal, value, other, detail = row
    who = None if peer is None else Address(*peer)
    where = None if view is None else ViewId(view[0], Address(*view[1]))
    return Event(Kind(kind), t_ns, where, who, stream, first, count, ordinal, value, other, detail)
