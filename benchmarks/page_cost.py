"""What watching a group costs: CPU seconds of the page and of what members spend on it, as a share of the group's.

A group of real processes, all of them sending as fast as they can, and a page with one browser that reads. Three parts,
because the difference between a watched and an unwatched turn at full load is smaller than its noise:

- the page's process: its CPU seconds;
- what a watched member does twice a second (a line over its socket): the difference between an idle group that is
  watched and one that is not;
- what it does for each event: the events that the members recorded in the watched turns, shown once more to a `Watch`.

`make page-cost` runs it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ringcast.lab import Company, Stage
from ringcast.model import Event
from ringcast.runtime.watching import Watch, as_row
from ringcast.trace import Recording, read_run

LOOK_NS = 500_000_000
# What is measured is CPU, so nobody is to be excluded because a busy machine lets it wait.
PATIENT = {"suspect_after_ns": 60_000_000_000, "verify_ns": 20_000_000_000, "stall_limit_ns": 300_000_000_000}
Turn = tuple[int, int]  # monotonic ns


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used, all threads."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


@contextmanager
def page() -> Iterator[tuple[int, str]]:
    """A page's process: its pid and address."""
    process = subprocess.Popen([sys.executable, "-m", "ringcast", "page", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.pid, json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.wait()


def look(address: str, seconds: float) -> int:
    """A browser that only reads: how many frames came."""
    frames, end = 0, time.monotonic() + seconds
    with urllib.request.urlopen(f"{address}api/stream", timeout=60) as stream:
        while time.monotonic() < end:
            frames += stream.readline().startswith(b"data:")
    return frames


class Meter:
    """CPU seconds of a group while it is left alone and while it is watched."""

    def __init__(self, pids: Sequence[int], seconds: float) -> None:
        self._pids, self._seconds = pids, seconds
        self.turns: list[Turn] = []

    def group(self) -> float:
        return sum(map(cpu_of, self._pids))

    def plain(self) -> float:
        before = self.group()
        time.sleep(self._seconds)
        return self.group() - before

    def watched(self) -> tuple[float, float, int]:
        """CPU seconds of the group and of the page, and how many frames it sent."""
        with page() as (pid, address):
            look(address, 3.0)  # It has found everybody.
            begin_ns = time.monotonic_ns()
            group, own = self.group(), cpu_of(pid)
            frames = look(address, self._seconds)
            used = self.group() - group, cpu_of(pid) - own, frames
            self.turns.append((begin_ns, time.monotonic_ns()))
        return used


def shown_again(recordings: Sequence[Recording], turns: Sequence[Turn]) -> tuple[float, int]:
    """CPU seconds for showing the events of these turns to a watch, and how many they are."""
    spent, count = 0.0, 0
    for recording in recordings:
        for looks in by_look(recording, turns):
            count += sum(map(len, looks))
            spent += _shown(looks)
    return spent, count


def by_look(recording: Recording, turns: Sequence[Turn]) -> Iterator[list[list[Event]]]:
    for begin_ns, end_ns in turns:
        looks: list[list[Event]] = [[] for _ in range((end_ns - begin_ns) // LOOK_NS + 1)]
        for event in recording.events:
            if begin_ns <= event.t_ns < end_ns:
                looks[(event.t_ns - begin_ns) // LOOK_NS].append(event)
        yield looks


def _shown(looks: list[list[Event]]) -> float:
    watch = Watch()
    watchers = [watch.append]

    def show(event: Event) -> None:  # as the driver does it
        for append in watchers:
            append(event)

    begin = time.process_time()
    for events in looks:
        for event in events:
            show(event)
        msgspec.json.encode([as_row(event) for event in watch.take()])
    return time.process_time() - begin


async def measure(members: int, turns: int, seconds: float) -> dict[str, Any]:
    names = [f"m{number:02}" for number in range(members)]
    with tempfile.TemporaryDirectory() as root:
        os.environ["RINGCAST_SOCKETS"] = f"{root}/sockets"
        async with Stage() as stage:
            company = Company(stage, Path(root) / "recordings", inspect=True, config=PATIENT)
            for name in names:  # one after the other: sixteen that start at once would wait for each other's turns
                await company.enter(name)
            await company.until_view(names)
            pids = [stage.puppets[name].pid for name in names]
            idle = Meter(pids, seconds)
            alone = [(await asyncio.to_thread(idle.plain), await asyncio.to_thread(idle.watched)) for _ in range(turns)]
            company.load(names, rate=1e9, size=100)
            await asyncio.sleep(2.0)
            full = Meter(pids, seconds)
            busy = [await asyncio.to_thread(full.watched) for _ in range(turns)]
            await company.hush()
            await company.ask(names, "close")
        for_events, events = shown_again(read_run([Path(root) / "recordings"]), full.turns)
    group, own = sum(used for used, *_ in busy), sum(used for _, used, _ in busy)
    for_lines = max(0.0, statistics.median(watched[0] - plain for plain, watched in alone)) * turns
    return {
        "members": members,
        "watched_seconds": turns * seconds,
        "frames": sum(frames for *_, frames in busy),
        "events": events,
        "group_cpu_seconds": round(group, 2),
        "page_cpu_seconds": round(own, 3),
        "members_cpu_seconds_for_lines": round(for_lines, 3),
        "members_cpu_seconds_for_events": round(for_events, 3),
        "share": round((own + for_lines + for_events) / group, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure(options.members, options.turns, options.seconds)), indent=1))


if __name__ == "__main__":
    main()
