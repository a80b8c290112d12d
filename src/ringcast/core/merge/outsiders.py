"""Endpoints outside the view to which our view id is told in turn: lost members, and what discovery found.

A few at a time, so the cost does not grow with the group; never forgotten because of time, for a partition may last.
Where a member left, nobody is told anything until somebody there is heard, whatever discovery says: a process that
starts there looks for us itself (Y19). Bounded: the longest known gives way. Not addresses: who is there now may be a
new process.
"""

from __future__ import annotations

from collections.abc import Container


class Outsiders:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._endpoints: dict[str, None] = {}
        self._left: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._endpoints)

    def find(self, endpoint: str) -> None:
        """Discovery knows of this place."""
        if endpoint not in self._left:
            self.remember(endpoint)

    def remember(self, endpoint: str) -> None:
        """Somebody is or was there."""
        self._left.pop(endpoint, None)
        if endpoint not in self._endpoints and len(self._endpoints) >= self.capacity:
            del self._endpoints[next(iter(self._endpoints))]
        self._endpoints.setdefault(endpoint)

    def forget(self, endpoint: str) -> None:
        """Who was there left."""
        self._endpoints.pop(endpoint, None)
        if len(self._left) >= self.capacity:
            del self._left[next(iter(self._left))]
        self._left[endpoint] = None

    def next_in_turn(self, count: int, inside: Container[str]) -> tuple[str, ...]:
        """The next `count` that are not inside; whoever was told is then the last to be told again."""
        chosen: list[str] = []
        for endpoint in self._endpoints:
            if len(chosen) == count:
                break
            if endpoint not in inside:
                chosen.append(endpoint)
        for endpoint in chosen:
            del self._endpoints[endpoint]
            self._endpoints[endpoint] = None
        return tuple(chosen)
