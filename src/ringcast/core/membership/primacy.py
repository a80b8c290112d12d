"""This member's part in knowing which views are primary (`partition="primary"`): what it installed, and what formed.

Who installs a primary view tells its coordinator; when all have, the coordinator tells all that it has formed. Both may
be lost with their sender: then the view stays one that may have come about, which is safe (model/primary.py).
Without the policy there are no marks, and nothing is said here.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.core.control import Formed, Installed, PrimaryElsewhere
from ringcast.core.effects import Excluded
from ringcast.core.membership.steps import Say, Steps
from ringcast.model import Address, Mark, View, first_mark


class Primacy:
    """`is_on`: only a primary side goes on."""

    def __init__(self, me: Address, is_on: bool, expect: int) -> None:
        self.me = me
        self.mark: Mark | None = first_mark(me, expect) if is_on else None
        self._view: View | None = None
        self._installed: dict[Address, None] = {}
        self._early: dict[Address, Installed] = {}  # of a view that we have not got yet; one of each peer
        self.routes: dict[type, Callable[..., Steps]] = {
            Installed: self._on_installed,
            Formed: self._on_formed,
            PrimaryElsewhere: self._on_elsewhere,
        }

    def on_view(self, view: View) -> Steps:
        self._view = view
        self._installed.clear()
        if view.mark is None:
            return []
        self.mark = view.mark.installed(view.id, view.voters)
        early, self._early = self._early, {}
        for peer, message in early.items():
            self._note(peer, message)
        coordinator = view.coordinator
        return [Say(coordinator, Installed(view.id))] if view.is_primary and coordinator is not None else []

    def _on_installed(self, now_ns: int, sender: Address, message: Installed) -> Steps:
        view = self._view
        self._note(sender, message)
        if view is None or not view.is_primary or len(self._installed) < len(view.members):
            return []
        self._installed.clear()
        return [Say(member, Formed(view.id)) for member in view.members]

    def _note(self, sender: Address, message: Installed) -> None:
        view = self._view
        if view is not None and message.view == view.id and sender in view:
            self._installed[sender] = None
        elif (view is None or message.view > view.id) and len(self._early) < len(view.members if view else ()) + 64:
            self._early[sender] = message

    def _on_formed(self, now_ns: int, sender: Address, message: Formed) -> Steps:
        view = self._view
        if view is not None and self.mark is not None and message.view == view.id:
            self.mark = self.mark.formed(view.id, view.voters)
        return []

    def _on_elsewhere(self, now_ns: int, sender: Address, message: PrimaryElsewhere) -> Steps:
        """Our side may not go on: we are to drop our place and come back as a joiner."""
        view = self._view
        if view is None or view.is_primary or sender not in view:
            return []
        return [Excluded(message.view)]
