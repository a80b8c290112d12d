"""Where and how a member records: what an application says about its recording.

join("orders", record="recordings/")
join("orders", record=record("recordings/", run="soak-17", segment_seconds=60))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ringcast.errors import UsageError
from ringcast.trace.header import run_id
from ringcast.trace.recorder import RecorderLimits


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """A directory for recordings, the run they belong to, and their bounds."""

    directory: Path
    run: str | None
    limits: RecorderLimits


def record(directory: str | Path, *, run: str | None = None, segment_seconds: float | None = None) -> RecordingOptions:
    """Record below this directory. `run` names the run (else RINGCAST_RUN_ID; else the directory is the run).

    A segment is finished when it is full, and after `segment_seconds` if given: then streams can read it.
    """
    if segment_seconds is not None and not segment_seconds > 0:
        raise UsageError(f"segment_seconds must be more than 0, got {segment_seconds}")
    return RecordingOptions(Path(directory), run_id(run), RecorderLimits(segment_seconds=segment_seconds))


def recording_options(given: str | Path | RecordingOptions) -> RecordingOptions:
    return given if isinstance(given, RecordingOptions) else record(given)
