"""What a test may need from the machine, and whether it is there: each probe tries the thing itself.

A probe returns None, or the reason why the thing is missing, worded for the person who could install it.
"""

import functools
import importlib.util
import os
import shutil
import socket
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

from ringcast.errors import RingcastError

Probe = Callable[[], str | None]
PROBES: dict[str, Probe] = {}

# nft and ip live in sbin on Debian, which is not on everybody's PATH.
SEARCH_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def probe(function: Probe) -> Probe:
    PROBES[function.__name__] = function
    return function


@functools.cache
def missing(name: str) -> str | None:
    if name not in PROBES:
        raise LookupError(f"there is no probe for {name!r}; known are {', '.join(sorted(PROBES))}")
    return PROBES[name]()


def command_path(*names: str) -> str | None:
    return next((path for name in names if (path := shutil.which(name, path=SEARCH_PATH))), None)


def in_new_namespace(*command: str) -> str | None:
    """Runs a command in a network namespace of its own; None if it succeeded, else what was said."""
    unshare = command_path("unshare")
    if unshare is None:
        return "no unshare command (Debian package util-linux)"
    flags = "-n" if os.geteuid() == 0 else "-Urn"
    run = subprocess.run([unshare, flags, "--", *command], capture_output=True, text=True, timeout=60, check=False)
    return None if run.returncode == 0 else run.stderr.strip().split("\n")[-1] or f"exit code {run.returncode}"


def package(*names: str) -> str | None:
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


@probe
def namespaces() -> str | None:
    refusal = in_new_namespace("true")
    return f"no network namespace may be made here ({refusal})" if refusal else missing("ip")


@probe
def ip() -> str | None:
    return None if command_path("ip") else "no ip command (Debian package iproute2)"


@probe
def nft() -> str | None:
    path = command_path("nft")
    if path is None:
        return "no nft command (Debian package nftables)"
    refusal = in_new_namespace(path, "add", "table", "inet", "probe")
    return f"nft cannot add a table ({refusal})" if refusal else None


@probe
def ipv6() -> str | None:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probing:
            probing.bind(("::1", 0))
    except OSError as refusal:
        return f"no IPv6 loopback ({refusal.strerror})"
    return None


@probe
def chromium() -> str | None:
    found = command_path("chromium", "chromium-browser", "google-chrome")
    return None if found else "no chromium command (Debian package chromium)"


@probe
def compiler() -> str | None:
    if command_path("cc", "gcc", "clang") is None:
        return "no C compiler (Debian package gcc)"
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    return None if headers.exists() else "no Python.h (Debian package python3-dev)"


@probe
def native() -> str | None:
    """All extensions that have a source are compiled."""
    room = importlib.util.find_spec("ringcast.native")
    assert room is not None and room.submodule_search_locations is not None
    sources = Path(room.submodule_search_locations[0]).glob("_*.c")
    absent = [name for name in sorted(source.stem for source in sources) if package(f"ringcast.native.{name}")]
    return f"not compiled: {', '.join(absent)} (make native)" if absent else None


@probe
def java() -> str | None:
    try:
        # Here and not above: tests must be collected where the pipeline's packages are missing.
        from ringcast.pipeline.java import find_java_home

        find_java_home()
    except (ImportError, RingcastError) as refusal:
        return str(refusal)
    return None


@probe
def spark() -> str | None:
    return package("pyspark", "pandas", "pyarrow") or missing("java")


@probe
def zmq() -> str | None:
    return package("zmq")
