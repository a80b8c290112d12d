"""Hashes of simulated runs, and a recorded frame of every packet type: a change that only moves code keeps them equal.

    tools/trace_hashes.py --seeds 40 --out before.json            at the old commit
    tools/trace_hashes.py --seeds 40 --against before.json        at the new one; exit code 1 if anything differs
    tools/trace_hashes.py --story 17 --out before.txt             a line for each event of seed 17, then for each frame
    tools/trace_hashes.py --frames tests/unit/wire/testdata/frames.json    record the frames again

A run is one seed with 3 to 7 members; the workloads take turns. Its hashes are over every recorded event and over every
frame that was sent, with sender and destination. A commit that changes behaviour on purpose changes them, and says so.
`make same-protocol` compares two commits with this tool (same_protocol.py).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from hashlib import blake2b
from multiprocessing import Pool
from pathlib import Path
from unittest.mock import patch

from ringcast.sim import Cluster, Network, draw, run_world
from ringcast.sim.frames import FRAME_KINDS, words_of

WORKLOADS = ("mixed", "total", "state", "rejoin", "sealed")
MEMBERS = (3, 7)

Hashes = dict[str, str]
Frames = dict[str, tuple[str, str, str]]  # by kind: sender, destination, bytes in hex
Listen = Callable[[Network, str, str, bytes], None]


def run(seed: int, listen: Listen) -> tuple[str, Cluster]:
    """Run one seed while `listen` sees every frame; return the hash of its events, and the world as it ended."""
    transmit = Network.transmit

    def heard(network: Network, sender: str, to: str, frame: bytes) -> None:
        listen(network, sender, to, bytes(frame))
        transmit(network, sender, to, frame)

    with patch.object(Network, "transmit", heard):
        outcome, cluster = run_world(draw(seed, MEMBERS, workload=_workload(seed)))
    return outcome.trace_hash, cluster


def _workload(seed: int) -> str:
    return WORKLOADS[seed % len(WORKLOADS)]


def _kinds(network: Network, frame: bytes) -> tuple[str, ...]:
    packet = network.packet_of(frame)  # None: a frame that no decoder sees
    return ("none",) if packet is None else tuple(words_of(packet))


def hashes_of(seed: int) -> tuple[Hashes, Frames]:
    """The two hashes of one run, and the first frame of each kind in it."""
    digest = blake2b(digest_size=16)
    frames: Frames = {}

    def listen(network: Network, sender: str, to: str, frame: bytes) -> None:
        digest.update(f"{sender} {to} {len(frame)} ".encode() + frame)
        for word in _kinds(network, frame):
            if word not in frames:
                frames[word] = (sender, to, frame.hex())

    events, _ = run(seed, listen)
    name = f"{_workload(seed)} {seed}"
    return {f"{name} events": events, f"{name} frames": digest.hexdigest()}, frames


def story_of(seed: int) -> list[str]:
    """One line for each event of all members, in the order of time, then one for each frame as it was sent."""
    sent: list[str] = []

    def listen(network: Network, sender: str, to: str, frame: bytes) -> None:
        digest = blake2b(frame, digest_size=8).hexdigest()
        sent.append(f"{sender} -> {to} {' '.join(_kinds(network, frame))} {len(frame)} bytes {digest}")

    _, cluster = run(seed, listen)
    events = [(event.t_ns, str(one.header.member), event) for one in cluster.recorders for event in one.events]
    events.sort(key=lambda entry: entry[:2])
    return [f"{t_ns / 1e9:.6f} s {member} {event}" for t_ns, member, event in events] + sent


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
    parser.add_argument("--story", type=int, metavar="SEED")
    asked = parser.parse_args()
    if asked.story is not None:
        text = "\n".join(story_of(asked.story)) + "\n"
        if asked.out is None:
            print(text, end="")
        else:
            asked.out.write_text(text)
        return 0
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
