"""pyzmq PUB/SUB in the shape of our own run: the same processes, sizes and fan-out, over tcp and ipc.

Each variant is measured with one send per message and with multipart batches of about 60 kB. A receiver counts
everything; a variant that lost something is named incomplete. With several senders a member's own messages count as
received at once, as ours do, without travelling.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringcast.errors import RingcastError

BATCH_BYTES = 60_000
_LIMIT_SECONDS = 120


class PeersUnavailable(RingcastError):
    """pyzmq cannot be measured here; the message says why."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of using pyzmq."""

    scheme: str  # "tcp" or "ipc"
    batched: bool

    @property
    def name(self) -> str:
        return f"pyzmq {self.scheme} {'multipart' if self.batched else 'single'}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Messages/s at the median receiver, and how many messages receivers missed in all."""

    messages_per_second: float
    missing: int


VARIANTS = tuple(Variant(scheme, batched) for scheme in ("tcp", "ipc") for batched in (False, True))


def measure_peers(*, senders: int, members: int, size: int, seconds: float) -> dict[str, float]:
    """Messages per second at the median receiver, by variant; a name says so if its figure is incomplete."""
    found: dict[str, float] = {}
    for variant in VARIANTS:
        outcome = measure_variant(variant, senders=senders, members=members, size=size, seconds=seconds)
        name = f"{variant.name} (incomplete: {outcome.missing} lost)" if outcome.missing else variant.name
        found[name] = outcome.messages_per_second
    return found


def measure_variant(variant: Variant, *, senders: int, members: int, size: int, seconds: float) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="ringcast-zmq-") as directory:
        roles = [_role(variant, directory, i, senders, members, size, seconds) for i in range(members)]
        processes = [_start(role) for role in roles]
        try:
            tallies = _run(processes, roles)
        finally:
            for process in processes:
                process.kill()
                process.communicate()
    return judge(tallies, [bool(role["receives"]) for role in roles])


def judge(tallies: list[dict[str, int]], receives: list[bool]) -> Outcome:
    receivers = [tally for tally, counts in zip(tallies, receives, strict=True) if counts]
    rates = [
        (tally["received"] + tally["sent"]) / max(tally["last_ns"] - tally["first_ns"], 1) * 1e9 for tally in receivers
    ]
    return Outcome(statistics.median(rates), sum(tally["expected"] - tally["received"] for tally in receivers))


def _role(
    variant: Variant, directory: str, index: int, senders: int, members: int, size: int, seconds: float
) -> dict[str, Any]:
    at = "tcp://127.0.0.1:*" if variant.scheme == "tcp" else f"ipc://{Path(directory) / str(index)}"
    return {
        "publishes_at": at if index < senders else None,
        "receives": senders > 1 or index >= senders,
        "subscribers": members - 1,
        "size": size,
        "parts": max(1, BATCH_BYTES // size) if variant.batched else 1,
        "seconds": seconds,
    }


def _start(role: dict[str, Any]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ringcast.bench.zmq_member", json.dumps(role)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _run(processes: list[subprocess.Popen[str]], roles: list[dict[str, Any]]) -> list[dict[str, int]]:
    published = [_answer(process) for process in processes]
    for index, process in enumerate(processes):
        others = [at for other, at in enumerate(published) if at is not None and other != index]
        _tell(process, json.dumps(others if roles[index]["receives"] else []))
    tallies: list[dict[str, int]] = [_answer(process) for process in processes]
    for process in processes:
        _tell(process, "")
    return tallies


def _answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, words = process.communicate(timeout=_LIMIT_SECONDS)
        last = words.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise PeersUnavailable(f"a pyzmq process ended early: {last[0]}")
    return json.loads(line)


def _tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
