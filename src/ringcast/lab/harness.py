"""What the harness did to a group: faults and heals, in a recording of its own beside the members'."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ringcast.model import Address, Event, Kind
from ringcast.trace import FileRecorder, Header, host_clock, run_id

HARNESS = Address("harness", 0, "lab:harness")


class Harness:
    """Notes what was injected and when the last of it ended (G14 is judged from there)."""

    def __init__(self, record: Path, group: str) -> None:
        who = HARNESS._replace(endpoint=f"lab:{group}")  # two groups of one run have each their own
        header = Header(who, group, clock=host_clock(), run=run_id())
        self._recorder = FileRecorder(record, header, time.monotonic_ns())

    def fault(self, what: str, **detail: Any) -> None:
        self._recorder.append(Event(Kind.FAULT, time.monotonic_ns(), detail={"what": what, **detail}))

    def heal(self, bound_seconds: float) -> None:
        """From here on nothing more is injected; within the bound every wait must end and all share one view."""
        self._recorder.append(Event(Kind.HEAL, time.monotonic_ns(), value=int(bound_seconds * 1e9)))

    def close(self) -> None:
        self._recorder.close(time.monotonic_ns())
