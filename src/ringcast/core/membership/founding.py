"""The first member: a view of one, told by itself to itself.

Under the primary policy that view may be primary: then its mark is kept before the view is told (G17).
"""

from __future__ import annotations

from dataclasses import replace

from ringcast.core.control import NewView
from ringcast.core.effects import SendReliable
from ringcast.core.membership.joining import Joiner
from ringcast.core.membership.primary_record import PrimaryRecord
from ringcast.core.steps import Steps
from ringcast.model import Address


class Founding:
    """Of the group that a joiner begins because nobody has one."""

    def __init__(self, me: Address, primacy: PrimaryRecord) -> None:
        self.me = me
        self._primacy = primacy
        self._view: NewView | None = None  # waits for its mark to be kept

    def if_due(self, now_ns: int, joiner: Joiner) -> Steps:
        if self._view is not None or not joiner.may_found(now_ns):
            return []
        mark = self._primacy.mark
        if mark is None:
            return [SendReliable(self.me, joiner.founding())]
        founding = joiner.founding(after=mark.highest)
        primary = mark.proposal(founding.id, [self.me])
        self._view = replace(founding, mark=mark.of_view([self.me], primary))
        return ([] if primary is None else self._primacy.record(now_ns, primary)) + self.if_recorded()

    def if_recorded(self) -> Steps:
        if self._view is None or not self._primacy.is_stored:
            return []
        view, self._view = self._view, None
        return [SendReliable(self.me, view)]
