"""Runs in which a random producer or consumer is killed at a random moment; then the survivors are compared.

    python tests/integration/bus/kill_runs.py --runs 1000 --first-seed 1

Each run forks two producers and three consumers on a bus with small rings. Producers queue batches to random subsets
of whoever is attached; one process gets SIGKILL; then the producers say goodbye and everybody ends. What each process
saw outlives it in shared memory. `judge` says what is wrong, in words; nothing is what it should say.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import random
import signal
import struct
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from integration.bus.shared_log import Flag, Row, SharedLog
from ringcast.bus import PeerLeft, SharedBus, UnknownPeer

PRODUCERS, CONSUMERS = ("p0", "p1"), ("c0", "c1", "c2")
NAMES = (*PRODUCERS, *CONSUMERS)
ROWS = 200_000
PATIENCE_S = 60
MASK = struct.Struct("=B")
fork = mp.get_context("fork")


@dataclass(slots=True)
class Run:
    """One run: its seed, who is killed, and what everybody wrote down."""

    seed: int
    directory: Path
    victim: str = ""
    stop: Flag = field(default_factory=Flag)
    attached: dict[str, Flag] = field(default_factory=lambda: {name: Flag() for name in NAMES})
    logs: dict[str, SharedLog] = field(default_factory=lambda: {name: SharedLog(ROWS) for name in NAMES})

    def rows(self, name: str) -> list[Row]:
        return self.logs[name].rows()


def produce(run: Run, name: str) -> None:
    draw = random.Random(f"{run.seed} {name}")
    log, me, number = run.logs[name], NAMES.index(name), 1
    with SharedBus.open("kill", directory=run.directory) as bus, bus.attach(name) as peer:
        run.attached[name].raise_it()
        while not run.stop.is_raised() and not log.is_full():
            there = [consumer for consumer in peer.names() if consumer in CONSUMERS]
            for _ in range(20 if there else 0):
                to = draw.sample(there, draw.randint(1, len(there)))
                mask = sum(1 << CONSUMERS.index(consumer) for consumer in to)
                batch = [MASK.pack(mask) + b"x" * draw.randint(0, 200)] * draw.randint(1, 4)
                try:
                    seq = peer.queue_many(batch, to=to)
                except UnknownPeer:
                    break
                log.append(Row(seq, me, number, mask))
                number += len(batch)
        for consumer in CONSUMERS:
            with suppress(UnknownPeer):
                peer.queue(b"end", to=consumer)


def consume(run: Run, name: str) -> None:
    log, talking, last = run.logs[name], set(PRODUCERS), 0
    with SharedBus.open("kill", directory=run.directory) as bus, bus.attach(name) as peer:
        run.attached[name].raise_it()
        while talking:
            victim_is_gone = run.stop.is_raised() and run.victim not in peer.names()
            items = peer.dequeue_runs(64, timeout=0.1)
            if not items and victim_is_gone:
                talking.discard(run.victim)  # It died before it could attach: there is no notice to wait for.
            for item in items:
                if isinstance(item, PeerLeft):
                    log.append(Row(item.seq, NAMES.index(item.name), 0, 0))
                    talking.discard(item.name)
                elif item.payloads[0] == b"end":
                    talking.discard(item.sender)
                elif item.seq != last:  # Else the rest of a batch that the limit had cut.
                    log.append(Row(item.seq, NAMES.index(item.sender), item.first, item.payloads[0][0]))
                last = item.seq


def perform(seed: int, directory: Path) -> tuple[Run, list[str]]:
    """Start everybody, kill one, wait for the others. The words say who hung."""
    draw = random.Random(f"{seed} harness")
    run = Run(seed, directory, draw.choice(NAMES))
    with SharedBus.open("kill", directory=directory, ring_bytes=1 << 12, max_peers=8):
        processes = {name: start(run, name) for name in NAMES}
        time.sleep(draw.uniform(0, 0.08))  # A random moment, from before the first attach to full flow.
        processes[run.victim].kill()
        wait_for_all_but(run, run.victim)
        time.sleep(draw.uniform(0, 0.02))
        run.stop.raise_it()
        hung = [name for name, process in processes.items() if not has_ended(process)]
    return run, [f"{name} hung" for name in hung]


def wait_for_all_but(run: Run, victim: str) -> None:
    """Whoever attaches after everybody else has gone would wait for nobody."""
    give_up = time.monotonic() + PATIENCE_S
    while not all(run.attached[name].is_raised() for name in NAMES if name != victim):
        assert time.monotonic() < give_up, "not everybody could attach"
        time.sleep(0.001)


def start(run: Run, name: str) -> BaseProcess:
    process = fork.Process(target=produce if name in PRODUCERS else consume, args=(run, name))
    process.start()
    return process


def has_ended(process: BaseProcess) -> bool:
    process.join(PATIENCE_S)
    if process.is_alive():
        process.kill()
        process.join()
        return False
    return process.exitcode in (0, -signal.SIGKILL)


def judge(run: Run) -> list[str]:
    """What is wrong with what the processes saw."""
    wrong: list[str] = []
    meaning: dict[int, Row] = {}
    for name in NAMES:
        rows = run.rows(name)
        if [row.seq for row in rows] != sorted({row.seq for row in rows}):
            wrong.append(f"{name} does not see growing seqs")
        wrong += [f"seq {row.seq} is {row} at {name}" for row in rows if meaning.setdefault(row.seq, row) != row]
    for name in CONSUMERS:
        wrong += missing_at(run, name, meaning)
    return wrong


def missing_at(run: Run, name: str, meaning: dict[int, Row]) -> list[str]:
    """Whatever anybody saw that was for this consumer, it has seen too: the victim up to its last row."""
    seen = {row.seq: row for row in run.rows(name)}
    last = max(seen, default=0) if name == run.victim else max(meaning, default=0)
    bit = 1 << CONSUMERS.index(name)
    lost = [row for row in meaning.values() if row.mask & bit and row.seq <= last and row.seq not in seen]
    extra = [row for row in seen.values() if row.first and not row.mask & bit]
    wrong = [f"{name} lacks {row}" for row in lost] + [f"{name} got {row}, which was not for it" for row in extra]
    notices = [row for row in seen.values() if not row.first and NAMES[row.who] == run.victim]
    knew = any(row.first and NAMES[row.who] == run.victim for row in seen.values())
    if name != run.victim and (len(notices) > 1 or (knew and not notices)):
        wrong.append(f"{name} heard {len(notices)} times that {run.victim} died")
    return wrong


def one_run(seed: int) -> tuple[list[str], int]:
    """What went wrong, and how many rows were compared."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="ringcast-kill-") as directory:
        run, hung = perform(seed, Path(directory))
        left = sorted(os.listdir(directory))
    wrong = hung + judge(run) + [f"{name} was left behind" for name in left]
    return [f"seed {seed}, {run.victim} killed: {words}" for words in wrong], sum(len(run.rows(n)) for n in NAMES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=1)
    options = parser.parse_args()
    started, failed, compared = time.monotonic(), 0, 0
    for seed in range(options.first_seed, options.first_seed + options.runs):
        wrong, rows = one_run(seed)
        compared += rows
        failed += bool(wrong)
        for words in wrong[:5]:
            print(words, flush=True)
    took = time.monotonic() - started
    print(f"{options.runs} runs, {failed} failed, {compared} rows compared, {took:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
