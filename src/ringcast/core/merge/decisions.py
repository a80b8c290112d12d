"""What the components of a merge decide beside what they send; merging.py carries it out. Events stand in between."""

from __future__ import annotations

from typing import NamedTuple

from ringcast.core.control import MergeId
from ringcast.core.effects import SendReliable, Unicast
from ringcast.core.merge.parties import Party
from ringcast.model import Address, Digest, Electorate, Event, View

# ---- detection


class AnnounceTo(NamedTuple):
    """Tell our view id to whoever is at these endpoints (and by multicast, if the transport has it)."""

    endpoints: tuple[str, ...]


class RaiseMerge(NamedTuple):
    """The seed's MERGE event: there are other partitions, and we are to lead."""

    parties: tuple[Party, ...]


class BringUp(NamedTuple):
    """A member of our view is still in an earlier one: give it our view again, for who sent it may be dead."""

    peer: Address


class SuspectDissenter(NamedTuple):
    """A member of our view lives, but has had another view for longer than `view_limit`."""

    peer: Address


class LeftBehind(NamedTuple):
    """Our coordinator (or everybody, if we coordinate) goes on in this view, without us."""

    view: View


class GoToPrimary(NamedTuple):
    """The side with this view proves that this later primary view came about: our members are to join it."""

    view: View
    primary: Electorate


Detection = AnnounceTo | Unicast | RaiseMerge | BringUp | SuspectDissenter | LeftBehind | GoToPrimary | SendReliable


# ---- leading


class Propose(NamedTuple):
    """Ask the view handler whether this merge may start; if so call `begin`."""

    merge_id: MergeId


class MergeEnded(NamedTuple):
    """Our merge is over; tell the view handler (case #2)."""

    merge_id: MergeId
    installed: bool
    why: str


class Overlap(NamedTuple):
    """More than one side spoke of these members; the maximum was taken (seed 000 asks for a warning)."""

    members: tuple[Address, ...]


Leading = Propose | SendReliable | MergeEnded | Overlap | Event


# ---- taking part


class HoldRollCall(NamedTuple):
    """Hold the roll call of this merge among these members (those whose own view id is ours)."""

    merge_id: MergeId
    members: tuple[Address, ...]


class SpreadView(NamedTuple):
    """Install the MergeView here and spread it among the members that answered our roll call."""

    merge_id: MergeId
    view: View
    digest: Digest


class MergeOver(NamedTuple):
    """The merge in which we took part is over without a view; tell the view handler (case #2), release what is held."""

    merge_id: MergeId
    why: str


Taking = HoldRollCall | SpreadView | MergeOver | SendReliable | Event
