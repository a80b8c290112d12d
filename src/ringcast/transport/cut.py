"""The cut switch: a partition without a firewall.

Blocked endpoints are cut off in both directions as far as this transport can: frames to them are not sent, frames from
them are thrown away, both counted. A packet multicast to everybody still leaves, so a whole cut is made on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringcast.transport.counters import CUT_OUT, Counters
from ringcast.transport.endpoint import Endpoint


class CutSwitch:
    """Which endpoints are cut off. Empty nearly always, so callers test `blocked` first."""

    __slots__ = ("blocked",)

    def __init__(self) -> None:
        self.blocked: dict[Endpoint, None] = {}

    def block(self, endpoints: Iterable[Endpoint]) -> None:
        self.blocked.update(dict.fromkeys(endpoints))

    def unblock(self) -> None:
        self.blocked.clear()

    def reachable(self, to: Sequence[Endpoint], frames: int, counters: Counters) -> Sequence[Endpoint]:
        """Those of `to` that are not cut off; what the others miss is counted."""
        kept = [endpoint for endpoint in to if endpoint not in self.blocked]
        if len(kept) < len(to):
            counters.lose(CUT_OUT, (len(to) - len(kept)) * frames)
        return kept
