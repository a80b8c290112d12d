"""Which side of a partition goes on, when only one may: votes of the members of the last primary view.

A view is primary if those who go on to it from the view before carry the last primary view: they are a majority of its
voters (its members that are not observers), or half of them with the first. They record the view before it exists, so
whoever wants to follow the same primary view later meets one of them, and must carry the recorded view too. Therefore
primary views form one chain (G17), and their numbers grow along it. Dynamic: a group may shrink step by step.
With a fixed quorum the number of those who go on decides, whoever was there before.
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

    def is_carried_by(self, votes: Collection[Address], observers: int = 0) -> bool:
        """`observers` are among the expected and do not vote: those who are here are not waited for."""
        if self.expect:
            return 2 * len(votes) > self.expect - observers
        present = sum(voter in votes for voter in self.voters)
        return 2 * present > len(self.voters) or (2 * present == len(self.voters) and self.voters[0] in votes)


class Mark(NamedTuple):
    """What a view, or a member, knows of primary views; as part of a view also whether that is one.

    A process that comes back as a new incarnation and still has its mark (in memory, or in its mark file) votes as the
    incarnation that first voted; `votes` says so. One without a mark is a new voter.
    """

    last: Electorate
    attempts: tuple[Electorate, ...] = ()  # later ones that were recorded, and may have come about
    is_primary: bool = False
    votes: tuple[tuple[Address, Address], ...] = ()  # (member, as whom it votes), where that is another address
    quorum: int = 0  # fixed: so many voters make a primary view; 0: a majority of the last primary view
    root: ViewId | None = None  # what the chain began with: tells apart chains whose processes all forgot

    @property
    def highest(self) -> int:
        """The highest number of a view that it knows: a primary view behind it must have a higher one to be later."""
        return max(known.view.number for known in (self.last, *self.attempts))

    def votes_of(self, members: Iterable[Address]) -> tuple[Address, ...]:
        """As whom these vote, each vote once."""
        known = dict(self.votes)
        return tuple(dict.fromkeys(known.get(member, member) for member in members))

    def is_carried_by(self, members: Iterable[Address], observers: int = 0) -> bool:
        """May these go on to a primary view? `observers`: how many of them are with these."""
        votes = self.votes_of(members)
        if self.quorum:
            return len(votes) >= self.quorum
        electorates = (self.last, *self.attempts)
        return bool(votes) and all(electorate.is_carried_by(votes, observers) for electorate in electorates)

    def proposal(
        self, view: ViewId, voters: Iterable[Address], newcomers: Iterable[Address] = (), observers: int = 0
    ) -> Electorate | None:
        """The primary view of these voters and newcomers, if there may be one; to be recorded by the voters first."""
        voters = tuple(voters)
        if not self.is_carried_by(voters, observers) or len(self.attempts) >= MAX_ATTEMPTS:
            return None
        return Electorate(view, self.votes_of((*voters, *newcomers)))

    def of_view(self, members: Collection[Address], primary: Electorate | None = None) -> Mark:
        """As part of a view of these members; `primary`: they have recorded it as a primary one."""
        votes = tuple(pair for pair in self.votes if pair[0] in members)
        if primary is None:
            return self._replace(is_primary=False, votes=votes)
        return Mark(primary, (), True, votes, self.quorum, self.root)

    def recorded(self, attempt: Electorate) -> Mark:
        """At a member that is about to go on to this primary view."""
        others = tuple(known for known in self.attempts if known.view != attempt.view)
        return self._replace(attempts=(*others, attempt))

    def without(self, attempt: ViewId) -> Mark:
        """Whoever was to make this view said that it never will."""
        return self._replace(attempts=tuple(known for known in self.attempts if known.view != attempt))

    def covers(self, other: Mark) -> bool:
        """True if who starts again with this mark is bound by all that `other` says, and perhaps by more attempts."""
        mine, others = self._replace(is_primary=False, attempts=()), other._replace(is_primary=False, attempts=())
        return mine == others and all(attempt in self.attempts for attempt in other.attempts)

    def kept_by(self, me: Address, was: Address, expect: int = 0) -> Mark:
        """What the process knew as `was`, for its new incarnation; `expect`: a new number, if that still counts."""
        last = self.last._replace(expect=expect) if expect and self.last.expect else self.last
        return self._replace(last=last, is_primary=False, votes=((me, self.votes_of([was])[0]),))


def first_mark(founder: Address, expect: int, quorum: int = 0) -> Mark:
    """Of a group that is being founded; with `expect` it becomes primary when more than half of them are there."""
    nothing_before = ViewId(0, founder)
    return Mark(Electorate(nothing_before, (), max(1, expect)), quorum=quorum, root=nothing_before)


def combined(marks: Iterable[Mark | None]) -> Mark | None:
    """What several members know together; None if primary views are of no concern to them."""
    known = [mark for mark in marks if mark is not None]
    if not known:
        return None
    latest = max(known, key=lambda mark: (mark.last.view.number, mark.last.expect, mark.last.view))
    attempts = {electorate.view: electorate for mark in known for electorate in mark.attempts}
    later = tuple(attempts[view] for view in sorted(attempts) if view > latest.last.view)
    votes = tuple({member: vote for mark in known for member, vote in mark.votes}.items())
    return Mark(latest.last, later, False, votes, max(mark.quorum for mark in known), latest.root)
