"""Floods beside a real group of three processes on loopback: what of its traffic still arrives, and what a frame costs.

One member multicasts `RATE` messages a second. A process of its own floods every member with ten frames for each
message, each as large as the message: ten times the useful traffic in packets and in bytes. Members and flooder have a
processor each where there are two, with and without the flood, so that what the flooder computes costs the members
nothing. Goodput is what the slower of the two receivers has delivered when the time is over, beside the same time
without flood, just before. A message counts once, when it is handed to the application.

    python floods.py                 the table
    python floods.py --seconds 4     each turn longer
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ringcast
from integration.strangers import GROUP, Stranger, free_port
from ringcast import Group
from ringcast.core import Loose
from ringcast.core.control import Announce, Hello
from ringcast.model import Address, Batch, Message, ViewId
from ringcast.security import Key, Keyring, Seal
from ringcast.transport import SealedTransport
from ringcast.wire import Codec

RATE = 2_000
TIMES = 10
SIZE = 200
SECONDS = 2.0
TICK = 0.002
KEPT = 64
ENOUGH = 0.8
KEY = Key(bytes(range(32)))
CPUS = sorted(os.sched_getaffinity(0))


# ---- a member, in a process of its own, that does what it is told


class Member:
    def __init__(self, group: Group) -> None:
        self.group = group
        self.read = self.sent = 0
        self.frames: list[bytes] = []  # sealed ones that it sent, as one who reads the network has them
        transport = group._driver.transport
        if isinstance(transport, SealedTransport):
            self._keep(transport)

    def _keep(self, transport: SealedTransport) -> None:
        seal = transport.seal.seal

        def kept(frame: bytes) -> bytes:
            sealed = seal(frame)
            if len(self.frames) < KEPT:
                self.frames.append(sealed)
            return sealed

        transport.seal.seal = kept  # type: ignore[method-assign]

    async def count(self) -> None:
        async for event in self.group:
            self.read += 1 if isinstance(event, Message) else len(event) if isinstance(event, Batch) else 0

    async def send(self, seconds: float) -> None:
        began = time.monotonic()
        payload, already = bytes(SIZE), self.sent
        while (passed := time.monotonic() - began) < seconds:
            due = already + int(passed * RATE)
            while self.sent < due and time.monotonic() - began < seconds:
                await self.group.send(payload)
                self.sent += 1
            await asyncio.sleep(TICK)

    def told(self) -> dict[str, Any]:
        counters = self.group._driver.transport.counters
        return {
            "endpoint": self.group.me.endpoint,
            "members": len(self.group.members),
            "view": str(self.group.view.id),
            "sent": self.sent,
            "read": self.read,
            "cpu": time.process_time(),
            "lost": sum(counters.lost.values()),
            "frames_in": counters.frames_in,
            "overflows": self.group._driver.transport.overflows,
            "frames": [frame.hex() for frame in self.frames],
        }


async def member(name: str, port: int, seed: int, key: bytes | None) -> None:
    joining = ringcast.join(
        GROUP,
        name=name,
        bind=f"127.0.0.1:{port}",
        seeds=[f"127.0.0.1:{seed}"],
        key=key,
        inspect=False,
        leave_on_sigterm=False,
    )
    async with joining as group:
        here = Member(group)
        counting = asyncio.create_task(here.count())
        loop = asyncio.get_running_loop()
        commands = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
        sending: asyncio.Task[None] | None = None
        while line := (await commands.readline()).split():
            if line[0] == b"send":
                sending = asyncio.create_task(here.send(float(line[1])))
            print(json.dumps(here.told()), flush=True)
        counting.cancel()
        del sending


# ---- the flooder, in a process of its own


Aimed = list[tuple[Stranger, bytes]]


async def flood(kind: str, seconds: float, per_second: int, told: list[dict[str, Any]]) -> None:
    """Frames to all of them in turn, so many a second to each; says how many, and how many bytes came back."""
    aimed: Aimed = await FRAMES[kind](told)
    strangers = list({id(stranger): stranger for stranger, _ in aimed}.values())
    places = [(host, int(port)) for host, _, port in (one["endpoint"].rpartition(":") for one in told)]
    print("ready", flush=True)
    sys.stdin.readline()
    before = sum(stranger.received for stranger in strangers)
    sent, lengths = _send_all(aimed, strangers, places, seconds, per_second)
    answered = sum(stranger.received for stranger in strangers) - before
    print(json.dumps({"sent": sent, "bytes": lengths, "answered": answered}), flush=True)


def _send_all(
    aimed: Aimed, strangers: list[Stranger], places: list[tuple[str, int]], seconds: float, per_second: int
) -> tuple[int, int]:
    began, sent, lengths = time.monotonic(), 0, 0
    while (passed := time.monotonic() - began) < seconds:
        for _ in range(int(passed * per_second) - sent):
            stranger, frame = aimed[sent % len(aimed)]
            for place in places:
                lengths += stranger.socket.sendto(frame, place)
            sent += 1
        for stranger in strangers:
            stranger.listen()
        time.sleep(TICK / 2)
    return sent, lengths


def _by_one(frames: list[bytes]) -> Aimed:
    stranger = Stranger("flood")
    return [(stranger, frame) for frame in frames]


async def _garbage(told: list[dict[str, Any]]) -> Aimed:
    return _by_one([Random(number).randbytes(SIZE) for number in range(KEPT)])


async def _announces(told: list[dict[str, Any]]) -> Aimed:
    """Of eight that have proved where they are, and may speak."""
    aimed: Aimed = []
    for number in range(8):
        stranger = Stranger(f"flood{number}", honest=True)
        for one in told:
            stranger.frames.clear()
            await stranger.get_known(Address("m", 1, one["endpoint"]), Loose(Hello()))
        aimed += [(stranger, frame) for frame in _announced(stranger.address)]
    Random(0).shuffle(aimed)
    return aimed


async def _unproved(told: list[dict[str, Any]]) -> Aimed:
    """Of one that names an endpoint at which nobody answers."""
    return _by_one(_announced(Address("nobody", 1, f"127.0.0.1:{free_port()}")))


def _announced(sender: Address) -> list[bytes]:
    codec = Codec(GROUP, sender)
    creators = [Address("v" * (SIZE // 4) + str(number), 1, sender.endpoint) for number in range(KEPT)]
    return [codec.encode(Loose(Announce(ViewId(7, creator), creator))) for creator in creators]


async def _forged(told: list[dict[str, Any]]) -> Aimed:
    """Sealed under the name of the right key by processes nobody knows, each frame by another."""
    return _by_one([in_the_name_of(KEY, bytes(SIZE)) for _ in range(KEPT)])


async def _changed(told: list[dict[str, Any]]) -> Aimed:
    """Frames that a member sent, with later numbers: only opening them tells that they are forged."""
    taken = [bytearray.fromhex(frame) for one in told for frame in one["frames"]]
    for number, frame in enumerate(taken):
        frame[NUMBER_AT : NUMBER_AT + 4] = (1 << 23 | number).to_bytes(4, "little")
    return _by_one([bytes(frame[: SIZE + Seal.overhead]) for frame in taken])


async def _replayed(told: list[dict[str, Any]]) -> Aimed:
    return _by_one([bytes.fromhex(frame) for one in told for frame in one["frames"]])


def in_the_name_of(key: Key, frame: bytes) -> bytes:
    """Sealed with a key of one's own under the name of the right one."""
    sealed = Seal(GROUP, Keyring((Key(b"f" * 32),)), os.urandom).seal(frame)
    return sealed[:8] + bytes.fromhex(key.name) + sealed[12:]


NUMBER_AT = Seal.overhead - 20  # of the number in a sealed frame: before the tag
FRAMES: dict[str, Callable[..., Any]] = {
    "garbage": _garbage,
    "well-formed announcements": _announces,
    "announcements in the name of nobody": _unproved,
    "forged sealed frames": _forged,
    "sealed frames of a member, changed": _changed,
    "replayed sealed frames": _replayed,
}
IN_CLEAR = ("garbage", "well-formed announcements", "announcements in the name of nobody")
SEALED = ("garbage", "announcements in the name of nobody", "forged sealed frames")
SEALED += ("sealed frames of a member, changed", "replayed sealed frames")


# ---- the table


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one flood. Rates are messages per second; the cost is CPU of a receiver per flooding frame."""

    name: str
    without: float
    during: float
    flooded: float  # frames per second at each member
    cost_us: float
    answered: float  # bytes that came back for each that was sent
    same_view: bool

    @property
    def share(self) -> float:
        return self.during / max(1.0, self.without)

    @property
    def holds(self) -> bool:
        return self.share >= ENOUGH and self.answered <= 1 and self.same_view

    def __str__(self) -> str:
        return (
            f"goodput {self.share:.0%} of {self.without:,.0f} messages/s without; {self.flooded:,.0f} frames/s at each "
            f"member, {self.cost_us:.1f} us of CPU each; {self.answered:.2f} bytes answered for each"
            + ("" if self.same_view else "; THE VIEW CHANGED")
        )


class Told:
    """A process at the other end of two pipes."""

    def __init__(self, cpu: int, *arguments: str) -> None:
        command = ["taskset", "-c", str(cpu), sys.executable, __file__, *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError("a process ended")
        return line

    def ask(self, words: str = "tell") -> dict[str, Any]:
        self.tell(words)
        answer: dict[str, Any] = json.loads(self.hear())
        return answer

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


@asynccontextmanager
async def three(key: str) -> AsyncIterator[list[Told]]:
    first = free_port()
    members = []
    try:
        for number in range(3):
            members.append(Told(CPUS[0], "--member", f"m{number}", str(first if number == 0 else 0), str(first), key))
            while members[0].ask()["members"] <= number or members[-1].ask()["members"] <= number:
                await asyncio.sleep(0.05)
        yield members
    finally:
        for one in members:
            one.end()


async def turn(members: list[Told], seconds: float) -> tuple[float, list[dict[str, Any]], list[dict[str, Any]]]:
    """Messages per second at the slower receiver; and what all say before and after."""
    before = [one.ask() for one in members]
    members[-1].ask(f"send {seconds}")
    await asyncio.sleep(seconds)
    after = [one.ask() for one in members]
    read = min(now["read"] - then["read"] for now, then in zip(after[:-1], before[:-1], strict=True))
    return read / seconds, before, after


async def flooded(members: list[Told], kind: str, seconds: float) -> Outcome:
    without, quiet_before, quiet_after = await turn(members, seconds)
    await asyncio.sleep(0.3)
    told = [one.ask() for one in members]
    flooder = Told(CPUS[-1], "--flood", kind, str(seconds + 0.4), str(TIMES * RATE))
    flooder.tell(json.dumps(told))
    flooder.hear()
    flooder.tell("go")
    await asyncio.sleep(0.2)
    during, before, after = await turn(members, seconds)
    said = json.loads(flooder.hear())
    flooder.end()
    came = after[0]["frames_in"] - before[0]["frames_in"] - (quiet_after[0]["frames_in"] - quiet_before[0]["frames_in"])
    cost = after[0]["cpu"] - before[0]["cpu"] - (quiet_after[0]["cpu"] - quiet_before[0]["cpu"])
    return Outcome(
        kind,
        without,
        during,
        came / seconds,
        1e6 * cost / max(1, came),
        said["answered"] / max(1, said["bytes"]),
        len({one["view"] for one in quiet_before + after}) == 1,
    )


async def floods(key: bool, seconds: float = SECONDS) -> list[Outcome]:
    async with three("key" if key else "") as members:
        await turn(members, seconds)  # everything is warm, and with a key frames are there to be replayed
        return [await flooded(members, kind, seconds) for kind in (SEALED if key else IN_CLEAR)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    seconds = parser.parse_args().seconds
    failed = 0
    for key in (False, True):
        for outcome in asyncio.run(floods(key, seconds)):
            print(f"flood of {outcome.name}{' (with a key)' if key else ''}: {outcome}", flush=True)
            failed += not outcome.holds
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--member"]:
        asyncio.run(member(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), KEY.secret if sys.argv[5] else None))
    elif sys.argv[1:2] == ["--flood"]:
        asyncio.run(flood(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), json.loads(sys.stdin.readline())))
    else:
        main()
