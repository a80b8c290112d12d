"""Is there one order in which several sequences all fit? Searched only where cheaper arguments do not decide.

The graph has an edge from each message to the next one at the same member. One order exists iff it has no cycle. The
search removes what nothing points to, again and again (Kahn); what is left has a cycle, and walking back in it finds
one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise

Edge = tuple[int, int]


def cycle_in(sequences: Mapping[int, Sequence[int]]) -> tuple[int, int, int, int] | None:
    """(first, second, member, other): `member` has first before second, `other` stands in the way. None: all fit.

    A message that a member has twice is a cycle by itself.
    """
    edges = _edges(sequences)
    left = _without_sources(edges)
    if not left:
        return None
    return _told(_walk(edges, left), edges, sequences)


def _edges(sequences: Mapping[int, Sequence[int]]) -> dict[int, dict[int, int]]:
    """message -> next message -> a member that had them so."""
    edges: dict[int, dict[int, int]] = {}
    for member, sequence in sequences.items():
        for first, second in pairwise(sequence):
            edges.setdefault(first, {}).setdefault(second, member)
            edges.setdefault(second, {})
    return edges


def _without_sources(edges: Mapping[int, Mapping[int, int]]) -> dict[int, None]:
    incoming = dict.fromkeys(edges, 0)
    for targets in edges.values():
        for target in targets:
            incoming[target] += 1
    free = deque(message for message, count in incoming.items() if count == 0)
    while free:
        message = free.popleft()
        del incoming[message]
        for target in edges[message]:
            incoming[target] -= 1
            if incoming[target] == 0:
                free.append(target)
    return dict.fromkeys(incoming)


def _walk(edges: Mapping[int, Mapping[int, int]], left: Mapping[int, None]) -> list[int]:
    """A cycle among what is left: everything there has a predecessor that is left, so walking back must close."""
    before: dict[int, int] = {}
    for message in left:
        for target in edges[message]:
            if target in left:
                before.setdefault(target, message)
    at = next(iter(left))
    seen: dict[int, int] = {}
    path: list[int] = []
    while at not in seen:
        seen[at] = len(path)
        path.append(at)
        at = before[at]
    return path[seen[at] :][::-1]


def _told(
    cycle: list[int], edges: Mapping[int, Mapping[int, int]], sequences: Mapping[int, Sequence[int]]
) -> tuple[int, int, int, int]:
    """Prefer two messages that two members have in opposite order; else the first step of the circle."""
    members = [edges[a][b] for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
    positions = {member: {ident: i for i, ident in enumerate(sequences[member])} for member in set(members)}
    for a, b, member in zip(cycle, [*cycle[1:], cycle[0]], members, strict=True):
        for other, places in positions.items():
            if other != member and a in places and b in places and places[b] < places[a]:
                return a, b, member, other
    return cycle[0], cycle[1 % len(cycle)], members[0], members[-1]
