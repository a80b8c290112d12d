"""What is staged at this member in one view, and handed out in the one order.

Batches come on their senders' multicasts, the payloads of a stub as a parcel on another stream, whichever is first.
`place` gives batches to the application; it is called in counter order only. (G11, G12)
Not the acks and not the counter: they look at `queues`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringcast.core.effects import Dequeue, Effect
from ringcast.core.ordering.envelope import Parcel, Stub, Whole
from ringcast.core.ordering.sender_queue import Batch, SenderQueue, ranks_of
from ringcast.core.packets import Channel
from ringcast.model import Address, Event, Kind, View
from ringcast.order import Stamp


class Backlog:
    """What was dequeued for the application and not read yet, and how far it has read in the one order.

    While it is at its bound, this member does not ack new messages as staged: they get no place, their senders wait.
    That is the back-pressure of the order; what is already staged can always be read, so it never waits for itself.
    """

    def __init__(self) -> None:
        self.count = 0
        self.spooled = 0  # in a joiner's spool: no longer counted above, and not read yet
        self.nbytes = 0
        self.read = Stamp(0, 0)  # the last that was read

    def add(self, count: int, nbytes: int) -> None:
        self.count += count
        self.nbytes += nbytes

    def take(self, count: int, nbytes: int, stamp: Stamp) -> None:
        self.count -= count
        self.nbytes -= nbytes
        self.read = max(self.read, stamp)  # a part of a batch has none

    def spool(self, count: int, nbytes: int) -> None:
        self.count -= count
        self.nbytes -= nbytes
        self.spooled += count

    def take_spooled(self, count: int, stamp: Stamp) -> None:
        self.spooled -= count
        self.read = max(self.read, stamp)

    def is_full(self, capacity: int, nbytes: int) -> bool:
        return self.count >= capacity or self.nbytes >= nbytes


MAX_SENDERS = 1024


class Parcels:
    """Payloads that came before their stub: on another stream, perhaps for a view that is not installed yet.

    A number names a message for ever, so a parcel finds its stub whatever view it was sent in; once the sender is known
    to be past that number, the stub will never come and the parcel goes. Bounded per sender and in senders.

    That a sender is past a number is not always known: on the other side of a split it finished without us. But it has
    at most `capacity` messages in flight, and finishes them in its order. So of more parcels than that the lowest is
    over.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity  # parcels kept of one sender
        self.kept: dict[Address, dict[int, list[bytes]]] = {}

    def keep(self, sender: Address, first: int, payloads: list[bytes]) -> bool:
        """False if there is no room: too many senders, or this one is past that number."""
        kept = self.kept.get(sender)
        if kept is None:
            if len(self.kept) >= MAX_SENDERS:
                return False
            kept = self.kept[sender] = {}
        kept[first] = payloads
        if len(kept) > self.capacity:
            del kept[min(kept)]
        return first in kept

    def take(self, sender: Address, first: int) -> list[bytes] | None:
        """The parcel of a stub that came; those of lower numbers have no stub and go."""
        kept = self.kept.get(sender)
        if not kept:
            return None
        found = kept.pop(first, None)
        self._forget_below(sender, first)
        return found

    def held(self, sender: Address) -> list[tuple[int, int]]:
        """(first, count) of what is kept of this sender, in order."""
        return [(first, len(payloads)) for first, payloads in sorted(self.kept.get(sender, {}).items())]

    def retain(self, may_stay: Callable[[Address], int | None]) -> None:
        """A view: what is kept of senders outside it goes (None), and of the others what they are past."""
        for sender in list(self.kept):
            past = may_stay(sender)
            if past is None:
                del self.kept[sender]
            else:
                self._forget_below(sender, past + 1)

    def _forget_below(self, sender: Address, number: int) -> None:
        kept = self.kept[sender]
        for first in [first for first in kept if first < number]:
            del kept[first]
        if not kept:
            del self.kept[sender]


class Destination:
    def __init__(self, me: Address, capacity: int) -> None:
        self.me = me
        self.backlog = Backlog()
        self.parcels = Parcels(capacity)
        self.queues: list[SenderQueue] = []
        self.rank = 0
        self._view: View | None = None
        self._ordinal = 0

    @property
    def view(self) -> View:
        assert self._view is not None, "ordering begins with the first view"
        return self._view

    def queue_of(self, member: Address) -> SenderQueue:
        return self.queues[self.view.rank(member)]

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
        return None if batch.first <= self.queue_of(origin).known or batch.to >> members else batch

    def take_parcel(self, sender: Address, parcel: Parcel) -> bool:
        """False if nobody waits for it: a duplicate, or of a view that is over."""
        origin = self._origin_of(sender, parcel)
        if origin is None:
            return False
        queue = self.queue_of(origin) if self._view is not None and origin in self._view else None
        if queue is not None and parcel.first <= queue.known:
            return queue.supply(parcel.first, parcel.payloads)
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
        known = {member: self.queue_of(member).known for member in (() if self._view is None else self._view.members)}
        known[self.me] = own_known
        self._view = view
        self.rank = view.rank(self.me)
        self.queues = [SenderQueue(1 << self.rank, known.get(member, 0)) for member in view.members]
        self.parcels.retain(lambda sender: known.get(sender, 0) if sender in view else None)

    def check(self) -> None:
        for queue in self.queues:
            if queue.held or queue.lacking:
                queue.check()
            else:  # all that it would check; nearly always
                assert queue.staged <= queue.known, (queue.staged, queue.known)
        assert self.backlog.count >= 0 and self.backlog.nbytes >= 0, (self.backlog.count, self.backlog.nbytes)
