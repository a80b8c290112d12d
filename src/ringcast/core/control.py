"""What members say to each other about the group itself, as frozen values: views, roll calls, joins, leaves.

Reliable ones travel as bytes on the control stream between two incarnations; periodic ones (`Hello`, `Announce`,
`Heartbeat`) and others that may be lost travel alone in a `Loose` packet. `wire` gives each its number and its bytes.
Sequences are aligned where they can be: `entries` with `members`, `cuts` with the members of the base view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ringcast.model import Address, Entry, View, ViewId


class RollCallId(NamedTuple):
    """Ordered: a later base view, then a later coordinator in it, then a later attempt replaces a promise."""

    base: ViewId
    rank: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.base}/{self.rank}.{self.attempt}"


class MergeId(NamedTuple):
    """The leader's n-th merge. Armed once in its life, so a late message of an old merge can do nothing."""

    leader: Address
    number: int

    def __str__(self) -> str:
        return f"{self.leader}~{self.number}"


class Transfer(NamedTuple):
    """Who gives the state to whom, cut at which view."""

    joiner: Address
    provider: Address
    view: ViewId


class Holding(NamedTuple):
    """What a member holds of one that is going away: everything in (freed, ready], and ranges beyond a gap."""

    origin: Address
    freed: int
    ready: int
    beyond: tuple[tuple[int, int], ...] = ()


class Source(NamedTuple):
    """Where first..last of a going-away member's messages can be had; every member has taken those up to `low`."""

    origin: Address
    first: int
    last: int
    holder: Address
    low: int


class Carried(NamedTuple):
    """Which of a going-away member's ordered messages somebody holds the payloads of, as ranges of numbers."""

    origin: Address
    ranges: tuple[tuple[int, int], ...]


class Survivor(NamedTuple):
    """One who goes on to the next view, and what it reported."""

    member: Address
    carried: tuple[Carried, ...]


class Settlement(NamedTuple):
    """From this everybody who goes on settles alike what was not ordered yet: who goes, who goes on and holds what."""

    going: tuple[Address, ...] = ()
    survivors: tuple[Survivor, ...] = ()


NOTHING_TO_SETTLE = Settlement()


# ---- finding each other, joining, leaving


@dataclass(frozen=True, slots=True)
class Hello:
    """Who is there? Sent to endpoints of which no address is known yet."""


@dataclass(frozen=True, slots=True)
class Announce:
    """I am here: in this view, or still looking for one and knowing these who look too."""

    view: ViewId | None
    coordinator: Address | None
    known: tuple[Address, ...] = ()


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
class Suspicion:
    """I suspect these; you lead, so look into it."""

    members: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Stranger:
    """You speak as a member, but you are not in my view."""

    view: ViewId


# ---- the roll call


@dataclass(frozen=True, slots=True)
class Ask:
    """Answer with your digest entry and hold your sends. `going` are away already, `leaving` answer a last time."""

    id: RollCallId
    going: tuple[Address, ...]
    leaving: tuple[Address, ...]
    merge_id: MergeId | None = None  # it is the roll call of this merge


@dataclass(frozen=True, slots=True)
class Answer:
    """My own entry, what I hold of those going away, and what my windows allow."""

    id: RollCallId
    entry: Entry
    holdings: tuple[Holding, ...]
    number: int  # the highest view number I know of
    capacity: int
    window_bytes: int
    carried: tuple[Carried, ...] = ()


@dataclass(frozen=True, slots=True)
class Behind:
    """I am not in your base view yet; give it to me first."""

    id: RollCallId
    view: ViewId


@dataclass(frozen=True, slots=True)
class Refusal:
    """No answer from me to this roll call. `gone` = I am in a later view, without you."""

    id: RollCallId
    why: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Fill:
    """The cut of every member of the base view; get what you miss, of those going away from the sources."""

    id: RollCallId
    cuts: tuple[int, ...]
    sources: tuple[Source, ...]
    settlement: Settlement = NOTHING_TO_SETTLE


@dataclass(frozen=True, slots=True)
class Filled:
    id: RollCallId


@dataclass(frozen=True, slots=True)
class Cancel:
    """This roll call ended without a view: your promise is over."""

    id: RollCallId


@dataclass(frozen=True, slots=True)
class NewView:
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

    @property
    def digest(self) -> dict[Address, Entry]:
        return dict(zip(self.members, self.entries, strict=True))

    @property
    def view(self) -> View:
        return View(self.id, self.members, self.observers, self.subgroups, self.capacity, self.window_bytes)


@dataclass(frozen=True, slots=True)
class ViewAck:
    view: ViewId


@dataclass(frozen=True, slots=True)
class ViewRefusal:
    view: ViewId
    why: str


# ---- order (seed 002)


@dataclass(frozen=True, slots=True)
class Staged:
    """I hold these senders' (by rank in the view) ordered messages up to these numbers. Said again if it is lost."""

    view: ViewId
    upto: tuple[tuple[int, int], ...]


# ---- merge (seed 000)


@dataclass(frozen=True, slots=True)
class AskView:
    """Tell me your real view: what I heard may be old, or a view on its way."""


@dataclass(frozen=True, slots=True)
class ViewAnswer:
    id: ViewId
    members: tuple[Address, ...]
    observers: tuple[Address, ...]
    subgroups: tuple[tuple[Address, ...], ...]
    capacity: int
    window_bytes: int

    @classmethod
    def of(cls, view: View) -> ViewAnswer:
        return cls(view.id, view.members, view.observers, view.subgroups, view.capacity, view.window_bytes)

    @property
    def view(self) -> View:
        return View(self.id, self.members, self.observers, self.subgroups, self.capacity, self.window_bytes)


@dataclass(frozen=True, slots=True)
class Sighted:
    """I heard this outsider, in this view; you lead, so look into it."""

    peer: Address
    view: ViewId
    coordinator: Address | None


@dataclass(frozen=True, slots=True)
class MergeReq:
    """Take part in this merge, for these members that share your view. Nothing is held yet."""

    merge_id: MergeId
    view: ViewId
    members: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class MergeRsp:
    """Accepted, or rejected (the seed's merge_rejected); sent at once."""

    merge_id: MergeId
    accepted: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class MergeCall:
    """Everybody accepted: hold the roll call among your members now (the seed's GET_DIGEST) and return its outcome."""

    merge_id: MergeId


@dataclass(frozen=True, slots=True)
class MergeDigest:
    """What a roll call gave: the entry of each member from that member itself (G8), and who is missing."""

    merge_id: MergeId
    members: tuple[Address, ...]
    origins: tuple[Address, ...]  # who said each entry; aligned with members, like the next
    entries: tuple[Entry, ...]
    missing: tuple[Address, ...]
    number: int  # the highest view number in any answer
    capacity: int
    window_bytes: int


@dataclass(frozen=True, slots=True)
class MergeView:
    """The outcome, from the leader to each coordinator, which spreads it in its subgroup."""

    merge_id: MergeId
    id: ViewId
    members: tuple[Address, ...]
    observers: tuple[Address, ...]
    subgroups: tuple[tuple[Address, ...], ...]
    capacity: int
    window_bytes: int
    entries: tuple[Entry, ...]  # aligned with members

    @property
    def view(self) -> View:
        return View(self.id, self.members, self.observers, self.subgroups, self.capacity, self.window_bytes)


@dataclass(frozen=True, slots=True)
class CancelMerge:
    """This merge is over without a view."""

    merge_id: MergeId
    why: str


Control = (
    Hello
    | Announce
    | Heartbeat
    | AreYouThere
    | Join
    | Leave
    | Busy
    | Elsewhere
    | StateConfirmed
    | StateProgress
    | Suspicion
    | Stranger
    | Ask
    | Answer
    | Behind
    | Refusal
    | Fill
    | Filled
    | Cancel
    | NewView
    | ViewAck
    | ViewRefusal
    | Staged
    | AskView
    | ViewAnswer
    | Sighted
    | MergeReq
    | MergeRsp
    | MergeCall
    | MergeDigest
    | MergeView
    | CancelMerge
)
