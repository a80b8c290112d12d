"""This member's heartbeats: to whom, how often, and what they tell.

They name the view and how far the core loop has come, so that a process that lives but stands still is seen as such.
A driver may send them from a thread of its own (then `is_own` is False, and it is told to whom by `Beat`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ringcast.core.control import Heartbeat
from ringcast.core.deadlines import Timer
from ringcast.core.effects import Beat, Unicast, send_once
from ringcast.model import Address, ViewId

# Who watches whom: a few neighbours on the ring of members, and a few spread over it.
#
# Every member watches `count` others and is watched by `count` others, however large the group is. The neighbours
# catch single deaths; the spread ones catch a whole stretch that dies together (the first half of the group, say, is
# watched from the other half). Invariant: `b in watched(a)` if and only if `a in watchers(b)`. Not the whole of
# detection: what is found out here is told to the others, who see for themselves (detector.py).


def watched(members: Sequence[Address], me: Address, count: int) -> list[Address]:
    """Whose heartbeats I expect. `members` in the order of the view, with me among them."""
    return _at(members, me, _distances(len(members), count))


def watchers(members: Sequence[Address], me: Address, count: int) -> list[Address]:
    """Who expects my heartbeats."""
    return _at(members, me, [-distance for distance in _distances(len(members), count)])


def _at(members: Sequence[Address], me: Address, distances: list[int]) -> list[Address]:
    mine = members.index(me)
    return [members[(mine + distance) % len(members)] for distance in distances]


def _distances(size: int, count: int) -> list[int]:
    """Half of them next to me, the others in equal steps around the ring; all distinct, none of them zero."""
    if size - 1 <= count:
        return list(range(1, size))
    near = count - count // 2
    far = [size * step // (count // 2 + 1) for step in range(1, count // 2 + 1)]
    chosen = dict.fromkeys([*range(1, near + 1), *far, *range(near + 1, size)])
    return list(chosen)[:count]


class Heartbeats:
    def __init__(self, interval_ns: int, timer: Timer, *, is_own: bool) -> None:
        self.interval_ns = interval_ns
        self.is_own = is_own
        self.progress = 0  # turns of the core loop
        self.view: ViewId | None = None
        self._timer = timer
        self._peers: tuple[Address, ...] = ()

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(self.view, self.progress)

    def beat_to(self, now_ns: int, peers: tuple[Address, ...]) -> list[Unicast | Beat]:
        """From now on these expect to hear from us."""
        self._peers = peers
        if not self.is_own:
            return [Beat(peers)]
        self._timer.at_ns = now_ns
        return []

    def on_time(self, now_ns: int) -> list[Unicast | Beat]:
        self.progress += 1
        due_ns = self._timer.first_ns
        if due_ns is None or now_ns < due_ns:
            return []
        self._timer.at_ns = now_ns + self.interval_ns
        heartbeat = self.heartbeat()
        return [send_once(peer, heartbeat) for peer in self._peers]
