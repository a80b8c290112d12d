"""What a VIEW event says, read once and the same way by every checker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ringcast.model import Address, Digest, Event, ViewId
from ringcast.trace import as_addresses, as_digest, as_view_id, detail_of


@dataclass(frozen=True, slots=True)
class Installed:
    """A view as one member installed it."""

    id: ViewId
    members: tuple[Address, ...]
    observers: tuple[Address, ...] = ()
    previous: ViewId | None = None
    subgroups: tuple[tuple[Address, ...], ...] = ()
    capacity: int = 0
    digest: Digest = field(default_factory=Digest)
    merge_id: str | None = None
    primary: bool | None = None  # None: recorded without the primary policy
    quorum: int = 0
    votes: tuple[Address, ...] = ()  # as whom its members vote, observers left out
    window_bytes: int = 0

    @property
    def is_merge(self) -> bool:
        return bool(self.subgroups)

    def subgroup_of(self, member: Address) -> tuple[Address, ...]:
        return next((group for group in self.subgroups if member in group), ())


def installed(event: Event) -> Installed:
    """ValueError, TypeError or LookupError if the event does not carry a view."""
    detail = detail_of(event.detail)
    if event.view is None:
        raise ValueError("a VIEW event without a view id")
    members = as_addresses(detail["members"])
    if not members:
        raise ValueError("a VIEW event without members")
    merge_id = detail.get("merge_id")
    return Installed(
        event.view,
        members,
        as_addresses(detail.get("observers")),
        as_view_id(detail.get("previous")),
        tuple(as_addresses(group) for group in detail.get("subgroups") or ()),
        int(detail.get("capacity") or 0),
        as_digest(detail.get("digest")),
        None if merge_id is None else str(merge_id),
        None if detail.get("primary") is None else bool(detail["primary"]),
        int(detail.get("quorum") or 0),
        _votes(members, as_addresses(detail.get("observers")), detail.get("votes") or ()),
        int(detail.get("window_bytes") or 0),
    )


def _votes(
    members: tuple[Address, ...], observers: tuple[Address, ...], votes: Iterable[Iterable[object]]
) -> tuple[Address, ...]:
    as_whom = {pair[0]: pair[1] for pair in map(as_addresses, votes)}
    return tuple(dict.fromkeys(as_whom.get(member, member) for member in members if member not in observers))
