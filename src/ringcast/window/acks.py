"""The ack map: how far each receiver of the current view has acked one stream.

Every receiver has an entry from the moment of the view, starting at the offset it was given, so a member that
never acked holds the minimum back instead of being overlooked (G3). A stranger's ack creates nothing.

`minimum` is what may be purged. It is cached with the number of members that stand on it; it is 0 for an empty map.
A view can lower it (a newcomer starts behind); what was purged stays purged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from ringcast.window.ring import AT_ONCE, Audit

K = TypeVar("K")


class AckMap(Generic[K]):
    """Highest cumulative ack per member; a dict, so that every listing repeats in the same order."""

    __slots__ = ("_acks", "_at_minimum", "_audit", "minimum")

    def __init__(self, offsets: Mapping[K, int]) -> None:
        self._acks = dict(offsets)
        self._audit = Audit()
        self._find_minimum()

    def __len__(self) -> int:
        return len(self._acks)

    def get(self, who: K) -> int | None:
        return self._acks.get(who)

    def on_ack(self, who: K, upto: int) -> bool:
        """Note a cumulative ack; True if the minimum rose."""
        before = self._acks.get(who)
        if before is None or upto <= before:
            return False
        self._acks[who] = upto
        if before != self.minimum:
            return False
        self._at_minimum -= 1
        if self._at_minimum:
            return False
        self._find_minimum()
        return True

    def set_members(self, offsets: Mapping[K, int]) -> bool:
        """A view: who stays keeps its ack, who is new starts at its offset. True if the minimum rose."""
        before = self.minimum
        self._acks = {who: self._acks.get(who, offset) for who, offset in offsets.items()}
        self._find_minimum()
        return self.minimum > before

    def laggards(self) -> list[K]:
        """Those who hold the window back."""
        return [who for who, upto in self._acks.items() if upto == self.minimum]

    def check(self) -> None:
        """Every invariant of the map; for tests and the simulator."""
        count = len(self._acks)
        assert 0 < self._at_minimum <= count or self._at_minimum == count == 0, (self._at_minimum, self._acks)
        if count > AT_ONCE and not self._audit.is_due(count):
            return
        acks = list(self._acks.values())
        assert self.minimum == (min(acks) if acks else 0), (self.minimum, self._acks)
        assert self._at_minimum == acks.count(self.minimum), (self._at_minimum, self._acks)

    def _find_minimum(self) -> None:
        acks = list(self._acks.values())
        self.minimum = min(acks, default=0)
        self._at_minimum = acks.count(self.minimum)
