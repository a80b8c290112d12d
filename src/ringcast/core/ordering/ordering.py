"""One order for everybody: this member's part in it, as sender, destination and (if it coordinates) sequencer.

    sender        numbers its batches, multicasts each (or its stub), posts parcels to the destinations of a subset
    destination   stages what comes, acks it to the coordinator, reads in the order of announcement
    coordinator   gives the next counter value to a batch when all its destinations have staged it, and announces it

Every batch, stub and announcement is an item of somebody's multicast: reliable, in order, part of the agreed cut. So
members that go together from view to view know the same ones, and settle the rest alike. (G11, G12, G13)
Not streams: they are asked through `Streams`. Acks and announcements wait for `flush`, once per wake.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ringcast.core.control import Carried, Settlement, Staged
from ringcast.core.effects import Dequeue, Drop, Effect, Finished, Freed, Unicast
from ringcast.core.ordering.delivery_queue import Destination
from ringcast.core.ordering.envelope import (
    Announcement,
    Parcel,
    Stub,
    Whole,
    open_envelope,
    pack_announcement,
    pack_parcel,
    pack_stub,
    pack_whole,
)
from ringcast.core.ordering.in_flight import InFlight, Unfinished
from ringcast.core.ordering.sender_queue import Acks, Batch, Upto, mask_of, ranks_of
from ringcast.core.ordering.sequencer import Sequencer
from ringcast.core.ordering.settlement import Settling, alone, plan, report
from ringcast.core.packets import Envelope, Loose
from ringcast.model import Address, Config, Event, Kind, View
from ringcast.order import Stamp
from ringcast.window import NO_SPACE, Space

_TO_THE_VIEW = {"to": "view"}


class Streams(Protocol):
    """What carries the items of the ordering; there is room for them."""

    def multicast(self, now_ns: int, item: Envelope) -> list[Effect]:
        """On this member's multicast to the view."""
        ...

    def post(self, now_ns: int, to: Sequence[Address], item: Envelope) -> list[Effect]:
        """On the stream to each of these peers."""
        ...


class Ordering:
    """At work in a view from the first ordered item on that is sent or comes in it; until then nothing is settled."""

    def __init__(self, me: Address, config: Config, streams: Streams) -> None:
        self.me = me
        self._streams = streams
        self.config = config
        self.in_flight = InFlight()
        self.is_held = False  # a roll call runs
        self.settling: Settling | None = None  # while it runs, if anything was ordered in this view
        self._settlement: Settlement | None = None
        self.seen = 0  # the highest counter value of this view that is known here
        self.capacity = config.capacity
        self.window_bytes = config.window_bytes
        self._view: View | None = None
        self.is_at_work = False
        self._here = Destination(me, config.capacity)
        self._backlog = self._here.backlog
        self._acks = Acks()
        self._sequencer: Sequencer | None = None
        self.is_due = False  # something came together that `flush` has to tell
        self._widened = 1  # how many times its bound the backlog may hold before this member may not queue

    # ---- this member sends

    @property
    def may_queue(self) -> bool:
        """Not before the first view, without a coordinator, while a roll call runs, nor with too much unread."""
        has_coordinator = self._view is not None and self._view.coordinator is not None
        return has_coordinator and not self.is_held and not self.is_shut

    @property
    def is_shut(self) -> bool:
        """Too much is unread for this member to queue more."""
        return self._backlog.is_full(self.capacity * self._widened, self.window_bytes * self._widened)

    def widen_own(self) -> None:
        """Whoever reads waits to queue: it may, beyond the bound, until what is unread is below it again (Y07).

        Nothing more of the others is acked meanwhile, so only this member's own messages come in addition.
        """
        if self._view is not None:
            self._widened = 1 + len(self._view.members)

    @property
    def _is_full(self) -> bool:
        return self._backlog.is_full(self.capacity, self.window_bytes)

    @property
    def space(self) -> Space:
        """Return the room for ordered messages, as far as the order itself is concerned."""
        return self.in_flight.space(self.capacity, self.window_bytes) if self.may_queue else NO_SPACE

    def queue(self, now_ns: int, payloads: list[bytes], to: Sequence[Address] | None) -> tuple[int, list[Effect]]:
        """(number of the first, what to send): one batch to the view (None) or to some of its members; there was room.

        A batch to nobody is a barrier: one number, one place in the order, nothing to read.
        """
        self._begin()
        view, own = self._here.view, 1 << self._here.rank
        everybody = (1 << len(view.members)) - 1
        mask = everybody if to is None else mask_of(map(view.rank, to))
        is_whole = mask == everybody
        if to is None and not self.config.self_delivery:
            mask &= ~own
        first = self.in_flight.add(len(payloads), sum(map(len, payloads)))
        batch = Batch(first, len(payloads), mask, payloads, apart=not is_whole)
        self._take_batch(self.me, batch)
        detail = _TO_THE_VIEW if is_whole else {"to": [list(view.members[rank]) for rank in ranks_of(mask)]}
        start = Event(Kind.QUEUE_START, now_ns, view.id, first=first, count=batch.count, detail=detail)
        if is_whole:
            whole = pack_whole(first, payloads, to_self=bool(mask & own))
            return first, [start, *self._streams.multicast(now_ns, whole)]
        # The stub first: a parcel without its stub is nothing.
        out: list[Effect] = [start, *self._streams.multicast(now_ns, pack_stub(first, batch.count, mask))]
        others = tuple(view.members[rank] for rank in ranks_of(mask & ~own))
        return first, out + (self._streams.post(now_ns, others, pack_parcel(first, payloads)) if others else [])

    # ---- what comes on the streams

    def on_multicast(self, now_ns: int, origin: Address, items: Sequence[bytes]) -> list[Effect]:
        self._begin()
        out: list[Effect] = []
        for item in items:
            content = open_envelope(item)
            if isinstance(content, Whole | Stub):
                out += self._on_batch(origin, content)
            elif isinstance(content, Announcement) and origin == self._here.view.coordinator:
                out += self._on_announcement(now_ns, content)
            else:
                out.append(Drop("malformed ordered item, or one of another view", origin))
        return out

    def _on_batch(self, origin: Address, content: Whole | Stub) -> list[Effect]:
        batch = self._here.batch_of(origin, content)
        if batch is None:
            return [Drop("an ordered batch out of turn", origin)]
        self._take_batch(origin, batch)
        return []

    def _take_batch(self, origin: Address, batch: Batch) -> None:
        self._here.queue_of(origin).add(batch)
        self.is_due = True
        if self._sequencer is not None:
            rank = self._here.view.rank(origin)
            self._sequencer.on_staged(rank, [(rank, batch.last)])  # A sender has its own copy.

    def on_parcels(self, now_ns: int, sender: Address, items: Sequence[bytes]) -> list[Effect]:
        self._begin()
        out: list[Effect] = []
        for item in items:
            content = open_envelope(item)
            if not isinstance(content, Parcel):
                out.append(Drop("malformed parcel", sender))
            elif not self._here.take_parcel(sender, content):
                out.append(Drop("a parcel nobody waits for", sender, len(content.payloads)))
            self.is_due = True
        return out

    def on_staged(self, sender: Address, staged: Staged) -> list[Effect]:
        """At the coordinator: a destination's ack."""
        view = self._view
        if view is None or view.coordinator != self.me or staged.view != view.id or sender not in view:
            return [Drop("an ack of ordered messages that is not for us", sender)]
        self._begin()
        if self._sequencer is not None and self._sequencer.on_staged(view.rank(sender), staged.upto):
            self.is_due = True
        return []

    # ---- once per wake

    def flush(self, now_ns: int, may_announce: bool) -> list[Effect]:
        """What came together since the last time: acks, and at the coordinator an announcement. Call until empty."""
        if not self.is_due or not self.is_at_work:
            return []
        self.is_due = False
        out = [] if self._is_full else self._tell(self._acks.news())
        if self._sequencer is None or self.is_held:
            return out
        self.is_due = not may_announce
        announcement = self._sequencer.next(self._here.queues) if may_announce else None
        if announcement is not None:
            self.is_due = True  # There may be more.
            out += self._streams.multicast(now_ns, pack_announcement(announcement))
            out += self._place(now_ns, announcement)
        return out

    def _tell(self, upto: Upto) -> list[Effect]:
        """Ack to the coordinator, which may be ourselves."""
        view = self._here.view
        if self._sequencer is not None:
            self._sequencer.on_staged(self._here.rank, upto)
            return []
        others = tuple((rank, number) for rank, number in upto if rank != self._here.rank)
        if not others or view.coordinator is None:
            return []
        return [Unicast(view.coordinator, Loose(Staged(view.id, others)))]

    # ---- the order

    def _on_announcement(self, now_ns: int, announcement: Announcement) -> list[Effect]:
        queues = self._here.queues
        if announcement.seq != self.seen + 1 or any(run.rank >= len(queues) for run in announcement.runs):
            return [Drop(f"an announcement of {announcement.seq} behind {self.seen}", self._here.view.coordinator)]
        return self._place(now_ns, announcement)

    def _place(self, now_ns: int, announcement: Announcement) -> list[Effect]:
        out: list[Effect] = []
        for run in announcement.runs:
            placed = self._here.queues[run.rank].announce(run.last)
            out += self._here.place(now_ns, run.rank, placed, self.seen + 1)
            if run.rank == self._here.rank:
                out += self._finish(now_ns, self.in_flight.finish(run.last), self.seen + 1)
            self.seen += run.ticks
        return [*out, Freed()]

    def _finish(self, now_ns: int, done: Sequence[Unfinished], seq: int) -> list[Effect]:
        out: list[Effect] = []
        view = self._here.view
        for at, batch in enumerate(done, seq):
            out.append(Event(Kind.QUEUE_FINISH, now_ns, view.id, first=batch.first, count=batch.count, value=at))
            out.append(Finished(batch.first, batch.last, Stamp(view.id.number, at)))
        return out

    # ---- the application reads

    def on_read(self, delivery: Dequeue) -> list[Effect]:
        if delivery.is_spooled:
            self._backlog.take_spooled(delivery.count, delivery.stamp)
            return []
        was_full = self._is_full
        self._backlog.take(delivery.count, delivery.nbytes, delivery.stamp)
        return self._freed_if(was_full)

    def on_spooled(self, delivery: Dequeue) -> list[Effect]:
        """It went into a joiner's spool: it holds nobody back any more."""
        was_full = self._is_full
        self._backlog.spool(delivery.count, delivery.nbytes)
        return self._freed_if(was_full)

    def on_spool_void(self, left: int) -> None:
        """Count only so many messages of the spool as still to be read: a state has the others."""
        self._backlog.spooled = left

    def _freed_if(self, was_full: bool) -> list[Effect]:
        if not self._is_full:
            self._widened = 1
        if not was_full:
            return []
        self.is_due = True
        return [Freed()]

    @property
    def unread(self) -> int:
        """Ordered messages that wait for this member's application."""
        return self._backlog.count

    @property
    def position(self) -> Stamp:
        """Everything ordered up to here and meant for this member has been read by its application."""
        if self._backlog.count or self._backlog.spooled or self._view is None:
            return self._backlog.read
        return Stamp(self._view.id.number, self.seen)

    # ---- a roll call

    def hold(self) -> None:
        """Queue and announce nothing until a view or `release`."""
        self.is_held, self._settlement = True, None
        self.settling = Settling(self._here) if self.is_at_work else None

    def report(self, going: Sequence[Address]) -> tuple[Carried, ...]:
        here = self._here
        return report(here.view, here.queues, here.parcels, going) if self.is_at_work else ()

    def prepare(self, settlement: Settlement) -> None:
        self._settlement = settlement
        if self.settling is not None:
            self.settling.prepare(settlement)

    @property
    def is_settled(self) -> bool:
        """The multicast stands at the cut of a roll call: is everything here that will be placed with the view?"""
        return self.is_held and (self.settling is None or self.settling.is_settled)

    def release(self) -> list[Effect]:
        """The roll call ended without a view."""
        self.is_held, self.settling = False, None
        self.is_due = True
        return [Freed()]

    # ---- views

    def settle(self, now_ns: int, settlement: Settlement) -> list[Effect]:
        """The view ends: what has no place gets one, or is dropped by all who go on.

        Computed again from what the view itself says: the plan at hand may be that of a later roll call of our own.
        """
        here = self._here
        if not self.is_at_work:
            return []
        settled = plan(here.view, here.queues, settlement) if settlement.survivors else alone(here.queues)
        out: list[Effect] = []
        for rank, batch in settled.placed:
            self.seen += 1
            out += here.place(now_ns, rank, [batch], self.seen)
            if rank == here.rank:
                out += self._finish(now_ns, self.in_flight.finish(batch.last), self.seen)
        detail = {"what": "nobody who goes on holds it"}
        for rank, batch in settled.dropped:
            sender = here.view.members[rank]
            out.append(Event(Kind.ABORTED, now_ns, here.view.id, sender, 0, batch.first, batch.count, detail=detail))
        return out

    def on_view(self, view: View, capacity: int, window_bytes: int) -> None:
        """Everything before it is settled: the counter begins again, numbers go on."""
        self._view = view
        self.capacity = capacity
        self.window_bytes = window_bytes
        self.is_held, self.settling = False, None
        self.seen = 0
        self.is_at_work, self._sequencer = False, None
        if self._here.parcels.kept:
            self._begin()

    def _begin(self) -> None:
        """The first that is ordered in this view."""
        view = self._view
        if self.is_at_work or view is None:
            return
        self.is_at_work = True
        self._here.on_view(view, self.in_flight.next - 1)
        self._acks = Acks(self._here.queues)
        self._sequencer = Sequencer(len(view.members)) if view.coordinator == self.me else None
        self.is_due = True
        if self.is_held:
            self.settling = Settling(self._here)
            if self._settlement is not None:
                self.settling.prepare(self._settlement)

    # ---- time

    @property
    def is_idle(self) -> bool:
        if not self.is_at_work:
            return not self.in_flight.count
        for queue in self._here.queues:
            if queue.held or queue.lacking:
                return False
        return not self.in_flight.count and (self.settling is None or not self.settling.forwards)

    def on_interval(self, now_ns: int) -> list[Effect]:
        """An ack may have been lost: what still waits for its place is acked again."""
        again = self._acks.again()
        return self._tell(again) if again and not self._is_full else []

    def awaited(self) -> list[Address]:
        """At the coordinator: whose acks are missing for what stands first."""
        if self._sequencer is None:
            return []
        ranks = self._sequencer.awaited(self._here.queues)
        return [self._here.view.members[rank] for rank in ranks]

    def check(self) -> None:
        self.in_flight.check()
        self._here.check()
