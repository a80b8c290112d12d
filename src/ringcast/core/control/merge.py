"""What coordinators say to each other to become one group again (seed 000)."""

from __future__ import annotations

from ringcast.core.control.declaration import ALONE, ANYBODY, MEMBERS, NOBODY, ON_STREAM, Control, MergeId, message
from ringcast.model import Address, Electorate, Entry, Mark, Terms, View, ViewId


# Answered only.
@message(32, ALONE, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class AskView(Control):
    """Tell me your real view: what I heard may be old, or a view on its way."""


@message(33, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class ViewAnswer(Control):
    id: ViewId
    members: tuple[Address, ...]
    observers: tuple[Address, ...]
    subgroups: tuple[tuple[Address, ...], ...]
    capacity: int
    window_bytes: int
    mark: Mark | None = None
    acting: Address | None = None  # who coordinates that view, as far as this member knows

    @classmethod
    def of(cls, view: View, acting: Address | None = None) -> ViewAnswer:
        limits = (view.capacity, view.window_bytes)
        return cls(view.id, view.members, view.observers, view.subgroups, *limits, view.mark, acting)

    @property
    def view(self) -> View:
        limits = (self.capacity, self.window_bytes)
        return View(self.id, self.members, self.observers, self.subgroups, *limits, self.mark)


@message(34, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class Sighted(Control):
    """I heard this outsider, in this view; you lead, so look into it."""

    peer: Address
    view: ViewId
    coordinator: Address | None


@message(35, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class MergeReq(Control):
    """Take part in this merge, for these members that share your view. Nothing is held yet."""

    merge_id: MergeId
    view: ViewId
    members: tuple[Address, ...]
    terms: Terms | None = None


@message(36, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class MergeRsp(Control):
    """Accepted, or rejected (the seed's merge_rejected); sent at once.

    `terms`: rejected because these are ours. `coordinator`: ask that one, not me.
    """

    merge_id: MergeId
    accepted: bool
    why: str = ""
    terms: Terms | None = None
    coordinator: Address | None = None


@message(37, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class MergeCall(Control):
    """Everybody accepted: hold the roll call among your members now (the seed's GET_DIGEST) and return its outcome."""

    merge_id: MergeId


@message(38, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class MergeDigest(Control):
    """What a roll call gave: the entry of each member from that member itself (G8), and who is missing."""

    merge_id: MergeId
    members: tuple[Address, ...]
    origins: tuple[Address, ...]  # who said each entry; aligned with members, like the next
    entries: tuple[Entry, ...]
    missing: tuple[Address, ...]
    number: int  # the highest view number in any answer
    capacity: int
    window_bytes: int
    mark: Mark | None = None  # what they know of primary views
    stateless: tuple[Address, ...] = ()  # who has not loaded the state it joined with


@message(39, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class MergeView(Control):
    """The outcome, from the leader to each coordinator, which spreads it in its subgroup."""

    merge_id: MergeId
    id: ViewId
    members: tuple[Address, ...]
    observers: tuple[Address, ...]
    subgroups: tuple[tuple[Address, ...], ...]
    capacity: int
    window_bytes: int
    entries: tuple[Entry, ...]  # aligned with members
    mark: Mark | None = None
    stateless: tuple[Address, ...] = ()  # who has not loaded the state it joined with

    @property
    def view(self) -> View:
        limits = (self.capacity, self.window_bytes)
        return View(self.id, self.members, self.observers, self.subgroups, *limits, self.mark)


@message(40, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class CancelMerge(Control):
    """This merge is over without a view."""

    merge_id: MergeId
    why: str


@message(44, ON_STREAM, looking=NOBODY, in_view=ANYBODY, promised=ANYBODY)
class Relayed(Control):
    """One message of a merge between two coordinators that do not hear each other, through a member that hears both."""

    origin: Address
    to: Address
    request: MergeReq | None = None
    answer: MergeRsp | None = None
    call: MergeCall | None = None
    digest: MergeDigest | None = None
    outcome: MergeView | None = None
    cancel: CancelMerge | None = None

    @classmethod
    def of(cls, origin: Address, to: Address, message: Relayable) -> Relayed:
        match message:
            case MergeReq():
                return cls(origin, to, request=message)
            case MergeRsp():
                return cls(origin, to, answer=message)
            case MergeCall():
                return cls(origin, to, call=message)
            case MergeDigest():
                return cls(origin, to, digest=message)
            case MergeView():
                return cls(origin, to, outcome=message)
            case CancelMerge():
                return cls(origin, to, cancel=message)

    @property
    def message(self) -> Relayable | None:
        """What is relayed; None if it is not exactly one message."""
        parts = (self.request, self.answer, self.call, self.digest, self.outcome, self.cancel)
        found = [part for part in parts if part is not None]
        return found[0] if len(found) == 1 else None


@message(43, ON_STREAM, looking=NOBODY, in_view=MEMBERS, promised=MEMBERS)
class PrimaryElsewhere(Control):
    """The primary side has gone on, in this view or a later one: if you are not in it, go there."""

    primary: Electorate


Relayable = MergeReq | MergeRsp | MergeCall | MergeDigest | MergeView | CancelMerge
