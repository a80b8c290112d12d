"""Which side of a partition goes on, when only one may: votes of the members of the last primary view.

A view is primary if it has a majority of the last primary view's voters (its members that are not observers), and of
every later primary view that may have come about. Exactly half is enough with the first of them. A primary view has
come about when all its members have installed it; until then it only limits what may be primary next, so that of two
views that follow the same one at most one lasts. Dynamic: a group may shrink step by step and stay primary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ringcast.model.address import Address
from ringcast.model.view_id import ViewId

MAX_ATTEMPTS = 64


class Electorate(NamedTuple):
    """The voters of a primary view. Before the first one: nobody yet, but how many are expected."""

    view: ViewId
    voters: tuple[Address, ...]
    expect: int = 0

    def is_carried_by(self, members: Collection[Address]) -> bool:
        if self.expect:
            return 2 * len(members) > self.expect
        present = sum(voter in members for voter in self.voters)
        return 2 * present > len(self.voters) or (2 * present == len(self.voters) and self.voters[0] in members)


class Mark(NamedTuple):
    """What a view, or a member, knows of primary views; as part of a view also whether that is one."""

    last: Electorate
    attempts: tuple[Electorate, ...] = ()  # later ones, that not everybody is known to have installed
    is_primary: bool = False

    def decided_for(self, voters: Collection[Address]) -> Mark:
        """For a view with these voters."""
        carried = all(electorate.is_carried_by(voters) for electorate in (self.last, *self.attempts))
        return self._replace(is_primary=bool(voters) and carried)

    def installed(self, view: ViewId, voters: tuple[Address, ...]) -> Mark:
        """At a member that installs the view of this mark."""
        if not self.is_primary:
            return self
        return self._replace(attempts=(*self.attempts, Electorate(view, voters))[-MAX_ATTEMPTS:])

    def formed(self, view: ViewId, voters: tuple[Address, ...]) -> Mark:
        """At a member that knows that everybody has installed this primary view."""
        return Mark(Electorate(view, voters), (), True) if view > self.last.view else self


def first_mark(founder: Address, expect: int) -> Mark:
    """Of a group that is being founded; with `expect` it becomes primary when more than half of them are there."""
    return Mark(Electorate(ViewId(0, founder), (), max(1, expect)))


def combined(marks: Iterable[Mark | None]) -> Mark | None:
    """What several members know together; None if primary views are of no concern to them."""
    known = [mark for mark in marks if mark is not None]
    if not known:
        return None
    last = max((mark.last for mark in known), key=lambda electorate: electorate.view)
    attempts = {electorate.view: electorate for mark in known for electorate in mark.attempts}
    later = [attempts[view] for view in sorted(attempts) if view > last.view]
    return Mark(last, tuple(later[-MAX_ATTEMPTS:]))
