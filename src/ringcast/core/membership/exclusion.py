"""The others go on in a later view without this member: its driver is told once, and decides by its policy."""

from __future__ import annotations

from ringcast.core.effects import Excluded
from ringcast.core.membership.primacy import Primacy
from ringcast.core.membership.steps import Steps
from ringcast.core.membership.suspicions import Suspicions
from ringcast.model import Address, View, ViewId


class Exclusion:
    def __init__(self, me: Address, suspicions: Suspicions, primacy: Primacy) -> None:
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
