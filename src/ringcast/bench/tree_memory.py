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
            self.highest_megabytes = max(self.highest_megabytes, tree_megabytes(os.getpid()))


def tree_megabytes(root: int) -> float:
    """The resident memory of a process and its descendants; what they share is counted once for each."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents[int(place.name)], pages[int(place.name)] = int(fields[1]), int(fields[21])
    return sum(n for pid, n in pages.items() if _descends(pid, root, parents)) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid > 1 and pid != root:
        pid = parents.get(pid, 0)
    return pid == root
