"""The Spark session: what is set elsewhere stays, and nothing is left behind in this process.

`make cluster` (RINGCAST_CLUSTER) also submits an application: that takes a JVM of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs pyspark: pip install 'ringcast[pipeline]'")

import pyspark

from pipeline.cluster import environment_of_a_shell
from pipeline.conftest import ENVIRONMENT
from pipeline.test_truth import as_segments
from ringcast.pipeline.java import find_java_home
from ringcast.trace.story import Story

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
pytestmark = pytest.mark.needs("spark")

APPLICATION = """
import json, sys
from ringcast.pipeline import Request, check
from ringcast.pipeline.session import spark_session
with spark_session() as spark:
    verdicts = [judgement.verdict for judgement in check(Request([sys.argv[1]], judge="spark")).runs.values()]
    kept = spark.conf.get("spark.sql.shuffle.partitions"), spark.sparkContext.appName, spark.sparkContext.master
    print(json.dumps({"kept": kept, "verdicts": verdicts}))
"""


def test_a_start_leaves_the_environment_as_it_was(spark: object) -> None:
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP", "MALLOC_TRIM_THRESHOLD_"):
        assert os.environ.get(name) == ENVIRONMENT.get(name)


@pytest.mark.skipif("RINGCAST_CLUSTER" not in os.environ, reason="RINGCAST_CLUSTER is not set (make cluster)")
@pytest.mark.timeout(1800)
def test_an_application_that_is_submitted_keeps_its_settings(tmp_path: Path) -> None:
    as_segments(tmp_path / "run", Story("ab").view("ab").passed("ab", "a", 3).recordings())
    application = tmp_path / "application.py"
    application.write_text(APPLICATION, encoding="utf-8")
    settings = {"spark.sql.shuffle.partitions": "3", "spark.ui.enabled": "false", "spark.driver.memory": "1g"}
    options = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    environment = {**environment_of_a_shell(), "JAVA_HOME": str(find_java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["PYSPARK_PYTHON"] = sys.executable
    command = [str(SUBMIT), "--master", "local[1]", "--name", "mine", *options, str(application), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.strip().splitlines()[-1])
    assert said == {"kept": ["3", "mine", "local[1]"], "verdicts": ["held"]}
