"""Recordings: recorders, their file format and the reader. Imports only model; knows no protocol and no guarantee."""

from ringcast.trace.block import Columns
from ringcast.trace.details import as_address, as_addresses, as_digest, as_view_id, detail_of, digest_rows
from ringcast.trace.errors import TraceError
from ringcast.trace.fingerprint import run_hash, trace_hash
from ringcast.trace.header import SIMULATED_CLOCK, Header, host_clock
from ringcast.trace.reader import Recording, read_recording, read_run
from ringcast.trace.recorder import FileRecorder, MemoryRecorder, Recorder, RecorderLimits, directory_for
from ringcast.trace.threaded import ThreadedRecorder

__all__ = [
    "SIMULATED_CLOCK",
    "Columns",
    "FileRecorder",
    "Header",
    "MemoryRecorder",
    "Recorder",
    "RecorderLimits",
    "Recording",
    "ThreadedRecorder",
    "TraceError",
    "as_address",
    "as_addresses",
    "as_digest",
    "as_view_id",
    "detail_of",
    "digest_rows",
    "directory_for",
    "host_clock",
    "read_recording",
    "read_run",
    "run_hash",
    "trace_hash",
]
