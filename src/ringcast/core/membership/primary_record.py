"""This member's part in the chain of primary views (`partition="primary"`): what it knows, recorded, and when it goes.

The order to fill up names the primary view to come. Its voters record it, if there is a mark file durably, before they
say that they have filled up; so the view exists only when all who go on to it know it (model/majority.py). The record
goes with the view, or when whoever called the roll cancels it or calls again: then that view never comes about.
A place is given up only on proof of a later primary view without this member. Without the policy there is no mark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ringcast.core.control import Ask, Cancel, Fill, PrimaryElsewhere, RollCallId
from ringcast.core.effects import Excluded, KeepMark
from ringcast.core.steps import Steps
from ringcast.model import Address, Electorate, Mark, View, ViewId, combined


class Writing(NamedTuple):
    """A mark on its way to the disk."""

    number: int
    mark: Mark
    since_ns: int


class MarkWriter:
    """The mark file as the core sees it: one write under way, only the newest mark behind it, and how long they take.

    A mark that the file will hold anyway, and a mark that binds this member by more, is not written again: each attempt
    of a roll call would otherwise wait for a write of its own behind those of the attempts before.
    """

    def __init__(self, mark: Mark | None, is_kept: bool) -> None:
        """`mark` is in the file when this member begins."""
        self.is_kept = is_kept and mark is not None
        self.writing: Writing | None = None
        self.recent_ns = 0  # the slowest of the last writes: an old one counts for less with each that follows
        self._waiting: Mark | None = None
        self._stored = mark
        self._number = 0

    def keep(self, now_ns: int, mark: Mark) -> Steps:
        if not self.is_kept or self._will_hold(mark):
            return []
        if self.writing is not None:
            self._waiting = mark
            return []
        return self._write(now_ns, mark)

    def _write(self, now_ns: int, mark: Mark) -> Steps:
        self._number += 1
        self.writing = Writing(self._number, mark, now_ns)
        return [KeepMark(self._number, mark)]

    def _will_hold(self, mark: Mark) -> bool:
        """Return what the file will hold when all that was ordered is written."""
        last = self._waiting or (self._stored if self.writing is None else self.writing.mark)
        return last is not None and last.covers(mark)

    def on_kept(self, now_ns: int, number: int) -> Steps:
        writing = self.writing
        if writing is None or writing.number != number:
            return []
        self.recent_ns = max(now_ns - writing.since_ns, self.recent_ns * 7 // 8)
        self._stored, self.writing = writing.mark, None
        waiting, self._waiting = self._waiting, None
        return [] if waiting is None else self._write(now_ns, waiting)

    def holds(self, mark: Mark) -> bool:
        """The file holds this mark, and what is about to replace it does too."""
        ahead = (self._stored, None if self.writing is None else self.writing.mark, self._waiting)
        known = [each for each in ahead if each is not None]
        return not self.is_kept or (self._stored is not None and all(each.covers(mark) for each in known))

    def writing_ns(self, now_ns: int) -> int:
        """How long the present write has been under way; 0 if there is none."""
        return 0 if self.writing is None else now_ns - self.writing.since_ns


class PrimaryRecord:
    """`mark`: what is known at the beginning; None without the policy. `is_kept`: it is to outlive the process."""

    def __init__(self, me: Address, mark: Mark | None, is_kept: bool = False) -> None:
        self.me = me
        self.mark = mark
        self.file = MarkWriter(mark, is_kept)
        self._view: View | None = None
        self._recorded: tuple[RollCallId, ViewId] | None = None  # for the roll call that we are promised to
        self.routes: dict[type, Callable[..., Steps]] = {PrimaryElsewhere: self._on_elsewhere}

    @property
    def is_on(self) -> bool:
        return self.mark is not None

    @property
    def has_recorded(self) -> bool:
        """True if a primary view to come was recorded and the record is kept, or none was: then we may say Filled.

        Of a view that came about the file knows as of one that may have: nobody waits for that to be written again.
        """
        return self._recorded is None or self.is_stored

    @property
    def is_stored(self) -> bool:
        """All that we know outlives the process, if it is to."""
        return self.mark is None or self.file.holds(self.mark)

    @property
    def wants_primary(self) -> bool:
        """Our view is not primary, but has the votes: whoever leads it makes the primary one."""
        return self._view is not None and self._view.is_carried and not self._view.is_primary

    # ---- recording

    def record(self, now_ns: int, primary: Electorate) -> Steps:
        assert self.mark is not None
        return self._know(now_ns, self.mark.recorded(primary))

    def _know(self, now_ns: int, mark: Mark) -> Steps:
        self.mark = mark
        return self.file.keep(now_ns, mark)

    def on_kept(self, now_ns: int, number: int) -> Steps:
        return self.file.on_kept(now_ns, number)

    def on_fill(self, now_ns: int, fill: Fill) -> Steps:
        """We are promised to this roll call, and begin to fill up."""
        if fill.primary is None or self.mark is None:
            return []
        self._recorded = (fill.id, fill.primary.view)
        return self.record(now_ns, fill.primary)

    def on_ask(self, ask: Ask) -> None:
        """Asked again by the same: what it was about to make before comes about only if it is recorded again."""
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

    def on_view(self, now_ns: int, view: View) -> Steps:
        self._view, self._recorded = view, None
        if view.mark is None or self.mark is None:
            return []
        known = combined([self.mark, view.mark])
        assert known is not None
        known = known._replace(votes=tuple(pair for pair in known.votes if pair[0] == self.me))
        return self._know(now_ns, known) if known != self.mark else []

    def _on_elsewhere(self, now_ns: int, sender: Address, message: PrimaryElsewhere) -> Steps:
        """Our coordinator has read that a later primary view came about than those we know."""
        view, mark, primary = self._view, self.mark, message.primary
        if view is None or mark is None or sender not in view or mark.votes_of([self.me])[0] in primary.voters:
            return []
        learned = mark._replace(last=primary) if primary.view > mark.last.view else mark
        return [*(self._know(now_ns, learned) if learned != mark else []), Excluded(primary.view)]
