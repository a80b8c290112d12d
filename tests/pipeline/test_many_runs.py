"""Ten thousand small runs in one application: 500 seeds, each written under twenty run ids.

By `make many-runs` (RINGCAST_MANY_RUNS = how many seeds). Tables must be some files, not some for each run, and every
run must be judged as it is alone. What a run costs is printed beside what it costs one by one. The recordings of the
seeds are taken from, and left in, RINGCAST_SEED_RECORDINGS if that is set: simulating them takes minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from ringcast.bench.process_tree import TreeUse
from ringcast.pipeline import Application, judge_local, segment_files
from ringcast.pipeline.results import TABLES
from ringcast.pipeline.writing import TableStore, write_tables
from ringcast.sim import draw, simulate
from ringcast.trace import under_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.needs("spark"),
    pytest.mark.skipif("RINGCAST_MANY_RUNS" not in os.environ, reason="make many-runs"),
]
SEEDS = int(os.environ.get("RINGCAST_MANY_RUNS", "0"))
IDS = 20
T = TypeVar("T")


def timed(use: TreeUse, what: str, runs: int, work: Callable[[], T]) -> T:
    cpu, wall = use.cpu_seconds(), time.perf_counter()
    result = work()
    cpu, wall = use.cpu_seconds() - cpu, time.perf_counter() - wall
    print(f"{what}: {runs} runs, {cpu:.1f} CPU s, {wall:.1f} s, {1000 * cpu / runs:.1f} CPU ms each")
    return result


def write_copies(seed: Path, runs: Path) -> None:
    for path in seed.rglob("*.rct"):
        data = path.read_bytes()
        for number in range(IDS):
            name = f"{seed.name} of {number}"
            copy = runs / name / path.relative_to(seed)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(under_run(data, name))


def test_thousands_of_small_runs_are_judged_in_one_application(spark: SparkSession, tmp_path: Path) -> None:
    recorded = Path(os.environ.get("RINGCAST_SEED_RECORDINGS", tmp_path / "seeds"))
    seeds = [recorded / str(seed) for seed in range(1, SEEDS + 1)]
    for seed in seeds:
        if not seed.exists():
            simulate(draw(int(seed.name), (3, 5)), seed)
        write_copies(seed, tmp_path / "runs")
    with TreeUse() as use:
        alone = timed(
            use, "one by one, in this process", SEEDS, lambda: {s.name: judge_local([str(s)])[0] for s in seeds}
        )
    store = TableStore(spark, str(tmp_path / "tables"))
    application = Application(segment_files(spark, str(tmp_path / "runs")))
    with TreeUse() as use:
        judged = timed(use, "judged in one application", SEEDS * IDS, application.judge)
        timed(use, "tables written", SEEDS * IDS, lambda: write_tables(store, application, list(judged)))
    application.close()
    print(f"largest task {use.largest_python_megabytes:.0f} MB")
    expected = {f"{name} of {n}": one.judgement.verdict for name, one in alone.items() for n in range(IDS)}
    assert {run: judgement.verdict for run, judgement in judged.items()} == expected
    verdicts = store.read("verdicts")
    assert verdicts is not None and verdicts.count() == len(expected)
    files = list((tmp_path / "tables").rglob("*.parquet"))
    print(f"{len(files)} files")
    assert len(files) <= len(TABLES) * 64
