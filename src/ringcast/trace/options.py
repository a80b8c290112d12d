"""Where and how a member records: what an application says about its recording.

join("orders", record="recordings/")
join("orders", record=record("recordings/", run="soak-17", segment_seconds=60, contents=True))
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ringcast.errors import UsageError
from ringcast.trace.header import run_id
from ringcast.trace.recorder import RecorderLimits

CONTENTS = "RINGCAST_RECORD_CONTENTS"  # 1: every recording of a process has digests of what runs carry


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """A directory for recordings, the run they belong to, and their bounds."""

    directory: Path
    run: str | None
    limits: RecorderLimits
    contents: bool = False


def record(
    directory: str | Path,
    *,
    run: str | None = None,
    segment_seconds: float | None = None,
    contents: bool | None = None,
) -> RecordingOptions:
    """Record below this directory. `run` names the run (else RINGCAST_RUN_ID; else the directory is the run).

    A segment is finished when it is full, and after `segment_seconds` if given: then streams can read it.
    `contents`: record a digest of what each run carries, so that members which deliver different bytes under one seqno
    by mistake are seen (G1, G5); else RINGCAST_RECORD_CONTENTS=1 asks for it. The messages themselves are never
    recorded, but a short one can be guessed from its digest.
    """
    if segment_seconds is not None and not segment_seconds > 0:
        raise UsageError(f"segment_seconds must be more than 0, got {segment_seconds}")
    if contents is None:
        contents = os.environ.get(CONTENTS) == "1"
    return RecordingOptions(Path(directory), run_id(run), RecorderLimits(segment_seconds=segment_seconds), contents)


def recording_options(given: str | Path | RecordingOptions) -> RecordingOptions:
    return given if isinstance(given, RecordingOptions) else record(given)
