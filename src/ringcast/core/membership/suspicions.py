"""Whom this member suspects, and who therefore leads.

A member leads if it is the coordinator of the view, or if every one before it that could lead is suspected. Observers
never lead. Ordered, so that what follows from it repeats. Not a detector: suspicions come in as facts.
"""

from __future__ import annotations

from collections.abc import Collection

from ringcast.model import Address, View


class Suspicions:
    """Suspected members of the current view, with the reason.

    A suspicion that the failure detector raised may be withdrawn by it. One for not doing what a member must (it
    refused a view, it was replaced by a later process, it goes on without us) lasts until the next view, with it or
    without it: a member that came back by a merge would otherwise exclude those who went on without it (Y14).
    """

    def __init__(self, me: Address) -> None:
        self.me = me
        self.members: dict[Address, str] = {}
        self._final: dict[Address, None] = {}

    def __contains__(self, member: object) -> bool:
        return member in self.members

    def add(self, member: Address, why: str, *, final: bool) -> bool:
        """True if this is new."""
        if member == self.me:
            return False
        is_new = member not in self.members
        self.members.setdefault(member, why)
        if final:
            self._final[member] = None
        return is_new

    def withdraw(self, member: Address) -> None:
        if member not in self._final:
            self.members.pop(member, None)

    def on_view(self, view: View, suspected: Collection[Address]) -> None:
        """Whom the failure detector suspects still is suspected; all else was settled by this view."""
        self._final.clear()
        self.members = {m: why for m, why in self.members.items() if m in view and m in suspected}

    def may_lead(self, view: View, member: Address) -> bool:
        """Is this our coordinator, or do we suspect everybody before it?"""
        if member not in view or member in view.observers:
            return False
        return not any(self._could_lead(view, before) for before in view.members[: view.rank(member)])

    def leader(self, view: View) -> Address | None:
        """Who leads, as far as we know; None if only observers are left."""
        return next((member for member in view.members if self._could_lead(view, member)), None)

    def _could_lead(self, view: View, member: Address) -> bool:
        return member not in view.observers and member not in self.members
