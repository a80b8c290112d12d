"""Hashes of simulated runs, and a recorded frame of every packet type: a change that only moves code keeps them equal.

    tools/trace_hashes.py --seeds 40 --out before.json            at the old commit
    tools/trace_hashes.py --seeds 40 --against before.json        at the new one; exit code 1 if anything differs
    tools/trace_hashes.py --frames tests/unit/wire/testdata/frames.json    record the frames again

A run is one seed with 3 to 7 members; the workloads take turns. Its hashes are over every recorded event and over every
frame that was sent, with sender and destination. A commit that changes behaviour on purpose changes them, and says so.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from hashlib import blake2b
from multiprocessing import Pool
from pathlib import Path
from unittest.mock import patch

from ringcast.sim import Network, draw, run_world
from ringcast.sim.frames import FRAME_KINDS, words_of

WORKLOADS = ("mixed", "total", "state", "rejoin", "sealed")
MEMBERS = (3, 7)

Hashes = dict[str, str]
Frames = dict[str, tuple[str, str, str]]  # by kind: sender, destination, bytes in hex


def hashes_of(seed: int) -> tuple[Hashes, Frames]:
    """The two hashes of one run, and the first frame of each kind in it."""
    workload = WORKLOADS[seed % len(WORKLOADS)]
    digest = blake2b(digest_size=16)
    frames: Frames = {}
    transmit = Network.transmit

    def listen(network: Network, sender: str, to: str, frame: bytes) -> None:
        frame = bytes(frame)
        digest.update(f"{sender} {to} {len(frame)} ".encode() + frame)
        packet = network.packet_of(frame)  # None: a frame that no decoder sees
        for word in ("none",) if packet is None else words_of(packet):
            if word not in frames:
                frames[word] = (sender, to, frame.hex())
        transmit(network, sender, to, frame)

    with patch.object(Network, "transmit", listen):
        outcome, _ = run_world(draw(seed, MEMBERS, workload=workload))
    name = f"{workload} {seed}"
    return {f"{name} events": outcome.trace_hash, f"{name} frames": digest.hexdigest()}, frames


def gather(seeds: Iterable[int], jobs: int) -> tuple[Hashes, Frames]:
    hashes: Hashes = {}
    frames: Frames = {}
    with Pool(jobs) as pool:
        for some_hashes, some_frames in pool.imap(hashes_of, seeds):
            hashes |= some_hashes
            frames = some_frames | frames  # the first seed that has a kind gives its frame
    return hashes, dict(sorted(frames.items()))


def differences(before: Hashes, after: Hashes) -> list[str]:
    """The runs that both have and that differ; a run that only one has says nothing."""
    return [name for name in before if name in after and before[name] != after[name]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="how many; without it those of the file to compare with, or 40")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--frames", type=Path)
    asked = parser.parse_args()
    before: Hashes = {} if asked.against is None else json.loads(asked.against.read_text())
    some = range(asked.first_seed, asked.first_seed + (asked.seeds or 40))
    seeds = sorted({int(name.split()[1]) for name in before}) if before and asked.seeds is None else some
    hashes, frames = gather(seeds, asked.jobs)
    if asked.out is not None:
        asked.out.write_text(json.dumps(hashes, indent=1) + "\n")
    if asked.frames is not None:
        asked.frames.write_text(json.dumps(frames, indent=1) + "\n")
        print(f"{len(frames)} kinds; not seen: {', '.join(sorted(set(FRAME_KINDS) - set(frames)))}")
    if asked.against is None:
        return 0
    different = differences(before, hashes)
    compared = sum(name in before for name in hashes)
    print(f"{compared - len(different)} of {compared} hashes are equal", *different, sep="\n  ")
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
