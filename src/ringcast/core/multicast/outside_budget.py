"""One budget of bytes for everything that is held of streams from processes outside the view.

What a member sends is bounded by windows that were agreed with a view; a process outside may open streams as it likes.
So what is kept of such a stream counts here: what lies behind a gap, parts of messages, chunks that came before their
view. Above the limit whoever holds the most is forgotten: its next packet is answered with RESET, and it begins again.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.model import Address

OUTSIDE_BYTES = 8 << 20

Drop = Callable[[Address], None]


class OutsideBudget:
    """Shared by the streams of all channels. `is_outside` says who is not in the view."""

    def __init__(self, is_outside: Callable[[Address], bool], limit: int = OUTSIDE_BYTES) -> None:
        self.is_outside = is_outside
        self.total = 0
        self._limit = limit
        self._held: dict[tuple[int, Address], tuple[int, Drop]] = {}

    def note(self, channel: int, sender: Address, nbytes: int, drop: Drop) -> list[Address]:
        """So much is held of this stream now. Returns whose streams were forgotten to stay within the limit."""
        key = (channel, sender)
        before, _ = self._held.pop(key, (0, drop))
        self.total += nbytes - before
        if nbytes:
            self._held[key] = (nbytes, drop)
        shed: list[Address] = []
        while self.total > self._limit:
            largest = max(self._held, key=lambda one: self._held[one][0])
            held, forget = self._held.pop(largest)
            self.total -= held
            forget(largest[1])
            shed.append(largest[1])
        return shed

    def on_view(self) -> None:
        """Who is a member now is bounded by its windows."""
        for key in [key for key in self._held if not self.is_outside(key[1])]:
            self.total -= self._held.pop(key)[0]
