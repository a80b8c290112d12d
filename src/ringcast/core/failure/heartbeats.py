"""This member's heartbeats: to whom, how often, and what they tell.

They name the view and how far the core loop has come, so that a process that lives but stands still is seen as such.
A driver may send them from a thread of its own (then `is_own` is False, and it is told to whom by `Beat`).
"""

from __future__ import annotations

from ringcast.core.control import Heartbeat
from ringcast.core.effects import Beat, Unicast, send_once
from ringcast.model import Address, ViewId


class Heartbeats:
    def __init__(self, interval_ns: int, *, is_own: bool) -> None:
        self.interval_ns = interval_ns
        self.is_own = is_own
        self.progress = 0  # turns of the core loop
        self.view: ViewId | None = None
        self.due_ns: int | None = None
        self._peers: tuple[Address, ...] = ()

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(self.view, self.progress)

    def beat_to(self, now_ns: int, peers: tuple[Address, ...]) -> list[Unicast | Beat]:
        """From now on these expect to hear from us."""
        self._peers = peers
        if not self.is_own:
            return [Beat(peers)]
        self.due_ns = now_ns
        return []

    def on_time(self, now_ns: int) -> list[Unicast | Beat]:
        self.progress += 1
        if self.due_ns is None or now_ns < self.due_ns:
            return []
        self.due_ns = now_ns + self.interval_ns
        return [send_once(peer, self.heartbeat()) for peer in self._peers]
