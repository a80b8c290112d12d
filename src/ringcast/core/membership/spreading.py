"""A view on its way to those who must know it: who has not shown it yet, and until when that is waited for.

Who refuses it or stays silent is suspected. Not the view's making: it is installed at its maker before this begins.
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.core.control import NewView, ViewRefusal
from ringcast.core.effects import SendReliable
from ringcast.core.membership.steps import RaiseSuspicion, Spread, Steps
from ringcast.model import Address


class Spreading:
    """One view, told to everybody who has to ack it, and to those who only shall know."""

    def __init__(self, message: NewView, to: Iterable[Address], until_ns: int, also: Iterable[Address] = ()) -> None:
        self.view = message.view
        self.deadline_ns: int | None = until_ns
        self._message = message
        self._unacked = dict.fromkeys(to)
        self._also = tuple(also)

    def begin(self) -> Steps:
        told: Steps = [SendReliable(member, self._message) for member in (*self._unacked, *self._also)]
        return told + self._end_if_shown()

    def on_shown(self, member: Address) -> Steps:
        """This member has shown the view, or nobody waits for it any more."""
        if member not in self._unacked:
            return []
        del self._unacked[member]
        return self._end_if_shown()

    def on_refusal(self, sender: Address, refusal: ViewRefusal) -> Steps:
        if refusal.view != self.view.id or sender not in self._unacked:
            return []
        return [RaiseSuspicion(sender, f"refused view {refusal.view}: {refusal.why}"), *self.on_shown(sender)]

    def on_time(self, now_ns: int) -> Steps:
        if self.deadline_ns is None or now_ns < self.deadline_ns:
            return []
        silent, self._unacked = list(self._unacked), {}
        out: Steps = [RaiseSuspicion(member, f"did not show view {self.view.id}") for member in silent]
        return out + self._end_if_shown()

    def _end_if_shown(self) -> Steps:
        if self._unacked:
            return []
        self.deadline_ns = None
        return [Spread()]
