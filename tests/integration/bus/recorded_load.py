"""Millions of messages among recorded peers, judged by the checkers of order: G11, G12 and G13.

    python tests/integration/bus/recorded_load.py --messages 3000000

Processes that all queue batches to random subsets of each other and read in between; one of them is killed half-way, so
that its recording is cut. `--keep DIRECTORY` leaves the recordings there, for `ringcast check DIRECTORY`.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ringcast.bus import EVERYONE, BusFull, Peer, PeerLeft, SharedBus, UnknownPeer, to_directory
from ringcast.checkers import Judgement, judge
from ringcast.trace import read_run

NAMES = ("a", "b", "c", "d", "e")
VICTIM = "e"
RULES = ("G11", "G12", "G13")
BATCH_MAX = 64
END = b"end"
PATIENCE_S = 60.0
fork = mp.get_context("fork")


@dataclass(frozen=True, slots=True)
class Load:
    """`messages` counts deliveries, all peers together, roughly."""

    messages: int
    records: Path
    directory: Path
    seed: int = 1

    @property
    def batches_each(self) -> int:
        return self.messages // (len(NAMES) * (BATCH_MAX + 1) // 2 * (len(NAMES) + 1) // 2) + 1


def talk(load: Load, name: str) -> None:
    draw = random.Random(f"{load.seed} {name}")
    with SharedBus.open("load", directory=load.directory) as bus:
        peer = bus.attach(name, record=to_directory(load.records))
    with peer:
        peer.wait_for(*NAMES, timeout=PATIENCE_S)
        silent: set[str] = set()
        for batch in range(load.batches_each):
            if name == VICTIM and batch == load.batches_each // 2:
                time.sleep(0.2)  # What it recorded is on disk by then: a recording without any event judges nothing.
                os.kill(os.getpid(), 9)
            say(peer, [b"x" * draw.randint(0, 40)] * draw.randint(1, BATCH_MAX), draw, silent)
        queue_reading(peer, [END], lambda: EVERYONE, silent)
        while not silent >= set(NAMES):
            read(peer, silent, 0.1)


def say(peer: Peer, batch: list[bytes], draw: random.Random, silent: set[str]) -> None:
    def some_of_those_there() -> list[str]:
        there = peer.names()
        return draw.sample(there, draw.randint(1, len(there)))

    queue_reading(peer, batch, some_of_those_there, silent)


def queue_reading(peer: Peer, batch: list[bytes], to: Callable[[], str | list[str]], silent: set[str]) -> None:
    """Reads while there is no room: everybody writes to everybody, so nobody may only write."""
    while True:
        try:
            peer.queue_many(batch, to=to(), policy="raise")
            return
        except BusFull:
            read(peer, silent, 0.01)
        except UnknownPeer:
            pass  # It left between being named and being sent to.


def read(peer: Peer, silent: set[str], timeout: float) -> None:
    for item in peer.dequeue_runs(timeout=timeout):
        if isinstance(item, PeerLeft):
            silent.add(item.name)
        elif END in item.payloads:
            silent.add(item.sender)


def run(load: Load) -> Judgement:
    with SharedBus.open("load", directory=load.directory, max_peers=len(NAMES), ring_bytes=1 << 16):
        processes = {name: fork.Process(target=talk, args=(load, name)) for name in NAMES}
        for process in processes.values():
            process.start()
        for name, process in processes.items():
            process.join(PATIENCE_S + load.messages / 10_000)
            if process.exitcode != (-9 if name == VICTIM else 0):
                process.kill()
                raise AssertionError(f"{name} ended with {process.exitcode}")
    return judge(read_run([load.records]), require=RULES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=3_000_000)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="ringcast-load-") as directory:
        records = options.keep or Path(directory) / "records"
        judged = run(Load(options.messages, records, Path(directory)))
    for rule in RULES:
        finding = judged.findings[rule]
        print(f"{rule}: {finding.verdict}, {finding.examined} examined, {finding.violation_count} violations")
    print(f"{judged.verdict}, {judged.events} events, {time.monotonic() - started:.0f} s")
    return 0 if all(judged.findings[rule].verdict == "held" for rule in RULES) else 1


if __name__ == "__main__":
    sys.exit(main())
