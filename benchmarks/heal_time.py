"""How long it takes from the heal until six members share one view again, of two checkouts, in virtual time.

    python benchmarks/heal_time.py OLD_CHECKOUT [SEEDS]

Each seed cuts the group for ten seconds in the simulated world of the test kit (profile `lan`, 1 ms latency), into two
sides that it draws or into six, and heals it; or it pauses one member for nine seconds. Old and new in turns; virtual
time, so the load of the machine does not matter. A checkout is a directory with `src/`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent.parent
SHAPES = ("two sides", "six sides", "one paused")

WORKER = """
import sys
from random import Random
from ringcast.sim import Link
from ringcast.testing import World

async def read(group):
    async for _ in group:
        pass

def sides_of(names, shape, seed):
    if shape == "six sides":
        return names
    random = Random(f"heal/{seed}")
    side = random.sample(names, random.randint(1, len(names) - 1))
    return [side, [name for name in names if name not in side]]

for line in sys.stdin:
    shape, seed = line.split(",")
    world = World(read, 6, seed=int(seed), config="lan", link=Link(delay_ns=1_000_000))
    world.advance(1 + Random(f"heal/{seed}/at").random())
    if shape == "one paused":
        paused = Random(f"heal/{seed}").choice(world.names)
        world.freeze(paused)
        world.advance(9)
        world.thaw(paused)
    else:
        world.partition(*sides_of(world.names, shape, seed))
        world.advance(10)
        world.heal()
    began = world.now
    world.agree(120)
    print(world.now - began, flush=True)
    world.abandon()
"""


def worker(checkout: Path) -> subprocess.Popen[str]:
    environment = {"PYTHONPATH": str(checkout / "src"), "PATH": ""}
    command = [sys.executable, "-c", WORKER]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def heal(process: subprocess.Popen[str], shape: str, seed: int) -> float:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{shape},{seed}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not Path(sys.argv[1], "src", "ringcast").is_dir():
        sys.exit(f"{sys.argv[1]} is no checkout: it has no src/ringcast")
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    workers = {"old": worker(Path(sys.argv[1])), "new": worker(HERE)}
    try:
        for shape in SHAPES:
            found: dict[str, list[float]] = {name: [] for name in workers}
            for seed in range(seeds):
                for name, process in workers.items():
                    found[name].append(heal(process, shape, seed))
            for name, seconds in found.items():
                spread = f"{min(seconds):.2f} to {max(seconds):.2f} s"
                print(f"{shape}, {name}: median {median(seconds):.2f} s, {spread}, {seeds} seeds", flush=True)
    finally:
        for process in workers.values():
            process.kill()


if __name__ == "__main__":
    main()
