"""What members that are gone have sent, kept until every member of the new view has shown that view (G5).

Until then somebody may still have to fill up to the cut of the view before. Bounded: one change of the view at a time,
a window for each member it removed. The empty windows are remembered longer: a member may come back by merge, and then
a window that begins where the old one ended goes on, it does not begin; what the application has not read of it is not
acked (G3). Merge detection takes from here who has shown the view.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.core.effects import Deliver
from ringcast.core.multicast.stream import Incoming
from ringcast.model import Address, View

MAX_REMEMBERED = 1024


class Departed:
    def __init__(self) -> None:
        self._left: dict[Address, Incoming] = {}
        self._streams: dict[Address, Incoming] = {}  # those of them whose messages are kept
        self.unshown: dict[Address, None] = {}  # members that have not shown the view yet
        self.shown: list[Address] = []  # those that have, until somebody takes them from here

    def get(self, origin: Address) -> Incoming | None:
        return self._streams.get(origin)

    def on_view(self, me: Address, incoming: Mapping[Address, Incoming], view: View) -> None:
        self._let_go()
        self._streams = {member: stream for member, stream in incoming.items() if member not in view}
        self._left |= self._streams
        while len(self._left) > MAX_REMEMBERED:
            del self._left[next(iter(self._left))]
        self.unshown, self.shown = dict.fromkeys(m for m in view.members if m != me), []
        self._forget_if_shown()

    def reached(self, member: Address) -> int:
        """How far it had come when it went; 0 for one that never was here, or very long ago."""
        stream = self._left.get(member)
        return 0 if stream is None else stream.window.handed

    def take_back(self, member: Address, offset: int) -> Incoming | None:
        """The stream that this member had before it was gone, if it begins where that one ended."""
        stream = self._left.pop(member, None)
        return stream if stream is not None and stream.window.handed == offset else None

    def on_taken(self, delivery: Deliver) -> None:
        """The application has read what one of them sent; nobody waits for an ack."""
        stream = self._left.get(delivery.origin)
        if stream is not None:
            stream.on_taken(delivery)

    def on_shown(self, member: Address) -> None:
        """This member has shown the view: in a heartbeat, an ack, or what it multicast in it."""
        if member in self.unshown:
            del self.unshown[member]
            self.shown.append(member)
            self._forget_if_shown()

    def _forget_if_shown(self) -> None:
        if not self.unshown:
            self._let_go()

    def _let_go(self) -> None:
        """Nobody will ask for what they sent any more."""
        for stream in self._streams.values():
            stream.forget_unhanded()
            stream.window.advance_stable(stream.window.handed)
        self._streams = {}
