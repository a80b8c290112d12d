"""Joiners that have not confirmed their state yet, and who gives it to them (seed 004, its open issue).

JOIN_WITH_STATE is one event: the view that brings the joiner names its provider, and the state is what that member's
application holds when it comes to the view, so the cut is exact. A provider that is gone is replaced by the very view
that removes it, and the state is then cut at that view. Every member knows this, because any of them may have to lead.
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.core.control import NewView, Transfer
from ringcast.model import Address, ViewId


class PendingStates:
    """By joiner. A joiner without anybody who could provide is in no transfer: its node tells it so."""

    def __init__(self) -> None:
        self.transfers: dict[Address, Transfer] = {}

    def on_view(self, message: NewView) -> list[Address]:
        """Returns the joiners whose transfer begins with this view."""
        self.transfers = {transfer.joiner: transfer for transfer in message.transfers}
        return [transfer.joiner for transfer in message.transfers if transfer.view == message.id]

    def confirm(self, joiner: Address) -> None:
        self.transfers.pop(joiner, None)

    def assign(
        self, view: ViewId, staying: list[Address], observers: Iterable[Address], wanting: list[Address]
    ) -> tuple[Transfer, ...]:
        """Who provides in the next view: whoever does already, else one of those who have the state."""
        members = [*staying, *wanting]
        going_on = [t for t in self.transfers.values() if t.joiner in members and t.provider in members]
        waiting = [t.joiner for t in self.transfers.values() if t.joiner in members and t.provider not in members]
        waiting += wanting
        able = [m for m in staying if m not in observers and m not in self.transfers]
        if not able:
            return tuple(going_on)
        # From the end of the view: the coordinator has enough to do.
        chosen = [able[-1 - number % len(able)] for number in range(len(waiting))]
        begun = [Transfer(joiner, provider, view) for joiner, provider in zip(waiting, chosen, strict=True)]
        return (*going_on, *begun)
