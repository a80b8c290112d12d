"""Many seeds over all cores: each run is one task in a process of its own kind.

Spawned, so nothing of this process can leak into it; a seed gives the same outcome wherever it runs. Whoever
interrupts is heard by the one that hands out the tasks, which lets the others end.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.pool import Pool
from pathlib import Path

import msgspec

from ringcast.sim.options import ANY, Options, draw
from ringcast.sim.run import Outcome, simulate


@dataclass(frozen=True, slots=True)
class Asked:
    """What a batch was asked for, besides its seeds: together with a seed it decides a run."""

    members: tuple[int, int] | None = None  # as many as the seed says
    fixed: bool = False
    workload: str = ANY

    def options(self, seed: int) -> Options:
        return draw(seed, self.members, fixed=self.fixed, workload=self.workload)


@dataclass(frozen=True, slots=True)
class Task:
    """One seed, and what was asked for."""

    seed: int
    asked: Asked = Asked()
    record: Path | None = None

    def __call__(self) -> Outcome:
        where = None if self.record is None else self.record / f"seed-{self.seed}"
        began_ns = time.process_time_ns()
        outcome = simulate(self.asked.options(self.seed), where)
        outcome.cpu_ns = time.process_time_ns() - began_ns
        return outcome


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Runs one seed after the other somewhere else, and gives each outcome as bytes that travel."""

    asked: Asked = Asked()
    record: Path | None = None

    def __call__(self, seed: int) -> bytes:
        return msgspec.json.encode(Task(seed, self.asked, self.record)())


def run_all(tasks: list[Task], processes: int | None = None) -> Iterator[Outcome]:
    """Outcomes in the order in which they are ready."""
    processes = min(processes or os.cpu_count() or 1, len(tasks))
    if processes <= 1:
        yield from (task() for task in tasks)
        return
    with spawned(processes) as pool:
        yield from pool.imap_unordered(_call, tasks, chunksize=1)


def spawned(processes: int) -> Pool:
    """Processes that ignore SIGINT. It waits while they start, and they inherit that: none is interrupted before."""
    resource_tracker.ensure_running()  # it would let signals in again when the first of them starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return multiprocessing.get_context("spawn").Pool(processes, _leave_signals_to_the_first)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_signals_to_the_first() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _call(task: Task) -> Outcome:
    return task()
