"""What members that are gone have sent, kept until every member of the new view has shown that view (G5).

Until then somebody may still have to fill up to the cut of the view before. Bounded: one change of the view at a time,
a window for each member it removed. How far each had come is remembered longer: it may come back by merge, and then a
window that begins where the old one ended goes on, it does not begin. Merge detection takes from here who has shown it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.core.multicast.stream import Incoming
from ringcast.model import Address, View

MAX_REMEMBERED = 1024


class Departed:
    def __init__(self) -> None:
        self._reached: dict[Address, int] = {}
        self._streams: dict[Address, Incoming] = {}
        self.unshown: dict[Address, None] = {}  # members that have not shown the view yet
        self.shown: list[Address] = []  # those that have, until somebody takes them from here

    def get(self, origin: Address) -> Incoming | None:
        return self._streams.get(origin)

    def on_view(self, me: Address, incoming: Mapping[Address, Incoming], view: View) -> None:
        self._streams = {member: stream for member, stream in incoming.items() if member not in view}
        for member, stream in self._streams.items():
            self._reached[member] = stream.window.handed
        while len(self._reached) > MAX_REMEMBERED:
            del self._reached[next(iter(self._reached))]
        self.unshown, self.shown = dict.fromkeys(m for m in view.members if m != me), []
        self._forget_if_shown()

    def reached(self, member: Address) -> int:
        """How far it had come when it went; 0 for one that never was here, or very long ago."""
        return self._reached.get(member, 0)

    def goes_on(self, member: Address, offset: int) -> bool:
        """Is a window for this member at this offset the one it had before it was gone?"""
        return self._reached.pop(member, None) == offset

    def on_shown(self, member: Address) -> None:
        """This member has shown the view: in a heartbeat, an ack, or what it multicast in it."""
        if member in self.unshown:
            del self.unshown[member]
            self.shown.append(member)
            self._forget_if_shown()

    def _forget_if_shown(self) -> None:
        if not self.unshown:
            self._streams.clear()
