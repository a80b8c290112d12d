"""The roll call: question, answer, filling up, and the view that comes of it (DESIGN section 4)."""

from __future__ import annotations

from ringcast.core.control.declaration import (
    ANYBODY,
    FOUND,
    MEMBERS,
    NO_STATE,
    NOBODY,
    NOTHING_TO_SETTLE,
    ON_STREAM,
    Carried,
    Control,
    Holding,
    MergeId,
    Reunion,
    RollCallId,
    Settlement,
    Source,
    Standing,
    Transfer,
    message,
)
from ringcast.model import Address, Electorate, Entry, Mark, View, ViewId


@message(
    16, ON_STREAM, looking=ANYBODY, in_view=ANYBODY, promised=ANYBODY
)  # an outsider is refused, or told that we are behind
class Ask(Control):
    """Answer with your digest entry and hold your sends. `going` are away already, `leaving` answer a last time."""

    id: RollCallId
    going: tuple[Address, ...]
    leaving: tuple[Address, ...]
    merge_id: MergeId | None = None  # it is the roll call of this merge


@message(17, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Answer(Control):
    """My own entry, what I hold of those going away, and what my windows allow."""

    id: RollCallId
    entry: Entry
    holdings: tuple[Holding, ...]
    number: int  # the highest view number I know of
    capacity: int
    window_bytes: int
    carried: tuple[Carried, ...] = ()
    standing: Standing = NO_STATE
    mark: Mark | None = None  # what I know of primary views
    disk_ns: int = 0  # how long my mark file took lately to store a mark; 0: not known, or there is none
    storing_ns: int = 0  # how long it has been storing one by now; 0: it is not


@message(18, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Behind(Control):
    """I am not in your base view yet; give it to me first."""

    id: RollCallId
    view: ViewId


@message(19, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Refusal(Control):
    """No answer from me to this roll call. `gone` = I am in a later view, without you."""

    id: RollCallId
    why: str
    gone: bool = False


# Only from the asker: the follower knows it.
@message(20, ON_STREAM, looking=NOBODY, in_view=NOBODY, promised=MEMBERS)
class Fill(Control):
    """The cut of every member of the base view; get what you miss, of those going away from the sources."""

    id: RollCallId
    cuts: tuple[int, ...]
    sources: tuple[Source, ...]
    settlement: Settlement = NOTHING_TO_SETTLE
    primary: Electorate | None = None  # the view to come is this primary one: record it before you have filled up


@message(21, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Filled(Control):
    id: RollCallId


@message(22, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Cancel(Control):
    """This roll call ended without a view: your promise is over."""

    id: RollCallId


# Without a promise it is refused.
@message(23, ON_STREAM, looking=FOUND, in_view=ANYBODY, promised=ANYBODY)
class NewView(Control):
    """A view with its digest, the roll call it comes from, and the cut of the view before."""

    roll_call: RollCallId
    id: ViewId
    members: tuple[Address, ...]
    observers: tuple[Address, ...]
    subgroups: tuple[tuple[Address, ...], ...]
    capacity: int
    window_bytes: int
    entries: tuple[Entry, ...]
    cuts: tuple[int, ...]
    merge_id: MergeId | None = None
    settlement: Settlement = NOTHING_TO_SETTLE
    transfers: tuple[Transfer, ...] = ()
    reunion: Reunion | None = None
    mark: Mark | None = None
    left: tuple[Address, ...] = ()  # went of their own accord: nobody looks for them
    loading: tuple[Address, ...] = ()  # on the other sides of a merge: who still loads the state it joined with

    @property
    def notes(self) -> dict[str, object]:
        """What the recording says of this view beside its members."""
        notes: dict[str, object] = {"digest": [[list(m), *entry] for m, entry in self.digest.items()]}
        if self.merge_id is not None:
            notes["merge_id"] = str(self.merge_id)
        if self.mark is not None:
            notes["primary"] = self.mark.is_primary
            notes["votes"] = [[list(member), list(vote)] for member, vote in self.mark.votes]
            notes["quorum"] = self.mark.quorum
        return notes

    @property
    def digest(self) -> dict[Address, Entry]:
        return dict(zip(self.members, self.entries, strict=True))

    @property
    def view(self) -> View:
        limits = (self.capacity, self.window_bytes)
        return View(self.id, self.members, self.observers, self.subgroups, *limits, self.mark, self.left)


@message(24, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class ViewAck(Control):
    view: ViewId


@message(25, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class ViewRefusal(Control):
    view: ViewId
    why: str
