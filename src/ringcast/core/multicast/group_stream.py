"""The multicast of a group from view to view: it stands still for a roll call, fills up to the cut, takes the view.

On a view: windows of departed members go (when everybody has shown the view), windows of new members start at the
offset of the digest, the ack map is the view's (seed 003 "On reception of view V", "digest D"). In a merge a member of
another subgroup is like a new one, except that nothing is set back (G10).
Not membership: which view comes, with which offsets, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.core.control import Holding, Source
from ringcast.core.effects import Effect, Freed, Install, Unicast
from ringcast.core.multicast.multicast import NO_NOTES, Multicast, view_events
from ringcast.core.multicast.packing import fair_window_bytes
from ringcast.core.multicast.standstill import Standstill
from ringcast.model import Address, Entry, Event, Kind, View


def is_reset(ready: int, offset: int, *, was_apart: bool) -> bool:
    """Does the window of one sender begin again at the digest's offset (G10), or go on where it is?

    A higher or equal local position is kept: what was delivered is not delivered again, what is buffered beyond is not
    thrown away. Between members that were never apart nothing is reset: retransmission gives what is in flight.
    """
    return was_apart and offset > ready


class GroupStream(Multicast):
    """What this member multicasts and receives by multicast, as its views come and go."""

    def on_interval(self, now_ns: int) -> list[Effect]:
        return super().on_interval(now_ns) + self._ask_holders(now_ns)

    # ---- a roll call

    def entry(self) -> Entry:
        """This member's own digest entry: said by itself, exact while it stands still."""
        window = self.outgoing.window
        return Entry(window.low, window.high, window.high)

    def holding(self, origin: Address) -> Holding:
        window = self.incoming[origin].window
        return Holding(origin, window.freed, window.ready, window.beyond(self.config.request_ranges))

    def delivered(self, origin: Address) -> int:
        if origin == self.me:
            return self.outgoing.window.high
        stream = self.incoming.get(origin)
        return self._departed.reached(origin) if stream is None else stream.window.handed

    @property
    def is_filled(self) -> bool:
        return self.standstill is not None and self.standstill.is_filled

    def hold(self, going: tuple[Address, ...]) -> None:
        """Send nothing new and hand out nothing more until `release` or a view."""
        self.standstill = Standstill(self.incoming, going)

    def fill(self, now_ns: int, cuts: Mapping[Address, int], sources: tuple[Source, ...]) -> list[Effect]:
        """Hand out what is here up to the cut, and ask for the rest at once."""
        assert self.standstill is not None
        self.standstill.fill_to(cuts, sources)
        out: list[Effect] = []
        for incoming in self.incoming.values():
            self._hand_out(now_ns, out, incoming)
            request = None if incoming.origin in self.standstill.going else incoming.request_now()
            if request is not None:
                out += self._answer(now_ns, incoming, request)
        return out + self._ask_holders(now_ns)

    def _ask_holders(self, now_ns: int) -> list[Effect]:
        if self.standstill is None:
            return []
        out: list[Effect] = []
        for holder, request in self.standstill.requests(self.view.id):
            out.append(Unicast(holder, request))
            out += [
                Event(Kind.REQUEST, now_ns, self.view.id, holder, 0, first, last - first + 1)
                for first, last in request.ranges
            ]
        return out

    def release(self, now_ns: int) -> list[Effect]:
        """The roll call ended without a view: everything goes on as before."""
        if self.standstill is None:
            return []
        self.standstill.end()
        self.standstill = None
        out: list[Effect] = []
        for incoming in self.incoming.values():
            self._hand_out(now_ns, out, incoming)
        return [*out, Freed()]

    # ---- views

    def on_view(
        self, now_ns: int, view: View, offsets: Mapping[Address, int], notes: Mapping[str, object] = NO_NOTES
    ) -> list[Effect]:
        """Digest first, then view: `offsets` say where streams begin that are new to us, or were apart from us."""
        previous, self.view = self.view, view
        if self.standstill is not None:
            self.standstill.leave_behind()
            self.standstill.end()
            self.standstill = None
        self._departed.on_view(self.me, self.incoming, view)
        self.capacity = view.capacity or self.capacity
        self.window_bytes = fair_window_bytes(self.config, view)
        starts = self._set_windows(view, offsets)
        out: list[Effect] = [*view_events(now_ns, view, previous, starts, {"capacity": self.capacity, **notes})]
        self._purge(now_ns, out, self._set_receivers(view, offsets))
        out += [Install(view), Freed()]
        early, self._early = self._early, []
        for sender, run in early:
            out += self.on_run(now_ns, sender, run)
        return out

    def _set_windows(self, view: View, offsets: Mapping[Address, int]) -> dict[Address, int]:
        """Windows of the view's members; returns where those begin that were created or reset (G1, G10)."""
        starts: dict[Address, int] = {}
        before, self.incoming = self.incoming, {}
        for member in view.members:
            if member == self.me:
                continue
            offset = offsets.get(member, 0)
            stream = before.get(member)
            if stream is None or is_reset(stream.window.ready, offset, was_apart=self._was_apart(view, member)):
                goes_on = stream is None and self._departed.goes_on(member, offset)
                stream = self._window_for(member, offset)
                if not goes_on:
                    starts[member] = offset
            stream.tag = view.id
            stream.window.resize(self.capacity)
            stream.set_pace(self._ack_after, self._ack_bytes)
            self.incoming[member] = stream
        return starts

    def _set_receivers(self, view: View, offsets: Mapping[Address, int]) -> int:
        """Who stays keeps its ack; who is new, or was apart from us, starts where the view says (G3)."""
        self.outgoing.retag(view.id)
        self.outgoing.window.resize(self.capacity)
        self.outgoing.window.limit_bytes(self.window_bytes)
        start = offsets.get(self.me, self.outgoing.window.high)
        together = [member for member in view.members if not self._was_apart(view, member)]
        purged = self.outgoing.set_receivers(dict.fromkeys(together, start))
        self.outgoing.on_ack(self.me, self.outgoing.window.high)
        return purged + self.outgoing.set_receivers(dict.fromkeys(view.members, start))

    def _was_apart(self, view: View, member: Address) -> bool:
        """In a merge: not of our subgroup, so what it sent meanwhile was delivered on its side only."""
        return view.is_merge and not any(self.me in subgroup and member in subgroup for subgroup in view.subgroups)

    def on_shown(self, member: Address) -> None:
        """This member has shown the view."""
        if self._departed:
            self._departed.on_shown(member)
