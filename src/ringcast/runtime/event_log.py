"""What a running member writes to the logger "ringcast": INFO once for each view, join, leave, exclusion, suspicion and
merge; DEBUG for each step of membership and merge, for those who maintain ringcast.

Each INFO record says the same in fields, for formatters that write JSON: `ringcast_event` (one of `EVENTS`),
`ringcast_group`, `ringcast_member`, and `ringcast_view` and `ringcast_peer` where there is one.
Nothing is formatted unless somebody listens. Not a recording: that has everything, in a form that can be judged.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ringcast.model import Address, Event, Kind, View
from ringcast.runtime.chronicle import Chronicle

_log = logging.getLogger("ringcast")

EVENTS = ("joined", "view", "merged", "member_joined", "member_left", "member_excluded", "suspects", "window_shrunk")


class EventLog:
    """One incarnation's lines."""

    def __init__(self, me: Address, group: str) -> None:
        self._me = me
        self._group = group
        self._view: View | None = None
        self._suspected: dict[Address, None] = {}

    def on_event(self, event: Event) -> None:
        """A step of membership or merge."""
        if event.kind is Kind.SUSPECT and event.peer is not None and event.peer not in self._suspected:
            self._suspected[event.peer] = None
            self._info("suspects", event.peer, "suspects %s: %s", event.peer, (event.detail or {}).get("why"))
        if _log.isEnabledFor(logging.DEBUG):
            detail: Mapping[str, object] = event.detail or {}
            words = " ".join(f"{name}={value}" for name, value in detail.items() if name != "digest")
            about = "" if event.peer is None else f" {event.peer}"
            _log.debug("%s in group %s: %s%s %s", self._me, self._group, event.kind.name, about, words)

    def on_view(self, view: View, chronicle: Chronicle) -> None:
        """A view was installed; the chronicle knows already who went, and why."""
        before, self._view = self._view, view
        self._suspected.clear()
        if view.is_merge and before is not None and 2 * view.capacity <= before.capacity:
            words = "%s in group %s: the merge shrinks the window from %d to %d messages, those of its smallest member"
            fields = self._fields("window_shrunk", None)
            _log.warning(words, self._me, self._group, before.capacity, view.capacity, extra=fields)
        if not _log.isEnabledFor(logging.INFO):
            return
        known = (self._me,) if before is None else before.members
        if before is None:
            self._info("joined", None, "joined, view %s: %s", view.id, _names(view.members))
        elif view.is_merge:
            sides = " with ".join(_names(side) for side in view.subgroups)
            self._info("merged", None, "merged, view %s: %s", view.id, sides)
        else:
            self._info("view", None, "view %s: %s", view.id, _names(view.members))
        for member in () if before is None or view.is_merge else view.members:
            if member not in known:
                self._info("member_joined", member, "%s joined", member)
        for member in known:
            if member not in view:
                gone = chronicle.departed.get(member)
                if gone is not None and gone.has_left:
                    self._info("member_left", member, "%s left", member)
                else:
                    why = "a new process took its place" if gone is None else gone.why or "others decided it"
                    self._info("member_excluded", member, "%s was excluded: %s", member, why)

    def _info(self, event: str, peer: Address | None, words: str, *values: object) -> None:
        _log.info("%s in group %s: " + words, self._me, self._group, *values, extra=self._fields(event, peer))

    def _fields(self, event: str, peer: Address | None) -> dict[str, str]:
        fields = {"ringcast_event": event, "ringcast_group": self._group, "ringcast_member": str(self._me)}
        if self._view is not None:
            fields["ringcast_view"] = str(self._view.id)
        return fields if peer is None else fields | {"ringcast_peer": str(peer)}


def _names(members: tuple[Address, ...]) -> str:
    return ", ".join(map(str, members))
