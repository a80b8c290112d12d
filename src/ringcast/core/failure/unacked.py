"""Members whose acks are missing: no link is left that nobody judges, also where each member watches a few others only.

Who waits for an ack for long watches that member itself, and says in its row that it wants to be watched by it: one of
the two notices a link that is bad in one direction. Who merely reads slowly answers every question: nothing follows.
"""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.model import Address


class Unacked:
    """How far each member has acked what waits for it, and since when."""

    def __init__(self, limit_ns: int) -> None:
        self._limit_ns = limit_ns
        self._since: dict[tuple[Address, int], tuple[int, int]] = {}  # (member, stream) -> acked up to, since

    def look(self, now_ns: int, waiting: Iterable[tuple[Address, int, int]]) -> tuple[Address, ...]:
        """Return whose acks are missing. `waiting`: member, stream and how far it has acked, where more was sent."""
        since: dict[tuple[Address, int], tuple[int, int]] = {}
        missing: dict[Address, None] = {}
        for member, stream, acked in waiting:
            before = self._since.get((member, stream))
            mark = before if before is not None and before[0] == acked else (acked, now_ns)
            since[member, stream] = mark
            if now_ns - mark[1] >= self._limit_ns:
                missing[member] = None
        self._since = since
        return tuple(missing)

    def forgive(self, now_ns: int, slept_ns: int) -> None:
        """We slept ourselves."""
        for key, (acked, since_ns) in self._since.items():
            self._since[key] = (acked, min(now_ns, since_ns + slept_ns))
