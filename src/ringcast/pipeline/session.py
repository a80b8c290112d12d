"""A Spark session: what is set elsewhere (spark-submit, Connect, a platform, spark-defaults) is kept as it is.

Only where the master is local, and only for what nobody set, there are settings of our own: loopback addresses, no web
page, little logging. Java is found before Spark is loaded, so that its lack is one sentence. A session that somebody
else made is used as it is and never stopped here.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ringcast.errors import UsageError
from ringcast.pipeline.classes import flags_for
from ringcast.pipeline.java import find_java_home
from ringcast.pipeline.progress import cause_of
from ringcast.pipeline.shipping import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
    # What is shuffled here is small rows; more partitions only cost task starts.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    "spark.sql.session.timeZone": "UTC",
    # Many small files: a file costs about what 16 kB of it cost, and the driver lists them faster than tasks would.
    "spark.sql.files.openCostInBytes": "16384",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}
# A task makes and drops many arrays of some megabytes: giving that memory back each time is a tenth of its CPU time.
_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(256 << 20)}
_SET_FOR_THE_START = ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP", *_MEMORY)
_log = logging.getLogger("ringcast.pipeline")


@contextmanager
def spark_session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session; stopped at the end if it was made here."""
    active = None if find_spec("pyspark") is None else _active()
    if active is not None:
        yield active
        return
    session = _connect(master, settings or {}) if _is_remote(master) else _start(master, settings or {})
    try:
        yield session
    finally:
        session.stop()


def settings_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """`--conf K=V` options; UsageError for one that is none."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"--conf needs KEY=VALUE, got {pair!r}")
        settings[key] = value
    return settings


def _active() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _is_remote(master: str | None) -> bool:
    return (master or "").startswith("sc://") or (master is None and "SPARK_REMOTE" in os.environ)


def _connect(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    for package in ("grpc", "grpc_status", "google.rpc", "zstandard"):
        if not _has(package):
            raise UsageError(f"Spark Connect needs the package {package!r}: pip install 'ringcast[connect]'")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if master is not None:
        builder = builder.remote(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    where = master or os.environ["SPARK_REMOTE"]
    try:
        session = builder.getOrCreate()
        session.range(1).collect()
    except Exception as error:
        raise UsageError(f"Spark Connect at {where} did not answer: {cause_of(error)}") from error
    ship(session)
    return session


def _has(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _start(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    with _environment():
        return _start_here(master, settings)


@contextmanager
def _environment() -> Iterator[None]:
    """What we set for the start, when Spark and Java read it, is not left behind for what this process does next."""
    before = {name: os.environ.get(name) for name in _SET_FOR_THE_START}
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _start_here(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    home = find_java_home()
    os.environ["JAVA_HOME"] = str(home)
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.ERROR)
    given = {**_set_elsewhere(), **settings}
    chosen = master or given.get("spark.master") or "local[*]"
    if "spark.pyspark.python" in given:  # PySpark itself heeds it only under spark-submit
        os.environ["PYSPARK_PYTHON"] = given["spark.pyspark.python"]
    if _is_this_process(chosen):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for name, value in _MEMORY.items():
            os.environ.setdefault(name, value)
        if "spark.driver.host" not in given:
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        ours = {**_LOCAL, "spark.driver.extraJavaOptions": flags_for(home)}
        settings = {**{key: value for key, value in ours.items() if key not in given}, **settings}
    builder = SparkSession.builder.master(chosen)
    if "spark.app.name" not in given:
        builder = builder.appName("ringcast")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _quiet_java() as said, _java_ends_with_us():
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise UsageError(f"Spark did not start with master {chosen}: {_why(error, said)}") from error
    if not _is_this_process(chosen):
        ship(session)
    return session


def _is_this_process(master: str) -> bool:
    """Tasks run in the driver itself. `local-cluster[…]` has executors of its own."""
    return master == "local" or master.startswith("local[")


def _set_elsewhere() -> dict[str, str]:
    """What spark-defaults.conf and the arguments of spark-submit say; a running gateway knows all of it."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        return dict(SparkConf(_jvm=SparkContext._jvm).getAll())
    return {**_defaults(), **_submit_arguments(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))}


def _defaults() -> dict[str, str]:
    spec = find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or (str(Path(spec.origin).parent) if spec and spec.origin else "")
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf") / "spark-defaults.conf"
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        key, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if key and not key.startswith("#"):
            found[key] = value.strip()
    return found


def _submit_arguments(text: str) -> dict[str, str]:
    words = shlex.split(text)
    found = {}
    for option, value in pairwise(words):
        if option in ("--conf", "-c") and "=" in value:
            key, _, found_value = value.partition("=")
            found[key] = found_value
        elif option in ("--master", "--name"):
            found["spark.master" if option == "--master" else "spark.app.name"] = value
    return found


@contextmanager
def _java_ends_with_us() -> Iterator[None]:
    """Ctrl-C while Java starts: PySpark forgets the process before it knows where it listens, and it would stay.

    It is started by a script that first runs another Java to learn how: all of them are one process group.
    """
    from pyspark import SparkContext, java_gateway

    started = []

    class Remembered(subprocess.Popen[bytes]):
        def __init__(self, *command: Any, **options: Any) -> None:
            super().__init__(*command, **options, process_group=0)
            started.append(self)

    java_gateway.Popen = Remembered  # type: ignore[assignment, attr-defined]
    try:
        yield
    except BaseException:
        if SparkContext._gateway is None:  # else it ends with this process, whose pipe it reads
            for child in started:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        raise
    finally:
        java_gateway.Popen = subprocess.Popen  # type: ignore[attr-defined]


@contextmanager
def _quiet_java() -> Iterator[IO[bytes] | None]:
    """What the Java process that starts here says on standard error goes to a file, unless the log is asked for."""
    if _log.isEnabledFor(logging.INFO):
        yield None
        return
    with tempfile.TemporaryFile() as said:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _why(error: Exception, said: IO[bytes] | None) -> str:
    """The first sentence of the error, or what Java (or the script that starts it) said if that is more."""
    told = cause_of(error)
    if said is None or "JAVA_GATEWAY_EXITED" not in told:
        return told
    said.seek(0)
    lines = [line.strip() for line in said.read().decode("utf-8", "replace").splitlines()]
    return next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else told)[:300]
