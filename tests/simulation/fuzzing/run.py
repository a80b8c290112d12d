"""Fuzzing at length: changed frames of real traffic for the decoders and for nodes that live.

    python run.py --decoders 10000000 --nodes 1000000 --seed 0

Prints what was done, how long it took and how far memory grew; ends with an error at the first thing that raises.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from simulation.fuzzing.lives import live
from simulation.fuzzing.mutation import mutated
from simulation.fuzzing.targets import control, frame, tcp

EXTRA = 2  # changed frames for each real one
PER_LIFE = 20_000
HEAD = 30  # bytes of a frame before the items of a run
TURNS = (lambda data: control(data[HEAD:]), tcp, frame, frame)


def fuzz_nodes(first_seed: int, frames: int) -> dict[str, int]:
    """So many changed frames for nodes, life by life."""
    corpus: list[bytes] = []
    injected = taken = 0
    seed = first_seed
    while injected < frames:
        try:
            world = live(seed, EXTRA, min(PER_LIFE, frames - injected), corpus)
        except Exception as fault:
            raise AssertionError(f"seed {seed} after {injected} frames: {fault!r}") from fault
        injected, taken, seed = injected + world.injected, taken + world.taken, seed + 1
    return {"frames": injected, "well-formed": taken, "lives": seed - first_seed}


def fuzz_decoders(seed: int, inputs: int) -> dict[str, int]:
    """So many changed inputs for the frame decoder, the control codec and the framing of TCP."""
    corpus: list[bytes] = []
    live(seed, 0, 0, corpus)
    random = Random(f"decoders {seed}")
    read = 0
    for number in range(inputs):
        data = mutated(random, random.choice(corpus), corpus)
        try:
            read += TURNS[number % len(TURNS)](data)
        except Exception as fault:
            raise AssertionError(f"seed {seed}, input {number} {data.hex()}: {fault!r}") from fault
    return {"inputs": inputs, "read": read}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--decoders", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, found in (
        ("decoders", lambda: fuzz_decoders(options.seed, options.decoders)),
        ("nodes", lambda: fuzz_nodes(options.seed, options.nodes)),
    ):
        began = time.monotonic()
        figures = found()
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        words = ", ".join(f"{value:,} {what}" for what, value in figures.items())
        print(
            f"{name}: {words}; nothing raised; {time.monotonic() - began:.0f} s; memory grew by {grown} MB", flush=True
        )


if __name__ == "__main__":
    main()
