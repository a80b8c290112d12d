"""Who is in the group: a view is an agreed, numbered list of members.

Invariants: members are distinct and not empty; the coordinator is the first member that is not an observer;
one id has one content everywhere (G4). A MergeView is a view that names the subgroups it joined.
Not a decision: which view comes next is decided in core/membership and core/merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ringcast.model.address import Address
from ringcast.model.majority import Mark
from ringcast.model.view_id import ViewId

__all__ = ["View", "ViewId"]


@dataclass(frozen=True, slots=True)
class View:
    """An installed membership. `capacity` and `window_bytes` were agreed with it: the smallest of its members'."""

    id: ViewId
    members: tuple[Address, ...]
    observers: tuple[Address, ...] = ()
    subgroups: tuple[tuple[Address, ...], ...] = ()
    capacity: int = 0
    window_bytes: int = 0
    mark: Mark | None = None  # of primary views, with `partition="primary"`
    left: tuple[Address, ...] = field(default=(), compare=False, repr=False)  # went of their own accord with this view
    is_primary: bool = field(init=False, repr=False, compare=False)
    """May a side with this view go on? Always, unless only the primary one may. Asked for every send.

    It was agreed with the view, so it stays when all are gone who may coordinate: see `Group.coordinator`, `ready`.
    """
    coordinator: Address | None = field(init=False, repr=False, compare=False)
    """The first member that may coordinate, or None if only observers are left."""
    ranks: dict[Address, int] = field(init=False, repr=False, compare=False)
    """Where each member stands in `members`. `in view` asks it with a call, which is too much for every stream."""

    def __post_init__(self) -> None:
        index = {member: rank for rank, member in enumerate(self.members)}
        if not index or len(index) != len(self.members):
            raise ValueError(f"a view needs distinct members, got {self.members}")
        object.__setattr__(self, "ranks", index)
        object.__setattr__(self, "coordinator", self.leader(lambda member: False))
        object.__setattr__(self, "is_primary", self.mark is None or self.mark.is_primary)

    def __contains__(self, member: object) -> bool:
        return member in self.ranks

    def __str__(self) -> str:
        return f"{self.id} [{', '.join(map(str, self.members))}]"

    @property
    def voters(self) -> tuple[Address, ...]:
        """The members that count for a primary partition."""
        return tuple(member for member in self.members if member not in self.observers)

    @property
    def is_carried(self) -> bool:
        """It is primary, or has the votes to be followed by a primary view of the same members."""
        return self.is_primary or (self.mark is not None and self.mark.is_carried_by(self.voters, len(self.observers)))

    @property
    def is_merge(self) -> bool:
        return bool(self.subgroups)

    def joins(self, first: Address, second: Address) -> bool:
        """A merge brought these two together: they came to this view with the cuts of different sides."""
        return self.is_merge and not any(first in side and second in side for side in self.subgroups)

    def leader(self, is_out: Callable[[Address], bool]) -> Address | None:
        """Return who leads: the first member that is no observer and is not out. The caller knows who is out."""
        return next((m for m in self.members if m not in self.observers and not is_out(m)), None)

    def rank(self, member: Address) -> int:
        return self.ranks[member]
