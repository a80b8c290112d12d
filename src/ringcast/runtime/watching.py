"""What a member does, for somebody who watches: its trace events, many of one kind made one, a few times a second.

A watcher costs a dictionary look-up per event while it watches and nothing else. Runs of one stream that follow each
other become one run; of purges the last one counts; acks and what was handed over are left out. What changes the course
stays as it is and in its place. Bounded: a watcher that does not keep up is told how many events it missed.
Not a recording: nothing may be judged from it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ringcast.core import Node
from ringcast.model import TRAFFIC, Address, Event, Kind, ViewId

MOST_EVENTS = 2_000  # kept between two looks
MOST_NAMES = 4_096  # addresses that a watcher keeps

_LEFT_OUT, _ADDED, _REPLACED, _COURSE = range(4)
# By the number of a kind: a look-up in a list costs a third of asking a set for an enum.
_HOW = [_COURSE] * (max(Kind) + 1)
for _kind in TRAFFIC - {Kind.OFFSET}:
    _HOW[_kind] = _LEFT_OUT
for _kind in (Kind.SEND, Kind.DELIVER, Kind.REQUEST, Kind.REPAIR, Kind.DEQUEUE):
    _HOW[_kind] = _ADDED
_HOW[Kind.PURGE] = _REPLACED


class Watch:
    """Collects events between two looks."""

    def __init__(self) -> None:
        self.missed = 0
        self._events: list[Event] = []
        self._traffic: dict[tuple[Address | None, int], Event] = {}

    def append(self, event: Event) -> None:
        kind = event.kind
        how = _HOW[kind]
        if how == _LEFT_OUT:
            return
        if how == _COURSE:
            self._add(event)
            return
        key = (event.peer, event.stream << 8 | kind)
        if how == _ADDED:
            known = self._traffic.get(key)
            if known is not None:
                known.t_ns = event.t_ns
                known.count += event.count
                known.value, known.other = event.value, event.other
                return
            event = Event(
                kind, event.t_ns, event.view, event.peer, event.stream, event.first, event.count, 0, event.value,
                event.other,
            )  # fmt: skip
        self._traffic[key] = event

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
    who = None if peer is None else _address(*peer)
    where = None if view is None else _view_id(view[0], *view[1])
    return Event(Kind(kind), t_ns, where, who, stream, first, count, ordinal, value, other, detail)


# The same few members and views come again and again.
@lru_cache(MOST_NAMES)
def _address(name: str, incarnation: int, endpoint: str) -> Address:
    return Address(name, incarnation, endpoint)


@lru_cache(MOST_NAMES)
def _view_id(number: int, name: str, incarnation: int, endpoint: str) -> ViewId:
    return ViewId(number, _address(name, incarnation, endpoint))
