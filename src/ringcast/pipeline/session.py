"""A Spark session: what is set elsewhere (spark-submit, Connect, a platform) is kept, `local[*]` only if nothing is.

A session of this machine talks on 127.0.0.1 only and has no web page. Java is found before Spark is loaded, so that its
lack is one sentence. Not a cluster manager: a session that somebody else made is used as it is and never stopped here.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ringcast.errors import UsageError
from ringcast.pipeline.java import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
    # Tables of rules are small; more partitions only cost task starts.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    "spark.sql.adaptive.enabled": "false",
    # The joined halves of rules are many and small: a broadcast would be a job for each of their joins.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Compiling code for them costs more than running it; the heavy work is in arrays, not in the JVM.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.session.timeZone": "UTC",
}


@contextmanager
def spark_session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session; stopped at the end if it was made here."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not _is_remote(master):
        os.environ["JAVA_HOME"] = str(find_java_home())
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    session = _make(master, settings or {})
    try:
        yield session
    finally:
        session.stop()


def _is_remote(master: str | None) -> bool:
    return (master or "").startswith("sc://") or "SPARK_REMOTE" in os.environ


def _make(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.ERROR)
    # Spark's own start-up words go to the same place as ours would: nowhere, unless asked for.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("ringcast")
    if _is_remote(master):
        return builder.remote(master).getOrCreate() if master else builder.getOrCreate()
    if master is not None:
        builder = builder.master(master)
    elif "MASTER" not in os.environ and "PYSPARK_SUBMIT_ARGS" not in os.environ:
        builder = builder.config("spark.master", "local[*]")
    for key, value in {**_QUIET, **settings}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise UsageError(f"Spark did not start with master {master or 'local[*]'}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
