"""Payloads that came before the stub they belong to: on another stream, perhaps for a view that is not installed yet.

A number names a message for ever, so a parcel finds its stub whatever view it was sent in; once the sender is known to
be past that number, the stub will never come and the parcel goes. Bounded per sender and in senders.

That a sender is past a number is not always known: on the other side of a split it finished without us. But it has at
most `capacity` messages in flight, and finishes them in its order. So of more parcels than that the lowest is over.
"""

from __future__ import annotations

from collections.abc import Callable

from ringcast.model import Address

MAX_SENDERS = 1024


class Parcels:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity  # parcels kept of one sender
        self._kept: dict[Address, dict[int, list[bytes]]] = {}

    def keep(self, sender: Address, first: int, payloads: list[bytes]) -> bool:
        """False if there is no room: too many senders, or this one is past that number."""
        kept = self._kept.get(sender)
        if kept is None:
            if len(self._kept) >= MAX_SENDERS:
                return False
            kept = self._kept[sender] = {}
        kept[first] = payloads
        if len(kept) > self.capacity:
            del kept[min(kept)]
        return first in kept

    def take(self, sender: Address, first: int) -> list[bytes] | None:
        """The parcel of a stub that came; those of lower numbers have no stub and go."""
        kept = self._kept.get(sender)
        if not kept:
            return None
        found = kept.pop(first, None)
        self._forget_below(sender, first)
        return found

    def held(self, sender: Address) -> list[tuple[int, int]]:
        """(first, count) of what is kept of this sender, in order."""
        return [(first, len(payloads)) for first, payloads in sorted(self._kept.get(sender, {}).items())]

    def retain(self, may_stay: Callable[[Address], int | None]) -> None:
        """A view: what is kept of senders outside it goes (None), and of the others what they are past."""
        for sender in list(self._kept):
            past = may_stay(sender)
            if past is None:
                del self._kept[sender]
            else:
                self._forget_below(sender, past + 1)

    def _forget_below(self, sender: Address, number: int) -> None:
        kept = self._kept[sender]
        for first in [first for first in kept if first < number]:
            del kept[first]
        if not kept:
            del self._kept[sender]
