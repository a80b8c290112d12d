"""Goodput over a bad simulated link: 10 % loss, 1 % duplicates, reordering; in simulated time, so it repeats exactly.

    python benchmarks/lossy_link.py [--seed 1]

The link adds half a millisecond each way. What limits goodput is repair: a lost message waits one to two intervals, and
the window stands still behind it. The figure says how much of a window gets through per interval, not how fast we are.
"""

from __future__ import annotations

import argparse
import json

from ringcast.model import MS, SECOND, profile
from ringcast.sim import Cluster, Link

BAD = Link(delay_ns=MS // 2, loss=0.10, duplicate=0.01, reorder=0.05, reorder_ns=2 * MS)
SIZE = 1_000
COUNTS = {"local": 2_000, "lan": 2_000}  # messages; in small frames each costs the simulator a packet per receiver


def goodput(kind: str, seed: int, *, multicasts: bool) -> dict[str, object]:
    cluster = Cluster(4, seed=seed, link=BAD, config=profile(kind), multicasts=multicasts)
    count = COUNTS[kind]
    payloads = [str(number).encode().ljust(SIZE, b".") for number in range(count)]
    began = cluster.clock.now_ns
    cluster.send("A", *payloads)
    is_settled = cluster.run_until(cluster.is_settled, 600 * SECOND)
    seconds = (cluster.clock.now_ns - began) / SECOND
    complete = is_settled and all(cluster.read(reader, "A") == payloads for reader in "BCD")
    return {
        "profile": kind,
        "multicasts": multicasts,
        "complete": complete,
        "simulated_seconds": round(seconds, 3),
        "messages_per_second": round(count / seconds),
        "megabytes_per_second": round(count * SIZE / seconds / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    for kind in COUNTS:
        for multicasts in (False, True):
            print(json.dumps(goodput(kind, seed, multicasts=multicasts)))


if __name__ == "__main__":
    main()
