"""The multicast's table: four processes, three sizes, one or all sending, IP multicast and TCP, beside raw sockets.

    python benchmarks/multicast_table.py run FILE [--seconds 1.5] [--lines WORDS] [--extra | --lossy] [--plain]
    python benchmarks/multicast_table.py show FILE

`run` measures every line once and appends the figures to FILE, one JSON object per line; run it three times. `show`
prints the median and the spread of what FILE holds, beside the figures of JGroups 5.6 on a machine like ours (not one
run with ours). `--extra`: the one-message form, pyzmq and 1,400 B datagrams. `--lossy`: with 10 % loss. Everything runs
in a network namespace of its own, under SCHED_BATCH (contestants too) unless `--plain`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringcast.bench.multicast import Shape, measure, schedule_in_batches
from ringcast.bench.raw import Mode, raw_megabytes_per_second
from ringcast.bench.zmq_peers import measure_peers
from ringcast.lab import namespace

SIZES = (100, 1_000, 10_000)
JGROUPS = {  # messages per second at each receiver: JGroups 5.6, its best of three protocols, tuned
    "1 sender, IP multicast": (1.11e6, 0.49e6, 0.077e6),
    "4 senders, IP multicast": (1.29e6, 0.63e6, 0.082e6),
    "1 sender, TCP": (0.61e6, 0.30e6, 0.046e6),
    "4 senders, TCP": (0.82e6, 0.38e6, 0.056e6),
}


def lines(seconds: float) -> list[tuple[str, Shape]]:
    found = []
    for name in JGROUPS:
        tcp = name.endswith("TCP")
        for size in SIZES:
            senders = int(name[0])
            shape = Shape(4, senders, size, seconds, "tcp" if tcp else "udp", ip_multicast=not tcp)
            found.append((f"{name}, {size} B", shape))
    return found


def figures(result: dict[str, Any]) -> dict[str, Any]:
    wanted = ("messages_per_second_per_receiver", "megabytes_per_second_from_others", "complete", "retransmitted")
    return {name: result[name] for name in (*wanted, "overflows", "rss_megabytes_max", "cpu_seconds")}


def run_line(name: str, shape: Shape, raw: dict[tuple[Mode, int], float]) -> dict[str, Any]:
    result = figures(asyncio.run(measure(shape, "batch")))
    mode: Mode = "tcp" if shape.transport == "tcp" else "udp-multicast"
    key = (mode, shape.senders)
    if key not in raw:  # once per round: it does not depend on the size of our messages
        raw[key] = raw_megabytes_per_second(mode, members=4, senders=shape.senders, seconds=shape.seconds)
    share = result["megabytes_per_second_from_others"] / raw[key]
    return {"line": name, **result, "raw_megabytes_per_second": raw[key], "share_of_raw": share}


def run_extra(seconds: float) -> list[dict[str, Any]]:
    """What stands beside the table: the one-message form, small datagrams, pyzmq."""
    found = []
    for name, shape in lines(seconds):
        if shape.senders == 1:
            single = figures(asyncio.run(measure(shape, "single")))
            found.append({"line": f"{name}, one message at a time", **single})
        if shape.senders == 1 and shape.ip_multicast:
            small = figures(asyncio.run(measure(replace(shape, frame_bytes=1_400), "batch")))
            found.append({"line": f"{name}, 1,400 B datagrams", **small})
            for peer, rate in measure_peers(senders=1, members=4, size=shape.size, seconds=seconds).items():
                found.append({"line": f"{peer}, {shape.size} B", "messages_per_second_per_receiver": rate})
    return found


def run_lossy(seconds: float) -> list[dict[str, Any]]:
    namespace.lose(10)
    shapes = [shape for name, shape in lines(seconds) if name.startswith("1 sender, IP")]
    return [
        {"line": f"10 % loss, {size} B frames, {shape.size} B", **figures(asyncio.run(measure(small, "batch")))}
        for shape in shapes
        for size in (64_000, 1_400)
        for small in [replace(shape, frame_bytes=size)]
    ]


def run(args: argparse.Namespace) -> None:
    namespace.enter()
    if not args.plain:
        schedule_in_batches()
    raw: dict[tuple[Mode, int], float] = {}
    with args.file.open("a") as out:
        found: Iterable[dict[str, Any]]
        if args.lossy:
            found = run_lossy(args.seconds)
        elif args.extra:
            found = run_extra(args.seconds)
        else:
            chosen = [(name, shape) for name, shape in lines(args.seconds) if args.lines in name]
            found = (run_line(name, shape, raw) for name, shape in chosen)
        for row in found:
            print(row["line"], f"{row['messages_per_second_per_receiver'] / 1e6:.3f} M", flush=True)
            out.write(json.dumps(row) + "\n")
            out.flush()


def show(path: Path) -> None:
    rows: dict[str, list[dict[str, Any]]] = {}
    for text in path.read_text().splitlines():
        row = json.loads(text)
        rows.setdefault(row["line"], []).append(row)
    print(
        "| line | messages/s at each receiver: median (least to most) of n | JGroups | share of raw | repaired | MB |"
    )
    print("|---|---|---|---|---|---|")
    for name, found in rows.items():
        print(words(name, found))


def words(name: str, found: list[dict[str, Any]]) -> str:
    rates = sorted(row["messages_per_second_per_receiver"] / 1e6 for row in found)
    title, _, size = name.rpartition(", ")
    known = JGROUPS.get(title)
    theirs = f"{known[SIZES.index(int(size.split()[0]))] / 1e6:.3f} M" if known else ""
    shares = [row["share_of_raw"] for row in found if "share_of_raw" in row]
    share = f"{statistics.median(shares):.0%}" if shares else ""
    again = max((row.get("retransmitted", 0) for row in found), default=0)
    memory = max((row.get("rss_megabytes_max", 0) for row in found), default=0)
    whole = "" if all(row.get("complete", True) for row in found) else " INCOMPLETE"
    middle = f"{statistics.median(rates):.3f} M ({rates[0]:.3f} to {rates[-1]:.3f}) of {len(rates)}{whole}"
    return f"| {name} | {middle} | {theirs} | {share} | {again} | {memory:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--lines", default="", help="only lines whose name contains this")
    parser.add_argument("--extra", action="store_true", help="what stands beside the table, instead of the table")
    parser.add_argument("--lossy", action="store_true", help="with 10 %% of all packets lost, instead of the table")
    parser.add_argument("--plain", action="store_true", help="under the kernel's usual scheduling")
    args = parser.parse_args()
    if args.what == "run":
        run(args)
    else:
        show(args.file)


if __name__ == "__main__":
    main()
