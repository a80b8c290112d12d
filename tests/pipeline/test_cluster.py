"""The pipeline on a real cluster: executors of their own, another host, storage that only Spark can open, Connect, a
worker killed in the middle.

By `make cluster` (RINGCAST_CLUSTER=1), some minutes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs pyspark: pip install 'ringcast[pipeline]'")

from pipeline.cluster import Cluster, cluster, environment_of_a_shell
from pipeline.planted_histories import PLANTED
from ringcast.bench.history import Shape, make_period, write_recordings
from ringcast.pipeline import judge_local
from ringcast.pipeline.results import TABLES, Outcome
from ringcast.pipeline.writing import TableStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("spark")
long = pytest.mark.skipif("RINGCAST_CLUSTER" not in os.environ, reason="make cluster")
BROKEN = PLANTED[0]


def write_runs(root: Path) -> dict[str, Outcome]:
    """Three runs, one of them broken and too large to travel whole; and what this process says about them."""
    for number, deliveries in enumerate((3_000, 3_000, 200_000)):
        period = make_period(number, Shape(name=f"h{number}", deliveries=deliveries, members=4))
        changed = (1, BROKEN.into(period)) if number == 2 else None
        write_recordings(root / str(number), period, 2, changed, run=f"run {number}")
    return {outcome.run: outcome for outcome in judge_local([str(root)])}


def ringcast(*words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ringcast", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment_of_a_shell(), **environment},
    )


def verdict(child: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = child.communicate()
    assert child.returncode == 1, err
    told: dict[str, Any] = json.loads(out)
    return told


def agrees(told: dict[str, Any], expected: dict[str, Outcome]) -> None:
    """The same verdict for each run, as much examined, the same sentences."""
    assert told["judge"] == "spark"
    assert {run["run"]: run["verdict"] for run in told["runs"]} == {
        run: outcome.judgement.verdict for run, outcome in expected.items()
    }
    for name, finding in told["guarantees"].items():
        mine = [outcome.judgement.findings[name] for outcome in expected.values()]
        assert finding["examined"] == sum(found.examined for found in mine)
        assert [v["sentence"] for v in finding["evidence"]] == [v.sentence for found in mine for v in found.violations]


def rows(spark: SparkSession, tables: Path) -> dict[str, list[str]]:
    """The newest rows of every table as text, sorted; paths, the judge and who judged when may differ."""
    found = {}
    for name in TABLES:
        frame = TableStore(spark, str(tables)).newest(name)
        assert frame is not None
        frame = frame.drop("path", "judge", "judged_at", "version", "application")
        found[name] = sorted(json.dumps(row.asDict(), sort_keys=True, default=str) for row in frame.collect())
    return found


def expected_rows(expected: dict[str, Outcome]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in TABLES:
        plain = [row for outcome in expected.values() for row in outcome.batch(name).to_pylist()]
        kept = [{key: value for key, value in row.items() if key not in ("path", "judge")} for row in plain]
        found[name] = sorted(json.dumps(row, sort_keys=True, default=str) for row in kept)
    return found


@long
def test_executors_of_their_own_say_what_this_process_says(tmp_path: Path) -> None:
    expected = write_runs(tmp_path / "runs")
    python = f"spark.pyspark.python={sys.executable}"
    words = ["check", str(tmp_path / "runs"), "--master", "local-cluster[2,1,1024]", "--conf", python, "--json"]
    settings = ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.ui.enabled=false"]
    agrees(verdict(ringcast(*words, *settings)), expected)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        made.add_other_host()
        yield made


@pytest.fixture(scope="module")
def expected(running: Cluster) -> dict[str, Outcome]:
    return write_runs(running.storage / "runs")


SPECULATION = [
    word
    for setting in ("=true", ".multiplier=1", ".quantile=0.3", ".interval=50ms", ".minTaskRuntime=50ms")
    for word in ("--conf", f"spark.speculation{setting}")
]


def on_storage(tables: Path) -> list[str]:
    """Input and tables where nothing but Spark can open them."""
    return ["check", "viewfs://c/data/runs", "--tables", f"viewfs://c/data/{tables.name}", "--json"]


@long
def test_workers_on_two_hosts_judge_and_write_what_only_spark_can_open(
    running: Cluster, expected: dict[str, Outcome], spark: SparkSession
) -> None:
    """A worker that sees nothing of the driver's but the storage takes part. The second time changes nothing."""
    tables = running.storage / "tables"
    for more in ([], SPECULATION):
        agrees(verdict(ringcast(*on_storage(tables), "--master", running.master, *running.settings(), *more)), expected)
        assert rows(spark, tables) == expected_rows(expected)
        ended = [event["Task Info"] for event in running.events() if event["Event"] == "SparkListenerTaskEnd"]
        assert {task["Host"] for task in ended} == {running.host, running.there}
    assert any(task["Speculative"] for task in ended)


@long
def test_connect_says_the_same(running: Cluster, expected: dict[str, Outcome], spark: SparkSession) -> None:
    port = 15700 + os.getpid() % 250
    tables = running.storage / "tables-by-connect"
    running.add_connect_server(port)
    try:
        agrees(verdict(ringcast(*on_storage(tables), "--master", f"sc://{running.host}:{port}")), expected)
    finally:
        running.kill("connect")  # it holds all executors
    assert rows(spark, tables) == expected_rows(expected)


@long
def test_workers_killed_while_judging_and_while_writing_change_nothing(
    running: Cluster, expected: dict[str, Outcome], spark: SparkSession
) -> None:
    tables = running.storage / "tables-after-kills"
    child = ringcast(*on_storage(tables), "--master", running.master, *running.settings(), *SPECULATION)
    assert child.stderr is not None
    for line in child.stderr:
        if re.match(r"stage \d+: ", line):  # a stage is under way
            break
    assert child.poll() is None and not tables.exists()
    running.kill("worker-0")
    while child.poll() is None and not any(tables.glob("members/*.parquet")):  # one of the first tables
        time.sleep(0.05)
    assert child.poll() is None and not any(tables.glob("verdicts/*.parquet"))  # the last one
    running.kill("worker-1")
    agrees(verdict(child), expected)
    assert rows(spark, tables) == expected_rows(expected)
    lost = [event for event in running.events() if event["Event"] == "SparkListenerExecutorRemoved"]
    assert len(lost) >= 2
