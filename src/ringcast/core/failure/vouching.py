"""What others want to know: who asked us whether we hear a member, and is owed an answer when we do.

Bounded by the view: one question of each member about each other. A question that is older than the limit is forgotten;
the asker puts it again.
"""

from __future__ import annotations

from ringcast.model import Address, View


class Vouching:
    def __init__(self, limit_ns: int) -> None:
        self.limit_ns = limit_ns
        self.asked: dict[Address, dict[Address, int]] = {}  # about whom -> who asked, and when; looked at per packet

    def note(self, now_ns: int, asker: Address, peer: Address) -> None:
        self.asked.setdefault(peer, {})[asker] = now_ns

    def take(self, now_ns: int, peer: Address) -> list[Address]:
        """This peer was heard: whom to tell."""
        askers = self.asked.pop(peer, {})
        return [asker for asker, asked_ns in askers.items() if now_ns - asked_ns <= self.limit_ns]

    def on_view(self, view: View) -> None:
        self.asked = {peer: askers for peer, askers in self.asked.items() if peer in view}
