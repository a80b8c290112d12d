"""CPU seconds from recordings to verdict by Spark, of two checkouts in turns on the same recordings.

    python benchmarks/pipeline_cpu.py OLD_CHECKOUT [MILLION_DELIVERIES] [ROUNDS] [PLACE]

The history (8 members, as in `ringcast bench pipeline`) is told by this checkout and recorded by the old one, whose
format both read. Each checkout has a Spark session of its own on this machine; they judge the same recordings in turns,
decoding included. In each turn the first time is not counted: Spark ends Python workers that were idle for a minute.
Counted are the CPU seconds of all processes: driver, JVM and Python workers. A checkout is a directory with `src/`.
With PLACE the recordings are kept there, and taken if they are there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent.parent
PERIOD = 1_000_000  # deliveries

TELLER = """
import pickle, sys
from ringcast.bench.history import Shape, make_period
period = make_period(1, Shape(deliveries=int(sys.argv[1])))
names = ("kind", "t_ns", "view", "peer", "stream", "first", "count", "ordinal", "value", "other", "detail")
told = [[tuple(getattr(event, name) for name in names) for event in events] for events in period.events]
numbers = [period.sent, period.queued, period.delivered, period.dequeued, period.duration_ns]
pickle.dump((period.addresses, told, numbers), open(sys.argv[2], "wb"))
"""

WRITER = """
import pickle, sys
from pathlib import Path
from ringcast.model import Event
from ringcast.pipeline import Shape
from ringcast.pipeline.history import Period, write_recordings
addresses, told, numbers = pickle.load(open(sys.argv[1], "rb"))
events = [[Event(*fields) for fields in member] for member in told]
write_recordings(Path(sys.argv[2]), Period(Shape(), addresses, events, *numbers), int(sys.argv[3]))
"""

WORKER = """
import json, os, sys, time
from pathlib import Path
from ringcast.pipeline import spark_session

def cpu():
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            start, _, rest = (place / "stat").read_text().rpartition(")")
        except OSError:
            continue
        found[int(place.name)] = (start.partition("(")[2], rest.split())
    parts = {"driver": 0, "jvm": 0, "tasks": 0}
    for pid, (name, fields) in found.items():
        at = pid
        while at > 1 and at != os.getpid():
            at = int(found[at][1][1]) if at in found else 0
        if at == os.getpid():
            part = "driver" if pid == at else "jvm" if name == "java" else "tasks"
            own = sum(map(int, fields[11:13]))
            parts[part] += own
            if part != "driver":
                parts["tasks"] += sum(map(int, fields[13:15]))
    return {name: ticks / os.sysconf("SC_CLK_TCK") for name, ticks in parts.items()}

def judge(spark, place):
    try:
        from ringcast.pipeline import Application, segment_files
    except ImportError:
        from ringcast.pipeline.judge import judge_recordings
        from ringcast.trace import read_run
        judgement = judge_recordings(spark, read_run([Path(place)]))
        return judgement.verdict, judgement.events
    application = Application(segment_files(spark, place), with_tables=False)
    (judgement,) = application.judge().values()
    application.close()
    return judgement.verdict, judgement.events

with spark_session() as spark:
    for line in sys.stdin:
        before, begun = cpu(), time.perf_counter()
        verdict, events = judge(spark, line.strip())
        seconds, after = time.perf_counter() - begun, cpu()
        used = {name: after[name] - before[name] for name in after}
        print(json.dumps({"verdict": verdict, "events": events, "seconds": seconds, **used}), flush=True)
"""


def started(checkout: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def write(checkout: Path, place: Path, deliveries: int) -> None:
    """Recordings in the format of this checkout, of the history that the present one tells."""
    period = min(deliveries, PERIOD)
    told = place.with_suffix(".told")
    if started(HERE, TELLER, str(period), str(told)).wait():
        sys.exit(f"{HERE} told no history")
    if started(checkout, WRITER, str(told), str(place), str(max(1, round(deliveries / period)))).wait():
        sys.exit(f"{checkout} wrote no recordings")


def judged(worker: subprocess.Popen[str], place: Path) -> dict[str, Any]:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(f"{place}\n")
    worker.stdin.flush()
    told: dict[str, Any] = json.loads(worker.stdout.readline())
    return {**told, "cpu": sum(told[part] for part in ("driver", "jvm", "tasks"))}


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    old = Path(sys.argv[1]).resolve()
    if not (old / "src" / "ringcast").is_dir():
        sys.exit(f"{old} is no checkout: it has no src/ringcast")
    millions = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with TemporaryDirectory(prefix="ringcast-bench-") as temporary:
        place = Path(sys.argv[4] if len(sys.argv) > 4 else temporary)
        place.mkdir(parents=True, exist_ok=True)
        small, large = place / "small", place / f"{millions:g}-million"
        for recordings, deliveries in ((small, 20_000), (large, int(millions * 1e6))):
            if not recordings.exists():
                write(old, recordings, deliveries)
        workers = {"old": started(old, WORKER), "new": started(HERE, WORKER)}
        try:
            compare(workers, small, large, rounds)
        finally:
            for worker in workers.values():
                assert worker.stdin is not None
                worker.stdin.close()
                worker.wait()


def compare(workers: dict[str, subprocess.Popen[str]], small: Path, large: Path, rounds: int) -> None:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in workers}
    for worker in workers.values():
        judged(worker, small)
    for turn in range(rounds):
        for name, worker in workers.items():
            judged(worker, large)
            told = judged(worker, large)
            found[name].append(told)
            parts = ", ".join(f"{part} {told[part]:.2f}" for part in ("driver", "jvm", "tasks"))
            print(f"{turn + 1} {name}: {told['cpu']:.2f} CPU s ({parts}), {told['seconds']:.1f} s, {told['verdict']}")
            sys.stdout.flush()
    events = found["new"][0]["events"]
    for name, all_told in found.items():
        used = sorted(told["cpu"] for told in all_told)
        per_million = median(used) / events * 1e6
        print(
            f"{name}: median {median(used):.2f} CPU s ({used[0]:.2f} to {used[-1]:.2f}), {per_million:.2f} per million"
        )
    ratio = median(n["cpu"] / o["cpu"] for n, o in zip(found["new"], found["old"], strict=True))
    print(f"{events:,} events; new/old, median of {rounds} pairs: {ratio:.2f}")


if __name__ == "__main__":
    main()
