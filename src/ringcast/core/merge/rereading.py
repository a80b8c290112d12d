"""One round of reading real views: who was asked, who answered, and until when we wait."""

from __future__ import annotations

from ringcast.model import Address, View


class Rereading:
    def __init__(self, deadline_ns: int) -> None:
        self.deadline_ns = deadline_ns
        self.answers: dict[Address, View] = {}
        self.acting: dict[Address, Address] = {}  # who answered -> who coordinates its view, as it says
        self._asked: dict[Address, None] = {}

    def ask(self, peer: Address) -> bool:
        """True if this peer was not asked before."""
        if peer in self._asked:
            return False
        self._asked[peer] = None
        return True

    def on_answer(self, peer: Address, view: View, acting: Address | None) -> bool:
        """False if nobody asked for it."""
        if peer not in self._asked or peer not in view:
            return False
        self.answers[peer] = view
        if acting is not None:
            self.acting[peer] = acting
        return True

    @property
    def is_complete(self) -> bool:
        return len(self.answers) == len(self._asked)

    @property
    def silent(self) -> tuple[Address, ...]:
        return tuple(peer for peer in self._asked if peer not in self.answers)
