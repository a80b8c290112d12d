"""Recordings: recorders, their file format and the reader. Imports only model; knows no protocol and no guarantee."""

from ringcast.trace.block import COLUMNS, Columns, PackedBlock, PackedColumn, open_block, open_detail
from ringcast.trace.details import as_address, as_addresses, as_digest, as_view_id, detail_of, digest_rows
from ringcast.trace.errors import TraceError
from ringcast.trace.fingerprint import run_hash, trace_hash
from ringcast.trace.header import (
    RUN_ID,
    SIMULATED_CLOCK,
    Header,
    SegmentStart,
    from_frame,
    host_clock,
    is_harness,
    run_id,
)
from ringcast.trace.options import CONTENTS, RecordingOptions, record, recording_options
from ringcast.trace.reader import (
    Recording,
    is_segment,
    local_paths,
    read_recording,
    read_run,
    read_runs,
    readable_runs,
    unnamed_run,
)
from ringcast.trace.recorder import FileRecorder, MemoryRecorder, Recorder, RecorderLimits, directory_for
from ringcast.trace.segment import SUFFIX, UNDER_WAY, SegmentWriter, frames_in, segment_number, under_run
from ringcast.trace.threaded import ThreadedRecorder

__all__ = [
    "COLUMNS",
    "CONTENTS",
    "RUN_ID",
    "SIMULATED_CLOCK",
    "SUFFIX",
    "UNDER_WAY",
    "Columns",
    "FileRecorder",
    "Header",
    "MemoryRecorder",
    "PackedBlock",
    "PackedColumn",
    "Recorder",
    "RecorderLimits",
    "Recording",
    "RecordingOptions",
    "SegmentStart",
    "SegmentWriter",
    "ThreadedRecorder",
    "TraceError",
    "as_address",
    "as_addresses",
    "as_digest",
    "as_view_id",
    "detail_of",
    "digest_rows",
    "directory_for",
    "frames_in",
    "from_frame",
    "host_clock",
    "is_harness",
    "is_segment",
    "local_paths",
    "open_block",
    "open_detail",
    "read_recording",
    "read_run",
    "read_runs",
    "readable_runs",
    "record",
    "recording_options",
    "run_hash",
    "run_id",
    "segment_number",
    "trace_hash",
    "under_run",
    "unnamed_run",
]
