"""Fuzzing at length: changed frames of real traffic for decoders and for nodes that live, changed messages for blocks.

    python run.py --decoders 10000000 --nodes 1000000 --blocks 100000 --seed 0

Prints what was done, how long it took and how far memory grew between a tenth of the way and its end; ends with an
error at the first thing that raises, and if memory grew by more than `MOST_GROWTH_MB`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ringcast.core import Channel, Loose, Run
from ringcast.wire import Onlooker, encode_control
from simulation.fuzzing.block_lives import live as live_with_blocks
from simulation.fuzzing.lives import live
from simulation.fuzzing.mutation import mutated
from simulation.fuzzing.targets import TARGETS, kept, some_sealed

EXTRA = 2  # changed frames for each real one
PER_LIFE = 20_000
MESSAGES_PER_LIFE = 300  # of blocks
MOST_GROWTH_MB = 32
TURNS = ("frame", "reader", "control", "tcp", "guard", "sealed", "frame", "reader", "block", "segment", "discovery")
TURNS += ("http", "keyring", "mark", "tls")


class Growth:
    """How far the memory of this process grew since a tenth of the way, when caches are full."""

    def __init__(self, whole: int) -> None:
        self._tenth = whole // 10
        self._then: int | None = None

    def note(self, done: int) -> None:
        if self._then is None and done >= self._tenth:
            self._then = resident_mb()

    @property
    def grown_mb(self) -> int:
        return resident_mb() - (self._then or 0)


def resident_mb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def fuzz_nodes(first_seed: int, frames: int) -> dict[str, int]:
    """So many changed frames for nodes, life by life."""
    corpus: list[bytes] = []
    injected = taken = 0
    seed = first_seed
    growth = Growth(frames)
    while injected < frames:
        try:
            world = live(seed, EXTRA, min(PER_LIFE, frames - injected), corpus)
        except Exception as fault:
            raise AssertionError(f"seed {seed} after {injected} frames: {fault!r}") from fault
        injected, taken, seed = injected + world.injected, taken + world.taken, seed + 1
        growth.note(injected)
    return {"frames": injected, "well-formed": taken, "lives": seed - first_seed, "MB more": growth.grown_mb}


def fuzz_decoders(seed: int, inputs: int) -> dict[str, int]:
    """So many changed inputs for everything that reads bytes from outside, each in its turn."""
    corpora = corpora_of(seed)
    random = Random(f"decoders {seed}")
    read = dict.fromkeys(TURNS, 0)
    growth = Growth(inputs)
    for number in range(inputs):
        target = TURNS[number % len(TURNS)]
        corpus = corpora[target]
        data = mutated(random, random.choice(corpus), corpus)
        try:
            read[target] += TARGETS[target](data)
        except Exception as fault:
            raise AssertionError(f"seed {seed}, input {number} for {target} {data.hex()}: {fault!r}") from fault
        growth.note(number)
    return {"inputs": inputs, **{f"read by {name}": count for name, count in read.items()}, "MB more": growth.grown_mb}


def fuzz_blocks(first_seed: int, messages: int) -> dict[str, int]:
    """So many changed messages of a member for the blocks of all, life by life."""
    thrown, seed = 0, first_seed
    growth = Growth(messages)
    while thrown < messages:
        try:
            thrown += live_with_blocks(seed, min(MESSAGES_PER_LIFE, messages - thrown))
        except Exception as fault:
            raise AssertionError(f"seed {seed} after {thrown} messages: {fault!r}") from fault
        seed += 1
        growth.note(thrown)
    return {"messages": thrown, "lives": seed - first_seed, "MB more": growth.grown_mb}


def corpora_of(seed: int) -> dict[str, list[bytes]]:
    """What is changed for each: real traffic, and what coverage-guided fuzzing kept."""
    frames: list[bytes] = []
    live(seed, 0, 0, frames)
    found = {target: frames + kept(target) for target in dict.fromkeys(TURNS)}
    found["control"] = controls_in(frames) + kept("control")
    found["sealed"] = frames + some_sealed()
    for target in ("block", "segment", "discovery", "http", "keyring", "mark", "tls"):
        found[target] = kept(target)
    return found


def controls_in(frames: list[bytes]) -> list[bytes]:
    """Control messages as they travel."""
    onlooker = Onlooker("g")
    found: list[bytes] = []
    for frame in frames:
        packet = onlooker.packet_of(frame)
        if isinstance(packet, Loose):
            found.append(encode_control(packet.message))
        elif isinstance(packet, Run) and packet.channel is Channel.CONTROL:
            found += packet.items
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--decoders", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name, found in (
        ("decoders", lambda: fuzz_decoders(options.seed, options.decoders)),
        ("nodes", lambda: fuzz_nodes(options.seed, options.nodes)),
        ("blocks", lambda: fuzz_blocks(options.seed, options.blocks)),
    ):
        began = time.process_time()
        figures = found()
        words = ", ".join(f"{value:,} {what}" for what, value in figures.items())
        print(f"{name}: {words}; nothing raised; {time.process_time() - began:.0f} s of CPU", flush=True)
        if figures["MB more"] > MOST_GROWTH_MB:
            raise SystemExit(f"{name}: memory grew by {figures['MB more']} MB")


if __name__ == "__main__":
    main()
