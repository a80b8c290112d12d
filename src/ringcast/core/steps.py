"""What the components of a node order each other and the driver: one vocabulary, carried out in one place.

A component returns a list of steps; `Coordination.carry_out` carries them out, depth first and in order. An effect is a
step too: it goes on to the driver as it is. All others end inside the node: a driver never sees them. They exist so
that components need not know each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from ringcast.core.control import NOTHING_TO_SETTLE, MergeId, Settlement, Standing
from ringcast.core.effects import Effect, SendReliable
from ringcast.model import Address, Digest, Electorate, Entry, Mark, View

if TYPE_CHECKING:  # values of the rooms that return these steps
    from ringcast.core.failure.health import Reason
    from ringcast.core.merge.election import Party


# ---- failure detection


class Suspect(NamedTuple):
    """Raised again until a view excludes the peer or the suspicion is cleared. `tell` = who shall hear of it."""

    peer: Address
    reason: Reason
    tell: tuple[Address, ...]


class Unsuspect(NamedTuple):
    peer: Address


class Until(Enum):
    """When a suspicion ends, if no view ends it before."""

    HEARD = "the suspect is heard again"
    SHOWN = "the suspect has shown our view"
    VIEW = "the next view"


class RaiseSuspicion(NamedTuple):
    """This member did not do what it must."""

    member: Address
    why: str
    until: Until = Until.VIEW


class Shown(NamedTuple):
    """This member has shown our view: by an ack, a heartbeat, an announcement, or something it sent in it."""

    member: Address


# ---- the view handler's decisions


class GiveView(NamedTuple):
    """This process needs our view: it asked for what the view has already, or is behind and who sent it may be dead."""

    to: Address


# ---- the roll call's outcomes


@dataclass(frozen=True, slots=True)
class Complete:
    """Everybody who goes on has answered and is filled up: what the next view needs to know."""

    entries: dict[Address, Entry]  # how far the streams of those who answered have come, said by themselves (G8)
    cuts: tuple[int, ...]  # of every member of the base view, in its order
    number: int  # the highest view number in any answer
    capacity: int
    window_bytes: int
    settlement: Settlement = NOTHING_TO_SETTLE
    standings: dict[Address, Standing] = field(default_factory=dict)  # how each stands with the application's state
    mark: Mark | None = None  # what they know of primary views


class Failed(NamedTuple):
    """The roll call cannot end in a view."""

    why: str


class Digested(NamedTuple):
    """The roll call of a merge is over; not complete: some are missing, and these are to blame (none: all missing)."""

    merge_id: MergeId
    entries: dict[Address, Entry]
    number: int
    capacity: int
    window_bytes: int
    mark: Mark | None = None
    blamed: tuple[Address, ...] = ()
    stateless: tuple[Address, ...] = ()  # who has not loaded the state it joined with
    excluded: tuple[Address, ...] = ()  # whom the merge excludes, because nobody of its side can: not missing


class Spread(NamedTuple):
    """Everybody who must know the view has shown it, or is suspected for not doing so."""


# ---- merge: detection


class AnnounceTo(NamedTuple):
    """Tell our view id to whoever is at these endpoints (and by multicast, if the transport has it)."""

    endpoints: tuple[str, ...]


class RaiseMerge(NamedTuple):
    """The seed's MERGE event: there are other partitions, and we are to lead."""

    parties: tuple[Party, ...]


class LeftBehind(NamedTuple):
    """Our coordinator (or everybody, if we coordinate) goes on in this view, without us."""

    view: View


class GoToPrimary(NamedTuple):
    """The side with this view proves that this later primary view came about: our members are to join it."""

    view: View
    primary: Electorate


# ---- merge: taking part


class HoldRollCall(NamedTuple):
    """Hold the roll call of this merge among these members (those whose own view id is ours)."""

    merge_id: MergeId
    members: tuple[Address, ...]


class SpreadView(NamedTuple):
    """Install the MergeView here and spread it among the members that answered our roll call."""

    merge_id: MergeId
    view: View
    digest: Digest
    stateless: tuple[Address, ...] = ()


Step = (
    Effect
    | SendReliable
    | Suspect
    | Unsuspect
    | RaiseSuspicion
    | Shown
    | GiveView
    | Complete
    | Failed
    | Digested
    | Spread
    | AnnounceTo
    | RaiseMerge
    | LeftBehind
    | GoToPrimary
    | HoldRollCall
    | SpreadView
)
Steps = list[Step]
