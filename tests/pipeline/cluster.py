"""A Spark cluster of real processes: a master, workers on this host, and one on "another host".

The other host is a network namespace joined by a veth pair, and a mount namespace in which of the driver's files only
the storage directory and the installed Python are to be seen: not the checkout, not /tmp. Everything is started from
the pyspark package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark

import ringcast
from ringcast.pipeline import find_java_home
from ringcast.pipeline.classes import FLAGS

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
SOURCES = Path(ringcast.__file__).parents[1]
LIMIT_SECONDS = 180.0

OTHER_HOST = """
set -e
mount --make-rprivate /
mount -t tmpfs none /mnt
mkdir /mnt/storage /mnt/python
mount --bind "$STORAGE" /mnt/storage
mount --bind "$PYTHON" /mnt/python
mount -t tmpfs none /tmp
mkdir -p "$STORAGE" "$PYTHON" "$SOURCES"
mount --bind /mnt/storage "$STORAGE"
mount --bind /mnt/python "$PYTHON"
mount -t tmpfs none "$SOURCES"
umount -R /mnt
ip link set lo up
exec "$@"
"""


@dataclass(slots=True)
class Cluster:
    """`host` is this host's address on the link to the other one; workers by name."""

    place: Path
    storage: Path
    host: str
    there: str
    namespace: str
    master: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, workers: int) -> None:
        self._run("master", [], "master.Master", "--host", self.host, "--port", "0", "--webui-port", "0")
        found = self._until("master", r"Starting Spark master at (spark://\S+)")
        self.master = found
        for number in range(workers):
            self.add_worker(f"worker-{number}", self.host, [])

    def add_other_host(self) -> None:
        inside = ["ip", "netns", "exec", self.namespace, "unshare", "-m", "sh", "-c", OTHER_HOST, "sh"]
        self.add_worker("other", self.there, inside)

    def add_worker(self, name: str, host: str, inside: list[str]) -> None:
        work = Path("/tmp") / f"work-{self.namespace}" if inside else self.place / name
        options = ["--host", host, "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        self._run(name, inside, "worker.Worker", *options, "--work-dir", str(work), self.master)
        self._until(name, r"(Successfully registered with master)")

    def add_connect_server(self, port: int) -> None:
        """A Spark Connect server whose executors are those of this cluster."""
        what = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        given = [*self.settings(), "--conf", f"spark.connect.grpc.binding.port={port}"]
        self._run("connect", [], "SparkSubmit", "--master", self.master, *given, *what)
        self._until("connect", r"(Spark Connect server started)")

    def kill(self, name: str) -> None:
        """kill -9 the worker and everything it started."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()

    def settings(self) -> list[str]:
        """What a user would give: an address that workers reach, their Python, little memory, and the storage."""
        pairs = {
            "spark.driver.host": self.host,
            "spark.driver.bindAddress": self.host,
            "spark.pyspark.python": sys.executable,
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": FLAGS,
            "spark.driver.extraJavaOptions": FLAGS,
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{self.place}",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.hadoop.fs.viewfs.mounttable.c.link./data": f"file://{self.storage}",
        }
        return [word for key, value in pairs.items() for word in ("--conf", f"{key}={value}")]

    def events(self) -> list[dict[str, Any]]:
        """What Spark's listeners were told by the application that began last."""
        newest = max(self.place.glob("app-*"), key=lambda path: path.name)
        return [json.loads(line) for line in newest.read_text().splitlines()]

    def log(self, name: str) -> str:
        return (self.place / f"{name}.log").read_text(errors="replace")

    def _run(self, name: str, inside: list[str], which: str, *options: str) -> None:
        environment = {
            **environment_of_a_shell(),
            "JAVA_HOME": str(find_java_home()),
            "PYSPARK_PYTHON": sys.executable,  # a Connect server heeds only this
            "STORAGE": str(self.storage),
            "PYTHON": sys.prefix,
            "SOURCES": str(SOURCES),
            "SPARK_DAEMON_MEMORY": "1g",
            "SPARK_DAEMON_JAVA_OPTS": f"{FLAGS} -Dspark.master.rest.enabled=false",
            "SPARK_LOCAL_DIRS": "/tmp" if inside else str(self.place),
        }
        command = [*inside, str(SPARK_CLASS), f"org.apache.spark.deploy.{which}", *options]
        with (self.place / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _until(self, name: str, pattern: str) -> str:
        ends = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < ends:
            found = re.search(pattern, self.log(name))
            if found:
                return found[1]
            if self.processes[name].poll() is not None:
                break
            time.sleep(0.2)
        raise AssertionError(f"{name} did not come up:\n{self.log(name)[-2000:]}")

    def stop(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is None:
                self.kill(name)


def environment_of_a_shell() -> dict[str, str]:
    """The environment without what a local session in this process has put there."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}


@contextmanager
def cluster(place: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster with these workers on this host; `add_other_host` adds one elsewhere."""
    number = os.getpid() % 250
    namespace, link = f"rec{os.getpid()}", f"rec{number}"
    storage = place / "storage"
    storage.mkdir(parents=True)
    made = Cluster(place, storage, f"10.231.{number}.1", f"10.231.{number}.2", namespace)
    _ip("netns", "add", namespace)
    try:
        _ip("link", "add", f"{link}a", "type", "veth", "peer", "name", f"{link}b", "netns", namespace)
        _ip("addr", "add", f"{made.host}/24", "dev", f"{link}a")
        _ip("link", "set", f"{link}a", "up")
        _ip("-n", namespace, "addr", "add", f"{made.there}/24", "dev", f"{link}b")
        _ip("-n", namespace, "link", "set", f"{link}b", "up")
        made.start(workers)
        yield made
    finally:
        made.stop()
        _ip("netns", "del", namespace)
        shutil.rmtree(storage, ignore_errors=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=60)
