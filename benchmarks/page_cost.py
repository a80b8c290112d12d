"""What watching a group costs: 16 processes at full load, watched and not watched in turns, in one run.

Prints CPU seconds of the members with and without a watcher per million messages, the CPU of the page's process, and
both together as a share of the group's. `make page-cost` runs it.
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
from pathlib import Path
from typing import Any

from ringcast.lab import Company, Stage
from ringcast.runtime import ask, find_members


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def begin_page() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "ringcast", "page", "--json"], stdout=subprocess.PIPE, text=True)


def look(address: str, seconds: float) -> int:
    """A browser that only reads: how many frames came."""
    frames, end = 0, time.monotonic() + seconds
    with urllib.request.urlopen(f"{address}api/stream", timeout=60) as stream:
        while time.monotonic() < end:
            frames += stream.readline().startswith(b"data:")
    return frames


async def measure(members: int, turns: int, seconds: float) -> dict[str, Any]:
    names = [f"m{number:02}" for number in range(members)]
    with tempfile.TemporaryDirectory() as root:
        os.environ["RINGCAST_SOCKETS"] = f"{root}/sockets"
        async with Stage() as stage:
            company = Company(stage, Path(root) / "recordings", inspect=True)
            await company.form(names)
            company.load(names, rate=1e9, size=100)
            pids = [stage.puppets[name].pid for name in names]
            rows: list[tuple[float, float, float]] = []  # CPU per message plain and watched, CPU of the page
            for _ in range(turns):
                plain, _ = await spent(pids, asyncio.sleep(seconds))
                page = begin_page()
                assert page.stdout is not None
                address = json.loads(await asyncio.to_thread(page.stdout.readline))["address"]
                await asyncio.to_thread(look, address, 3.0)  # It has found everybody.
                begun = cpu_of(page.pid)
                watched, used = await spent(pids, asyncio.to_thread(look, address, seconds))
                rows.append((plain, watched, (cpu_of(page.pid) - begun) / used))
                page.terminate()
                page.wait()
            await company.hush()
            await company.ask(names, "close")
    members_share = statistics.median(watched / plain - 1 for plain, watched, _ in rows)
    page_share = statistics.median(page for *_, page in rows)
    return {
        "members": members,
        "turns": turns,
        "seconds": seconds,
        "cpu_us_per_message_plain": round(1e6 * statistics.median(plain for plain, *_ in rows), 3),
        "cpu_us_per_message_watched": round(1e6 * statistics.median(watched for _, watched, _ in rows), 3),
        "share_of_members": round(members_share, 4),
        "share_of_members_each_turn": [round(watched / plain - 1, 4) for plain, watched, _ in rows],
        "share_of_page": round(page_share, 4),
        "share": round(members_share + page_share, 4),
    }


def sent() -> int:
    """Messages that all members together have sent."""
    return sum(ask(str(path), "status")["windows"]["send"]["high"] for path in find_members().values())


async def spent(pids: list[int], work: Any) -> tuple[float, float]:
    """CPU seconds of the group per message while this work runs, and in all."""
    before, sent_before = sum(map(cpu_of, pids)), await asyncio.to_thread(sent)
    await work
    used = sum(map(cpu_of, pids)) - before
    return used / max(1, await asyncio.to_thread(sent) - sent_before), used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure(options.members, options.turns, options.seconds)), indent=1))


if __name__ == "__main__":
    main()
