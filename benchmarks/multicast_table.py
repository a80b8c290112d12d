"""The multicast's tables: four processes, three sizes, one or all sending, IP multicast and TCP, beside raw sockets.

    python benchmarks/multicast_table.py run FILE [--seconds 0.8] [--lines WORDS] [--extra | --lossy] [--plain]
    python benchmarks/multicast_table.py show FILE

`run` measures every line once and appends the figures to FILE, one JSON object per line; run it three times (about a
minute each). `--extra` instead: all three forms, 1,400 B datagrams and pyzmq, one sender, all sizes.
`--lossy` instead: with 10 % loss. `show` prints the tables of docs/benchmarks.md from what FILE holds of each kind:
medians and spreads, beside the figures of JGroups 5.6 on a machine like ours (not one run with ours). Everything runs
in a network namespace of its own, under SCHED_BATCH (contestants too) unless `--plain`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Iterable, Iterator
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
    more = ("overflows", "rss_megabytes_max", "cpu_seconds", "cpu_us_per_message")
    return {name: result[name] for name in (*wanted, *more) if name in result}


def run_line(name: str, shape: Shape) -> dict[str, Any]:
    """With the raw limit right behind it: that does not depend on the size, but on what the machine can do just now."""
    result = figures(asyncio.run(measure(shape, "batch")))
    mode: Mode = "tcp" if shape.transport == "tcp" else "udp-multicast"
    raw = raw_megabytes_per_second(mode, members=4, senders=shape.senders, seconds=shape.seconds)
    share = result["megabytes_per_second_from_others"] / raw
    return {"line": name, **result, "raw_megabytes_per_second": raw, "share_of_raw": share}


def run_extra(seconds: float, plain: bool) -> Iterator[dict[str, Any]]:
    """What stands beside the table, each size in one go: both forms, small datagrams, pyzmq."""
    mark = ", usual scheduling" if plain else ""
    for size in SIZES:
        for name, form, shape in beside(size, seconds):
            found = figures(asyncio.run(measure(shape, form)))
            yield {"contestant": name + mark, "size": size, "line": f"{name}{mark}, {size} B", **found}
        for name, rate in measure_peers(senders=1, members=4, size=size, seconds=seconds).items():
            line = {"contestant": name + mark, "size": size, "line": f"{name}{mark}, {size} B"}
            yield {**line, "messages_per_second_per_receiver": rate}


def beside(size: int, seconds: float) -> Iterator[tuple[str, str, Shape]]:
    tcp = Shape(4, 1, size, seconds, "tcp")
    multicast = Shape(4, 1, size, seconds, "udp", ip_multicast=True)
    for form, words in (("user", "the user's form"), ("single", "sent one by one"), ("batch", "batches")):
        yield f"ringcast, TCP, {words}", form, tcp
        yield f"ringcast, IP multicast, {words}", form, multicast
    yield "ringcast, IP multicast, batches, 1,400 B datagrams", "batch", replace(multicast, frame_bytes=1_400)


def run_lossy(seconds: float) -> Iterator[dict[str, Any]]:
    namespace.lose(10)
    shapes = [shape for name, shape in lines(seconds) if name.startswith("1 sender, IP")]
    for shape in shapes:
        for size in (64_000, 1_400):
            found = figures(asyncio.run(measure(replace(shape, frame_bytes=size), "batch")))
            yield {"line": f"10 % loss, {size} B frames, {shape.size} B", "is_lossy": True, **found}


def run(args: argparse.Namespace) -> None:
    namespace.enter()
    if not args.plain:
        schedule_in_batches()
    with args.file.open("a") as out:
        found: Iterable[dict[str, Any]]
        if args.lossy:
            found = run_lossy(args.seconds)
        elif args.extra:
            found = run_extra(args.seconds, args.plain)
        else:
            chosen = [(name, shape) for name, shape in lines(args.seconds) if args.lines in name]
            found = (run_line(name, shape) for name, shape in chosen)
        for row in found:
            print(row["line"], f"{row['messages_per_second_per_receiver'] / 1e6:.3f} M", flush=True)
            out.write(json.dumps(row) + "\n")
            out.flush()


Rows = list[dict[str, Any]]


def show(path: Path) -> None:
    rows: Rows = [json.loads(text) for text in path.read_text().splitlines()]
    beside = [row for row in rows if "contestant" in row]
    lossy = [row for row in rows if row.get("is_lossy")]
    table = [row for row in rows if "share_of_raw" in row]
    for found, print_table in ((table, show_table), (beside, show_beside), (lossy, show_lossy)):
        if found:
            print_table(found)
            print()


def show_table(rows: Rows) -> None:
    print(
        "| line | messages/s at each receiver: median (least to most) of n | JGroups | share of raw | repaired | MB |"
    )
    print("|---|---|---|---|---|---|")
    for name, found in grouped(rows, "line").items():
        print(words(name, found))


def show_beside(rows: Rows) -> None:
    print(
        "| 1 sender, messages/s at each receiver: median (least to most) |",
        " | ".join(f"{size} B" for size in SIZES),
        "|",
    )
    print("|---|---|---|---|")
    for name, found in grouped(rows, "contestant").items():
        by_size = grouped(found, "size")
        print(f"| {name} |", " | ".join(spread(by_size[size]) if size in by_size else "" for size in SIZES), "|")


def show_lossy(rows: Rows) -> None:
    print("| line | messages/s at each receiver: median (least to most) | sent again |")
    print("|---|---|---|")
    for name, found in grouped(rows, "line").items():
        print(f"| {name} | {spread(found)} | {statistics.median(row['retransmitted'] for row in found):.0f} |")


def grouped(rows: Rows, by: str) -> dict[Any, Rows]:
    found: dict[Any, Rows] = {}
    for row in rows:
        found.setdefault(row[by], []).append(row)
    return found


def spread(found: Rows) -> str:
    """Median, and where there are several rounds least and most; says so if something did not arrive."""
    rates = sorted(row["messages_per_second_per_receiver"] / 1e6 for row in found)
    whole = "" if all(row.get("complete", True) for row in found) else " INCOMPLETE"
    around = f" ({rates[0]:.3f} to {rates[-1]:.3f})" if len(rates) > 1 else ""
    return f"{statistics.median(rates):.3f} M{around}{whole}"


def words(name: str, found: list[dict[str, Any]]) -> str:
    title, _, size = name.rpartition(", ")
    known = JGROUPS.get(title)
    theirs = f"{known[SIZES.index(int(size.split()[0]))] / 1e6:.3f} M" if known else ""
    shares = [row["share_of_raw"] for row in found if "share_of_raw" in row]
    share = f"{statistics.median(shares):.0%}" if shares else ""
    again = max((row.get("retransmitted", 0) for row in found), default=0)
    memory = max((row.get("rss_megabytes_max", 0) for row in found), default=0)
    return f"| {name} | {spread(found)} of {len(found)} | {theirs} | {share} | {again} | {memory:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=0.8)
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
