"""The ordering on the streams: what it decides goes on the multicast or to peers, what comes for it is handed to it.

Like control/streams.py for control messages. One thing is decided here, whether the streams have room: a batch goes
out whole or not at all, and an announcement or a forwarded parcel that finds no room waits for the next `flush`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ringcast.core.control import Carried, Holding, Settlement, Source, Staged
from ringcast.core.effects import Dequeue, Effect, Sealed, Spent
from ringcast.core.multicast import Multicast, PeerStreams, largest_item, pieces_of
from ringcast.core.ordering.envelope import ANNOUNCEMENT_BYTES, BATCH_BYTES, fit_envelope
from ringcast.core.ordering.ordering import Ordering
from ringcast.core.packets import Channel, Envelope
from ringcast.model import Address, Config, Entry, View


class StreamsOfNode(Protocol):
    """The node whose streams these are."""

    me: Address
    peers: PeerStreams

    @property
    def group(self) -> Multicast: ...

    @property
    def has_group(self) -> bool: ...


class OrderingStreams:
    """One member's ordering, and the streams it speaks through."""

    def __init__(self, node: StreamsOfNode, config: Config, budget: int) -> None:
        self.ordering = Ordering(node.me, config, self)
        self._node = node
        self._budget = budget
        self._largest = largest_item(budget)

    # ---- sending

    def fit(self, sizes: list[int], to: Sequence[Address] | None) -> int:
        """How many of the leading messages may be queued now as one batch; one larger than a frame goes alone."""
        if not self._node.has_group:
            return 0
        space = self.ordering.space
        if not space.takes(1, sizes[0]):
            return 0
        if sizes[0] + BATCH_BYTES > self._largest:
            return int(self._has_room(sizes[0] + BATCH_BYTES, to))
        return fit_envelope(sizes, space, self._largest) if self._has_room(self._largest, to) else 0

    def largest_message(self, capacity: int) -> int:
        """What fits a window of this capacity, in pieces."""
        return self._largest * capacity - BATCH_BYTES

    def _has_room(self, nbytes: int, to: Sequence[Address] | None) -> bool:
        node = self._node
        pieces = -(-nbytes // self._largest)
        if not node.group.space().takes(pieces, nbytes, together=True):
            return False
        others = [] if to is None else [peer for peer in to if peer != node.me]
        return node.peers.may_send(others, pieces, nbytes)

    def queue(self, now_ns: int, payloads: list[bytes], to: Sequence[Address] | None) -> tuple[int, list[Effect]]:
        """(number of the first, effects): one batch to the view, or to some of it; `fit` said that there is room."""
        return self.ordering.queue(now_ns, payloads, to)

    # ---- what comes

    def sift(self, now_ns: int, effects: list[Effect]) -> list[Effect]:
        """What the streams gave, with what is for the ordering opened."""
        for effect in effects:
            if type(effect) is Sealed:
                break
        else:
            return effects
        out: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Sealed):
                is_group = effect.channel is Channel.GROUP
                open_ = self.ordering.on_multicast if is_group else self.ordering.on_parcels
                out += open_(now_ns, effect.origin, effect.items)
            else:
                out.append(effect)
        return out

    def on_staged(self, now_ns: int, sender: Address, staged: Staged) -> list[Effect]:
        return self.ordering.on_staged(sender, staged)

    def on_read(self, now_ns: int, delivery: Dequeue) -> list[Effect]:
        return self.ordering.on_read(delivery)

    def on_spooled(self, now_ns: int, delivery: Dequeue) -> list[Effect]:
        return self.ordering.on_spooled(delivery)

    # ---- once per wake

    def flush(self, now_ns: int) -> list[Effect]:
        """Acks and announcements of everything that one wake brought."""
        if not self.ordering.is_due or not self._node.has_group:
            return []
        out: list[Effect] = []
        while effects := self.ordering.flush(now_ns, self._may_announce()):
            out += effects
        return out

    def _may_announce(self) -> bool:
        group = self._node.group
        return group.standstill is None and group.outgoing.window.space.takes(1, ANNOUNCEMENT_BYTES)

    def on_interval(self, now_ns: int) -> list[Effect]:
        out = self.ordering.on_interval(now_ns)
        return out if self.ordering.settling is None else out + self._forward(now_ns)

    # ---- on the streams

    def multicast(self, now_ns: int, item: Envelope) -> list[Effect]:
        items = self._items(item)
        return [*self._node.group.send(now_ns, items, list(map(len, items)), []), Spent()]

    def post(self, now_ns: int, to: Sequence[Address], item: Envelope) -> list[Effect]:
        return self._node.peers.send(now_ns, list(to), self._items(item))

    def _items(self, item: Envelope) -> list[bytes]:
        if len(item) <= self._largest:
            return [item]
        *pieces, last = pieces_of(item, self._budget)
        return [*pieces, Envelope(last)]

    def _forward(self, now_ns: int) -> list[Effect]:
        """Parcels of a member that is going away, as far as the streams have room."""
        settling = self.ordering.settling
        out: list[Effect] = []
        while settling is not None and settling.forwards:
            post = settling.forwards[0]
            items = self._items(post.item)
            if not self._node.peers.may_send(list(post.to), len(items), len(post.item)):
                break
            settling.forwards.popleft()
            out += self.post(now_ns, post.to, post.item)
        return out

    # ---- a roll call: what a member says of multicast and order together

    def entry(self) -> Entry:
        return self._node.group.entry()

    def holding(self, origin: Address) -> Holding:
        return self._node.group.holding(origin)

    def delivered(self, origin: Address) -> int:
        return self._node.group.delivered(origin)

    def carried(self, going: tuple[Address, ...]) -> tuple[Carried, ...]:
        return self.ordering.report(going)

    @property
    def is_filled(self) -> bool:
        return self._node.group.is_filled and self.ordering.is_settled

    def hold(self, going: tuple[Address, ...]) -> None:
        self._node.group.hold(going)
        self.ordering.hold()

    def fill(
        self, now_ns: int, cuts: dict[Address, int], sources: tuple[Source, ...], settlement: Settlement
    ) -> list[Effect]:
        self.ordering.prepare(settlement)
        return self.sift(now_ns, self._node.group.fill(now_ns, cuts, sources))

    def on_progress(self, now_ns: int) -> list[Effect]:
        """The multicast stands at the cut: what others need of a going member's parcels goes out."""
        if self.ordering.settling is None:
            return []
        self.ordering.settling.make_plan()
        return self._forward(now_ns)

    def release(self, now_ns: int) -> list[Effect]:
        freed = self.ordering.release()
        return self.sift(now_ns, self._node.group.release(now_ns)) + freed

    # ---- views

    def settle(self, now_ns: int, settlement: Settlement) -> list[Effect]:
        return self.ordering.settle(now_ns, settlement)

    def on_view(self, view: View) -> None:
        group = self._node.group
        self.ordering.on_view(view, group.capacity, group.window_bytes)
