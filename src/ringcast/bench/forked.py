"""Functions in processes of their own, forked, with what each of them returned; a failure names who failed."""

from __future__ import annotations

import multiprocessing as mp
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from ringcast.errors import RingcastError

LIMIT_S = 120.0  # a hang becomes a failure; nothing else depends on it


class WorkerFailed(RingcastError):
    """A process of a measurement failed or hung; the message says which and why."""


def run_all(works: Mapping[str, Callable[[], Any]], limit_s: float) -> dict[str, Any]:
    """Each work in a forked process, all at once."""
    context = mp.get_context("fork")
    running = {}
    for name, work in works.items():
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(work, there), daemon=True)
        process.start()
        there.close()
        running[name] = (process, here)
    try:
        return {name: _hear(name, here, limit_s) for name, (_, here) in running.items()}
    finally:
        for process, here in running.values():
            process.join(0 if process.exitcode is None and here.closed else 1)
            if process.exitcode is None:
                process.kill()
                process.join()


def _answer(work: Callable[[], Any], there: Connection) -> None:
    try:
        there.send((True, work()))
    except BaseException:
        there.send((False, traceback.format_exc(limit=-3)))


def _hear(name: str, here: Connection, limit_s: float) -> Any:
    if not here.poll(limit_s):
        raise WorkerFailed(f"{name} did not end within {limit_s:.0f} s")
    try:
        is_well, answer = here.recv()
    except EOFError:
        raise WorkerFailed(f"{name} died") from None
    if not is_well:
        raise WorkerFailed(f"{name} failed: {answer}")
    return answer
