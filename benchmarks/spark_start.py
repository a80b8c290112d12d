"""What does the archive of Spark's classes bring? One small recording judged by Spark with it and without, in turns.

    python benchmarks/spark_start.py [--turns N]

Prints seconds from start to exit of `ringcast check --judge spark --tables`, in JSON: each turn, the medians, and their
ratio. `make setup` makes the archive (ringcast.pipeline.classes).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from ringcast.pipeline.classes import FLAGS, archive_for
from ringcast.pipeline.java import find_java_home
from ringcast.sim import draw, simulate


def judge(recording: Path, *options: str) -> float:
    with tempfile.TemporaryDirectory() as tables:
        command = [sys.executable, "-m", "ringcast", "check", "--judge", "spark", "--tables", tables, *options]
        began = time.perf_counter()
        subprocess.run([*command, str(recording)], stdout=subprocess.DEVNULL, check=True)  # until Java is gone, too
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    turns = parser.parse_args().turns
    if not archive_for(find_java_home()).is_file():
        sys.exit("there is no archive: python -m ringcast.pipeline.classes")
    found: dict[str, list[float]] = {"with": [], "without": []}
    with tempfile.TemporaryDirectory() as directory:
        recording = Path(directory) / "run"
        simulate(draw(1, (3, 3)), recording)
        for _ in range(turns):
            found["without"].append(judge(recording, "--conf", f"spark.driver.extraJavaOptions={FLAGS}"))
            found["with"].append(judge(recording))
    medians = {name: median(seconds) for name, seconds in found.items()}
    print(json.dumps({"seconds": found, "median": medians, "ratio": medians["with"] / medians["without"]}, indent=1))


if __name__ == "__main__":
    main()
