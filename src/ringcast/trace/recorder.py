"""Recorders: where a member puts its events.

`append` is on the data plane, so it only appends to a list; turning events into columns and bytes happens elsewhere:
in memory never, in `FileRecorder` when a block is full, in `ThreadedRecorder` on a thread of its own.
Each begins with START (the header) and, if closed in good order, ends with CLOSED; without it the recording is cut.
Not a judge: an event is written as it came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ringcast.model import Address, Event, Kind
from ringcast.trace.errors import TraceError
from ringcast.trace.header import Header, start_event
from ringcast.trace.reader import Recording
from ringcast.trace.segment import SegmentWriter

MS = 1_000_000


class Recorder(Protocol):
    """Takes events in the order in which they happened at one member."""

    contents: bool  # are runs recorded with the digest of what they carry?

    def append(self, event: Event) -> None: ...

    def extend(self, events: Iterable[Event]) -> None: ...

    def close(self, t_ns: int, how: str = "ended") -> None:
        """End in good order. `how`: ended | left | crashed (a simulated crash, of which everything is known)."""


@dataclass(frozen=True, slots=True)
class RecorderLimits:
    """Bounds of a recording. Reaching one is counted as dropped events, never growth or waiting."""

    queue_events: int = 1 << 17  # between the member and the writing thread
    block_events: int = 1 << 13
    flush_interval_ns: int = 50 * MS  # at most this much is lost in a crash
    segment_bytes: int = 8 << 20
    segment_events: int = 500_000
    segment_seconds: float | None = None  # finish a segment that has events after this time, full or not
    total_bytes: int = 64 << 30


def directory_for(root: Path, member: Address) -> Path:
    """Where a member's segments go: one directory per member and incarnation.

    Hadoop knows no names with a colon, and its listings leave out those that begin with `_` or a dot.
    """
    name = str(member).replace("#", ".").replace(":", "%3A")
    return root / (f"%{ord(name[0]):02X}{name[1:]}" if name[0] in "_." else name)


def writer_for(root: Path, header: Header, limits: RecorderLimits) -> SegmentWriter:
    return SegmentWriter(directory_for(root, header.member), header, limits.segment_bytes, limits.segment_events)


class MemoryRecorder:
    """Keeps events in a list: for simulated members and for tests. What comes after `close` is not of the recording."""

    contents = True

    def __init__(self, header: Header, t_ns: int = 0) -> None:
        self.header = header
        self.events: list[Event] = [start_event(header, t_ns)]
        self.append = self.events.append
        self.extend = self.events.extend
        self.closed = False

    def close(self, t_ns: int, how: str = "ended") -> None:
        if not self.closed:
            # Another list: who kept `append` (a driver does) goes on writing where nobody reads.
            self.events = [*self.events, closed_event(t_ns, how)]
            self.closed = True

    def recording(self) -> Recording:
        """What was recorded so far, ready to be judged."""
        return Recording.of(self.header, self.events, closed=self.closed)


class FileRecorder:
    """Writes a block whenever it is full and at `close`: for simulated members, whose time does not pass meanwhile."""

    contents = True

    def __init__(self, root: Path, header: Header, t_ns: int = 0, limits: RecorderLimits | None = None) -> None:
        self._limits = limits or RecorderLimits()
        self._writer = writer_for(root, header, self._limits)
        self._pending: list[Event] = [start_event(header, t_ns)]
        self._open = True

    def append(self, event: Event) -> None:
        self._pending.append(event)
        if len(self._pending) >= self._limits.block_events:
            self.flush()

    def extend(self, events: Iterable[Event]) -> None:
        for event in events:
            self.append(event)

    def flush(self) -> None:
        try:
            if self._pending:
                self._writer.write_events(self._pending)
        except (OSError, ValueError, OverflowError) as error:
            raise TraceError(f"cannot record: {error}") from None
        self._pending.clear()

    def close(self, t_ns: int, how: str = "ended") -> None:
        if self._open:
            self._open = False
            self._pending.append(closed_event(t_ns, how))
            self.flush()
            self._writer.write_closed()
            self._writer.close()

    def cut(self) -> None:
        """Stop as a crash would: what was not flushed is lost, and nothing says that this was the end."""
        if self._open:
            self._open = False
            self._writer.cut()


def closed_event(t_ns: int, how: str) -> Event:
    return Event(Kind.CLOSED, t_ns, detail={"how": how})
