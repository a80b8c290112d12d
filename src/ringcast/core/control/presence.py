"""Finding each other, joining, leaving, showing that one lives, the state one joined for, acks of ordered messages."""

from __future__ import annotations

from ringcast.core.control.declaration import (
    ALONE,
    ANYBODY,
    EITHER,
    FOUND,
    MEMBERS,
    NOBODY,
    ON_STREAM,
    Control,
    Row,
    message,
)
from ringcast.model import Address, Mark, Terms, ViewId


# Answered only.
@message(1, ALONE, looking=ANYBODY, in_view=ANYBODY, promised=ANYBODY)
class Hello(Control):
    """Who is there? Sent to endpoints of which no address is known yet."""

    observer: bool = False


@message(2, ALONE, looking=ANYBODY, in_view=ANYBODY, promised=ANYBODY)
class Announce(Control):
    """I am here: in this view, or still looking for one and knowing these who look too."""

    view: ViewId | None
    coordinator: Address | None
    known: tuple[Address, ...] = ()
    observer: bool = False


@message(3, ALONE, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class Heartbeat(Control):
    """I am alive, in this view, and my core loop has come this far."""

    view: ViewId | None
    progress: int


# Answered only: also a merge leader is watched.
@message(10, ALONE, looking=ANYBODY, in_view=ANYBODY, promised=ANYBODY)
class AreYouThere(Control):
    """The direct question before a suspicion; answered with a heartbeat."""


@message(4, ON_STREAM, looking=ANYBODY, in_view=ANYBODY, promised=ANYBODY)
class Join(Control):
    observer: bool
    with_state: bool
    capacity: int
    window_bytes: int
    terms: Terms | None = None  # None: said by a process that knows of none
    mark: Mark | None = None  # what I know of primary views, and as whom I vote


@message(14, ON_STREAM, looking=FOUND, in_view=NOBODY, promised=NOBODY)
class JoinRefused(Control):
    """You cannot be a member here, now or later: this is what we do not have in common."""

    why: str


@message(
    5, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY
)  # an outsider is given the view that it is not in
class Leave(Control):
    pass


@message(6, ON_STREAM, looking=FOUND, in_view=MEMBERS, promised=MEMBERS)
class Busy(Control):
    """Your join or leave was not taken; ask again later."""


@message(7, ON_STREAM, looking=FOUND, in_view=MEMBERS, promised=MEMBERS)
class Elsewhere(Control):
    """Your join or leave is for this member, not for me."""

    coordinator: Address


@message(11, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=ANYBODY)
class StateConfirmed(Control):
    """I have loaded the state I joined for; or I gave up, and this is why."""

    error: str = ""


@message(12, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=ANYBODY)
class StateProgress(Control):
    """The state I joined for is still coming."""


@message(13, ON_STREAM, looking=ANYBODY, in_view=MEMBERS, promised=ANYBODY)
class ReunionFailed(Control):
    """The states behind this MergeView do not become one, and this is why."""

    cut: ViewId
    why: str


@message(8, EITHER, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Suspicion(Control):
    """I do not hear these, or suspect them for another reason: see for yourself."""

    members: tuple[Address, ...]


@message(15, ALONE, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class AskAbout(Control):
    """I do not hear this member: do you? Answered with `Heard`, if so."""

    peer: Address


@message(26, ALONE, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Heard(Control):
    """I hear this member."""

    peer: Address


@message(49, ALONE, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Unheard(Control):
    """Rows of members of this view: the sender's own, and those of others that it passes on."""

    view: ViewId
    rows: tuple[Row, ...]


# Answered only: also one that was excluded for a bad link is asked.
@message(50, ALONE, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class AskEcho(Control):
    """Answer with `Echo`, whatever view you are in: it shows that our link is good both ways."""


@message(51, ALONE, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class Echo(Control):
    """I heard your `AskEcho`. Never sent unasked."""


@message(9, ALONE, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Stranger(Control):
    """You speak as a member, but you are not in my view."""

    view: ViewId


@message(48, ALONE, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Staged(Control):
    """I hold these senders' (by rank in the view) ordered messages up to these numbers. Said again if it is lost."""

    view: ViewId
    upto: tuple[tuple[int, int], ...]
