"""What the simulated world costs per delivery, in two checkouts: the same load and the same faults given to both.

    python benchmarks/simulation_cost.py --against DIR [--seeds 6] [--rounds 5] [--json]

DIR is a checkout of e089adc, where a second driver inside `sim/` drove the core, or of any commit since; build its
native parts first (`python tools/build_native.py` there). A run is five members that find each other and send to the
group, to one another and, a tenth, in the one order, for ten simulated seconds under six faults; then everything heals,
and the run ends when all share a view and nothing waits. Load and faults are drawn here from the seed, of kinds
that both checkouts know, because the seeds of `ringcast simulate` draw other things at every commit.

Old and new take turns, each in a process of its own. Reported for each: CPU milliseconds per delivery and simulated
seconds per CPU second of the world alone, and the CPU of the verdict apart, with the number of guarantees that it
judges. Of each seed the round with the least CPU counts: what else runs on the machine only adds.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from ringcast.checkers import judge
from ringcast.core import Channel
from ringcast.model import MS, SECOND, Kind
from ringcast.sim import Cluster, Fault, Link

HERE = Path(__file__).resolve().parent.parent
NAMES = ["A", "B", "C", "D", "E"]
SAFETY_NS, BOUND_NS = 10 * SECOND, 20 * SECOND
PER_SECOND = 20  # messages of each member
AMOUNTS = {"loss": 0.1, "duplicate": 0.1, "reorder": 0.2, "jitter": 5.0, "delay": 20.0, "slow-reading": 20.0}
KINDS = [*AMOUNTS, "split", "isolate", "one-way", "freeze", "stop-reading", "no-acks", "crash"]
WHOM = {"split": 2, "one-way": 2, "isolate": 1, "freeze": 1, "stop-reading": 1, "slow-reading": 1, "crash": 1}


# ---- one run, with whatever `ringcast` is imported


def faults_of(seed: int) -> Iterator[Fault]:
    random = Random(f"cost/{seed}/faults")
    for kind in random.sample(KINDS, 6):
        at_ns = random.randint(1000, 7000) * MS
        until_ns = at_ns + random.randint(500, 2500) * MS
        yield Fault(kind, at_ns, until_ns, tuple(random.sample(NAMES, WHOM.get(kind, 0))), AMOUNTS.get(kind, 0.0))


def plan_load(cluster: Cluster, seed: int) -> None:
    for name in NAMES:
        random = Random(f"cost/{seed}/load/{name}")
        at_ns, number = SECOND, 0
        while at_ns < SAFETY_NS + SECOND:
            at_ns += int(random.expovariate(PER_SECOND) * SECOND)
            number += 1
            payload = f"{name}:{number}:".encode() + bytes(random.choice((10, 100, 500)))
            to = random.sample([other for other in NAMES if other != name], random.randint(1, 3))
            cluster.clock.at(at_ns, say, cluster, random.random(), name, payload, to)


def say(cluster: Cluster, draw: float, name: str, payload: bytes, to: list[str]) -> None:
    """One in five to these, one in ten in the one order, the others to the group; nobody sends before it is in."""
    if not cluster.is_alive(name) or cluster[name].is_frozen or not is_in_a_group(cluster, name):
        return
    members = cluster[name].node.view.members
    if draw < 0.1:
        cluster.queue(name, payload)
    elif draw < 0.8:
        cluster.send(name, payload)
    elif peers := [peer for peer in to if is_in_a_group(cluster, peer) and cluster.address(peer) in members]:
        cluster.send(name, payload, to=peers)


def is_in_a_group(cluster: Cluster, name: str) -> bool:
    return getattr(cluster[name], "has_begun", True) and cluster[name].node.has_group  # e089adc: begun when started


def run(seed: int) -> dict[str, Any]:
    began = time.process_time()
    cluster = Cluster(NAMES, seed=seed, link=Link(delay_ns=MS, jitter_ns=MS), fixed=False)
    plan_load(cluster, seed)
    for fault in faults_of(seed):
        cluster.faults.plan(fault)
    cluster.run_for(SAFETY_NS)
    cluster.start_missing()
    cluster.heal(BOUND_NS)
    cluster.run_for(SECOND)
    settled = cluster.run_until(lambda: cluster.is_settled() and cluster.share_a_view(), BOUND_NS, 50 * MS)
    simulated = cluster.clock.now_ns / SECOND
    getattr(cluster, "end_all" if hasattr(cluster, "end_all") else "close_all")()  # the second is the name in e089adc
    ran = time.process_time()
    recordings = cluster.recordings()
    judgement = judge(recordings)
    judged = time.process_time()
    return {
        "cpu": ran - began,
        "verdict_cpu": judged - ran,
        "guarantees": len(judgement.findings),
        "violations": {
            name: finding.violation_count for name, finding in judgement.findings.items() if finding.violation_count
        },
        "settled": settled,
        "simulated": simulated,
        "events": judgement.events,
        "deliveries": sum(
            event.count
            for recording in recordings
            for event in recording.events
            if event.kind is Kind.DELIVER and event.stream % len(Channel) in (Channel.GROUP, Channel.PEER)
        ),
    }


def serve() -> None:
    logging.getLogger("ringcast").disabled = True
    for line in sys.stdin:
        print(json.dumps(run(int(line))), flush=True)


# ---- two of them in turns


def worker(checkout: Path) -> subprocess.Popen[str]:
    environment = {"PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0", "PATH": ""}
    command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen[str], seed: int) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{seed}\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    assert answer["settled"] and not answer["violations"], (seed, answer)
    return answer


def compare(checkouts: dict[str, Path], seeds: range, rounds: int) -> dict[str, dict[str, float]]:
    workers = {name: worker(path) for name, path in checkouts.items()}
    found: dict[str, dict[int, list[dict[str, Any]]]] = {name: {seed: [] for seed in seeds} for name in workers}
    try:
        for _ in range(rounds):
            for seed in seeds:
                for name, process in workers.items():
                    found[name][seed].append(ask(process, seed))
    finally:
        for process in workers.values():
            process.kill()
    return {name: in_all(list(runs.values())) for name, runs in found.items()}


def in_all(runs: list[list[dict[str, Any]]]) -> dict[str, float]:
    """Over all seeds; of each the least CPU of its rounds. `spread`: the most CPU instead, as a factor."""
    deliveries = sum(rounds[0]["deliveries"] for rounds in runs)
    cpu = sum(min(one["cpu"] for one in rounds) for rounds in runs)
    verdict_cpu = sum(min(one["verdict_cpu"] for one in rounds) for rounds in runs)
    return {
        "deliveries": deliveries,
        "events": sum(rounds[0]["events"] for rounds in runs),
        "cpu_ms_per_delivery": 1e3 * cpu / deliveries,
        "simulated_seconds_per_cpu_second": sum(rounds[0]["simulated"] for rounds in runs) / cpu,
        "verdict_cpu_ms_per_delivery": 1e3 * verdict_cpu / deliveries,
        "guarantees": runs[0][0]["guarantees"],
        "spread": sum(max(one["cpu"] for one in rounds) for rounds in runs) / cpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="the other checkout, a directory with src/ringcast")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        return serve()
    if asked.against is None or not (asked.against / "src" / "ringcast").is_dir():
        sys.exit(f"{asked.against} is no checkout: it has no src/ringcast")
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    found = compare({"old": asked.against.resolve(), "new": HERE}, seeds, asked.rounds)
    old, new = found["old"], found["new"]
    ratio = new["cpu_ms_per_delivery"] / old["cpu_ms_per_delivery"]
    whole = [each["cpu_ms_per_delivery"] + each["verdict_cpu_ms_per_delivery"] for each in (new, old)]
    if asked.json:
        print(json.dumps({**found, "ratio": ratio, "ratio_with_verdict": whole[0] / whole[1]}))
        return None
    for name, each in found.items():
        print(
            f"{name}: {each['cpu_ms_per_delivery']:.3f} CPU ms per delivery,"
            f" {each['simulated_seconds_per_cpu_second']:.1f} simulated seconds per CPU second"
            f" ({each['deliveries']:.0f} deliveries, {each['events']:.0f} events, spread {each['spread']:.2f});"
            f" verdict {each['verdict_cpu_ms_per_delivery']:.3f} ms more for {each['guarantees']:.0f} guarantees"
        )
    print(f"new / old per delivery: {ratio:.2f} without the verdict, {whole[0] / whole[1]:.2f} with it")
    return None


if __name__ == "__main__":
    main()
