"""The agreed cut of a member that is going away, from what the survivors hold of it.

The cut is the highest k such that every message up to k is held by some member that answered this attempt (G5);
what lies above is dropped by all. Messages at or below a holder's `freed` were taken by every member, so only what is
above the lowest `ready` can be missing anywhere. Pure arithmetic: no state, no messages.

    B holds ..5, 7-8     C holds ..4, 6      →  cut 8:  5 from B, 6 from C, 7-8 from B
    B holds ..5, 7-8     C holds ..4         →  cut 5:  5 from B;  7-8 are dropped
"""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.core.control import Holding, Source
from ringcast.model import Address


def agreed_cut(origin: Address, held: Mapping[Address, Holding]) -> tuple[int, list[Source]]:
    """(cut, where to get what somebody may miss), from one holding per member that answered."""
    cut = min(holding.ready for holding in held.values())
    sources: list[Source] = []
    while True:
        reach, holder = max(((_reach(holding, cut), who) for who, holding in held.items()), key=lambda pair: pair[0])
        if reach == cut:
            return cut, sources
        sources.append(Source(origin, cut + 1, reach, holder, held[holder].freed))
        cut = reach


def _reach(holding: Holding, at: int) -> int:
    """How far this member holds everything from `at` + 1 on; `at` if it does not hold that one."""
    if holding.ready > at:
        return holding.ready
    return next((last for first, last in holding.beyond if first <= at + 1 <= last), at)
