"""This member's part in the chain of primary views (`partition="primary"`): what it knows, recorded, and when it goes.

The order to fill up names the primary view to come. Its voters record it, if there is a mark file durably, before they
say that they have filled up; so the view exists only when all who go on to it know it (model/majority.py). The record
goes with the view, or when whoever called the roll cancels it or calls again: then that view never comes about.
A place is given up only on proof of a later primary view without this member. Without the policy there is no mark.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core.control import Ask, Cancel, Fill, PrimaryElsewhere, RollCallId
from ringcast.core.effects import Excluded, KeepMark
from ringcast.core.steps import Steps
from ringcast.model import Address, Electorate, Mark, View, ViewId, combined


class PrimaryRecord:
    """`mark`: what is known at the beginning; None without the policy. `is_kept`: it is to outlive the process."""

    def __init__(self, me: Address, mark: Mark | None, is_kept: bool = False) -> None:
        self.me = me
        self.mark = mark
        self._is_kept = is_kept
        self._ordered = 0  # orders to keep the mark, numbered
        self._done = 0  # the highest that was carried out
        self._view: View | None = None
        self._recorded: tuple[RollCallId, ViewId] | None = None  # for the roll call that we are promised to
        self.routes: dict[type, Callable[..., Steps]] = {PrimaryElsewhere: self._on_elsewhere}

    @property
    def is_on(self) -> bool:
        return self.mark is not None

    @property
    def has_recorded(self) -> bool:
        """Everything that was recorded is kept: we may say that we have filled up."""
        return self._done == self._ordered

    @property
    def wants_primary(self) -> bool:
        """Our view is not primary, but has the votes: whoever leads it makes the primary one."""
        return self._view is not None and self._view.is_carried and not self._view.is_primary

    # ---- recording

    def record(self, primary: Electorate) -> Steps:
        assert self.mark is not None
        return self._know(self.mark.recorded(primary))

    def _know(self, mark: Mark) -> Steps:
        self.mark = mark
        if not self._is_kept:
            return []
        self._ordered += 1
        return [KeepMark(self._ordered, mark)]

    def on_kept(self, number: int) -> None:
        self._done = max(self._done, number)

    def on_fill(self, fill: Fill) -> Steps:
        """We are promised to this roll call, and begin to fill up."""
        if fill.primary is None or self.mark is None:
            return []
        self._recorded = (fill.id, fill.primary.view)
        return self.record(fill.primary)

    def on_ask(self, ask: Ask) -> None:
        """Asked again by the same: what it was about to make before never comes about."""
        recorded = None if self._recorded is None else self._recorded[0]
        if recorded is not None and recorded._replace(attempt=ask.id.attempt) == ask.id and recorded < ask.id:
            self._forget()

    def on_cancel(self, cancel: Cancel) -> None:
        """It comes from whoever called that roll, after its last word on it."""
        if self._recorded is not None and self._recorded[0] == cancel.id:
            self._forget()

    def _forget(self) -> None:
        """In memory only: a file that still has it limits more than it must."""
        if self._recorded is not None and self.mark is not None:
            self.mark, self._recorded = self.mark.without(self._recorded[1]), None

    # ---- views

    def on_view(self, view: View) -> Steps:
        self._view, self._recorded = view, None
        if view.mark is None or self.mark is None:
            return []
        known = combined([self.mark, view.mark])
        assert known is not None
        known = known._replace(votes=tuple(pair for pair in known.votes if pair[0] == self.me))
        return self._know(known) if known != self.mark else []

    def _on_elsewhere(self, now_ns: int, sender: Address, message: PrimaryElsewhere) -> Steps:
        """Our coordinator has read that a later primary view came about than those we know."""
        view, mark, primary = self._view, self.mark, message.primary
        if view is None or mark is None or sender not in view or mark.votes_of([self.me])[0] in primary.voters:
            return []
        learned = mark._replace(last=primary) if primary.view > mark.last.view else mark
        return [*(self._know(learned) if learned != mark else []), Excluded(primary.view)]
