"""Settling what has no place yet, at a view change: pure functions of what all who go on know alike.

Stubs, whole batches and announcements are multicast, so the agreed cut gives every survivor the same ones (G5). Left
open is only who holds the payloads of a member that is going away. So each survivor reports that (`report`), the
reports of all come back with the order to fill up, and once a member has filled up to the cut, everybody computes the
same `Plan` from the same facts, per sender in its order:

    announced                    its seq is used by all (it was staged everywhere: nothing to do)
    some survivor holds it       it is forwarded to the survivors that miss it, and ordered
    no survivor holds it         it and everything later of that sender is dropped by all

    going S:  1 -> {A,B}   2 -> {B}   3 -> all        A holds 1       →  1 (A forwards it to B); 2 and 3 are dropped
                                                      B holds 2 only  →  1 goes nowhere: all three are dropped
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ringcast.core.control import Carried, Settlement
from ringcast.core.ordering.delivery_queue import Destination, Parcels
from ringcast.core.ordering.envelope import pack_parcel
from ringcast.core.ordering.sender_queue import Batch, SenderQueue, mask_of, ranks_of
from ringcast.core.packets import Envelope
from ringcast.model import Address, View

MOST_RANGES = 1_024  # of one sender in one report; what does not fit counts as not held, by everybody alike

Ranges = Sequence[tuple[int, int]]


def report(
    view: View, queues: Sequence[SenderQueue], parcels: Parcels, going: Sequence[Address]
) -> tuple[Carried, ...]:
    """Whose payloads this member holds, of those that are going away; numbers as inclusive ranges."""
    out = []
    for member in going:
        if member in view:
            ranges = _held(queues[view.rank(member)]) + [(f, f + n - 1) for f, n in parcels.held(member)]
            if ranges:
                out.append(Carried(member, _joined(sorted(ranges))[:MOST_RANGES]))
    return tuple(out)


def _held(queue: SenderQueue) -> list[tuple[int, int]]:
    return [(b.first, b.last) for b in queue.unannounced() if b.apart and b.payloads is not None]


def _joined(ranges: Ranges) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return tuple(joined)


class Placed(NamedTuple):
    sender: int
    batch: Batch


class Forward(NamedTuple):
    """One survivor gives another the payloads of a going member's batch."""

    sender: int
    batch: Batch
    holder: int
    missing: tuple[int, ...]


class Post(NamedTuple):
    """A parcel that this member forwards, on the stream to each of these."""

    to: tuple[Address, ...]
    item: Envelope


@dataclass(slots=True)
class Plan:
    """What happens to everything that was not announced: placed in this order, behind all that was; or dropped."""

    placed: list[Placed] = field(default_factory=list)
    dropped: list[Placed] = field(default_factory=list)
    forwards: list[Forward] = field(default_factory=list)


def plan(view: View, queues: Sequence[SenderQueue], settlement: Settlement) -> Plan:
    """The same at everybody who filled up to the same cut and was given the same reports."""
    going = settlement.going
    survivors = [survivor for survivor in settlement.survivors if survivor.member in view]
    carried = {view.rank(s.member): {c.origin: c.ranges for c in s.carried} for s in survivors}
    staying = mask_of(carried)
    result = Plan()
    for rank, queue in enumerate(queues):
        batches = [Placed(rank, batch) for batch in queue.unannounced()]
        sender = view.members[rank]
        if sender not in going:
            result.placed += batches
            continue
        holdings = {member: of.get(sender, ()) for member, of in carried.items()}
        _settle(result, batches, holdings, staying)
    return result


def _settle(result: Plan, batches: Sequence[Placed], holdings: Mapping[int, Ranges], staying: int) -> None:
    """One sender that is going away, in its order."""
    for at, placed in enumerate(batches):
        batch = placed.batch
        wanting = list(ranks_of(batch.to & staying))
        if batch.apart and wanting:
            holders = [member for member in wanting if _covers(holdings[member], batch)]
            if not holders:
                result.dropped += batches[at:]
                return
            missing = tuple(member for member in wanting if member not in holders)
            if missing:
                result.forwards.append(Forward(placed.sender, batch, holders[0], missing))
        result.placed.append(placed)


def _covers(ranges: Ranges, batch: Batch) -> bool:
    return any(first <= batch.first and batch.last <= last for first, last in ranges)


def alone(queues: Sequence[SenderQueue]) -> Plan:
    """Nobody was asked: what this member holds is placed; of each sender everything from the first it lacks on goes."""
    result = Plan()
    for rank, queue in enumerate(queues):
        result.placed += [Placed(rank, batch) for batch in queue.held]
        result.dropped += [Placed(rank, batch) for batch in queue.lacking]
    return result


class Settling:
    """The ordering while a roll call runs: from the promise until the view or the cancel.

        hold → report → (all reports come back) prepare → the multicast is at the cut → make_plan → is_settled → view

    Exists only in between; a roll call that begins again begins this again.
    """

    def __init__(self, destination: Destination) -> None:
        self.plan: Plan | None = None
        self.forwards: deque[Post] = deque()  # parcels of a going member that others need from us
        self._destination = destination
        self._settlement: Settlement | None = None

    def prepare(self, settlement: Settlement) -> None:
        """The reports of all who go on."""
        self._settlement = settlement
        self.plan = None

    def make_plan(self) -> None:
        """The multicast stands at the cut: now everybody knows what becomes of each batch."""
        if self.plan is not None or self._settlement is None:
            return
        here = self._destination
        self.plan = plan(here.view, here.queues, self._settlement)
        self.forwards.extend(self._post(forward) for forward in self.plan.forwards if forward.holder == here.rank)

    def _post(self, forward: Forward) -> Post:
        view, batch = self._destination.view, forward.batch
        assert batch.payloads is not None, "who holds a batch has its payloads"
        parcel = pack_parcel(batch.first, batch.payloads, (view.id.number, forward.sender))
        return Post(tuple(view.members[rank] for rank in forward.missing), parcel)

    @property
    def is_settled(self) -> bool:
        """Is everything here that will be placed with the view?"""
        bit = 1 << self._destination.rank
        return self.plan is not None and all(
            batch.payloads is not None or not batch.to & bit for _, batch in self.plan.placed
        )
