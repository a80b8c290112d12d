"""The raw limit of the sockets: compiles and runs the small C program `benchmarks/raw.c`.

The program has the same fan-out and process count as the run it is compared with; it pushes 60 kB blocks, unpaced, and
counts bytes at each receiver. The compiled program is kept in `build/`, under a name made from its source.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ringcast.errors import RingcastError

Mode = Literal["udp-fanout", "udp-multicast", "tcp"]
ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "benchmarks" / "raw.c"
BUILD = ROOT / "build"
BLOCK_BYTES = 60_000
COMPILERS = ("cc", "gcc", "clang")


class RawUnavailable(RingcastError):
    """The raw limit cannot be measured here; the message says what is missing."""


def raw_megabytes_per_second(mode: Mode, *, members: int, senders: int, seconds: float) -> float:
    """MB/s at the median receiver. Own copies are not counted, also when everybody sends."""
    return statistics.median(run_raw(mode, members=members, senders=senders, seconds=seconds))


def beside_raw(
    megabytes: float, mode: Mode, *, members: int, senders: int, seconds: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """What the sockets carry, and which share of it `megabytes` per second is; or what is left out, and why."""
    say("the raw limit of the sockets")
    try:
        limit = raw_megabytes_per_second(mode, members=members, senders=senders, seconds=seconds)
    except RawUnavailable as error:
        say(f"left out: {error}")
        return {"left_out": {"raw limit": str(error)}}
    return {"raw_megabytes_per_second_per_receiver": limit, "share_of_raw": megabytes / limit if limit else None}


def run_raw(mode: Mode, *, members: int, senders: int, seconds: float, **options: str | int) -> list[float]:
    """MB/s at each receiver; options are those of the program (`size`, `group`, `interface`, `buffer`)."""
    shape = {"mode": mode, "members": members, "senders": senders, "size": BLOCK_BYTES, "seconds": seconds, **options}
    words = [word for name, value in shape.items() for word in (f"--{name}", str(value))]
    run = subprocess.run([compiled(), *words], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RawUnavailable(run.stderr.strip() or f"the raw limit ended with code {run.returncode}")
    result: dict[str, Any] = json.loads(run.stdout)
    return [float(rate) for rate in result["megabytes_per_second"]]


def compiled(source: Path = SOURCE, build: Path = BUILD) -> Path:
    """The program, compiled now if its source has changed since the last time."""
    if not source.is_file():
        raise RawUnavailable(f"the raw limit needs {source.name} from the source tree, which is not at {source.parent}")
    program = build / f"raw-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    if not program.is_file():
        build.mkdir(parents=True, exist_ok=True)
        _compile(source, program)
    return program


def _compile(source: Path, program: Path) -> None:
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise RawUnavailable("the raw limit needs a C compiler (Debian package gcc); leave it out with --no-raw")
    handle, unfinished = tempfile.mkstemp(dir=program.parent)
    os.close(handle)
    run = subprocess.run([compiler, "-O2", "-o", unfinished, source], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        os.unlink(unfinished)
        raise RawUnavailable(f"{compiler} cannot compile {source.name}: {run.stderr.strip().splitlines()[:1]}")
    os.replace(unfinished, program)  # at once, so that two runs never see half a program
