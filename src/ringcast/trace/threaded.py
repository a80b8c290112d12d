"""The recorder of a real member: a bounded queue, and a thread that turns it into blocks on disk.

The member pays for one list append. When the disk is slow or full the queue fills up; then events are dropped and
counted, and the count is recorded in the place where the hole is. A recording with a hole never yields a clean verdict.

Why a plain list is enough: only the thread removes (from the front, in one step), only the member adds (at the end),
and each of `append`, `extend`, slice and `del` is one indivisible step of the interpreter.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from ringcast.model import Event
from ringcast.trace.header import Header, start_event
from ringcast.trace.recorder import RecorderLimits, closed_event, writer_for

_log = logging.getLogger("ringcast.trace")


class ThreadedRecorder:
    """Events go to disk at most `flush_interval_ns` after they were appended."""

    def __init__(
        self,
        root: Path,
        header: Header,
        t_ns: int,
        limits: RecorderLimits | None = None,
        *,
        contents: bool = False,
    ) -> None:
        self._limits = limits or RecorderLimits()
        self.contents = contents
        self._room = self._limits.queue_events
        self._wake_at = min(self._limits.block_events, self._room // 2)
        self._writer = writer_for(root, header, self._limits)
        self._pending: list[Event] = [start_event(header, t_ns)]
        self._refused = 0  # by the queue; only the member counts here
        self._lost = 0  # by the disk; only the thread counts here
        self._told = 0  # how much of both the recording already says
        self._ending = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"record {header.member}", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Events that did not reach the disk and never will."""
        return self._refused + self._lost

    def append(self, event: Event) -> None:
        pending = self._pending
        if len(pending) < self._room:
            pending.append(event)
        else:
            self._refused += 1

    def extend(self, events: Iterable[Event]) -> None:
        pending = self._pending
        if len(pending) < self._room:
            pending.extend(events)
            if len(pending) > self._wake_at:
                self._wake.set()
        else:
            self._refused += sum(1 for _ in events)

    def close(self, t_ns: int, how: str = "ended") -> None:
        if self._ending:
            return
        self._pending.append(closed_event(t_ns, how))
        self._ending = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        interval = self._limits.flush_interval_ns / 1e9
        begun = time.monotonic()
        while not self._ending:
            self._wake.wait(interval)
            self._wake.clear()
            self._drain()
            if self._limits.segment_seconds is not None and time.monotonic() - begun >= self._limits.segment_seconds:
                begun = time.monotonic()
                self._finish_segment()
        self._drain()
        self._finish()

    def _finish_segment(self) -> None:
        try:
            self._writer.finish_segment()
        except OSError as error:  # nothing is lost: the segment goes on
            _log.warning("recording could not begin a new segment: %s", error)

    def _drain(self) -> None:
        while True:
            # Before taking: whatever is dropped after this look is dropped behind the batch that is taken next.
            marked = self._mark_hole()
            batch = self._pending[: self._limits.block_events]
            del self._pending[: len(batch)]
            if not batch:
                return
            if marked:
                self._store(batch)
            else:
                self._lose(len(batch), "the hole before them could not be marked")

    def _store(self, batch: list[Event]) -> None:
        if self._writer.written_bytes >= self._limits.total_bytes:
            self._lose(len(batch), f"the recording has its {self._limits.total_bytes} bytes")
            return
        try:
            self._writer.write_events(batch)
        except (OSError, ValueError, OverflowError) as error:
            self._lose(len(batch), str(error))

    def _lose(self, count: int, why: str) -> None:
        if not self._lost:
            _log.warning("recording drops events: %s", why)
        self._lost += count

    def _mark_hole(self) -> bool:
        """Record the losses so far. False if the disk refuses: then nothing may be written behind the hole."""
        dropped = self.dropped
        try:
            if dropped > self._told:
                self._writer.write_lost(dropped - self._told)
        except OSError:
            return False
        self._told = dropped
        return True

    def _finish(self) -> None:
        try:
            if self._mark_hole():
                self._writer.write_closed()
            self._writer.close()
        except OSError as error:
            _log.warning("recording could not be closed: %s", error)
