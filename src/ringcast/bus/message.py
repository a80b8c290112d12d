"""What goes into a bus and what comes out of it: payloads, messages, runs of them, notices that a peer left."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

Payload: TypeAlias = bytes | bytearray | memoryview
Policy: TypeAlias = Literal["wait", "raise"]
Cause: TypeAlias = Literal["detached", "died", "stalled", "evicted"]

#: By the number that the shared layout gives each cause.
CAUSES: Final[tuple[Cause, ...]] = ("detached", "detached", "died", "stalled", "evicted")


class Message(NamedTuple):
    """One message as one peer received it.

    `seq` is its place in the one order (the messages of a batch share it, and come in the order of their numbers);
    `number` counts the messages of its sender from 1.
    """

    sender: str
    payload: bytes
    seq: int
    number: int


class Run(NamedTuple):
    """Messages of one sender with one seq; `first` is the number of the first of them."""

    sender: str
    first: int
    seq: int
    payloads: list[bytes]


class PeerLeft(NamedTuple):
    """A peer is gone. Ordered with the data: behind all that it had committed, at one place for everybody."""

    name: str
    cause: Cause
    seq: int


def left(name: str, cause: int, seq: int) -> PeerLeft:
    return PeerLeft(name, CAUSES[cause], seq)
