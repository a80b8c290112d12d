"""Which way through the kernel is cheapest: frames through our transports, with one device at a time changed.

    python benchmarks/transport_paths.py --kind multicast --size 1400 --variants plain no-trains no-gro

The members are processes; senders keep a fixed number of frames unacknowledged, receivers acknowledge every quarter of
it. Besides MB/s at each receiver it prints MB per second of CPU (of all members together), which says more on a machine
that others use too. Variants take turns, round by round, so that all of them meet the same load, and every single
figure is printed. `--kind multicast` must run inside a network namespace. The results are in docs/decisions/003*.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from ringcast.transport import (
    Datagrams,
    Endpoint,
    Frame,
    MulticastGroup,
    TcpLimits,
    TcpTransport,
    UdpTransport,
    datagram_sender,
    segments,
    udp,
)

GROUP = MulticastGroup(Endpoint("239.7.7.7", 7007), "127.0.0.1")
VARIANTS = "plain, no-trains, no-gro, no-heap, no-own-copy-filter, bundle=N (trains), read=N (bytes, tcp)"


@dataclass
class Shape:
    kind: str
    size: int
    members: int
    senders: int
    window: int
    burst: int
    seconds: float
    variant: str

    def number(self, name: str, default: int) -> int:
        """The N of a variant `name=N`."""
        key, _, value = self.variant.partition("=")
        return int(value) if key == name else default


class Member:
    """Sends if it is among the first `senders`; receives and acknowledges always."""

    def __init__(self, shape: Shape, index: int) -> None:
        self.shape, self.index = shape, index
        self.got = [0] * shape.members
        self.acked = [0] * shape.members
        self.acks: dict[int, int] = {i: 0 for i in range(shape.members) if i != index}
        self.wake = asyncio.Event()
        self.ended = 0
        self.transport = make(shape)
        self.transport.on_writable = self.wake.set
        self.peers: list[Endpoint] = []

    def on_frames(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            if frame[0] == 68:  # D: data
                self.got[frame[1]] += 1
            elif frame[0] == 65:  # A: acknowledgement
                self.acks[frame[1]] = int.from_bytes(frame[2:10], "big")
            else:
                self.ended += 1
        for sender in range(self.shape.senders):
            if self.got[sender] - self.acked[sender] >= max(1, self.shape.window // 4) and sender != self.index:
                self.acked[sender] = self.got[sender]
                ack = b"A" + bytes([self.index]) + self.got[sender].to_bytes(8, "big")
                self.transport.send(self.peers[sender], ack)
        self.wake.set()

    async def send(self) -> None:
        frames = [b"D" + bytes([self.index]) + bytes(self.shape.size - 2)] * self.shape.burst
        others = [peer for i, peer in enumerate(self.peers) if i != self.index]
        sent, until = 0, time.monotonic() + self.shape.seconds
        while time.monotonic() < until:
            room = self.shape.window - (sent - min(self.acks.values()))
            taken = self.transport.cast(others, frames) if room >= self.shape.burst else 0
            sent += taken
            if taken == self.shape.burst:
                await asyncio.sleep(0)
                continue
            self.wake.clear()
            await asyncio.wait_for(self.wake.wait(), 5)
        while min(self.acks.values()) < sent - self.shape.window // 4:
            self.wake.clear()
            await asyncio.wait_for(self.wake.wait(), 5)
        for _ in range(3):
            for other in others:
                self.transport.send(other, b"E")

    async def run(self) -> dict[str, float]:
        await self.transport.open(self.on_frames)
        print(str(self.transport.local), flush=True)
        self.peers = [Endpoint.parse(text) for text in json.loads(sys.stdin.readline())]
        self.transport.set_peers([peer for i, peer in enumerate(self.peers) if i != self.index])
        await asyncio.sleep(0.3)
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        sending = asyncio.create_task(self.send()) if self.index < self.shape.senders else None
        while self.ended < 3 * (self.shape.senders - (sending is not None)):
            self.wake.clear()
            await asyncio.wait_for(self.wake.wait(), self.shape.seconds + 10)
        if sending:
            await sending
        after = resource.getrusage(resource.RUSAGE_SELF)
        received = sum(count for i, count in enumerate(self.got) if i != self.index)
        self.transport.close()
        return {
            "megabytes": received * self.shape.size / 1e6,
            "seconds": time.monotonic() - start,
            "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "wakes": self.transport.counters.wakes,
            "frames": self.transport.counters.frames_in,
        }


def make(shape: Shape) -> UdpTransport | TcpTransport:
    datagram_sender.TRAINS_PER_BUNDLE = shape.number("bundle", datagram_sender.TRAINS_PER_BUNDLE)
    if shape.variant == "no-own-copy-filter":
        udp.refuse_own_copies = lambda sock, source: None  # type: ignore[assignment]
    if shape.variant == "no-gro":
        segments.accept_trains = lambda sock: True  # type: ignore[assignment]
    if shape.kind == "tcp":
        return TcpTransport(limits=TcpLimits(read_bytes=shape.number("read", TcpLimits().read_bytes)))
    small = shape.size <= 1400 and shape.variant != "no-trains"
    datagrams = Datagrams(shape.size, never_split=small)
    return UdpTransport(datagrams=datagrams, multicast=GROUP if shape.kind == "multicast" else None)


def measure(shape: Shape) -> dict[str, float]:
    env = dict(os.environ, MALLOC_TRIM_THRESHOLD_="131072") if shape.variant == "no-heap" else None
    command = [sys.executable, __file__, "--member", json.dumps(asdict(shape))]
    pipe = subprocess.PIPE
    members = [
        subprocess.Popen([*command, str(i)], stdin=pipe, stdout=pipe, text=True, env=env) for i in range(shape.members)
    ]
    endpoints = [member.stdout.readline().strip() for member in members]  # type: ignore[union-attr]
    tell(members, endpoints)
    results = [json.loads(member.communicate()[0]) for member in members]
    receivers = results if shape.senders > 1 else results[1:]
    return {
        "MB/s": statistics.median(one["megabytes"] / one["seconds"] for one in receivers),
        "MB per CPU second": statistics.median(one["megabytes"] for one in receivers) / sum(r["cpu"] for r in results),
        "frames per wake": statistics.median(one["frames"] / max(one["wakes"], 1) for one in receivers),
    }


def tell(members: list[subprocess.Popen[str]], endpoints: list[str]) -> None:
    for member in members:
        member.stdin.write(json.dumps(endpoints) + "\n")  # type: ignore[union-attr]
        member.stdin.flush()  # type: ignore[union-attr]


def main() -> None:
    if sys.argv[1:2] == ["--member"]:
        print(json.dumps(asyncio.run(Member(Shape(**json.loads(sys.argv[2])), int(sys.argv[3])).run())), flush=True)
        return
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kind", choices=("udp", "multicast", "tcp"), default="udp")
    options.add_argument("--size", type=int, default=60_000)
    options.add_argument("--members", type=int, default=4)
    options.add_argument("--senders", type=int, default=1)
    options.add_argument("--window", type=int, default=0, help="frames; 0 = about 4 MB")
    options.add_argument("--burst", type=int, default=0, help="frames in one cast; 0 = about 500 kB")
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--variants", nargs="+", default=["plain"], help=VARIANTS)
    options.add_argument("--rounds", type=int, default=3)
    given = vars(options.parse_args())
    rounds, variants = given.pop("rounds"), given.pop("variants")
    given["window"] = given["window"] or 4_000_000 // given["size"]
    given["burst"] = given["burst"] or 500_000 // given["size"]
    found: dict[str, list[dict[str, float]]] = {variant: [] for variant in variants}
    for _ in range(rounds):
        for variant in variants:
            found[variant].append(measure(Shape(**given, variant=variant)))
    print(" ".join(f"{name}={value}" for name, value in given.items()), f"load={os.getloadavg()[0]:.1f}")
    for variant, runs in found.items():
        figures = {name: [round(one[name]) for one in runs] for name in runs[0]}
        print(f"{variant:20}", *(f"{name} {statistics.median(v):.0f} {v} " for name, v in figures.items()))


if __name__ == "__main__":
    main()
