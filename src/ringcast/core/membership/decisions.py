"""What the view handler decides, as values; the node turns them into effects.

Trace events stand in the same list. Not messages: who is told what, and how it travels, is the node's part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ringcast.core.control import MergeId
from ringcast.core.membership.handler_table import Phase
from ringcast.core.membership.requests import Request
from ringcast.core.membership.resumer import ResumeCause
from ringcast.model import Address, Event


@dataclass(frozen=True, slots=True)
class Suspension:
    """One stretch during which the handler takes nothing. Numbered, so that the end of an old one ends no new one."""

    number: int
    phase: Phase
    requests: tuple[Request, ...] = ()
    merge_id: MergeId | None = None
    leader: Address | None = None  # of another coordinator's merge


class StartViewChange(NamedTuple):
    """Process these requests in one roll call; give the ticket back with `on_change_ended`."""

    ticket: int
    requests: tuple[Request, ...]


class StartMerge(NamedTuple):
    """Lead this merge; end it with `on_merge_ended`."""

    merge_id: MergeId


class AcceptMerge(NamedTuple):
    """Take part in this merge. `again` = it was accepted before (a duplicate, or our own): only answer."""

    leader: Address
    merge_id: MergeId
    again: bool = False


class RejectMerge(NamedTuple):
    """Answer MERGE-RSP with merge_rejected, at once."""

    leader: Address
    merge_id: MergeId
    why: str


class TellBusy(NamedTuple):
    """The request was not taken, or its view failed: its asker shall ask again after a random pause."""

    request: Request


class Settled(NamedTuple):
    """The view already has what was asked for; the asker shall be given the view again."""

    request: Request


class TellRollCall(NamedTuple):
    """Stop waiting for this member: it is suspected (not a request, the handler is suspended)."""

    suspect: Address


class WatchLeader(NamedTuple):
    leader: Address


class UnwatchLeader(NamedTuple):
    leader: Address


class CancelHeld(NamedTuple):
    """The suspension ended without a view: send a cancel to all who hold for it, end its roll call or merge (G7)."""

    suspension: Suspension
    cause: ResumeCause


Decision = (
    StartViewChange
    | StartMerge
    | AcceptMerge
    | RejectMerge
    | TellBusy
    | Settled
    | TellRollCall
    | WatchLeader
    | UnwatchLeader
    | CancelHeld
    | Event
)
