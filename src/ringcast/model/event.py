"""What happened at a member, as one value: the common currency of recordings, checkers, pipeline and page.

An event describes a run (first, count) wherever it can, so a recording grows with packets and not with messages.
The meaning of each field per kind is documented in docs/design/trace.md. Version 1.
Not a log line: an event carries what a guarantee needs to be judged, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from zlib import crc32

from ringcast.model.address import Address
from ringcast.model.view import View, ViewId

# The digest of what a run carries: equal content under equal seqnos, whoever computes it and however runs are cut.
#
# Each message counts as the CRC-32 of its bytes, begun with the seqno of its last item, plus one; a run is the sum of
# the messages that end in it. So runs that follow each other are added, and two members that cut them differently can
# be compared wherever both end a run. One call into C per message. Not a proof against forgery: it finds mistakes and
# members that deliver something else, not who computes collisions.


INCOMPLETE = -1  # of a run in which a message was too large to be taken: it cannot be compared


def content_of(first: int, messages: Sequence[bytes], ends: Iterable[int] | None = None) -> int:
    """Of whole messages: one for each seqno from `first` on, or each with its last seqno."""
    numbers = range(first, first + len(messages)) if ends is None else ends
    return sum(map(crc32, messages, numbers)) + len(messages)


STREAMS_PER_EPOCH = 4  # stream number = epoch * this + channel: 1 private messages, 2 control, 3 state; 0 = multicast
SCHEMA_VERSION = 1


class Kind(IntEnum):
    """Numbers are part of the file format: never change one, only add."""

    # the recording itself
    START = 1  # detail: config, version, seed, group
    CLOSED = 2  # the member ended in good order; without it the recording is cut
    # multicast and streams (seed 003)
    SEND = 10  # a run took its seqnos: first, count, value = occupancy after, other = low
    DELIVER = 11  # a run became ready, in order: peer = sender, ordinal = own delivery ordinal of its first message
    ACK = 12  # an ack arrived: peer = who, value = up to
    PURGE = 13  # first, count left the send window; value = new low
    TAKEN = 14  # acks report the run from now on: peer = sender, first, count; value = 1: nothing in it is to be read
    REQUEST = 15  # asked peer for first, count
    REPAIR = 16  # sent first, count again to peer; detail.origin = whose, if not our own
    DROP = 17  # peer's packet dropped, detail.reason; count = messages in it
    OFFSET = 18  # a window for peer starts (or is reset forward) at value; detail.cause = join | merge | view
    WINDOW = 19  # occupancy of peer's receive window: value = held, other = capacity
    STREAM = 20  # a stream to or from peer begins: stream = its id, detail.epoch
    UNDELIVERED = 24  # first, count were not acked by peer when it left: given up; value = messages it is told of
    # what the application gets (G15)
    HANDED = 21  # given to the application's code: peer = sender, first, count; value = 1: numbers of the one order
    UNREAD = 22  # delivered and not given to it: as HANDED; detail.why, detail.told = the error it gets, or "closed"
    SPOOLED = 23  # into a joiner's spool: as HANDED; other = 1: ordered, to some members. An UNREAD without peer is for
    # everything in the spool; if it tells of a state, not for private messages nor for ordered ones to some members
    # waits (G14)
    WAIT_START = 30  # detail.what, value = wait number
    WAIT_END = 31  # detail.how, value = wait number
    # membership (seed 004)
    VIEW = 40  # view installed: detail.members, previous, merge subgroups, digest
    ROLL_CALL = 41  # detail.step
    SUSPEND = 42  # the view handler was suspended: detail.cause
    RESUME = 43  # ... and resumed: detail.cause (one of the four of seed 004)
    SUSPECT = 44  # peer is suspected
    REQUESTED = 45  # JOIN, LEAVE, ... arrived at the handler: detail.what, detail.answer
    # merge (seed 000)
    MERGE = 50  # detail.step, detail.merge_id
    DIGEST = 51  # an entry entered a consolidation: peer = whose, detail.origin = who said it
    REUNION = 52  # the states of a MergeView (view) become one: detail.step
    STATE = 53  # the application's state, cut at view, to or from peer: detail.step, value = bytes, detail.digest (G18)
    # order (seed 002)
    QUEUE_START = 60  # first, count = sender's own numbers; detail.to
    QUEUE_FINISH = 61  # value = seq of the first
    DEQUEUE = 62  # peer = sender, first, count, ordinal, value = seq
    ABORTED = 63  # a staged run of a dead or fenced peer was dropped
    NOTICE = 64  # peer attached, detached or died: detail.what
    # the harness
    FAULT = 70  # detail: what was injected
    HEAL = 71


# What every message brings with it; all other kinds change the course of a run, or are rare.
TRAFFIC = frozenset(
    (
        *(Kind.SEND, Kind.DELIVER, Kind.ACK, Kind.PURGE, Kind.TAKEN, Kind.HANDED, Kind.UNREAD),
        *(Kind.SPOOLED, Kind.DROP, Kind.WAIT_START, Kind.WAIT_END, Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE),
        *(Kind.OFFSET, Kind.WINDOW, Kind.DIGEST, Kind.STREAM),
    )
)


@dataclass(slots=True)
class Event:
    """`stream` 0 is the group's multicast; others are numbered per member. Unused fields keep their defaults.

    Not frozen, only because building a frozen one costs three times as much on the data plane; nobody changes one.
    """

    kind: Kind
    t_ns: int
    view: ViewId | None = None
    peer: Address | None = None
    stream: int = 0
    first: int = 0
    count: int = 0
    ordinal: int = 0
    value: int = 0
    other: int = 0
    detail: Mapping[str, Any] | None = None
    content: int = 0  # SEND, DELIVER: digest of what the run carries (content_of); below 0: not all was taken


def view_events(
    now_ns: int, view: View, previous: View | None, starts: Mapping[Address, int], notes: Mapping[str, object]
) -> list[Event]:
    """What the recording says of a view: an OFFSET for each window that is set, then the VIEW.

    `starts` = where windows were created or reset; `notes` = what else belongs into the VIEW.
    """
    cause = "merge" if view.is_merge else "join" if previous is None else "view"
    offsets = [
        Event(Kind.OFFSET, now_ns, view.id, member, value=start, detail={"cause": cause})
        for member, start in starts.items()
    ]
    detail: dict[str, object] = {
        "members": [list(member) for member in view.members],
        "observers": [list(member) for member in view.observers],
        "previous": None if previous is None else [previous.id.number, list(previous.id.creator)],
        "subgroups": [[list(member) for member in subgroup] for subgroup in view.subgroups],
        "capacity": view.capacity,
        "window_bytes": view.window_bytes,
    }
    return [*offsets, Event(Kind.VIEW, now_ns, view.id, detail=detail | dict(notes))]
