"""Whom this member suspects, and who therefore leads.

A member leads if it is the coordinator of the view, or if every one before it that could lead is suspected. Observers
never lead. Ordered, so that what follows from it repeats. Not a detector: suspicions come in as facts.
"""

from __future__ import annotations

from collections.abc import Collection

from ringcast.core.effects import Excluded
from ringcast.core.membership.primary_record import PrimaryRecord
from ringcast.core.steps import Steps, Until
from ringcast.model import Address, View, ViewId


class Suspicions:
    """Suspected members of the current view, with the reason.

    A suspicion that the failure detector raised may be withdrawn by it. One for not doing what a member must (it
    refused a view, it was replaced by a later process, it goes on without us) lasts until the next view, with it or
    without it: a member that came back by a merge would otherwise exclude those who went on without it (Y14). Only who
    has not shown our view in time, and nothing else, is forgiven when it does.
    """

    def __init__(self, me: Address) -> None:
        self.me = me
        self.members: dict[Address, str] = {}
        self.final: dict[Address, None] = {}
        self.late: dict[Address, None] = {}  # of these: who has not shown our view yet
        self._unheard: dict[Address, None] = {}  # whom the failure detector suspects, for whatever else it is suspected

    def __contains__(self, member: object) -> bool:
        return member in self.members

    def is_news(self, member: Address, until: Until) -> bool:
        """True if this suspicion says that the member is gone, and none that still stands has said it before.

        Who is only late with a view lives. Who did not do what it must may go silent as well: that is news.
        """
        if until is Until.SHOWN:
            return False
        return member not in (self._unheard if until is Until.HEARD else self.members)

    def add(self, member: Address, why: str, until: Until) -> bool:
        """True if this is new."""
        if member == self.me:
            return False
        is_new = member not in self.members
        self.members.setdefault(member, why)
        if until is Until.SHOWN and member not in self.final:
            self.late[member] = None
        elif until is Until.VIEW:
            self.late.pop(member, None)
        (self._unheard if until is Until.HEARD else self.final)[member] = None
        return is_new

    def withdraw(self, member: Address) -> None:
        self._unheard.pop(member, None)
        if member not in self.final:
            self.members.pop(member, None)

    def forgive(self, member: Address) -> bool:
        """It has shown our view after all; False if it is suspected of more than that."""
        if member not in self.late:
            return False
        for held in (self.late, self.final) if member in self._unheard else (self.late, self.final, self.members):
            held.pop(member, None)
        return True

    def on_view(self, view: View, suspected: Collection[Address]) -> None:
        """Whom the failure detector suspects still is suspected; all else was settled by this view."""
        self.final.clear()
        self.late.clear()
        self.members = {m: why for m, why in self.members.items() if m in view and m in suspected}
        self._unheard = dict.fromkeys(self.members)

    def may_coordinate(self, view: View, member: Address) -> bool:
        """Is this our coordinator, or do we suspect everybody before it?"""
        return member in view and view.leader(lambda m: m != member and m in self.members) == member

    def acting(self, view: View) -> Address | None:
        """Who leads, as far as we know; None if only observers are left."""
        return view.leader(self.members.__contains__)


class Exclusion:
    """The others go on in a later view without this member: its driver is told once, and decides by its policy."""

    def __init__(self, me: Address, suspicions: Suspicions, primacy: PrimaryRecord) -> None:
        self.me = me
        self.gone_to: ViewId | None = None  # a later view without us that a member of ours is in
        self._is_told = False
        self._suspicions = suspicions
        self._primacy = primacy

    def on_view(self) -> None:
        self.gone_to, self._is_told = None, False

    def if_left_alone(self, view: View) -> Steps:
        """Nobody leads a coordinator: it is excluded when nobody is left to it, and somebody is known to go on."""
        if self.gone_to is None or self._is_told:
            return []
        if any(member != self.me and member not in self._suspicions for member in view.members):
            return []
        return self.tell(self.gone_to)

    def tell(self, view: ViewId) -> Steps:
        """With the primary policy only a later primary view ends our place (primacy)."""
        if self._is_told or self._primacy.is_on:
            return []
        self._is_told = True
        return [Excluded(view)]
