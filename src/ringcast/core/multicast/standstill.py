"""How the multicast stands still while a roll call runs, and fills up to the cut (G5).

From the promise on nothing is handed out; once the cut is known, everything up to it is got and handed out, and
nothing above it. Members that stay are asked for their own messages; those of a member that is going away come from
whoever holds them. Exists only while this member is promised; membership decides when that begins and ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.core.control import Source
from ringcast.core.multicast.stream import Incoming
from ringcast.core.packets import Channel, Request
from ringcast.model import Address, ViewId


class Standstill:
    """Ceilings on what may be handed out, and where to get what is missing below them."""

    def __init__(self, incoming: Mapping[Address, Incoming], going: tuple[Address, ...]) -> None:
        self.going = dict.fromkeys(going)
        self._incoming = incoming
        self._sources: tuple[Source, ...] = ()
        self._is_filling = False
        for stream in incoming.values():
            stream.ceiling = stream.window.handed

    def fill_to(self, cuts: Mapping[Address, int], sources: tuple[Source, ...]) -> None:
        self._is_filling = True
        self._sources = sources
        for source in sources:
            window = self._incoming[source.origin].window if source.origin in self._incoming else None
            if window is not None and source.low <= window.ready:
                window.advance_stable(source.low)  # The origin cannot tell us any more, and we need the slots.
        for origin, stream in self._incoming.items():
            cut = cuts[origin]
            stream.ceiling = cut
            stream.window.note_highest(cut)

    @property
    def is_filled(self) -> bool:
        return self._is_filling and all(stream.window.handed == stream.ceiling for stream in self._incoming.values())

    def requests(self, tag: ViewId) -> list[tuple[Address, Request]]:
        """What is missing of those going away, and whom to ask for it. Those who stay are asked as always."""
        out = []
        for origin, first, last, holder, _ in self._sources:
            stream = self._incoming.get(origin)
            missing = () if stream is None else stream.gaps.between(stream.window, first, last)
            if missing:
                out.append((holder, Request(Channel.GROUP, tag, origin, missing)))
        return out

    def leave_behind(self) -> None:
        """The view is here, and we stand at its cut. What came above it was sent in the view before, by a member that
        was released from its promise and went on there; what it sends in this view begins behind the cut."""
        if self.is_filled:
            for origin, stream in self._incoming.items():
                if origin not in self.going:
                    stream.forget_unhanded()

    def end(self) -> None:
        for stream in self._incoming.values():
            stream.ceiling = None
