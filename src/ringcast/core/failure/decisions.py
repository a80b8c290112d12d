"""What the failure detector decides, as values; the node turns them into effects."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ringcast.model import Address, Event


class Reason(StrEnum):
    """Why a member is suspected, and with it what clears it again."""

    SILENT = "silent"  # cleared by anything heard from it
    STALLED = "no progress"  # its heartbeats come, its core loop stands still; cleared by progress
    REPORTED = "reported from outside"  # settled by the next view
    UNHEARD = "two members do not hear each other"  # cleared when they do again


class AskIfAlive(NamedTuple):
    """Put the direct question to this peer."""

    peer: Address


class AskOthers(NamedTuple):
    """Ask these members whether they hear this peer: one bad link is not a death."""

    peer: Address
    helpers: tuple[Address, ...]


class Vouch(NamedTuple):
    """Tell this member that we hear the peer it asked about."""

    to: Address
    peer: Address


class Complain(NamedTuple):
    """Others hear this peer and we do not: tell these members, for one of us has to go if it lasts."""

    peer: Address
    tell: tuple[Address, ...]


class AssureAlive(NamedTuple):
    """This member thinks us dead: show it that we are not."""

    to: Address


class Suspect(NamedTuple):
    """Raised again until a view excludes the peer or the suspicion is cleared. `tell` = who shall hear of it."""

    peer: Address
    reason: Reason
    tell: tuple[Address, ...]


class Unsuspect(NamedTuple):
    peer: Address


class HeartbeatTo(NamedTuple):
    """From now on these expect our heartbeats."""

    peers: tuple[Address, ...]


Decision = AskIfAlive | AskOthers | Vouch | Complain | AssureAlive | Suspect | Unsuspect | HeartbeatTo | Event
