"""What the components of a node order each other and the driver: one vocabulary, carried out in one place.

A component returns a list of steps; `Coordination.carry_out` carries them out, depth first and in order. An effect is a
step too: it goes on to the driver as it is. All others end inside the node: a driver never sees them. They exist so
that components need not know each other.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from ringcast.core.effects import Effect, SendReliable
from ringcast.model import Address, Electorate, View

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


class Then(NamedTuple):
    """A call that is made when its turn in the list comes: what is decided before it still sees the state before it."""

    call: Callable[[], Steps]


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


class GiveView(NamedTuple):
    """This process needs our view: it asked for what the view has already, or is behind and who sent it may be dead."""

    to: Address


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


Step = (
    Effect
    | SendReliable
    | Then
    | Suspect
    | Unsuspect
    | RaiseSuspicion
    | Shown
    | GiveView
    | AnnounceTo
    | RaiseMerge
    | LeftBehind
    | GoToPrimary
)
Steps = list[Step]
