"""What the roll calls of the subgroups gave, and the one view made of it (seed 000).

A MergeView has the leader's subgroup first, then the others in the order given. It is never primary: with the primary
policy its coordinator then makes the primary view, if there may be one (model/majority.py).
Not the digests (model/digest.py). Not a decision: whether a merge is complete is the leader's (leader.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ringcast.core.control import MergeId
from ringcast.model import Address, Digest, Entry, Event, Kind, Mark, View, ViewId, combined


class Told(NamedTuple):
    """An entry, and who said it. Hearsay has no place in a merge: it must be the member itself (G8)."""

    origin: Address
    entry: Entry


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What one subgroup's roll call gave: entries from the members themselves (G8)."""

    members: tuple[Address, ...]
    digest: Digest
    number: int
    capacity: int
    window_bytes: int
    observers: tuple[Address, ...] = ()
    mark: Mark | None = None
    stateless: tuple[Address, ...] = ()  # who has not loaded the state it joined with


def digest_event(now_ns: int, merge_id: MergeId, member: Address, told: Told) -> Event:
    """An entry entered a consolidation, for the trace."""
    detail = {"origin": told.origin, "merge_id": str(merge_id), "about": "member"}
    return Event(
        Kind.DIGEST,
        now_ns,
        peer=member,
        first=told.entry.low,
        value=told.entry.delivered,
        other=told.entry.received,
        detail=detail,
    )


def merge_view(view_id: ViewId, aggregates: Sequence[Aggregate]) -> View:
    """The common view of this id, which is above all; a member that stands in two subgroups counts for the first."""
    subgroups: list[tuple[Address, ...]] = []
    seen: dict[Address, None] = {}
    for aggregate in aggregates:
        subgroup = tuple(member for member in aggregate.members if member not in seen)
        seen |= dict.fromkeys(subgroup)
        if subgroup:
            subgroups.append(subgroup)
    observers = dict.fromkeys(member for aggregate in aggregates for member in aggregate.observers if member in seen)
    mark = combined(aggregate.mark for aggregate in aggregates)
    return View(
        view_id,
        tuple(seen),
        tuple(observers),
        tuple(subgroups),
        min(aggregate.capacity for aggregate in aggregates),
        min(aggregate.window_bytes for aggregate in aggregates),
        None if mark is None else mark.of_view(seen),
    )
