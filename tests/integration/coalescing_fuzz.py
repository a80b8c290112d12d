"""Wakes full of whole and spoiled frames, read by a given build of the native reader and by the plain one.

    python coalescing_fuzz.py MODULE SEED WAKES

Says how many frames it read and how many runs came of them; ends with an error at the first wake that the two read
differently. Each frame lies in memory of exactly its size, so that a sanitizer sees any step beyond it.
"""

from __future__ import annotations

import random
import sys
from array import array
from pathlib import Path

from ringcast.core import Ack, Channel, Drop, Envelope, Highest, Packet, Piece, Run
from ringcast.model import Address, ViewId
from ringcast.wire import Codec

ME = Address("me", 7, "mem:me")
SENDERS = [Address("s" * (number % 3) + str(number), number, "mem:" + "x" * (number % 5)) for number in range(80)]
WRITERS = [Codec("g", sender) for sender in SENDERS]
VIEWS = [ViewId(1, SENDERS[0]), ViewId(2, SENDERS[0]), ViewId(1, SENDERS[1]), ViewId(2**48, Address("s", 1, ""))]
HEAD, ADDRESS = 12, 10
EDGES = [0, 1, 2, 255, 32_768, 32_769, 65_535, 2**31, 2**32 - 1, 2**63 - 2, 2**63 - 1, 2**63, 2**64 - 1]
# Where the fields of a run begin behind the head, and how long they are: channel, flags, count, first, low.
FIELDS = [(0, 1), (1, 1), (1, 1), (2, 4), (6, 8), (14, 8)]


def some_items(chance: random.Random) -> list[bytes]:
    length, count = chance.randrange(1, 40), chance.randrange(1, 6)
    kind = chance.randrange(20)
    if kind == 0:
        return [b"y"] * chance.choice([1_023, 1_024, 1_025, 3_000])
    if kind <= 4:
        return [Piece(b"p" * length)]
    if kind <= 7:
        return [Envelope(b"e" * (length % 9))] * count
    if kind <= 11:
        return [b"z" * chance.randrange(6) for _ in range(count)]
    return [b"x" * length] * count


def spoil(chance: random.Random, frame: bytes, head_end: int) -> bytes:
    """Another value in a field, another byte anywhere, an end that comes too early or too late."""
    spoiled = bytearray(frame)
    kind = chance.randrange(4)
    if kind == 0:
        at, size = chance.choice(FIELDS)
        value = chance.choice([*EDGES, *range(32)]) % 256**size
        spoiled[head_end + at : head_end + at + size] = value.to_bytes(size, "little")
    elif kind == 1:
        spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
    elif kind == 2:
        del spoiled[chance.randrange(len(spoiled)) :]
    else:
        spoiled += bytes(chance.randrange(1, 4))
    return bytes(spoiled)


def some_fence(chance: random.Random, view: ViewId, run: Run) -> Packet:
    """What ends the runs before it: this run to one peer, or an ack or an announcement on one of two channels."""
    channel, tag = chance.choice([(Channel.GROUP, view), (Channel.PEER, chance.randrange(1, 4))])
    high = chance.choice([0, 5, run.first, 2**63 - 1])
    low = chance.randint(0, high)
    fences: list[Packet] = [run, Ack(channel, tag, high), Highest(channel, tag, high, low)]
    return chance.choice(fences)


def some_wake(chance: random.Random) -> list[bytes]:
    """Runs that mostly continue each other, of few senders or of more than are remembered."""
    many = chance.choice([1, 2, 3, 20, len(SENDERS)])
    following = [1] * many
    frames: list[bytes] = []
    for _ in range(chance.choice([5, 30, 2 * many])):
        who = chance.randrange(many)
        items, view = some_items(chance), VIEWS[max(0, chance.randrange(-20, len(VIEWS)))]
        first = max(1, following[who] + chance.choice([0] * 10 + [1, -1]))
        origin = chance.choice([SENDERS[who]] * 9 + [SENDERS[3]])
        low = chance.choice([0, 0, 0, first // 2, first - 1])
        packet: Packet = Run(Channel.GROUP, view, origin, first, low, items, sum(map(len, items)))
        following[who] = first + len(items)
        if chance.random() < 0.1:
            packet = some_fence(chance, view, Run(Channel.PEER, 3, origin, first, low, items, 0))
        frame = WRITERS[who].encode(packet, chance.choice([None, None, None, ME]))
        head_end = HEAD + ADDRESS + len(SENDERS[who].name) + len(SENDERS[who].endpoint)
        frames.append(spoil(chance, frame, head_end) if chance.random() < 0.15 else frame)
    return frames


def seen(decoded: list[tuple[Address, Packet] | Drop]) -> list[object]:
    """With what equality does not see: the types of items and what a run says of itself."""
    return [(each, *_details(each[1])) if not isinstance(each, Drop) else each for each in decoded]


def _details(packet: Packet) -> tuple[object, ...]:
    if not isinstance(packet, Run):
        return ()
    assert packet.each in (0, *{len(item) for item in packet.items}), packet
    assert not packet.each or len({len(item) for item in packet.items}) == 1, packet
    return packet.has_pieces, list(map(type, packet.items))


def main(module: str, seed: str, wakes: str) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from integration.native_build import load_native

    native = load_native(Path(module))
    from ringcast.runtime.coalescing import coalesced, join

    chance = random.Random(f"coalescing {seed}")
    frames = runs = 0
    for number in range(int(wakes)):
        if number % 10 == 0:  # known heads are remembered from wake to wake
            plain, quick = (
                Codec("g", ME),
                native.Coalescer(Codec("g", ME).decode, join, Run, Piece, Channel.GROUP, Ack, Highest),
            )
        wake = some_wake(chance)
        read = quick([memoryview(array("B", frame)) for frame in wake])
        assert seen(read) == seen(coalesced(plain.decode, wake)), (number, [frame.hex() for frame in wake])
        frames += len(wake)
        runs += len(read)
    print(frames, runs)


if __name__ == "__main__":
    main(*sys.argv[1:])
