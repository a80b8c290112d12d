"""What strangers do to a group of three over TCP, with a key, with certificates, and to its probes: a table.

One member multicasts `RATE` messages a second of `SIZE` bytes. A process of its own attacks all three: at most ten
times the bytes of these messages, at most half a core of its own CPU, for a few seconds; then it ends by itself. It
comes from another address of loopback, and where it says so from the members' own. Asked of each member are what it
read, its longest turn of the loop, how its memory grew, the lines it logged and the connections it had to make again;
and a probe asks `/healthz` ten times a second.

    python stream_floods.py                 the table
    python stream_floods.py --only empty    attacks of which the name has this word
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ringcast
from conformance.certificates import Authority
from integration.strangers import GROUP
from ringcast.lab import free_ports
from ringcast.model import Batch, Message
from ringcast.security import Keyring, new_key, write_keyring

RATE = 5_000
SIZE = 200
SECONDS = 3.0
BYTES_PER_SECOND = 10 * RATE * SIZE
CPU_SHARE = 0.5
ENOUGH = 0.8
LONGEST_TURN_S = 0.2
MOST_GROWTH = 64 << 20
MOST_LINES = 100
TICK_S = 0.005
ELSEWHERE, HERE = "127.0.0.9", "127.0.0.1"
SECURITY = ("clear", "key", "certificates")


# ---- a member, in a process of its own


class Watch(logging.Handler):
    """Longest turn of the loop and lines of the log, since it was last asked."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines, self.longest, self._before = 0, 0.0, time.monotonic()
        logging.getLogger().addHandler(self)
        self._turn()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += 1

    def _turn(self) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self._before - TICK_S)
        self._before = now
        asyncio.get_running_loop().call_later(TICK_S, self._turn)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def member(options: dict[str, Any]) -> None:
    async with ringcast.join(GROUP, transport="tcp", inspect=False, leave_on_sigterm=False, **options) as group:
        read, sending, watch = 0, None, Watch()

        async def count() -> None:
            nonlocal read
            async for event in group:
                read += 1 if isinstance(event, Message) else len(event) if isinstance(event, Batch) else 0

        async def send(seconds: float) -> None:
            began, sent = time.monotonic(), 0
            while (passed := time.monotonic() - began) < seconds:
                while sent < int(passed * RATE) and time.monotonic() - began < seconds:
                    await group.send(bytes(SIZE))
                    sent += 1
                await asyncio.sleep(TICK_S)

        counting = asyncio.create_task(count())
        commands = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
        while line := (await commands.readline()).split():
            counters = group._driver.transport.counters
            told = {"members": len(group.members), "view": str(group.view.id), "read": read, "memory": resident()}
            told |= {"turn": watch.longest, "lines": watch.lines, "connects": counters.connects}
            told |= {"endpoint": group.me.endpoint, "lost": counters.lost}
            print(json.dumps(told), flush=True)
            watch.longest, watch.lines = 0.0, 0
            if line[0] == b"send":
                sending = asyncio.create_task(send(float(line[1])))
        counting.cancel()
        del sending


# ---- the attacker, in a process of its own


class Pace:
    """So many bytes a second, so much of a core; `go` says whether there is time left."""

    def __init__(self, seconds: float) -> None:
        self._began, self._seconds, self.sent = time.monotonic(), seconds, 0

    def go(self) -> bool:
        while (passed := time.monotonic() - self._began) < self._seconds:
            if self.sent <= passed * BYTES_PER_SECOND and time.process_time() <= 0.2 + passed * CPU_SHARE:
                return True
            time.sleep(0.002)
        return False


def connected(source: str, to: tuple[str, int]) -> socket.socket | None:
    line = socket.socket()
    line.settimeout(1)
    try:
        line.bind((source, 0))
        line.connect(to)
    except OSError:
        line.close()
        return None
    line.setblocking(False)
    return line


def hello(endpoint: str) -> bytes:
    return struct.pack("!4sBB", b"rcst", 1, len(endpoint)) + endpoint.encode()


def streams(aim: Aim, pace: Pace, data: Callable[[str], bytes], at_once: int = 8) -> None:
    """A few connections to each, made again when they are closed, and as much on them as the pace allows."""
    lines: dict[tuple[int, int], socket.socket | None] = {}
    while pace.go():
        for number in range(at_once):
            for index, place in enumerate(aim.places):
                line = lines.get((number, index))
                if line is None:
                    line = lines[number, index] = connected(aim.source, place)
                    if line is not None:
                        with suppress(OSError):
                            line.send(hello(f"{aim.source}:{7_000 + number}"))
                    continue
                try:
                    pace.sent += line.send(data(aim.other(index))[: BYTES_PER_SECOND // 50])
                except BlockingIOError:
                    pass
                except OSError:
                    line.close()
                    lines[number, index] = None


def churn(aim: Aim, pace: Pace, first: Callable[[str], bytes], per_second: int, kept: int = 256) -> None:
    """So many connections a second to each, the last ones left open, with one thing said on each."""
    lines: list[socket.socket] = []
    began, made = time.monotonic(), 0
    while pace.go():
        if made > (time.monotonic() - began) * per_second:
            time.sleep(0.001)
            continue
        made += 1
        for index, place in enumerate(aim.places):
            line = connected(aim.source, place)
            if line is None:
                continue
            with suppress(OSError):
                pace.sent += line.send(said) if (said := first(aim.other(index))) else 0
            lines.append(line)
        while len(lines) > kept:
            lines.pop(0).close()


def drip(aim: Aim, pace: Pace) -> None:
    """Frames of 64 KiB, a byte at a time, on many connections."""
    lines = [line for _ in range(30) for place in aim.places if (line := connected(aim.source, place)) is not None]
    for number, line in enumerate(lines):
        with suppress(OSError):
            line.send(hello(f"{aim.source}:{7_000 + number}") + struct.pack("!I", 65_000) + bytes(60_000))
    while pace.go():
        for line in lines:
            with suppress(OSError):
                pace.sent += line.send(b"x")
        time.sleep(0.01)


def client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    return out.read()


@dataclass(frozen=True, slots=True)
class Aim:
    source: str
    endpoints: list[str]
    metrics: list[int]
    at_metrics: bool = False

    def other(self, index: int) -> str:
        """Where another member is than the one at this place."""
        return self.endpoints[(index + 1) % len(self.endpoints)]

    @property
    def places(self) -> list[tuple[str, int]]:
        if self.at_metrics:
            return [("127.0.0.1", port) for port in self.metrics]
        return [("127.0.0.1", int(endpoint.rpartition(":")[2])) for endpoint in self.endpoints]


EMPTY = struct.pack("!I", 0) * 65_536
SHORT = (struct.pack("!I", 8) + b"garbage!") * 20_000
OTHERS = (struct.pack("!I", 60) + b"RC\x01\x01" + bytes(56)) * 4_000
GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
Attack = Callable[[Aim, Pace], None]
ATTACKS: dict[str, tuple[str, bool, Attack]] = {
    "empty frames": (ELSEWHERE, False, lambda aim, pace: streams(aim, pace, lambda _: EMPTY)),
    "empty frames, from a member's host": (HERE, False, lambda aim, pace: streams(aim, pace, lambda _: EMPTY)),
    "smallest frames": (ELSEWHERE, False, lambda aim, pace: streams(aim, pace, lambda _: SHORT)),
    "smallest frames, 32 connections": (ELSEWHERE, False, lambda aim, pace: streams(aim, pace, lambda _: SHORT, 32)),
    "frames of another group": (ELSEWHERE, False, lambda aim, pace: streams(aim, pace, lambda _: OTHERS)),
    "frames a byte at a time": (ELSEWHERE, False, drip),
    "connections that say nothing": (ELSEWHERE, False, lambda aim, pace: churn(aim, pace, lambda _: b"", 300)),
    "hellos of a member": (ELSEWHERE, False, lambda aim, pace: churn(aim, pace, hello, 200)),
    "hellos of a member, from its host": (HERE, False, lambda aim, pace: churn(aim, pace, hello, 200)),
    "ClientHellos": (ELSEWHERE, False, lambda aim, pace: churn(aim, pace, lambda _: CLIENT_HELLO, 300)),
    "ClientHellos, from a member's host": (
        HERE,
        False,
        lambda aim, pace: churn(aim, pace, lambda _: CLIENT_HELLO, 300),
    ),
    "silent connections to the probes": (ELSEWHERE, True, lambda aim, pace: churn(aim, pace, lambda _: b"", 300)),
    "half requests to the probes": (ELSEWHERE, True, lambda aim, pace: churn(aim, pace, lambda _: GET[:20], 300)),
    "requests for metrics": (ELSEWHERE, True, lambda aim, pace: churn(aim, pace, lambda _: GET, 300)),
}
CLIENT_HELLO = client_hello()


def attack(name: str, seconds: float, told: dict[str, Any]) -> None:
    source, at_metrics, act = ATTACKS[name]
    pace = Pace(seconds)
    act(Aim(source, told["endpoints"], told["metrics"], at_metrics), pace)
    print(json.dumps({"sent": pace.sent, "cpu": time.process_time()}), flush=True)


# ---- the table


@dataclass(slots=True)
class Outcome:
    name: str
    without: float
    during: float
    turn: float
    growth: int
    lines: int
    again: int
    answered: int
    probed: int
    same_view: bool
    sent: int
    lost: dict[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        fast = self.during >= ENOUGH * self.without and self.turn <= LONGEST_TURN_S
        quiet = self.growth <= MOST_GROWTH and self.lines <= MOST_LINES
        return fast and quiet and not self.again and self.same_view and self.answered == self.probed

    def __str__(self) -> str:
        return (
            f"goodput {self.during / max(1.0, self.without):.0%} of {self.without:,.0f}/s, "
            f"longest turn {self.turn:.3f} s, memory +{self.growth / 1e6:.1f} MB, {self.lines} lines, "
            f"{self.again} connected again, {self.answered} of {self.probed} probes; {self.sent / 1e6:.1f} MB sent"
            + ("" if self.same_view else "; THE VIEW CHANGED")
        )


class Told:
    """A process at the other end of two pipes."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, words: str = "tell") -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def end(self) -> None:
        self.process.communicate(timeout=30)


def credentials(security: str, directory: Path) -> Iterator[dict[str, Any]]:
    """What each member is given."""
    authority = Authority(directory) if security == "certificates" else None
    if security == "key":
        write_keyring(directory / "key", Keyring((new_key(),)), is_new=True)
    for number in range(3):
        given: dict[str, Any] = {"name": f"m{number}"}
        if security == "key":
            given["key"] = str(directory / "key")
        elif authority is not None:
            given |= authority.files_for(f"m{number}")
        yield given


@asynccontextmanager
async def three(security: str) -> AsyncIterator[tuple[list[Told], list[int]]]:
    ports = free_ports(6)
    members: list[Told] = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            for number, given in enumerate(credentials(security, Path(directory))):
                options = given | {"bind": f"127.0.0.1:{ports[number]}", "seeds": [f"127.0.0.1:{ports[0]}"]}
                options["metrics"] = f"127.0.0.1:{ports[3 + number]}"
                members.append(Told("--member", json.dumps(options)))
                while members[0].ask()["members"] <= number or members[-1].ask()["members"] <= number:
                    await asyncio.sleep(0.05)
            yield members, ports[3:]
        finally:
            for one in members:
                one.end()


async def probe(port: int) -> bool:
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
            answer = await reader.read()
            writer.close()
            return answer.startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


async def turn(
    members: list[Told], metrics: list[int], seconds: float
) -> tuple[float, list[Any], list[Any], list[bool]]:
    """Messages a second at the slower receiver, what all said before and after, and how the probes fared."""
    before = [one.ask() for one in members]
    members[-1].ask(f"send {seconds}")
    probes: list[bool] = []
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        probes.append(await probe(metrics[len(probes) % 3]))
        await asyncio.sleep(min(0.1, left))
    after = [one.ask() for one in members]
    read = min(now["read"] - then["read"] for now, then in zip(after[:-1], before[:-1], strict=True))
    return read / seconds, before, after, probes


async def outcome_of(name: str, members: list[Told], metrics: list[int], seconds: float) -> Outcome:
    without, *_ = await turn(members, metrics, seconds / 2)
    told = [one.ask() for one in members]
    aim = {"endpoints": [one["endpoint"] for one in told], "metrics": metrics}
    attacker = Told("--attack", name, str(seconds + 0.4), json.dumps(aim))
    await asyncio.sleep(0.4)
    during, before, after, probes = await turn(members, metrics, seconds)
    said = attacker.hear()
    attacker.end()
    grown = max(now["memory"] - then["memory"] for now, then in zip(after, told, strict=True))
    again = sum(now["connects"] - then["connects"] for now, then in zip(after, before, strict=True))
    lost = {why: count - told[0]["lost"].get(why, 0) for why, count in after[0]["lost"].items()}
    return Outcome(
        name,
        without,
        during,
        max(one["turn"] for one in after),
        max(0, grown),
        sum(one["lines"] for one in after),
        again,
        sum(probes),
        len(probes),
        len({one["view"] for one in told + after}) == 1,
        said["sent"],
        {why: count for why, count in lost.items() if count},
    )


async def attacks(security: str, seconds: float = SECONDS, only: str = "") -> list[Outcome]:
    outcomes = []
    async with three(security) as (members, metrics):
        await turn(members, metrics, 1.0)  # everything is warm
        for name in ATTACKS:
            if only in name:
                outcomes.append(await outcome_of(name, members, metrics, seconds))
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", default="")
    parser.add_argument("--security", choices=SECURITY)
    chosen = parser.parse_args()
    failed = 0
    for security in (chosen.security,) if chosen.security else SECURITY:
        for outcome in asyncio.run(attacks(security, chosen.seconds, chosen.only)):
            print(f"{'' if outcome.holds else 'FAILED '}{outcome.name} ({security}): {outcome}", flush=True)
            failed += not outcome.holds
            if not outcome.holds:
                print(f"    {outcome.lost}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--member"]:
        asyncio.run(member(json.loads(sys.argv[2])))
    elif sys.argv[1:2] == ["--attack"]:
        attack(sys.argv[2], float(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        main()
