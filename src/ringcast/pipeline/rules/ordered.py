"""The facts of ordered messages of a run, put together: per company, what each member got from each sender by blocks of
the one order, and what was queued to it. G12 and G16 compare them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ringcast.pipeline.rules.digest import added, salts_of, total, values_of
from ringcast.pipeline.rules.fact import Fact, Wanted
from ringcast.pipeline.rules.order_facts import BLOCK, RULE, TO_VIEW
from ringcast.pipeline.rules.run import NEVER, Run, Stay

Place = tuple[str, int]  # a member and where its stay starts


@dataclass(slots=True)
class Sum:
    """Count and digest of some messages, and between which numbers they lie."""

    count: int = 0
    low: int = 0
    high: int = 0
    first: int = NEVER
    last: int = -1

    def add(self, other: Sum | Fact) -> None:
        self.count += other.count
        self.low, self.high = added(self.low, other.low), added(self.high, other.high)
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)

    @property
    def digest(self) -> tuple[int, int, int]:
        return self.count, self.low, self.high


@dataclass(slots=True)
class InBlock:
    """What one sender's messages in one block are, by receiver."""

    sender: str
    block: int
    got: dict[str, Sum] = field(default_factory=dict)
    queued: dict[str, Sum] = field(default_factory=dict)
    is_known: bool = False  # the sender said to whom it queued
    first: int = NEVER
    last: int = -1


def _where(stay: Stay) -> object:
    """The view, or the bus, of a stay; None for a time before the first view."""
    return stay.company if stay.view is None else stay.view.id


class Ordered:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.got: defaultdict[Place, dict[tuple[str, int], Sum]] = defaultdict(dict)
        self.queued: defaultdict[Place, dict[tuple[str, int], Sum]] = defaultdict(dict)
        self.unfinished: defaultdict[Place, list[Fact]] = defaultdict(list)
        for fact in run.of(RULE, "dequeued"):
            self.got[self._place(fact)].setdefault((fact.peer, fact.value), Sum()).add(fact)
        for fact in run.of(RULE, "queued"):
            self.queued[self._place(fact)].setdefault((fact.peer, fact.value), Sum()).add(fact)
        self._join_open()
        self._at: defaultdict[object, list[tuple[str, Place]]] = defaultdict(list)
        for member in run:
            for stay in member.stays:
                self._at[_where(stay)].append((member.key, (member.key, stay.start)))
        self._blocks: dict[object, list[InBlock]] = {}

    def _place(self, fact: Fact) -> Place:
        return fact.member, self.run.members_by_key[fact.member].stay_at(fact.index).start

    def _join_open(self) -> None:
        """Batches whose two events stand in different segments."""
        begun: dict[tuple[str, int], Fact] = {(fact.member, fact.first): fact for fact in self.run.of(RULE, "open")}
        for fact in self.run.of(RULE, "finished"):
            start = begun.pop((fact.member, fact.first), None)
            if start is None:
                continue
            arrays = (np.array([number]) for number in (fact.first, fact.last, fact.value))
            low, high = values_of(salts_of([fact.member]), np.zeros(1, dtype=np.int64), *arrays)
            one = Sum(fact.last - fact.first + 1, total(low), total(high), fact.first, fact.last)
            self.queued[self._place(fact)].setdefault((start.peer, fact.value // BLOCK), Sum()).add(one)
        for fact in begun.values():
            self.unfinished[self._place(fact)].append(fact)

    def blocks(self, stays: list[Stay]) -> list[InBlock]:
        """Everything that these stays, all of one company, got, by sender and block."""
        company = stays[0].company
        if company not in self._blocks:
            self._blocks[company] = self._put_together(stays)
        return self._blocks[company]

    def _put_together(self, stays: list[Stay]) -> list[InBlock]:
        found: dict[tuple[str, int], InBlock] = {}
        for stay in stays:
            for (sender, block), part in self.got.get((stay.member, stay.start), {}).items():
                here = found.setdefault((sender, block), InBlock(sender, block))
                here.got[stay.member] = part
                here.first, here.last = min(here.first, part.first), max(here.last, part.last)
        for sender, place in self._senders(stays):
            for (to, block), part in self.queued.get(place, {}).items():
                here = found.setdefault((sender, block), InBlock(sender, block))
                here.first, here.last = min(here.first, part.first), max(here.last, part.last)
                here.is_known = to != "?"
                for receiver in self.receivers(sender, to, stays):
                    here.queued.setdefault(receiver, Sum()).add(part)
        return list(found.values())

    def _senders(self, stays: list[Stay]) -> Iterable[tuple[str, Place]]:
        """Whoever recorded a stay in the same view (or on the same bus), in this company or not."""
        return self._at[_where(stays[0])]

    def receivers(self, sender: str, to: str, stays: list[Stay]) -> list[str]:
        """Which of these members a batch was queued to."""
        members = [stay.member for stay in stays]
        if to == TO_VIEW and stays[0].view is not None:
            own = self.run.members_by_key[sender].config.get("self_delivery", True)
            return [member for member in members if member in stays[0].view.members and (own or member != sender)]
        named = set(to.split("\n"))
        if stays[0].view is None:
            return [member for member in members if self.run.members_by_key[member].address.name in named]
        return [member for member in members if member in named]

    def wanted(self, rule: str, stay: Stay, first: int, last: int) -> Wanted:
        return Wanted(rule, stay.member, stay.start, stay.end, first, last)
