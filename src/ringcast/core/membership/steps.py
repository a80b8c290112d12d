"""What the components of membership order the node to do; the coordination carries the steps out in order.

Not effects: a driver never sees them. They exist so that membership needs to know neither streams nor windows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ringcast.core.control import NOTHING_TO_SETTLE, MergeId, NewView, Settlement, Source, Standing
from ringcast.core.effects import (
    Beat,
    Drop,
    Excluded,
    Freed,
    KeepMark,
    Left,
    Probe,
    Refused,
    SendReliable,
    Unicast,
    Warn,
)
from ringcast.core.membership.decisions import Decision
from ringcast.model import Address, Entry, Mark


class Hold(NamedTuple):
    """Send nothing new, hand out nothing more, take from these only repairs."""

    going: tuple[Address, ...]


class FillTo(NamedTuple):
    """Get, and hand out, everything up to the cut of each origin, and nothing above it."""

    cuts: dict[Address, int]
    sources: tuple[Source, ...]
    settlement: Settlement


class Release(NamedTuple):
    """The promise is over without a view: send and hand out again."""


class Adopt(NamedTuple):
    """Install this view: digest first, then view, then release."""

    message: NewView


class RaiseSuspicion(NamedTuple):
    """This member did not do what it must; raise a suspicion of it."""

    member: Address
    why: str


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


class Spread(NamedTuple):
    """Everybody who must know the view has shown it, or is suspected for not doing so."""


Step = (
    SendReliable
    | Unicast
    | Probe
    | Hold
    | FillTo
    | Release
    | Adopt
    | RaiseSuspicion
    | Complete
    | Failed
    | Digested
    | Spread
    | Drop
    | Warn
    | Beat
    | KeepMark
    | Freed
    | Left
    | Refused
    | Excluded
    | Decision
)
Steps = list[Step]
