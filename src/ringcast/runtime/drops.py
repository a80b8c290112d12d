"""How often something was dropped, by reason.

Bounded in reasons and in their length: a reason may quote what a peer sent, and a peer may send anything.
"""

from __future__ import annotations

MOST_REASONS = 256
MOST_CHARACTERS = 200
OTHER = "another reason"  # of all that came when there were too many


class Drops(dict[str, int]):
    """Counts by reason, for people to read."""

    def add(self, reason: str, count: int = 1) -> None:
        reason = reason[:MOST_CHARACTERS]
        if reason not in self and len(self) >= MOST_REASONS:
            reason = OTHER
        self[reason] = self.get(reason, 0) + count
