"""What control messages name: roll calls, merges, transfers, and what is held of whom."""

from __future__ import annotations

from typing import NamedTuple

from ringcast.model import Address, ViewId


class RollCallId(NamedTuple):
    """Ordered: a later base view, then a later coordinator in it, then a later attempt replaces a promise."""

    base: ViewId
    rank: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.base}/{self.rank}.{self.attempt}"


class MergeId(NamedTuple):
    """The leader's n-th merge. Armed once in its life, so a late message of an old merge can do nothing."""

    leader: Address
    number: int

    def __str__(self) -> str:
        return f"{self.leader}~{self.number}"


class Transfer(NamedTuple):
    """Who gives the state to whom, cut at which view."""

    joiner: Address
    provider: Address
    view: ViewId


class Side(NamedTuple):
    """One subgroup of a MergeView, and who gives its state."""

    giver: Address
    members: tuple[Address, ...]


class Reunion(NamedTuple):
    """The states of a MergeView's sides become one: `merger` gets that of each side and gives all the merged one."""

    cut: ViewId  # the MergeView: every state is as it was directly behind it
    view: ViewId  # that named this merger and these givers
    merger: Address
    sides: tuple[Side, ...]
    lacking: tuple[Address, ...]  # who has not got the merged state


class Standing(NamedTuple):
    """How a member stands with the application's state: does it wait for one, and which MergeView's has it got?"""

    lacks: bool = False  # the merged state of a MergeView
    reunited: ViewId | None = None
    joining: Transfer | None = None  # it joined with state and has not confirmed it: who gives it
    is_whole: bool = False  # all of that state is there, its application loads it


NO_STATE = Standing()


class Holding(NamedTuple):
    """What a member holds of one that is going away: everything in (freed, ready], and ranges beyond a gap."""

    origin: Address
    freed: int
    ready: int
    beyond: tuple[tuple[int, int], ...] = ()


class Source(NamedTuple):
    """Where first..last of a going-away member's messages can be had; every member has taken those up to `low`."""

    origin: Address
    first: int
    last: int
    holder: Address
    low: int


class Carried(NamedTuple):
    """Which of a going-away member's ordered messages somebody holds the payloads of, as ranges of numbers."""

    origin: Address
    ranges: tuple[tuple[int, int], ...]


class Survivor(NamedTuple):
    """One who goes on to the next view, and what it reported."""

    member: Address
    carried: tuple[Carried, ...]


class Settlement(NamedTuple):
    """From this everybody who goes on settles alike what was not ordered yet: who goes, who goes on and holds what."""

    going: tuple[Address, ...] = ()
    survivors: tuple[Survivor, ...] = ()


NOTHING_TO_SETTLE = Settlement()
