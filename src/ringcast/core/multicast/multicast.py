"""The group's multicast: one outgoing stream to the members of the view, one incoming stream from each (seed 003).

Runs of a later view wait here, undelivered and unacked, until that view comes; runs of an earlier view are not taken.
While a roll call runs (`standstill`) nothing new is sent, and from members that are going away only repairs are taken.
On a view: windows of departed members go (when everybody has shown the view), windows of new members start at the
offset of the digest, the ack map is the view's (seed 003 "On reception of view V", "digest D"). In a merge a member of
another subgroup is like a new one, except that nothing is set back (G10).
Not membership: which view comes, with which offsets, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringcast.core.control import Holding, Source
from ringcast.core.effects import Cast, Deliver, Drop, Effect, Freed, Install, Lost, Sealed, Unicast
from ringcast.core.multicast.departed import Departed
from ringcast.core.multicast.gap_requests import asked
from ringcast.core.multicast.packing import ack_pace, content_of_items, fair_window_bytes
from ringcast.core.multicast.repairs import Repairs
from ringcast.core.multicast.standstill import Standstill
from ringcast.core.multicast.stream import Incoming, Outgoing, OwnMessages
from ringcast.core.packets import Ack, Channel, Highest, Request, Run, Unrepairable
from ringcast.model import INCOMPLETE, Address, Config, Entry, Event, Kind, View, content_of, is_reset, view_events
from ringcast.window import NO_SPACE, Space, total

GROUP = Channel.GROUP
_SEND, _DELIVER, _PURGE, _TAKEN, _ACK = Kind.SEND, Kind.DELIVER, Kind.PURGE, Kind.TAKEN, Kind.ACK  # as in node.py
NO_NOTES: Mapping[str, object] = {}


class Multicast:
    """What this member multicasts and what it receives by multicast, as its views come and go."""

    def __init__(
        self, me: Address, config: Config, view: View, offsets: Mapping[Address, int], *, multicasts: bool
    ) -> None:
        self.me = me
        self.config = config
        self.view = view
        self.capacity = view.capacity or config.capacity
        self.window_bytes = fair_window_bytes(config, view)
        start = offsets.get(me, 0)
        self.outgoing = Outgoing(
            GROUP,
            view.id,
            me,
            dict.fromkeys(view.members, start),
            capacity=self.capacity,
            window_bytes=self.window_bytes,
            frame_bytes=config.frame_bytes,
            offset=start,
        )
        self._own = OwnMessages()
        self.ordinal = 0
        self.contents = False  # record what runs carry
        self.records = True  # somebody reads what the data plane tells of each run
        self.incoming: dict[Address, Incoming] = {}
        self.standstill: Standstill | None = None  # while a roll call runs
        self.repairs = Repairs(me, config.frame_bytes, multicasts)
        self.departed = Departed()
        self.departed.on_view(me, {}, view)
        self._early: list[tuple[Address, Run]] = []
        for member in view.members:
            if member != me:
                self.incoming[member] = self._window_for(member, offsets.get(member, 0))

    def begin(self, now_ns: int, notes: Mapping[str, object] = NO_NOTES) -> list[Effect]:
        """What the application and the recording learn of the first view."""
        starts = {member: stream.window.ready for member, stream in self.incoming.items()}
        events = view_events(now_ns, self.view, None, starts, {"capacity": self.capacity, **notes})
        return [*events, Install(self.view)]

    def _window_for(self, member: Address, offset: int) -> Incoming:
        return Incoming(GROUP, self.view.id, member, self.me, self.config, self.capacity, self._pace, offset=offset)

    @property
    def _pace(self) -> tuple[int, int]:
        """Acks keep pace with the agreed window: later than a full one, the sender would wait for the interval."""
        after, nbytes = ack_pace(self.capacity, self.window_bytes)
        return min(self.config.ack_after, after), nbytes

    # ---- sending

    def space(self) -> Space:
        """The room that is left now, in the window and at our own reader. None while a roll call holds sends."""
        space = self.outgoing.window.space
        if self.standstill is not None or space.nbytes <= 0:
            return NO_SPACE
        own = self.own_room()
        return space if own >= space.slots or not self.config.self_delivery else space._replace(slots=own)

    @property
    def own_unread(self) -> int:
        return self._own.unread

    def own_room(self) -> int:
        """How many more own messages may wait to be read."""
        return self._own.room(self.capacity) if self.config.self_delivery else self.capacity

    def widen_own(self) -> None:
        """Whoever reads waits to send: own messages may wait beyond the capacity, until they are read down to it (Y07).

        A capacity for each member: whoever sends at most one message for each that it reads never needs more, because
        the others' windows bound what stands unread before its own.
        """
        self._own.widen(self.capacity * max(2, len(self.view.members)))

    def await_room(self, count: int) -> None:
        """Somebody waits until so many messages may be sent. It counts until the next `Freed`, when all look again."""
        self._own.await_room(count)

    def send(
        self, now_ns: int, items: list[bytes], sizes: Sequence[int], payloads: list[bytes] | None = None
    ) -> list[Effect]:
        """Multicast these items; there was room. `payloads` = the whole messages when the items are their pieces."""
        runs = self.outgoing.send(items, sizes, together=payloads is not None)
        window, count, content = self.outgoing.window, len(items), 0
        first = window.high - count + 1
        out: list[Effect] = list(map(Cast, runs))
        if self.records:
            sent = Event(_SEND, now_ns, self.view.id, None, 0, first, count, 0, window.occupancy, window.low)
            if self.contents:
                content = content_of(first, items) if payloads is None else content_of_items(first, items)
                sent.content = content
            out.insert(0, sent)
        # Own messages count as acked when ready (G3); a group of one is empty again at once.
        self._purge(now_ns, out, self.outgoing.on_ack(self.me, window.high))
        if self.config.self_delivery:
            self._own.unread += count
            whole = items if payloads is None else payloads
            own = Deliver(self.me, GROUP, whole, first, count, total(sizes))
            self._deliver(now_ns, out, own, window.occupancy, content)
        return out

    def _deliver(self, now_ns: int, out: list[Effect], delivery: Deliver, held: int, content: int) -> None:
        if self.records:
            first, count, view = delivery.first, delivery.count, self.view.id
            numbers = self.ordinal, held, self.capacity
            out.append(Event(_DELIVER, now_ns, view, delivery.origin, 0, first, count, *numbers, None, content))
        self.ordinal += delivery.count
        incoming = self.incoming.get(delivery.origin)
        if delivery.payloads if incoming is None else incoming.is_for_reading(delivery):
            out.append(delivery)
        elif delivery.count:  # only pieces of a message that is not complete, or nothing for the application
            out += self.on_taken(now_ns, delivery, for_nobody=1)

    def _purge(self, now_ns: int, out: list[Effect], purged: int) -> None:
        if purged:
            if self.records:
                low = self.outgoing.window.low
                out.append(Event(_PURGE, now_ns, self.view.id, None, 0, low - purged + 1, purged, 0, low))
            out.append(Freed())

    # ---- what others send

    def on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        if run.tag != self.view.id:
            return self._of_another_view(sender, run)
        incoming = self.incoming.get(run.origin)
        if incoming is None:
            return [Drop("a run from a stranger", run.origin, len(run.items))]
        if run.origin is not sender and run.origin != sender and not self._may_repair(sender):
            return [Drop("a run in another's name that nobody asked for", sender, len(run.items))]
        if self.standstill is not None and sender in self.standstill.going:
            return [Drop("a run of a member that is going away", run.origin, len(run.items))]
        out: list[Effect] = []
        admitted = incoming.on_run(run)
        if admitted.new:
            if self.departed.unshown:
                self.departed.on_shown(run.origin)
            self._hand_out(now_ns, out, incoming, run)
        if admitted.old or admitted.duplicate:
            out.append(Drop("a duplicate", run.origin, admitted.old + admitted.duplicate))
            if admitted.old and not admitted.new:
                out.append(Unicast(run.origin, incoming.ack()))  # Our last ack may be what was lost.
        if admitted.beyond:
            if incoming.window.is_orphaned:
                out.append(Lost(f"{incoming.origin} no longer counts this member: its low is above what was received"))
            out.append(Drop("beyond the window", incoming.origin, admitted.beyond))
        return out

    def _hand_out(self, now_ns: int, out: list[Effect], incoming: Incoming, run: Run | None = None) -> None:
        first, count, payloads, ends, too_large = incoming.take_ready()
        if too_large:
            out.append(Drop("a message above max_message_bytes", incoming.origin, too_large))
        if count:
            # Usually what is ready is just the run that came, and its size is known.
            nbytes = run.nbytes if run is not None and payloads is run.items else sum(map(len, payloads))
            delivery = Deliver(incoming.origin, GROUP, payloads, first, count, nbytes, ends=ends)
            content = 0
            if self.contents:
                content = INCOMPLETE if too_large else content_of(first, payloads, ends)
            sealed = incoming.unseal(delivery) if incoming.has_sealed else None
            self._deliver(now_ns, out, delivery, incoming.window.occupancy if self.records else 0, content)
            if sealed:
                out.append(Sealed(incoming.origin, GROUP, sealed))

    def _may_repair(self, sender: Address) -> bool:
        """Others send a member's messages only to who fills up to a cut."""
        return self.standstill is not None and sender in self.view

    def _of_another_view(self, sender: Address, run: Run) -> list[Effect]:
        if isinstance(run.tag, int) or run.tag < self.view.id:
            return [Drop("a run of an earlier view", run.origin, len(run.items))]
        if sender not in self.view and self.standstill is None:
            return [Drop("a run of a later view, from a process outside this one", sender, len(run.items))]
        if len(self._early) >= self.config.early_packets:
            return [Drop("a run of a later view, and no room to keep it", run.origin, len(run.items))]
        self._early.append((sender, run))
        return []

    def on_taken(self, now_ns: int, delivery: Deliver, for_nobody: int = 0) -> list[Effect]:
        """The application has read a delivery; or (1) there was nothing in it to read."""
        origin, first, count = delivery.origin, delivery.first, delivery.count
        taken = Event(_TAKEN, now_ns, self.view.id, origin, 0, first, count, 0, for_nobody) if self.records else None
        out: list[Effect] = [] if taken is None else [taken]
        if origin == self.me:
            is_awaited = self._own.on_taken(count, self.space().slots, self.capacity)
            return [*out, Freed()] if is_awaited else out
        incoming = self.incoming.get(origin)
        if incoming is None:
            self.departed.on_taken(delivery)
        else:
            ack = incoming.on_taken(delivery)
            if ack is not None:
                out.append(Unicast(origin, ack))
        return out

    # ---- acks and repair

    def on_ack(self, now_ns: int, sender: Address, ack: Ack) -> list[Effect]:
        if sender not in self.view.ranks:
            return [Drop("an ack from a stranger", sender)]
        if self.departed.unshown and ack.tag == self.view.id:
            self.departed.on_shown(sender)
        out: list[Effect] = [Event(_ACK, now_ns, self.view.id, sender, 0, 0, 0, 0, ack.upto)] if self.records else []
        if purged := self.outgoing.on_ack(sender, ack.upto):
            self._purge(now_ns, out, purged)
        return out

    def on_request(self, now_ns: int, sender: Address, request: Request) -> list[Effect]:
        if sender not in self.view:
            return [Drop("a request from a stranger", sender)]
        if request.origin == self.me:
            return self.repairs.own(now_ns, sender, request, self.outgoing, self.view.id)
        held = self.incoming.get(request.origin) or self.departed.get(request.origin)
        if held is None:
            return [Drop("a request for a stranger's messages", sender)]
        return self.repairs.of_others(now_ns, sender, request, held.window, self.view.id)

    def on_highest(self, now_ns: int, sender: Address, highest: Highest) -> list[Effect]:
        incoming = self.incoming.get(sender)
        if incoming is None or highest.tag != self.view.id:
            return [Drop("an announcement of a stranger or of another view", sender)]
        answer = incoming.on_highest(highest)
        if incoming.window.is_orphaned:
            return [Lost(f"{sender} no longer counts this member: its low {highest.low} is above what was received")]
        if answer is None or type(answer) is Ack:
            return [] if answer is None else [Unicast(sender, answer)]
        return asked(now_ns, self.view.id, sender, 0, answer)

    def on_unrepairable(self, sender: Address, packet: Unrepairable) -> list[Effect]:
        incoming = self.incoming.get(sender)
        # In a later view the sender counts others: its low says nothing about this member's place in its own view.
        if incoming is None or packet.tag != self.view.id or incoming.window.ready >= packet.low:
            return [Drop("a refusal that is out of date", sender)]
        return [Lost(f"{sender} has purged up to {packet.low}, but only {incoming.window.ready} were received from it")]

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
        return self.departed.reached(origin) if stream is None else stream.window.handed

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
                out += asked(now_ns, self.view.id, incoming.origin, 0, request)
        return out + self._ask_holders(now_ns, self.standstill)

    def _ask_holders(self, now_ns: int, standstill: Standstill) -> list[Effect]:
        view = self.view.id
        return [effect for holder, ask in standstill.requests(view) for effect in asked(now_ns, view, holder, 0, ask)]

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
        self.departed.on_view(self.me, self.incoming, view)
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
            if stream is None:
                stream = self.departed.take_back(member, offset)
            if stream is None or is_reset(stream.window.ready, offset, was_apart=view.joins(self.me, member)):
                stream = self._window_for(member, offset)
                starts[member] = offset
            stream.tag = view.id
            stream.window.resize(self.capacity)
            stream.ack_after, stream.ack_bytes = self._pace
            self.incoming[member] = stream
        return starts

    def _set_receivers(self, view: View, offsets: Mapping[Address, int]) -> int:
        """Who stays keeps its ack; who is new, or was apart from us, starts where the view says (G3)."""
        self.outgoing.retag(view.id)
        self.outgoing.window.resize(self.capacity)
        self.outgoing.window.limit_bytes(self.window_bytes)
        start = offsets.get(self.me, self.outgoing.window.high)
        together = [member for member in view.members if not view.joins(self.me, member)]
        purged = self.outgoing.set_receivers(dict.fromkeys(together, start))
        self.outgoing.on_ack(self.me, self.outgoing.window.high)
        return purged + self.outgoing.set_receivers(dict.fromkeys(view.members, start))

    # ---- time

    @property
    def is_idle(self) -> bool:
        is_calm = self.standstill is None and self.outgoing.is_idle
        return is_calm and Incoming.are_idle(self.incoming.values())

    def on_interval(self, now_ns: int) -> list[Effect]:
        out: list[Effect] = []
        self.repairs.answered.clear()
        for incoming, answer in Incoming.all_on_interval(self.incoming.values()):
            to, is_ack = incoming.origin, type(answer) is Ack
            out += [Unicast(to, answer)] if is_ack else asked(now_ns, self.view.id, to, 0, answer)
        if self.outgoing.owes_low and (highest := self.outgoing.on_interval()) is not None:
            out.append(Cast(highest))
        return out if self.standstill is None else out + self._ask_holders(now_ns, self.standstill)

    def check(self) -> None:
        """Every invariant; the simulator calls this after every input."""
        self.outgoing.check()
        # An entry for each member of the view, and nobody else: a stranger's would hold the window back for ever.
        assert len(self.outgoing.acks) == len(self.view.members), (self.outgoing.acks.laggards(), self.view)
        for incoming in self.incoming.values():
            incoming.window.check()
        assert self.own_unread >= 0, self.own_unread
