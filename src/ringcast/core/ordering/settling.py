"""The ordering while a roll call runs: from the promise until the view or the cancel.

    hold → report → (all reports come back) prepare → the multicast stands at the cut → make_plan → is_settled → view

Exists only in between; a roll call that begins again begins this again. Not the plan: that is settlement.py.
"""

from __future__ import annotations

from collections import deque

from ringcast.core.control import Settlement
from ringcast.core.ordering.decisions import Post
from ringcast.core.ordering.destination import Destination
from ringcast.core.ordering.envelope import pack_parcel
from ringcast.core.ordering.settlement import Forward, Plan, plan


class Settling:
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
        self.plan = plan(here.view, here.lines, self._settlement)
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
