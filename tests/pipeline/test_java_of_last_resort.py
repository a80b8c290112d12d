"""Spark runs on a machine without Java: the package's runtime, behind the wrapper, carries a whole job."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """
import os, sys
from ringcast.pipeline.java import find_java_home

os.environ["JAVA_HOME"] = str(find_java_home())
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession

local = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
quick = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
spark = SparkSession.builder.master("local[1]").config(map={**local, **quick}).getOrCreate()
rows = spark.range(7).mapInArrow(lambda batches: batches, "id long").collect()
print([row["id"] for row in rows], os.environ["JAVA_HOME"])
"""


def everything_on_path_but_java(directory: Path) -> str:
    directory.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for command in Path(place).glob("*"):
            if command.name != "java":
                (directory / command.name).unlink(missing_ok=True)
                (directory / command.name).symlink_to(command)
    return str(directory)


@pytest.mark.needs("spark")
def test_a_spark_job_runs_where_there_is_no_java(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = everything_on_path_but_java(tmp_path / "bin")
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    run = subprocess.run(
        [sys.executable, "-c", JOB], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(str(list(range(7))))
    assert str(tmp_path / "cache") in run.stdout
