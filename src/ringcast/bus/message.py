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
    """Messages of one sender with one seq; `first` is the number of the first of them.

    `incarnation` tells apart two who used one name, one after the other; 0 where a run was dequeued and given back.
    """

    sender: str
    first: int
    seq: int
    payloads: list[bytes]
    incarnation: int


class PeerLeft(NamedTuple):
    """A peer is gone. Ordered with the data: behind all that it had committed, at one place for everybody."""

    name: str
    cause: Cause
    seq: int
    incarnation: int


def messages(items: list[Run | PeerLeft]) -> list[Message | PeerLeft]:
    """Runs taken apart into single messages."""
    flat: list[Message | PeerLeft] = []
    for item in items:
        if isinstance(item, PeerLeft):
            flat.append(item)
        else:
            sender, first, seq, payloads, _ = item
            flat += [Message(sender, payload, seq, first + index) for index, payload in enumerate(payloads)]
    return flat
