"""An archive of Spark's classes, from which Java starts in half the time.

Much of a small run on Spark is Java that reads, checks and links some ten thousand classes, each time anew. Java can
keep them as they are in its memory and map that file (class data sharing): here for what `ringcast check` uses. The
file has about 190 MB and takes half a minute to make, so nobody gets it unasked:

    python -m ringcast.pipeline.classes      makes it, or says why not (`make setup` does so)

It lies in the environment's own directory and goes with it. A session in this process (`local[…]`) uses it if it is
there and nobody set `spark.driver.extraJavaOptions`. It fits one Java and one installation of Spark; Java itself sees
whether it fits, and starts without it if not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from ringcast.errors import RingcastError, UsageError
from ringcast.pipeline.java import find_java_home

# Small jobs: code that runs once is not worth compiling well, nor several threads that collect garbage.
FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
DIRECTORY = Path(sys.prefix) / "share" / "ringcast"
BEGUN = "ringcast-classes-"  # in the name of a directory in which one is made
ELSEWHERE = ("SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")  # would send the run to another Spark
LIMIT_SECONDS = 600


def flags_for(java_home: Path) -> str:
    """The flags of a local session's Java; with its archive, if there is one."""
    archive = archive_for(java_home)
    if not archive.is_file():
        return FLAGS
    return f"{FLAGS} -Xlog:cds=off -Xlog:cds+dynamic=off {_quoted(f'-XX:SharedArchiveFile={archive}')}"


def _quoted(option: str) -> str:
    """As Spark reads options of Java: one word, whatever is in it."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def archive_for(java_home: Path) -> Path:
    """Where the archive of this Java and this Spark is, or would be."""
    spec = find_spec("pyspark")
    made_of = f"{(java_home / 'bin' / 'java').resolve()}\0{spec.origin if spec else None}"
    return DIRECTORY / f"spark-classes-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.jsa"


def make() -> Path:
    """Judge a small run on a Spark whose Java keeps its classes; RingcastError if that leaves no archive."""
    if find_spec("pyspark") is None:
        raise UsageError("pyspark is not installed: pip install 'ringcast[pipeline]'")
    archive = archive_for(find_java_home())
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _clear(archive.parent)
        with tempfile.TemporaryDirectory(prefix=BEGUN, dir=archive.parent) as directory:
            _make(archive, Path(directory))
    except OSError as error:
        raise RingcastError(f"{archive.parent} cannot be written: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise RingcastError(f"Java was not done with its classes after {error.timeout:.0f} s") from error
    return archive


def _clear(directory: Path) -> None:
    """What somebody began who was ended by force."""
    for begun in directory.glob(f"{BEGUN}*"):
        if time.time() - begun.stat().st_mtime > 2 * LIMIT_SECONDS:
            shutil.rmtree(begun, ignore_errors=True)


def _make(archive: Path, here: Path) -> None:
    from ringcast.sim import draw, simulate

    simulate(draw(1, (3, 3)), here / "run")
    said, made = _judge(here), here / "archive"
    if not made.is_file():
        raise RingcastError(f"Java left no archive of its classes: {said[-1] if said else 'it said nothing'}")
    with made.open("rb") as file:
        os.fsync(file.fileno())  # Java does not survive half an archive.
    made.replace(archive)
    for older in archive.parent.glob("spark-classes-*.jsa"):
        if older != archive:
            older.unlink(missing_ok=True)


def _judge(here: Path) -> list[str]:
    """What it said. Java writes the archive when it ends, and this waits for it: it holds our end of the pipe."""
    archive = f"-XX:ArchiveClassesAtExit={here / 'archive'}"
    flags = f"spark.driver.extraJavaOptions={FLAGS} {_quoted(archive)}"
    options = ("--judge", "spark", "--master", "local[*]", "--tables", str(here / "tables"), "--conf", flags)
    done = subprocess.run(
        [sys.executable, "-m", "ringcast", "check", *options, str(here / "run")],
        env={name: value for name, value in os.environ.items() if name not in ELSEWHERE},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and "[cds]" not in line]


if __name__ == "__main__":
    try:
        path = make()
    except RingcastError as error:
        sys.exit(f"ringcast: {error}")
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")
