"""What is staged at this member in one view, and handed out in the one order.

Batches come on their senders' multicasts, the payloads of a stub as a parcel on another stream, whichever is first.
`place` gives batches to the application; it is called in counter order only. (G11, G12)
Not the acks and not the counter: they look at `lines`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringcast.core.effects import Dequeue, Effect
from ringcast.core.ordering.backlog import Backlog
from ringcast.core.ordering.batch import Batch, ranks_of
from ringcast.core.ordering.envelope import Parcel, Stub, Whole
from ringcast.core.ordering.parcels import Parcels
from ringcast.core.ordering.sender_queue import SenderQueue
from ringcast.core.packets import Channel
from ringcast.model import Address, Event, Kind, View
from ringcast.order import Stamp


class Destination:
    def __init__(self, me: Address, capacity: int) -> None:
        self.me = me
        self.backlog = Backlog()
        self.parcels = Parcels(capacity)
        self.lines: list[SenderQueue] = []
        self.rank = 0
        self._view: View | None = None
        self._ordinal = 0

    @property
    def view(self) -> View:
        assert self._view is not None, "ordering begins with the first view"
        return self._view

    @property
    def has_view(self) -> bool:
        return self._view is not None

    def line(self, member: Address) -> SenderQueue:
        return self.lines[self.view.rank(member)]

    # ---- what comes

    def batch_of(self, origin: Address, content: Whole | Stub) -> Batch | None:
        """The batch as it will be staged here; None if it cannot be the sender's next."""
        members = len(self.view.members)
        if isinstance(content, Whole):
            everybody = (1 << members) - 1
            to = everybody if content.to_self else everybody & ~(1 << self.view.rank(origin))
            batch = Batch(content.first, len(content.payloads), to, content.payloads)
        else:
            payloads = self.parcels.take(origin, content.first)
            batch = Batch(content.first, content.count, content.to, payloads, apart=True)
        return None if batch.first <= self.line(origin).known or batch.to >> members else batch

    def take_parcel(self, sender: Address, parcel: Parcel) -> bool:
        """False if nobody waits for it: a duplicate, or of a view that is over."""
        origin = self._origin_of(sender, parcel)
        if origin is None:
            return False
        line = self.line(origin) if self._view is not None and origin in self._view else None
        if line is not None and parcel.first <= line.known:
            return line.supply(parcel.first, parcel.payloads)
        return self.parcels.keep(origin, parcel.first, parcel.payloads)

    def _origin_of(self, sender: Address, parcel: Parcel) -> Address | None:
        """Who queued it: the sender, or a going member whose parcel the sender forwards in this very view."""
        if parcel.origin is None:
            return sender
        number, rank = parcel.origin
        if self._view is None or self._view.id.number != number or rank >= len(self._view.members):
            return None
        return self._view.members[rank]

    # ---- the order

    def place(self, now_ns: int, rank: int, batches: Sequence[Batch], seq: int) -> list[Effect]:
        """Batches of one sender that follow each other in the order, from `seq` on."""
        out: list[Effect] = []
        view, bit = self.view, 1 << self.rank
        origin = view.members[rank]
        for at, batch in enumerate(batches, seq):
            payloads, count = batch.payloads, batch.count
            if batch.to & bit and payloads is not None:
                nbytes = sum(map(len, payloads))
                channel = Channel.PEER if batch.apart else Channel.GROUP
                out.append(Event(Kind.DEQUEUE, now_ns, view.id, origin, 0, batch.first, count, self._ordinal, at))
                dequeue = Dequeue(origin, channel, payloads, batch.first, count, nbytes)
                dequeue.stamp = Stamp(view.id.number, at)
                if batch.apart:
                    dequeue.to = tuple(view.members[rank] for rank in ranks_of(batch.to))
                out.append(dequeue)
                self._ordinal += count
                self.backlog.add(count, nbytes)
        return out

    # ---- views

    def on_view(self, view: View, own_known: int) -> None:
        """Everything before it is settled. Numbers go on: what a sender is past will never come."""
        known = {member: self.line(member).known for member in (() if self._view is None else self._view.members)}
        known[self.me] = own_known
        self._view = view
        self.rank = view.rank(self.me)
        self.lines = [SenderQueue(1 << self.rank, known.get(member, 0)) for member in view.members]
        self.parcels.retain(lambda sender: known.get(sender, 0) if sender in view else None)

    def check(self) -> None:
        for line in self.lines:
            line.check()
        assert self.backlog.count >= 0 and self.backlog.nbytes >= 0, (self.backlog.count, self.backlog.nbytes)
