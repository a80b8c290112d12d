"""The pipeline on a real cluster: executors of their own, another host, storage that only Spark can open, Connect, a
worker killed in the middle.

One small test in every `make test`; the others by `make cluster` (RINGCAST_CLUSTER=1), some minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs pyspark: pip install 'ringcast[pipeline]'")

from pipeline.cluster import Cluster, cluster
from ringcast.pipeline import judge_local
from ringcast.pipeline.history import PLANTED, Shape, make_period, write_recordings
from ringcast.pipeline.results import TABLES, Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("spark")
long = pytest.mark.skipif("RINGCAST_CLUSTER" not in os.environ, reason="make cluster")
BROKEN = PLANTED[0]


def write_runs(root: Path) -> dict[str, Outcome]:
    """Three runs, one of them broken; and what this process says about them."""
    for number in range(3):
        period = make_period(number, Shape(name=f"h{number}", deliveries=3_000, members=4))
        changed = (1, BROKEN.into(period)) if number == 2 else None
        write_recordings(root / str(number), period, 2, changed, run=f"run {number}")
    return {outcome.run: outcome for outcome in judge_local([str(root)])}


def ringcast(*words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ringcast", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
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
    """Every row of every table as text, sorted; paths and the judge may differ."""
    found = {}
    for name in TABLES:
        frame = spark.read.parquet(str(tables / name)).drop("path", "judge")
        found[name] = sorted(json.dumps(row.asDict(), sort_keys=True, default=str) for row in frame.collect())
    return found


def expected_rows(expected: dict[str, Outcome]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in TABLES:
        plain = [row for outcome in expected.values() for row in outcome.batch(name).to_pylist()]
        kept = [{key: value for key, value in row.items() if key not in ("path", "judge")} for row in plain]
        found[name] = sorted(json.dumps(row, sort_keys=True, default=str) for row in kept)
    return found


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


@long
def test_workers_on_two_hosts_judge_and_write_what_only_spark_can_open(
    running: Cluster, expected: dict[str, Outcome], spark: SparkSession
) -> None:
    """Input and tables on viewfs; a worker that sees nothing of the driver's but the storage takes part."""
    words = [
        "check",
        "viewfs://c/data/runs",
        "--tables",
        "viewfs://c/data/tables",
        "--json",
        "--master",
        running.master,
    ]
    settings = [*running.settings(), "--conf", "spark.speculation=true", "--conf", "spark.speculation.multiplier=1.1"]
    for _ in range(2):  # the second time changes nothing
        agrees(verdict(ringcast(*words, *settings)), expected)
        assert rows(spark, running.storage / "tables") == expected_rows(expected)
    assert "Launched executor" in running.log("master") or "Launching executor" in running.log("master")
    assert "Asked to launch executor" in running.log("other")


@long
def test_a_worker_killed_in_the_middle_changes_nothing(
    running: Cluster, expected: dict[str, Outcome], spark: SparkSession
) -> None:
    tables = running.storage / "tables-after-a-kill"
    words = ["check", "viewfs://c/data/runs", "--tables", f"viewfs://c/data/{tables.name}", "--json"]
    child = ringcast(*words, "--master", running.master, *running.settings())
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith("stage"):
            break
    running.kill("worker-0")
    agrees(verdict(child), expected)
    assert rows(spark, tables) == expected_rows(expected)


@long
def test_connect_says_the_same(running: Cluster, expected: dict[str, Outcome], spark: SparkSession) -> None:
    port = 15700 + os.getpid() % 250
    settings = [*running.settings(), "--conf", f"spark.connect.grpc.binding.port={port}"]
    server = [str(Path(sys.executable).with_name("spark-submit")), "--master", running.master, *settings]
    server += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    log = running.place / "connect.log"
    with log.open("wb") as said:
        running.processes["connect"] = subprocess.Popen(server, stdout=said, stderr=said, start_new_session=True)
    running._until("connect", r"(Spark Connect server started)")
    tables = running.storage / "tables-by-connect"
    words = ["check", "viewfs://c/data/runs", "--tables", f"viewfs://c/data/{tables.name}", "--json"]
    agrees(verdict(ringcast(*words, "--master", f"sc://{running.host}:{port}")), expected)
    assert rows(spark, tables) == expected_rows(expected)
