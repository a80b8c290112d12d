"""What a member gets from the machine it runs on: the time, an incarnation, randomness, a recorder, signs of life.

`join` runs on `RealHost`. A world with a clock of its own gives its members another one, and everything above, from the
driver to the Group that applications hold, stays the same code (decision 0055). Not a transport: that is given apart.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Protocol

from ringcast.model import Address, Config
from ringcast.runtime.mark_file import MarkFile, MarkStore
from ringcast.trace import Header, Recorder, RecordingOptions, ThreadedRecorder, host_clock


class Host(Protocol):
    beats_itself: bool
    """True: the node sends its heartbeats on its own time. False: a thread does, so that a busy loop is not dead."""

    contains_faults: bool
    """True: what raises ends a member's place, not its process. False: it is raised, where faults are looked for."""

    hands_over: bool
    """True: a reader that waits runs in the wake that brings its message. False: the loop orders all steps itself."""

    def now_ns(self) -> int:
        """Monotonic; whatever the event loop's own time is measured by."""

    def incarnation(self) -> int:
        """Greater with each call, and from process to process."""

    def random(self, me: Address) -> Random:
        """A source of randomness for this incarnation."""

    def recorder(self, me: Address, group: str, config: Config, to: RecordingOptions | None) -> Recorder | None:
        """Where this incarnation records; `to` is what the application asked for."""

    def marks(self, path: Path, group: str, name: str) -> MarkStore:
        """Where the mark of primary views is kept; `path` is what the application asked for."""


class RealHost:
    beats_itself = False
    contains_faults = True
    hands_over = True
    now_ns = staticmethod(time.monotonic_ns)
    incarnation = staticmethod(time.time_ns)

    def random(self, me: Address) -> Random:
        return Random(f"{me.name}/{me.incarnation}")

    def recorder(self, me: Address, group: str, config: Config, to: RecordingOptions | None) -> Recorder | None:
        if to is None:
            return None
        header = Header.of(me, group, config, clock=host_clock(), run=to.run)
        return ThreadedRecorder(to.directory, header, self.now_ns(), to.limits, contents=to.contents)

    def marks(self, path: Path, group: str, name: str) -> MarkStore:
        return MarkFile(path, group, name)
