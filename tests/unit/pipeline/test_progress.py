"""What commonly fails on a cluster is one sentence that says what to do."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from ringcast.errors import UsageError
from ringcast.pipeline.progress import in_a_sentence, watched


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("ModuleNotFoundError: No module named 'ringcast'", "ringcast pack -o ringcast.zip"),
        ("ModuleNotFoundError: No module named 'ringcast.pipeline'", "ringcast.pipeline.ship(spark)"),
        ("ModuleNotFoundError: No module named 'numpy'", "the Python of the workers lacks 'numpy'"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "another Python version"),
        ('java.io.IOException: Cannot run program "/opt/python": error=2', "the workers cannot start /opt/python"),
        ("java.io.FileNotFoundException: File file:/a does not exist", "storage that all share"),
        ("Job aborted\nCaused by: java.lang.OutOfMemoryError: Java heap space", "OutOfMemoryError: Java heap space"),
    ],
)
def test_a_failed_job_is_one_sentence(said: str, sentence: str) -> None:
    told = in_a_sentence(RuntimeError(f"An error occurred while calling o1.collect.\n{said}"))
    assert told is not None and sentence in told and "\n" not in told


def test_what_is_not_known_is_left_as_it_is() -> None:
    assert in_a_sentence(RuntimeError("something else")) is None


class Cluster:
    """A session on a cluster of which no executor ever reaches the driver; a job waits until it is cancelled."""

    master = "spark://somewhere:7077"

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        only_the_driver = SimpleNamespace(size=lambda: 1)
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: only_the_driver))
        self.sparkContext = self  # as Spark calls it

    def statusTracker(self) -> Any:  # as Spark calls it
        return SimpleNamespace(getActiveStageIds=list)

    def getConf(self) -> dict[str, str]:  # as Spark calls it
        return {"spark.driver.host": "10.1.2.3", "spark.driver.port": "4711"}

    def cancelAllJobs(self) -> None:  # as Spark calls it
        self.cancelled.set()

    def job(self) -> None:
        assert self.cancelled.wait(60)
        raise RuntimeError("Job 0 cancelled")


def test_executors_that_do_not_reach_the_driver_are_one_sentence() -> None:
    cluster = Cluster()
    with pytest.raises(UsageError) as found, watched(cluster, lambda _: None, seconds=0.0):  # type: ignore[arg-type]
        cluster.job()
    assert "no executor of spark://somewhere:7077 reached the driver at 10.1.2.3:4711" in str(found.value)
    assert "set --conf spark.driver.host" in str(found.value)
