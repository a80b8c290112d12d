"""How much memory this process and everything it started held at once, looked at every fifth of a second."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

_LOOK_EVERY_SECONDS = 0.2


class TreeMemory:
    """Use as a context manager; `highest_megabytes` is the highest sum of resident memory that was seen."""

    def __init__(self) -> None:
        self.highest_megabytes = 0.0
        self.largest_python_megabytes = 0.0  # of one process that was started: a task's
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, name="memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(_LOOK_EVERY_SECONDS):
            held = tree_processes(os.getpid())
            self.highest_megabytes = max(self.highest_megabytes, sum(megabytes for _, megabytes in held))
            tasks = [megabytes for name, megabytes in held[1:] if name.startswith("python")]
            self.largest_python_megabytes = max(self.largest_python_megabytes, *tasks, 0.0)


def tree_megabytes(root: int) -> float:
    """The resident memory of a process and its descendants; what they share is counted once for each."""
    return sum(megabytes for _, megabytes in tree_processes(root))


def tree_processes(root: int) -> list[tuple[str, float]]:
    """Name and resident megabytes of a process and its descendants, the oldest first."""
    size = os.sysconf("SC_PAGE_SIZE") / 1e6
    return [(name, int(fields[21]) * size) for name, fields in _tree(root)]


def tree_cpu_seconds() -> float:
    """CPU seconds of this process and its descendants, and of those of them that were waited for."""
    ticks = sum(int(field) for _, fields in _tree(os.getpid()) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _tree(root: int) -> list[tuple[str, list[str]]]:
    """Name and the fields of /proc/PID/stat behind it, of a process and its descendants."""
    found: dict[int, tuple[str, list[str]]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            start, _, rest = (place / "stat").read_text().rpartition(")")
        except OSError:
            continue  # it has just ended
        found[int(place.name)] = (start.partition("(")[2], rest.split())
    parents = {pid: int(fields[1]) for pid, (_, fields) in found.items()}
    return [told for pid, told in sorted(found.items()) if _descends(pid, root, parents)]


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid > 1 and pid != root:
        pid = parents.get(pid, 0)
    return pid == root
