"""What this process and all that it started used: memory at once and CPU seconds, looked at every fifth of a second."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

_LOOK_EVERY_SECONDS = 0.2


class TreeUse:
    """Use as a context manager; `highest_megabytes` is the highest sum of resident memory that was seen.

    CPU of processes that ended counts as it was last seen: Spark's daemon ignores the end of its workers, so that
    nobody has their time.
    """

    def __init__(self) -> None:
        self.highest_megabytes = 0.0
        self.largest_python_megabytes = 0.0  # of one process that was started: a task's
        self._ticks: dict[tuple[int, str], int] = {}  # by process and when it started, with those that ended
        self._looking = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="process-tree", daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def cpu_seconds(self) -> float:
        """Of all, from their start until now."""
        self._look()
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def _watch(self) -> None:
        while not self._end.wait(_LOOK_EVERY_SECONDS):
            self._look()

    def _look(self) -> None:
        with self._looking:
            tree = _tree(os.getpid())
            for pid, _, fields in tree:
                self._ticks[pid, fields[19]] = int(fields[11]) + int(fields[12])
            held = [(name, _megabytes(fields)) for _, name, fields in tree]
            self.highest_megabytes = max(self.highest_megabytes, sum(megabytes for _, megabytes in held))
            tasks = [megabytes for name, megabytes in held[1:] if name.startswith("python")]
            self.largest_python_megabytes = max(self.largest_python_megabytes, *tasks, 0.0)


def tree_megabytes(root: int) -> float:
    """The resident memory of a process and its descendants; what they share is counted once for each."""
    return sum(_megabytes(fields) for _, _, fields in _tree(root))


def _megabytes(fields: list[str]) -> float:
    return int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _tree(root: int) -> list[tuple[int, str, list[str]]]:
    """Number, name and the fields of /proc/PID/stat behind it, of a process and its descendants, the oldest first."""
    found: dict[int, tuple[str, list[str]]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            start, _, rest = (place / "stat").read_text().rpartition(")")
        except OSError:
            continue  # it has just ended
        found[int(place.name)] = (start.partition("(")[2], rest.split())
    parents = {pid: int(fields[1]) for pid, (_, fields) in found.items()}
    return [(pid, *found[pid]) for pid in sorted(found) if _descends(pid, root, parents)]


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid > 1 and pid != root:
        pid = parents.get(pid, 0)
    return pid == root
