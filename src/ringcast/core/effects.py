"""What a machine orders its driver to do. Inputs are facts, effects are orders.

A returned list cannot be forgotten the way a queue to drain can. Trace events (`model.Event`) stand in the same
list: recording is one more thing to do. Drivers dispatch by type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ringcast.core.control import Control, Side
from ringcast.core.packets import Channel, Loose, Packet
from ringcast.model import Address, Event, Mark, Undelivered, View, ViewId
from ringcast.order import Stamp

IN_THE_STATE = {"why": "it is part of the state that is loaded", "told": "state"}
WITHOUT_STATE = {"why": "it stands behind a state that was not loaded", "told": "StateError"}


class Cast(NamedTuple):
    """Send to every other member of the view."""

    packet: Packet


class Unicast(NamedTuple):
    to: Address
    packet: Packet


class Probe(NamedTuple):
    """Send to whoever is at this endpoint: its address is not known yet."""

    endpoint: str
    packet: Packet


def send_once(to: Address, message: Control) -> Unicast:
    """One unreliable datagram."""
    return Unicast(to, Loose(message))


def probe(endpoint: str, message: Control) -> Probe:
    """One unreliable datagram to whoever is at this endpoint."""
    return Probe(endpoint, Loose(message))


class SendReliable(NamedTuple):
    """A control message, reliably and in order; to oneself it is handled at once. A driver never sees one."""

    to: Address
    message: Control


@dataclass(slots=True)
class Deliver:
    """Messages for the application, in order. When it has read them, give this back to `on_taken` (back-pressure).

    `first` and `count` are seqnos; a message that came in pieces has several. `epoch` names the stream between two
    incarnations, which may begin anew before this was read; 0 for the multicast. `is_spooled`: it went into a joiner's
    spool and was given back to `on_spooled`; `on_taken` is then for what only the reader knows. `ends` is the last
    seqno of each payload; without it they have one each, in order.
    """

    origin: Address
    channel: Channel
    payloads: list[bytes]
    first: int
    count: int
    nbytes: int
    epoch: int = 0
    is_spooled: bool = False
    ends: list[int] | None = None

    def split(self, begin: int, end: int) -> Deliver:
        """What was read of it so far, as a delivery of its own: the payloads [begin, end), but not the last one.

        This one goes on with the numbers of the rest; its list stays as it is.
        """
        last = self.first + end - begin - 1 if self.ends is None else self.ends[end - 1]
        payloads = self.payloads[begin:end]
        count, nbytes = last - self.first + 1, sum(map(len, payloads))
        front = Deliver(self.origin, self.channel, payloads, self.first, count, nbytes, self.epoch, self.is_spooled)
        self.first += front.count
        self.count -= front.count
        self.nbytes -= front.nbytes
        return front


@dataclass(slots=True)
class Dequeue(Deliver):
    """Messages in the one order, for the application: `first` and `count` are their sender's ordered numbers.

    On GROUP if they went to the whole view, on PEER if to some members (`to`). The stamp is the place of all of them:
    it is reached with the last one.
    """

    stamp: Stamp = Stamp(0, 0)  # noqa: RUF009  a tuple
    to: tuple[Address, ...] | None = None

    def split(self, begin: int, end: int) -> Dequeue:
        part = Deliver.split(self, begin, end)
        numbers = part.first, part.count, part.nbytes
        return Dequeue(part.origin, part.channel, part.payloads, *numbers, is_spooled=part.is_spooled)


class Finished(NamedTuple):
    """Queueing of these ordered messages of ours is finished: they have their place."""

    first: int
    last: int
    stamp: Stamp


class Sealed(NamedTuple):
    """Items of a stream that are for the ordering. The node opens them; a driver never sees one."""

    origin: Address
    channel: Channel
    items: list[bytes]


class Install(NamedTuple):
    """A view for the application, behind the messages of the view before."""

    view: View


class Freed(NamedTuple):
    """Acks or a view made room or progress: waiting sends and flushes should look again."""


class Spent(NamedTuple):
    """The ordering took room for multicasts: what the application may send without asking is less than it was."""


@dataclass(slots=True)
class Drop:
    """Something a peer sent was not used. Counted and traced, never an exception."""

    reason: str
    peer: Address | None
    count: int = 1


class Warn(NamedTuple):
    """For whoever operates this process: a line in its log. Nothing else follows from it."""

    words: str


class Lost(NamedTuple):
    """This member cannot go on in this view without a gap; it must leave and join again."""

    reason: str


class Refused(NamedTuple):
    """The group does not take this process, now or later."""

    why: str


class ProvideState(NamedTuple):
    """For the application, behind the view: give the joiner the state as it is here (`give_state`, `end_state`)."""

    joiner: Address
    view: ViewId


class Included(NamedTuple):
    """The views in which this member was a destination of the one order: its state includes those messages."""

    member: Address
    since: int
    before: int


class AwaitState(NamedTuple):
    """For the application, behind the view: the state comes first (`on_state_loaded`).

    What came before it is part of the state; of the one order, what went to the whole view or to one of `includes`.
    """

    provider: Address
    view: ViewId
    includes: tuple[Included, ...] = ()


class StateOver(NamedTuple):
    """A transfer ended, at the provider or at the joiner; with an error if it did not succeed."""

    joiner: Address
    error: str | None


class MergeStates(NamedTuple):
    """For the application, behind the MergeView: get the state of each side, make one of them (`on_states_merged`)."""

    cut: ViewId
    sides: tuple[Side, ...]


class AwaitMerged(NamedTuple):
    """For the application, behind the MergeView: go on when the merged state is loaded; `gives`: first give yours.

    `view`: that named who does what, the MergeView or a later one. `includes`: as of AwaitState.
    """

    cut: ViewId
    view: ViewId
    merger: Address
    gives: bool
    includes: tuple[Included, ...] = ()


class SideOver(NamedTuple):
    """The state of this giver's side is whole."""

    giver: Address


class GiveMerged(NamedTuple):
    """The merged state counts: load it, and give it to these, who were named with this view."""

    members: tuple[Address, ...]
    view: ViewId


class MergedOver(NamedTuple):
    """The merged state is whole; or there will be none, and this is why."""

    error: str | None


class KeepMark(NamedTuple):
    """Store what this member knows of primary views, so that it outlives the process; then say so (`on_mark_kept`)."""

    number: int
    mark: Mark


class Beat(NamedTuple):
    """From now on send heartbeats to these; for a driver that does so from a thread of its own."""

    peers: tuple[Address, ...]


class Left(NamedTuple):
    """This member is out, as it asked to be. Not clean: a limit was reached, and nobody confirmed it."""

    clean: bool


class Excluded(NamedTuple):
    """The others go on in a later view without this member. It goes on alone, unless the driver ends it."""

    view: ViewId


Effect = (
    Cast
    | Unicast
    | Probe
    | Deliver
    | Finished
    | Sealed
    | Install
    | Freed
    | Spent
    | Drop
    | Warn
    | Lost
    | Refused
    | ProvideState
    | AwaitState
    | StateOver
    | MergeStates
    | AwaitMerged
    | SideOver
    | GiveMerged
    | MergedOver
    | KeepMark
    | Beat
    | Left
    | Excluded
    | Undelivered
    | Event
)
