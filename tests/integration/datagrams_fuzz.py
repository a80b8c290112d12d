"""Datagrams of any size on loopback, read and sent by a given build of the native parts, and frames of any runs.

    python datagrams_fuzz.py DATAGRAMS FRAMES SEED WAKES

Says how many datagrams were read and of how many the guard was asked; ends with an error at the first one that is not
what was sent, that the guard was asked for in vain or not asked for, and at the first frame that is not the codec's.
"""

from __future__ import annotations

import random
import socket
import sys
from pathlib import Path

SIZES = (0, 1, 2, 11, 12, 13, 40, 600, 1_472, 9_000, 40_000, 65_507)
BUFFER = 65_536


class Refused(Exception):
    """A guard may raise."""


class Guard:
    """Hands on what it is asked for, changes it, drops it, or raises; and notes what it was asked for."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.asked: list[bytes] = []
        self.answer: object = None

    def __call__(self, source: object, frame: memoryview, reply_to: object) -> object:
        assert source == reply_to
        self.asked.append(bytes(frame))
        kind = self.chance.randrange(10)
        if kind == 0:
            raise Refused
        self.answer = None if kind == 1 else b"another" if kind == 2 else frame
        return self.answer


def some_passes(chance: random.Random, source: tuple[str, int], frame: bytes) -> dict[object, object]:
    """What is foretold of this source: mostly true of this frame; now and then nothing, or nonsense."""
    at = chance.randrange(len(frame) + 1)
    foretold: object = (at, frame[at : at + chance.choice([0, 1, 8, 70_000])])
    kind = chance.randrange(8)
    if kind == 0:
        return {}
    if kind == 1:
        foretold = chance.choice([(at,), (at, b"not these"), (-1, b""), (2**40, b"x"), (at, "text"), None, [at, b""]])
    return {source: foretold}


def is_foretold(passes: dict[object, object], source: tuple[str, int], frame: bytes) -> bool:
    match passes.get(source):
        case tuple((int(at), bytes(expected))):
            return 0 <= at <= len(frame) and frame[at : at + len(expected)] == expected
        case _:
            return False


def read_and_send(native: object, chance: random.Random, wakes: int) -> tuple[int, int]:
    read = asked = 0
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as here, socket.socket(family, socket.SOCK_DGRAM) as there:
            for sock in (here, there):
                sock.bind((host, 0))
                sock.setblocking(False)
            source = there.getsockname()[:2]
            to = native.address(*here.getsockname()[:2])  # type: ignore[attr-defined]
            reader = native.Reader(here.fileno(), bytearray(BUFFER), 1, 600, 4)  # type: ignore[attr-defined]
            for _ in range(wakes):
                frames = [chance.randbytes(chance.choice(SIZES[: chance.choice([6, 12])])) for _ in range(3)]
                first = chance.randrange(3)
                sent = native.send_all(there.fileno(), to, frames, first)  # type: ignore[attr-defined]
                assert sent == (3 - first, sum(map(len, frames[first:])), 0), sent
                for frame in frames[first:]:
                    asked += one_read(reader, chance, source, frame)
                    read += 1
            reader.close()
            assert list(reader.wake(None, None)) == []
    return read, asked


def one_read(reader: object, chance: random.Random, source: tuple[str, int], frame: bytes) -> bool:
    """A wake of one read. Was the guard asked?"""
    guard = Guard(chance) if chance.random() < 0.9 else None
    passes = some_passes(chance, source, frame)
    wake = reader.wake(guard, passes)  # type: ignore[attr-defined]
    try:
        got = next(wake, None)
    except (Refused, OverflowError):
        return True
    if guard is None or is_foretold(passes, source, frame):
        assert bytes(got) == frame and (guard is None or guard.asked == [])
        return False
    assert guard.asked == [frame], "the guard was not asked, or for something else"
    assert got == guard.answer
    return True


def frames_of_runs(native: object, chance: random.Random, rounds: int) -> None:
    from ringcast.core import Channel, Envelope, Piece, Run
    from ringcast.model import Address, ViewId
    from ringcast.wire import codec

    me = Address("me", 7, "mem:me")
    for _ in range(rounds):
        each = chance.choice([0, 1, 100, 65_535, 65_536])
        kind = chance.choice([bytes, bytes, bytes, Piece, Envelope])
        items = [kind(chance.randbytes(chance.choice([each, each, 3]))) for _ in range(chance.choice([1, 2, 50]))]
        run = Run(Channel.GROUP, ViewId(1, me), me, chance.choice([1, 2**63 - 1]), 0, items, sum(map(len, items)))
        head, tag = chance.randbytes(chance.randrange(40)), chance.randbytes(chance.randrange(20))
        frame = native.run_frame(head, tag, run.channel, run.first, run.low, items)  # type: ignore[attr-defined]
        assert (frame is None) == (kind is not bytes or max(map(len, items)) > 65_535)
        assert frame is None or frame == b"".join([head, *codec.pack_run(run, me, tag)])


def main(datagrams: str, frames: str, seed: str, wakes: str) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from integration.native_build import load_native

    chance = random.Random(f"datagrams {seed}")
    print(*read_and_send(load_native(Path(datagrams)), chance, int(wakes)))
    frames_of_runs(load_native(Path(frames)), chance, int(wakes))


if __name__ == "__main__":
    main(*sys.argv[1:])
