"""Finding each other, joining, leaving, showing that one lives, and the state one joined for."""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.model import Address, Mark, Terms, ViewId


@dataclass(frozen=True, slots=True)
class Hello:
    """Who is there? Sent to endpoints of which no address is known yet."""

    observer: bool = False


@dataclass(frozen=True, slots=True)
class Announce:
    """I am here: in this view, or still looking for one and knowing these who look too."""

    view: ViewId | None
    coordinator: Address | None
    known: tuple[Address, ...] = ()
    observer: bool = False


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """I am alive, in this view, and my core loop has come this far."""

    view: ViewId | None
    progress: int


@dataclass(frozen=True, slots=True)
class AreYouThere:
    """The direct question before a suspicion; answered with a heartbeat."""


@dataclass(frozen=True, slots=True)
class Join:
    observer: bool
    with_state: bool
    capacity: int
    window_bytes: int
    terms: Terms | None = None  # None: said by a process that knows of none
    mark: Mark | None = None  # what I know of primary views, and as whom I vote


@dataclass(frozen=True, slots=True)
class JoinRefused:
    """You cannot be a member here, now or later: this is what we do not have in common."""

    why: str


@dataclass(frozen=True, slots=True)
class Leave:
    pass


@dataclass(frozen=True, slots=True)
class Busy:
    """Your join or leave was not taken; ask again later."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Your join or leave is for this member, not for me."""

    coordinator: Address


@dataclass(frozen=True, slots=True)
class StateConfirmed:
    """I have loaded the state I joined for; or I gave up, and this is why."""

    error: str = ""


@dataclass(frozen=True, slots=True)
class StateProgress:
    """The state I joined for is still coming."""


@dataclass(frozen=True, slots=True)
class ReunionFailed:
    """The states behind this MergeView do not become one, and this is why."""

    cut: ViewId
    why: str


@dataclass(frozen=True, slots=True)
class Suspicion:
    """I do not hear these, or suspect them for another reason: see for yourself."""

    members: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class AskAbout:
    """I do not hear this member: do you? Answered with `Heard`, if so."""

    peer: Address


@dataclass(frozen=True, slots=True)
class Heard:
    """I hear this member."""

    peer: Address


@dataclass(frozen=True, slots=True)
class Stranger:
    """You speak as a member, but you are not in my view."""

    view: ViewId
