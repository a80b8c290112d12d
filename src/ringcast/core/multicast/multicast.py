"""The multicast within a view: one outgoing stream to its members, one incoming stream from each of them (seed 003).

Runs of a later view wait here, undelivered and unacked, until that view comes; runs of an earlier view are not taken.
While a roll call runs (`standstill`) nothing new is sent, and from members that are going away only repairs are taken.
Invariant: own messages that the application has not read are bounded by the capacity too (`own_unread`); while it is
their reader that sends, by a capacity for each member.
Not the change of views: that is `GroupStream`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringcast.core.effects import Cast, Deliver, Drop, Effect, Freed, Install, Lost, Sealed, Unicast
from ringcast.core.multicast.departed import Departed
from ringcast.core.multicast.incoming import Incoming
from ringcast.core.multicast.outgoing import Outgoing
from ringcast.core.multicast.packing import content_of_items, fair_window_bytes, ranges_budget
from ringcast.core.multicast.repairs import Repairs
from ringcast.core.multicast.standstill import Standstill
from ringcast.core.packets import Ack, Channel, Highest, Request, Run, Unrepairable
from ringcast.model import INCOMPLETE, Address, Config, Event, Kind, View, content_of
from ringcast.window import total

GROUP = Channel.GROUP
NO_NOTES: Mapping[str, object] = {}


class Multicast:
    """What this member multicasts and what it receives by multicast, in one view."""

    def __init__(
        self, me: Address, config: Config, view: View, offsets: Mapping[Address, int], *, multicasts: bool
    ) -> None:
        self.me = me
        self.config = config
        self.view = view
        self.multicasts = multicasts  # the transport reaches everybody with one packet, so repairs do too
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
        self.own_unread = 0
        self._own_bound = 0  # beyond the capacity, while the reader itself sends
        self._awaited_room = 1  # what somebody waits for; with less than this, reading on is news
        self.ordinal = 0
        self.repaired = 0  # messages sent again
        self.contents = False  # record what runs carry
        self.incoming: dict[Address, Incoming] = {}
        self.standstill: Standstill | None = None  # while a roll call runs
        self._repairs = Repairs(me, config.frame_bytes)
        self._departed = Departed()
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
        return Incoming(
            GROUP,
            self.view.id,
            member,
            capacity=self.capacity,
            ack_after=self._ack_after,
            ack_bytes=self._ack_bytes,
            max_message_bytes=self.config.max_message_bytes,
            max_ranges=self.config.request_ranges,
            ranges_per_packet=ranges_budget(self.config.frame_bytes, self.me, member),
            max_requested=self.config.request_messages,
            offset=offset,
        )

    @property
    def _ack_after(self) -> int:
        """Acks keep pace with the agreed window: later than a full one, the sender would wait for the interval."""
        return min(self.config.ack_after, max(1, self.capacity // 4))

    @property
    def _ack_bytes(self) -> int:
        return max(1, self.window_bytes // 4)

    # ---- sending

    def room(self) -> int:
        """Messages that may be sent now (bytes permitting): the window's room, and our own reader's."""
        if self.standstill is not None:
            return 0
        return min(self.outgoing.window.room(), self.own_room())

    def own_room(self) -> int:
        """How many more own messages may wait to be read."""
        if not self.config.self_delivery:
            return self.capacity
        return max(0, max(self.capacity, self._own_bound) - self.own_unread)

    def widen_own(self) -> None:
        """Whoever reads waits to send: own messages may wait beyond the capacity, until they are read down to it (Y07).

        A capacity for each member: whoever sends at most one message for each that it reads never needs more, because
        the others' windows bound what stands unread before its own.
        """
        self._own_bound = self.capacity * max(2, len(self.view.members))

    def await_room(self, count: int) -> None:
        """Somebody waits until so many messages may be sent. It counts until the next `Freed`, when all look again."""
        self._awaited_room = max(self._awaited_room, count)

    def send(
        self, now_ns: int, items: list[bytes], sizes: Sequence[int], payloads: list[bytes] | None = None
    ) -> list[Effect]:
        """Multicast these items; there was room. `payloads` = the whole messages when the items are their pieces."""
        out: list[Effect] = []
        runs = self.outgoing.send(items, sizes, together=payloads is not None)
        window = self.outgoing.window
        count = len(items)
        first = window.high - count + 1
        sent = Event(Kind.SEND, now_ns, self.view.id, None, 0, first, count, 0, window.occupancy, window.low)
        if self.contents:
            sent.content = content_of(first, items) if payloads is None else content_of_items(first, items)
        out.append(sent)
        for run in runs:
            out.append(Cast(run))
        # Own messages count as acked when ready (G3); a group of one is empty again at once.
        self._purge(now_ns, out, self.outgoing.on_ack(self.me, window.high))
        if self.config.self_delivery:
            self.own_unread += count
            whole = items if payloads is None else payloads
            own = Deliver(self.me, GROUP, whole, first, count, total(sizes))
            self._deliver(now_ns, out, own, window.occupancy, sent.content)
        return out

    def _deliver(self, now_ns: int, out: list[Effect], delivery: Deliver, held: int, content: int) -> None:
        event = Event(
            Kind.DELIVER, now_ns, self.view.id, delivery.origin, 0, delivery.first, delivery.count, self.ordinal, held
        )
        event.other, event.content = self.capacity, content
        out.append(event)
        self.ordinal += delivery.count
        incoming = self.incoming.get(delivery.origin)
        if delivery.payloads if incoming is None else incoming.is_for_reading(delivery):
            out.append(delivery)
        elif delivery.count:  # only pieces of a message that is not complete, or nothing for the application
            out += self.on_taken(now_ns, delivery, for_nobody=1)

    def _purge(self, now_ns: int, out: list[Effect], purged: int) -> None:
        if purged:
            low = self.outgoing.window.low
            out.append(Event(Kind.PURGE, now_ns, self.view.id, None, 0, low - purged + 1, purged, 0, low))
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
            self._hand_out(now_ns, out, incoming, run)
        if admitted.old or admitted.duplicate:
            out.append(Drop("a duplicate", run.origin, admitted.old + admitted.duplicate))
            if admitted.old and not admitted.new:
                out.append(Unicast(run.origin, incoming.ack()))  # Our last ack may be what was lost.
        if admitted.beyond:
            self._beyond(out, incoming, admitted.beyond)
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
            sealed = incoming.unseal(delivery)
            self._deliver(now_ns, out, delivery, incoming.window.occupancy, content)
            if sealed:
                out.append(Sealed(incoming.origin, GROUP, sealed))

    def _beyond(self, out: list[Effect], incoming: Incoming, count: int) -> None:
        if incoming.window.is_orphaned:
            out.append(Lost(f"{incoming.origin} no longer counts this member: its low is above what was received"))
        out.append(Drop("beyond the window", incoming.origin, count))

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
        out: list[Effect] = [Event(Kind.TAKEN, now_ns, self.view.id, origin, 0, first, count, 0, for_nobody)]
        if origin == self.me:
            is_awaited = self.room() < self._awaited_room
            self.own_unread -= count
            if self.own_unread <= self.capacity:
                self._own_bound = 0
            if is_awaited:
                self._awaited_room = 1
                out.append(Freed())
            return out
        incoming = self.incoming.get(origin)
        if incoming is not None:
            ack = incoming.on_taken(delivery)
            if ack is not None:
                out.append(Unicast(origin, ack))
        return out

    # ---- acks and repair

    def on_ack(self, now_ns: int, sender: Address, ack: Ack) -> list[Effect]:
        if self.outgoing.acks.get(sender) is None:
            return [Drop("an ack from a stranger", sender)]
        if self._departed and ack.tag == self.view.id:
            self._departed.on_shown(sender)
        out: list[Effect] = [Event(Kind.ACK, now_ns, self.view.id, sender, value=ack.upto)]
        self._purge(now_ns, out, self.outgoing.on_ack(sender, ack.upto))
        return out

    def on_request(self, now_ns: int, sender: Address, request: Request) -> list[Effect]:
        if sender not in self.view:
            return [Drop("a request from a stranger", sender)]
        if request.origin != self.me:
            return self._repair_for(now_ns, sender, request)
        low = self.outgoing.window.low
        if request.ranges and request.ranges[0][0] <= low:
            return [
                Drop(f"a request for {request.ranges[0][0]}, at or below low {low}", sender),
                Unicast(sender, Unrepairable(GROUP, self.view.id, low)),
            ]
        out: list[Effect] = []
        for run in self.outgoing.on_request(None if self.multicasts else sender, request.ranges):
            self.repaired += len(run.items)
            out.append(Event(Kind.REPAIR, now_ns, self.view.id, sender, 0, run.first, len(run.items)))
            out.append(Cast(run) if self.multicasts else Unicast(sender, run))
        return out

    def _repair_for(self, now_ns: int, asker: Address, request: Request) -> list[Effect]:
        """Somebody else's messages, from what this member holds of them (G5)."""
        held = self.incoming.get(request.origin) or self._departed.get(request.origin)
        if held is None:
            return [Drop("a request for a stranger's messages", asker)]
        out: list[Effect] = []
        for run in self._repairs.answer(asker, request, held.window, self.view.id):
            self.repaired += len(run.items)
            origin = {"origin": list(request.origin)}
            out.append(Event(Kind.REPAIR, now_ns, self.view.id, asker, 0, run.first, len(run.items), detail=origin))
            out.append(Unicast(asker, run))
        return out

    def on_highest(self, now_ns: int, sender: Address, highest: Highest) -> list[Effect]:
        incoming = self.incoming.get(sender)
        if incoming is None or highest.tag != self.view.id:
            return [Drop("an announcement of a stranger or of another view", sender)]
        answer = incoming.on_highest(highest)
        if incoming.window.is_orphaned:
            return [Lost(f"{sender} no longer counts this member: its low {highest.low} is above what was received")]
        return [] if answer is None else self._answer(now_ns, incoming, answer)

    def _answer(self, now_ns: int, incoming: Incoming, answer: Ack | Request) -> list[Effect]:
        out: list[Effect] = [Unicast(incoming.origin, answer)]
        if isinstance(answer, Request):
            out += [
                Event(Kind.REQUEST, now_ns, self.view.id, incoming.origin, 0, first, last - first + 1)
                for first, last in answer.ranges
            ]
        return out

    def on_unrepairable(self, sender: Address, packet: Unrepairable) -> list[Effect]:
        incoming = self.incoming.get(sender)
        # In a later view the sender counts others: its low says nothing about this member's place in its own view.
        if incoming is None or packet.tag != self.view.id or incoming.window.ready >= packet.low:
            return [Drop("a refusal that is out of date", sender)]
        return [Lost(f"{sender} has purged up to {packet.low}, but only {incoming.window.ready} were received from it")]

    # ---- time

    @property
    def is_idle(self) -> bool:
        return (
            self.standstill is None
            and self.outgoing.is_idle
            and all(incoming.is_idle for incoming in self.incoming.values())
        )

    def on_interval(self, now_ns: int) -> list[Effect]:
        out: list[Effect] = []
        self._repairs.on_interval()
        for incoming in self.incoming.values():
            for answer in incoming.on_interval():
                out += self._answer(now_ns, incoming, answer)
        highest = self.outgoing.on_interval()
        if highest is not None:
            out.append(Cast(highest))
        return out

    def check(self) -> None:
        """Every invariant; the simulator calls this after every input."""
        self.outgoing.check()
        # An entry for each member of the view, and nobody else: a stranger's would hold the window back for ever.
        assert len(self.outgoing.acks) == len(self.view.members), (self.outgoing.acks.laggards(), self.view)
        for incoming in self.incoming.values():
            incoming.window.check()
        assert self.own_unread >= 0, self.own_unread


def view_events(
    now_ns: int, view: View, previous: View | None, starts: Mapping[Address, int], notes: Mapping[str, object]
) -> list[Event]:
    """What the recording says of a view: an OFFSET for each window that is set, then the VIEW.

    `starts` = where windows were created or reset; `notes` = what else belongs into the VIEW.
    """
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
