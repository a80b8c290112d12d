"""What a VIEW event says, read once and the same way by every checker."""

from __future__ import annotations

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
    synchrony: bool = True
    merge_id: str | None = None

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
        bool(detail.get("synchrony", True)),
        None if merge_id is None else str(merge_id),
    )
