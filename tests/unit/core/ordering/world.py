"""Members with nothing but an ordering each, on streams that are lists: what the group guarantees, and no more.

Multicasts and parcels arrive in their sender's order, whenever the test says; acks may be lost. A view change gives
everybody the same cut, as the roll call does. The world notes what each application reads and what each sender is told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ringcast.core import Dequeue, Drop, Finished, Unicast
from ringcast.core.control import Settlement, Staged, Survivor
from ringcast.core.effects import Effect
from ringcast.core.ordering import Ordering
from ringcast.core.packets import Envelope
from ringcast.model import Address, Event, View, ViewId, profile
from ringcast.order import Stamp

CONFIG = profile("test")


def address(name: str) -> Address:
    return Address(name, 1, f"sim:{name}")


class Member:
    def __init__(self, me: Address, config=CONFIG) -> None:
        self.me = me
        self.ordering = Ordering(me, config, self)
        self.log: list[bytes] = []  # every multicast item, in order
        self.got: dict[Address, int] = {}  # how far each member's log has arrived here
        self.posted: dict[Address, deque[bytes]] = {}  # parcels on their way from here
        self.acks: deque[tuple[Address, Staged]] = deque()
        self.read: list[tuple[Stamp, Address, int, bytes]] = []
        self.finished: dict[int, Stamp] = {}
        self.events: list[Event] = []
        self.drops: list[Drop] = []

    def multicast(self, now_ns: int, item: Envelope) -> list[Effect]:
        self.log.append(item)
        return []

    def post(self, now_ns: int, to: Iterable[Address], item: Envelope) -> list[Effect]:
        for peer in to:
            self.posted.setdefault(peer, deque()).append(item)
        return []


class World:
    def __init__(self, names: str, *, read: bool = True, config=CONFIG) -> None:
        self.members = {name: Member(address(name), config) for name in names}
        self.number = 0
        self.reads = read
        self.unread: dict[str, list[Dequeue]] = {name: [] for name in names}
        self.install(names)

    def __getitem__(self, name: str) -> Ordering:
        return self.members[name].ordering

    def addresses(self, names: Iterable[str]) -> list[Address]:
        return [address(name) for name in names]

    # ---- what members do

    def queue(self, name: str, *payloads: bytes, to: str | None = None) -> int:
        member = self.members[name]
        peers = None if to is None else self.addresses(to)
        first, decisions = member.ordering.queue(0, list(payloads), peers)
        self.carry_out(name, decisions)
        return first

    def carry_out(self, name: str, decisions: list[Effect]) -> None:
        member = self.members[name]
        for decision in decisions:
            match decision:
                case Unicast(to, packet):
                    member.acks.append((to, packet.message))
                case Dequeue():
                    self.unread[name].append(decision)
                    if self.reads:
                        self.read_all(name)
                case Finished(first, last, stamp):
                    member.finished |= dict.fromkeys(range(first, last + 1), stamp)
                case Event():
                    member.events.append(decision)
                case Drop():
                    member.drops.append(decision)

    def read_all(self, name: str) -> None:
        unread, self.unread[name] = self.unread[name], []
        for delivery in unread:
            for at, payload in enumerate(delivery.payloads):
                self.members[name].read.append((delivery.stamp, delivery.origin, delivery.first + at, payload))
            self.carry_out(name, self[name].on_read(delivery))

    # ---- what the streams do

    def arrive(self, sender: str, receiver: str) -> bool:
        """The next multicast item of `sender` reaches `receiver`."""
        here, there = self.members[receiver], self.members[sender]
        at = here.got.get(there.me, 0)
        if sender == receiver or at >= len(there.log):
            return False
        here.got[there.me] = at + 1
        self.carry_out(receiver, here.ordering.on_multicast(0, there.me, [there.log[at]]))
        return True

    def arrive_parcel(self, sender: str, receiver: str) -> bool:
        waiting = self.members[sender].posted.get(address(receiver))
        if not waiting:
            return False
        self.carry_out(receiver, self[receiver].on_parcels(0, address(sender), [waiting.popleft()]))
        return True

    def arrive_ack(self, sender: str, lost: bool = False) -> bool:
        acks = self.members[sender].acks
        if not acks:
            return False
        to, staged = acks.popleft()
        if not lost and to.name in self.members:
            self.carry_out(to.name, self[to.name].on_staged(address(sender), staged))
        return True

    def flush(self, name: str, may_announce: bool = True) -> bool:
        decisions = self[name].flush(0, may_announce)
        self.carry_out(name, decisions)
        return bool(decisions)

    def interval(self, name: str) -> None:
        self.carry_out(name, self[name].on_interval(0))

    def step(self) -> bool:
        """Everything that can happen once, in a fixed order; False if nothing could."""
        names = list(self.members)
        happened = [self.arrive(a, b) or self.arrive_parcel(a, b) for a in names for b in names]
        happened += [self.arrive_ack(a) for a in names]
        happened += [self.flush(a) for a in names]
        return any(happened)

    def settle_down(self) -> None:
        while self.step():
            pass
        for name in self.members:
            self.interval(name)
        while self.step():
            pass

    # ---- views

    def install(self, names: Iterable[str]) -> None:
        self.number += 1
        members = tuple(self.addresses(names))
        view = View(ViewId(self.number, members[0]), members)
        for member in members:
            ordering = self.members[member.name].ordering
            ordering.on_view(view, CONFIG.capacity, CONFIG.window_bytes)

    def change_view(self, survivors: str, *, before_view=None, joining: str = "") -> None:
        """A roll call of these; all others of the view are going. What is on its way of the others' parcels is lost."""
        everybody = list(self.members)
        going = [name for name in everybody if name not in survivors]
        gone = self.addresses(going)
        for name in survivors:
            self[name].hold()
        reports = tuple(Survivor(address(name), self[name].report(gone)) for name in survivors)
        settlement = Settlement(tuple(gone), reports)
        for name in survivors:
            self[name].prepare(settlement)
        self._fill(survivors, going)
        if before_view is not None:
            before_view()
        for name in survivors:
            self[name].settling.make_plan()
        self._forward(survivors)
        for name in survivors:
            assert self[name].settling.is_settled, name
            self.carry_out(name, self[name].settle(0, settlement))
        for name in going:
            del self.members[name]
        for name in joining:
            self.members[name] = Member(address(name))
            self.unread[name] = []
            for other in survivors:
                self.members[name].got[address(other)] = len(self.members[other].log)
        self.install([*survivors, *joining])

    def _fill(self, survivors: str, going: list[str]) -> None:
        for sender in [*survivors, *going]:
            log = self.members[sender].log
            if sender in going:
                cut = max(self.members[name].got.get(address(sender), 0) for name in survivors)
                del log[cut:]
            for name in survivors:
                while self.arrive(sender, name):
                    pass
        for sender in survivors:
            for name in survivors:
                while self.arrive_parcel(sender, name):
                    pass

    def _forward(self, survivors: str) -> None:
        for name in survivors:
            forwards = self[name].settling.forwards
            while forwards:
                to, item = forwards.popleft()
                for peer in to:
                    self.carry_out(peer.name, self[peer.name].on_parcels(0, address(name), [item]))

    def payloads(self, name: str) -> list[bytes]:
        return [payload for *_, payload in self.members[name].read]
