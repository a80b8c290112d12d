"""How far a Spark application is, in words, and the common ways in which it does not come forward, in one sentence."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ringcast.errors import RingcastError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACE_SECONDS = 2.0
EXECUTOR_SECONDS = 60.0  # so long a cluster may take to give the first executor that reaches the driver
_MISSING = re.compile(r"No module named [\\'\"]*([\w.]+)")


@contextmanager
def watched(spark: SparkSession, say: Callable[[str], None], seconds: float = EXECUTOR_SECONDS) -> Iterator[None]:
    """Say how far the stages are; turn what goes wrong into one sentence."""
    watch = _Watch(spark, say, seconds)
    watch.start()
    try:
        yield
    except RingcastError:
        raise
    except Exception as error:
        sentence = watch.stalled or in_a_sentence(error)
        if sentence is None:
            raise
        raise UsageError(sentence) from error
    finally:
        watch.stop()


def in_a_sentence(error: Exception) -> str | None:
    """What a failed job means, where that is known."""
    text = str(error)
    missing = _MISSING.search(text)
    if missing is not None:
        package = missing.group(1)
        if package.startswith("ringcast"):
            return (
                "the workers do not have ringcast: call ringcast.pipeline.ship(spark), or give the file that "
                "`ringcast pack -o ringcast.zip` writes to spark-submit --py-files"
            )
        return (
            f"the Python of the workers lacks {package!r}: they need numpy, pyarrow, pandas and msgspec; "
            "another Python is named by --conf spark.pyspark.python, or by PYSPARK_PYTHON of a Spark Connect server"
        )
    if "PYTHON_VERSION_MISMATCH" in text:
        return "the workers run another Python version than this one: set --conf spark.pyspark.python"
    if "Cannot run program" in text:
        program = text.partition("Cannot run program")[2].split('"')[1]
        return f"the workers cannot start {program}: set --conf spark.pyspark.python to a Python that they have"
    if "does not exist" in text and "FileNotFoundException" in text:
        return "the workers cannot read a file that the driver sees: the recordings must be on storage that all share"
    causes = [line.strip() for line in text.splitlines() if line.startswith("Caused by: ")]
    return f"a Spark job failed: {causes[-1].removeprefix('Caused by: ')[:300]}" if causes else None


def cause_of(error: Exception) -> str:
    """Return the cause that Java names, or else the first line: PySpark's own often says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    causes = causes or [line.removeprefix(": ") for line in lines if line.startswith(": ")] or lines[:1]
    told = causes[-1] if causes else type(error).__name__
    if "S3AFileSystem not found" in told:
        return "Spark lacks hadoop-aws for s3a://: add --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION"
    scheme = re.search(r"No FileSystem for scheme \"?(\w+)", told)
    if scheme is not None:
        return f"Spark knows no storage for {scheme.group(1)}://: add its connector with --conf spark.jars.packages=…"
    return told[:300]


class _Watch:
    """A thread that looks at the stages of a session; over Connect there is nothing to look at."""

    def __init__(self, spark: SparkSession, say: Callable[[str], None], seconds: float) -> None:
        self._context: Any = None
        try:
            self._context = spark.sparkContext
        except Exception:  # Connect has no context
            pass
        self._say, self._seconds = say, seconds
        self._told = ""
        self.stalled: str | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spark progress", daemon=True)

    def start(self) -> None:
        if self._context is not None:
            self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        begun = time.monotonic()
        seen = str(self._context.master).partition("[")[0] == "local"
        while not self._end.wait(PACE_SECONDS):
            try:
                seen = seen or self._executors() > 0
                self._tell()
            except Exception:  # the session is ending
                return
            if not seen and time.monotonic() - begun > self._seconds:
                self._give_up()
                return

    def _tell(self) -> None:
        tracker = self._context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        words = [f"stage {s.stageId}: {s.numCompletedTasks} of {s.numTasks} tasks" for s in stages if s]
        told = "; ".join(words)
        if told and told != self._told:
            self._told = told
            self._say(told)

    def _executors(self) -> int:
        """Executors that have reached the driver; the driver itself is listed too."""
        return int(self._context._jsc.sc().getExecutorMemoryStatus().size()) - 1

    def _give_up(self) -> None:
        conf = self._context.getConf()
        where = f"{conf.get('spark.driver.host')}:{conf.get('spark.driver.port')}"
        self.stalled = (
            f"no executor of {self._context.master} reached the driver at {where} within {self._seconds:.0f} s: "
            "set --conf spark.driver.host to an address of this machine that the workers can reach"
        )
        self._context.cancelAllJobs()
