"""What members say to each other, as values. `wire` turns them into bytes and back.

A packet belongs to a channel and, on it, to a tag: on GROUP the tag is the id of the view it was sent in, on PEER
and CONTROL it is the epoch of the stream between two incarnations. Items of a run are bytes on every channel;
control messages are encoded by the codec that the node was given, so that they can be fragmented like anything else.
Not frozen: a packet is built once per run on the hot path, and never changed once the core has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from ringcast.core.control import Control
from ringcast.model import Address, ViewId


class Channel(IntEnum):
    GROUP = 0  # multicast to the view
    PEER = 1  # the application's stream to one peer (unicast, subsets)
    CONTROL = 2  # view, merge and order messages to one peer; never waits behind data
    STATE = 3  # the application's state, from a provider to a joiner


Tag = ViewId | int


class Piece(bytes):
    """A fragment that has more to follow; the next item of the stream that is not a Piece completes the message."""


class Envelope(bytes):
    """An item for the ordering of this member, not for its application. Never in one run with other items."""


@dataclass(slots=True)
class Run:
    """Consecutive messages of `origin`, whoever sends them (a survivor may repair a crashed sender's)."""

    channel: Channel
    tag: Tag
    origin: Address
    first: int
    low: int
    items: list[bytes]
    nbytes: int
    each: int = field(default=0, compare=False)  # the length of every item, where that is known; else 0
    has_pieces: bool = field(default=False, compare=False)  # several frames in one run, and some items are pieces


@dataclass(slots=True)
class Ack:
    """I have taken everything of your stream up to here."""

    channel: Channel
    tag: Tag
    upto: int


@dataclass(slots=True)
class Request:
    """Please send these of origin's messages again (inclusive ranges, bounded)."""

    channel: Channel
    tag: Tag
    origin: Address
    ranges: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Highest:
    """My highest seqno and my low: repairs lost last messages and lost last acks, and frees retained slots."""

    channel: Channel
    tag: Tag
    high: int
    low: int


@dataclass(slots=True)
class Unrepairable:
    """What you asked for is at or below my low: I no longer have it. A broken promise (never a silent stall)."""

    channel: Channel
    tag: Tag
    low: int


@dataclass(slots=True)
class Reset:
    """I know nothing of this stream's beginning: begin again under a new epoch."""

    channel: Channel
    tag: Tag


@dataclass(slots=True)
class Loose:
    """One control message that may be lost: nothing is repeated, nothing waits for it."""

    message: Control
    channel: Channel = Channel.CONTROL
    tag: Tag = 0


Packet = Run | Ack | Request | Highest | Unrepairable | Reset | Loose


def described(packet: Packet) -> str:
    if isinstance(packet, Loose):
        return f"{type(packet.message).__name__} alone in a datagram"
    return f"{type(packet).__name__} on the {packet.channel.name} channel"
