"""Processes of a measurement that begin and end when they are told, by lines of JSON: ours and those beside ours.

Each prints one line when it is ready, gets one line, runs, prints what it saw, and ends with the next line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ringcast.errors import RingcastError

LIMIT_SECONDS = 120  # for the last words of a process that failed


class MemberFailed(RingcastError):
    """A process of a measurement ended early; the message says why."""


@dataclass(frozen=True, slots=True)
class Told:
    """One process: `python -m module '{role}'`."""

    module: str
    role: dict[str, Any]


def run_together(members: list[Told], words: Callable[[list[Any]], list[Any]] | None = None) -> list[Any]:
    """What each of them saw. `words`: from what all said when they were ready, what each is told."""
    processes = [_start(member) for member in members]
    names = [f"a process of {member.module}" for member in members]
    try:
        ready = list(map(_answer, names, processes))
        for process, word in zip(processes, ready if words is None else words(ready), strict=True):
            _tell(process, word)
        seen = list(map(_answer, names, processes))
        for process in processes:
            _tell(process, None)
        for process in processes:
            process.wait(LIMIT_SECONDS)
        return seen
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _start(member: Told) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", member.module, json.dumps(member.role)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _answer(name: str, process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, words = process.communicate(timeout=LIMIT_SECONDS)
        last = words.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise MemberFailed(f"{name} ended early: {last[0]}")
    return json.loads(line)


def _tell(process: subprocess.Popen[str], word: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(word) + "\n")
    process.stdin.flush()
