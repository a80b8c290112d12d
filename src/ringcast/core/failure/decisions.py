"""What the failure detector finds out: suspicions and their end. What it sends are effects."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ringcast.core.effects import Beat, Unicast
from ringcast.model import Address, Event


class Reason(StrEnum):
    """Why a member is suspected, and with it what clears it again."""

    SILENT = "silent"  # cleared by anything heard from it
    STALLED = "no progress"  # its heartbeats come, its core loop stands still; cleared by progress
    REPORTED = "reported from outside"  # settled by the next view
    UNHEARD = "two members do not hear each other"  # cleared when they do again


class Suspect(NamedTuple):
    """Raised again until a view excludes the peer or the suspicion is cleared. `tell` = who shall hear of it."""

    peer: Address
    reason: Reason
    tell: tuple[Address, ...]


class Unsuspect(NamedTuple):
    peer: Address


Decision = Suspect | Unsuspect | Unicast | Beat | Event
