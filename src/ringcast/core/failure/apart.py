"""Links to members that were excluded for them: asked again and again, until question and answer passed for a while.

An answer shows both directions, because it is never sent unasked: an `Echo`; or, of a member of the version before,
which knows no such question, a heartbeat in a later view than the shared one. Each end asks for itself, and each side
releases the other.
Bounded: MOST links; of more the delay of readmission.py decides alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.core.control import AreYouThere, AskEcho
from ringcast.core.deadlines import Timer
from ringcast.core.effects import Unicast, send_once
from ringcast.model import Address, ViewId

MOST = 64
ASKED_AT_ONCE = 2  # links; of more the questions take turns, so that a group that was cut in half stays quiet


@dataclass(slots=True)
class Link:
    """One link. `good_ns`: since when every question was answered in time."""

    shared: ViewId  # the last view with both ends in it
    until_ns: int  # then the delay is over anyway
    answered_ns: int | None = None
    good_ns: int = 0
    question: AskEcho | AreYouThere | None = None  # that it answers; None: it has answered none yet


class Apart:
    """The bad links of this member to those that were excluded."""

    def __init__(self, interval_ns: int, calm_ns: int, timer: Timer) -> None:
        self.links: dict[Address, Link] = {}
        self._interval_ns = interval_ns
        self._calm_ns = calm_ns  # a link that was good for so long is good
        self._timer = timer
        self._rounds = 0

    def begin(self, now_ns: int, peer: Address, shared: ViewId, until_ns: int) -> None:
        if len(self.links) < MOST:
            self.links[peer] = Link(shared, until_ns)
            self._timer.at_ns = now_ns

    def end(self, peer: Address) -> None:
        """Forget this link; of no link the timer is off, so that nobody need look here."""
        self.links.pop(peer, None)
        if not self.links:
            self._timer.at_ns = None

    def on_heartbeat(self, now_ns: int, peer: Address, view: ViewId | None) -> bool:
        """Note a heartbeat of this process. True: the link is good now, and no longer asked about."""
        link = self.links.get(peer)
        if link is None or view is None or view <= link.shared:
            return False
        link.question = link.question or AreYouThere()
        return self._on_answer(now_ns, peer, link)

    def on_echo(self, now_ns: int, peer: Address) -> bool:
        """Note an echo. True: the link is good now, and no longer asked about."""
        link = self.links.get(peer)
        if link is None:
            return False
        link.question = AskEcho()
        return self._on_answer(now_ns, peer, link)

    def _on_answer(self, now_ns: int, peer: Address, link: Link) -> bool:
        if link.answered_ns is None or now_ns - link.answered_ns >= 2 * self._interval_ns * self._turns:
            link.good_ns = now_ns
        link.answered_ns = now_ns
        if now_ns - link.good_ns < self._calm_ns:
            return False
        self.end(peer)
        return True

    def on_time(self, now_ns: int) -> list[Unicast]:
        if not self._timer.is_due(now_ns):
            return []
        for peer in [peer for peer, link in self.links.items() if now_ns >= link.until_ns]:
            del self.links[peer]
        self._timer.at_ns = now_ns + self._interval_ns if self.links else None
        self._rounds += 1
        untried = AskEcho() if self._rounds % 2 else AreYouThere()  # A member of an earlier version knows no echo.
        out: list[Unicast] = []
        for peer in list(self.links)[:ASKED_AT_ONCE]:
            link = self.links[peer] = self.links.pop(peer)  # Last in the next turn.
            out.append(send_once(peer, link.question or untried))
        return out

    @property
    def _turns(self) -> int:
        """Intervals from one question about a link to the next."""
        return -(-len(self.links) // ASKED_AT_ONCE)
