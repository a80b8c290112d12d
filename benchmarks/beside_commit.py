"""Two checkouts beside each other, in turn: the same programs against either, and the ratio of each pair.

    python benchmarks/beside_commit.py run FILE OLD_CHECKOUT [--lines WORDS] [--pairs 1] [--seconds 5]
    python benchmarks/beside_commit.py show FILE
    python benchmarks/beside_commit.py record DIRECTORY [--seconds 1]

`run` appends one JSON object per measurement to FILE; `show` prints medians and spreads of all that it holds; `record`
runs every line of this checkout once, recorded below DIRECTORY, and lets the checkers judge each recording. A checkout
is a directory with `src/` and its native parts built (`python tools/build_native.py` there). Every measurement is made
of processes of its own, in a network namespace, under the kernel's usual scheduling. The programs in `beside/` use only
what both have:

user      join, own messages delivered, fresh payloads, one `await send` each, `async for` whose body counts and
          compares the length; four processes, one sends, IP multicast; pyzmq over tcp and ipc in the same form
counts    the same with a body that only counts, beside the old checkout's single form
batch     `bench multicast`'s batch form; with 1 kB beside what a C program gets through the same sockets
forms     1 kB in batch and single form over UDP to each, IP multicast and TCP: the two checkouts alone
every     all three forms in three sizes by IP multicast (one sender, four) and TCP (one): the two checkouts alone
trips     one message to and fro between two members, fixed membership, UDP; beside a bare asyncio echo
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from ringcast.bench.echo import measure_echo
from ringcast.bench.raw import raw_megabytes_per_second
from ringcast.bench.zmq_peers import Variant, measure_variant
from ringcast.lab import free_ports, namespace

HERE = Path(__file__).resolve().parent
NEW = HERE.parent
LIMIT = 120
Row = dict[str, Any]


def start(checkout: Path, program: str, role: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-W", "ignore", str(HERE / "beside" / program), json.dumps(role)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)


def together(checkout: Path, program: str, roles: list[Row]) -> list[Row]:
    """Processes that begin when all are ready, and end when all have said what they saw."""
    running = [start(checkout, program, role) for role in roles]
    try:
        for process in running:
            assert process.stdout is not None and json.loads(process.stdout.readline()) == "ready"
        for process in running:
            tell(process)
        seen = [json.loads(process.stdout.readline()) for process in running if process.stdout is not None]
        for process in running:
            tell(process)
        for process in running:
            process.wait(LIMIT)
        return seen
    finally:
        for process in running:
            process.kill()
            process.communicate()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def user(
    checkout: Path,
    size: int,
    seconds: float,
    count: int = 0,
    record: str | None = None,
    senders: int = 1,
    way: str = "udp",
) -> Row:
    places = [f"127.0.0.1:{port}" for port in free_ports(4)]
    same = {"seed": places[0], "size": size, "seconds": seconds if not count else LIMIT, "count": count}
    same |= {"senders": senders, "way": way, "record": record}
    roles = [{"name": f"m{i}", "at": at, "sends": i < senders, **same} for i, at in enumerate(places)]
    seen = together(checkout, "user.py", roles)
    return {
        "figure": statistics.median(report["messages"] / report["ns"] * 1e9 for report in seen[1:]),
        "complete": not any(report["wrong"] for report in seen),
        "cpu_us": sum(report["cpu"] for report in seen) / sum(report["sent"] for report in seen) * 1e6,
        "rss": max(report["rss"] for report in seen),
        "again": sum(report["again"] for report in seen),
    }


def form(
    checkout: Path, form: str, senders: int, size: int, seconds: float, transport: str, record: str | None = None
) -> Row:
    process = start(checkout, "batch.py", [form, senders, size, seconds, transport, record])
    out, _ = process.communicate(timeout=seconds + LIMIT)
    found = json.loads(out)
    sent = sum(found["sent"].values())
    return {
        "figure": found["messages_per_second_per_receiver"],
        "complete": found["complete"],
        "cpu_us": sum(found["cpu_seconds"].values()) / sent * 1e6,
        "rss": found["rss_megabytes_max"],
        "again": found["retransmitted"],
        "from_others": found["megabytes_per_second_from_others"],
    }


def in_form(checkout: Path, shape: str, senders: int, size: int, seconds: float, way: str) -> Row:
    if shape == "user":
        return user(checkout, size, seconds, senders=senders, way=way)
    return form(checkout, shape, senders, size, seconds, way)


def trips(checkout: Path, seconds: float, loop: str = "asyncio", record: str | None = None) -> Row:
    ports = free_ports(2)
    members = {name: f"127.0.0.1:{port}" for name, port in zip(("asks", "answers"), ports, strict=True)}
    same = {"members": members, "size": 100, "seconds": seconds, "loop": loop, "record": record}
    seen = together(checkout, "round_trip.py", [{"name": name, "asks": name == "asks", **same} for name in members])
    return {"figure": seen[0]["p50_us"], "p90_us": seen[0]["p90_us"], "complete": True}


def echo(seconds: float) -> Row:
    return {"figure": asyncio.run(measure_echo(0, seconds, 100, closed_loop=True))["p50_us"]}


def pyzmq(scheme: str, size: int, seconds: float) -> Row:
    outcome = measure_variant(Variant(scheme, "user"), senders=1, members=4, size=size, seconds=seconds)
    return {"figure": outcome.messages_per_second, "complete": not outcome.missing}


def lines(old: Path, seconds: float) -> Iterator[tuple[str, list[tuple[str, Callable[[], Row]]]]]:
    """(line, [(who, how)]): everything of a line runs in this order, and in every second turn the other way round."""
    for size in (100, 1_000, 10_000):
        yield (
            f"user {size} B",
            [
                ("old", lambda size=size: user(old, size, seconds)),
                ("new", lambda size=size: user(NEW, size, seconds)),
                ("pyzmq tcp", lambda size=size: pyzmq("tcp", size, seconds)),
                ("pyzmq ipc", lambda size=size: pyzmq("ipc", size, seconds)),
            ],
        )
    yield (
        "counts 100 B",
        [
            ("old", lambda: form(old, "single", 1, 100, seconds, "udp")),
            ("new", lambda: user(NEW, 100, seconds, count=64 * int(seconds * 12_000))),
        ],
    )
    for senders, size, transport in BATCHES:
        way = "multicast" if transport == "udp" else "TCP"
        found: list[tuple[str, Callable[[], Row]]] = [
            ("old", lambda a=(senders, size), t=transport: form(old, "batch", *a, seconds, t)),
            ("new", lambda a=(senders, size), t=transport: form(NEW, "batch", *a, seconds, t)),
        ]
        if (size, transport, senders) == (1_000, "udp", 1):
            found.append(("raw", lambda: raw(seconds)))
        yield f"batch {senders} x {size} B {way}", found
    for shape in ("batch", "single"):
        for way in WAYS:
            yield (
                f"forms {shape} 1000 B {WAYS[way]}",
                [
                    ("old", lambda shape=shape, way=way: form(old, shape, 1, 1_000, seconds, way)),
                    ("new", lambda shape=shape, way=way: form(NEW, shape, 1, 1_000, seconds, way)),
                ],
            )
    for shape, size, (senders, way) in product(("batch", "single", "user"), (100, 1_000, 10_000), SHAPES):
        yield (
            f"every {shape} {senders} x {size} B {WAYS[way]}",
            [
                ("old", partial(in_form, old, shape, senders, size, seconds, way)),
                ("new", partial(in_form, NEW, shape, senders, size, seconds, way)),
            ],
        )
    yield (
        "trips 100 B",
        [
            ("old", lambda: trips(old, seconds)),
            ("new", lambda: trips(NEW, seconds)),
            ("new uvloop", lambda: trips(NEW, seconds, "uvloop")),
            ("echo", lambda: echo(seconds)),
        ],
    )


SHAPES = ((1, "udp"), (4, "udp"), (1, "tcp"))
WAYS = {"unicast": "UDP to each", "udp": "multicast", "tcp": "TCP"}
BATCHES = (
    (1, 1_000, "udp"),
    (4, 1_000, "udp"),
    (1, 10_000, "udp"),
    (4, 10_000, "udp"),
    (1, 10_000, "tcp"),
    (4, 10_000, "tcp"),
)


def raw(seconds: float) -> Row:
    rate = raw_megabytes_per_second("udp-multicast", members=4, senders=1, seconds=seconds)
    return {"figure": rate * 1e6 / 1_000, "complete": True}


def run(args: argparse.Namespace) -> None:
    namespace.enter()
    with args.file.open("a") as out:
        for turn in range(args.pairs):
            for line, contestants in lines(args.old.resolve(), args.seconds):
                if args.lines not in line:
                    continue
                for who, how in contestants[:: -1 if turn % 2 else 1]:
                    row = {"line": line, "who": who, **how()}
                    whole = "" if row.get("complete", True) else "INCOMPLETE"
                    print(line, who, f"{row['figure']:,.0f}", whole, flush=True)
                    out.write(json.dumps(row) + "\n")
                    out.flush()


def record(directory: Path, seconds: float) -> int:
    """How many lines did not hold what they must."""
    namespace.enter()
    ways = {f"user-{size}": partial(user, NEW, size, seconds) for size in (100, 1_000, 10_000)}
    ways |= {f"batch-{n}x{size}-{way}": partial(form, NEW, "batch", n, size, seconds, way) for n, size, way in BATCHES}
    ways["trips"] = partial(trips, NEW, seconds)
    failed = 0
    for name, way in ways.items():
        row = way(record=str(directory / name))
        command = [sys.executable, "-m", "ringcast", "check", "--checkers", str(directory / name)]
        verdict = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(NEW / "src")}, check=False)
        failed += verdict.returncode != 0 or not row["complete"]
        print(name, f"{row['figure']:,.0f}", "held" if verdict.returncode == 0 else "NOT HELD", flush=True)
    return failed


def show(path: Path) -> None:
    rows: list[Row] = [json.loads(text) for text in path.read_text().splitlines()]
    print("| line | who | median (least to most) of n | CPU us/message | beside old, pair by pair |")
    print("|---|---|---|---|---|")
    for line, who in dict.fromkeys((row["line"], row["who"]) for row in rows):
        found = [row for row in rows if (row["line"], row["who"]) == (line, who)]
        olds = [row["figure"] for row in rows if (row["line"], row["who"]) == (line, "old")]
        whole = "" if all(row.get("complete", True) for row in found) else " INCOMPLETE"
        cpu = f"{statistics.median(row['cpu_us'] for row in found):.2f}" if "cpu_us" in found[0] else ""
        if cpu and who == "new":
            before = [row["cpu_us"] for row in rows if (row["line"], row["who"]) == (line, "old")]
            cpu += f", times {spread([row['cpu_us'] / b for row, b in zip(found, before, strict=False)], 2)}"
        ratios = [row["figure"] / old for row, old in zip(found, olds, strict=False)]
        beside = spread(ratios, 2) if who != "old" and ratios else ""
        figures = spread([row["figure"] for row in found], 0)
        print(f"| {line} | {who} | {figures} of {len(found)}{whole} | {cpu} | {beside} |")


def spread(figures: list[float], digits: int) -> str:
    return f"{statistics.median(figures):,.{digits}f} ({min(figures):,.{digits}f} to {max(figures):,.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show", "record"])
    parser.add_argument("file", type=Path, help="or the directory for recordings")
    parser.add_argument("old", type=Path, nargs="?", help="the other checkout")
    parser.add_argument("--lines", default="", help="only lines whose name contains this")
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()
    if args.what == "run":
        run(args)
    elif args.what == "record":
        sys.exit(record(args.file, args.seconds))
    else:
        show(args.file)


if __name__ == "__main__":
    main()
