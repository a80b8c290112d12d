"""Recorders and reader: what was flushed is read back; a cut, garbage or a loss is named and never a clean end."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ringcast.errors import UsageError
from ringcast.model import Address, Config, Event, Kind, ViewId
from ringcast.trace import (
    FileRecorder,
    Header,
    MemoryRecorder,
    RecorderLimits,
    ThreadedRecorder,
    TraceError,
    directory_for,
    read_recording,
    read_run,
    record,
)
from ringcast.trace import segment as segment_module

A = Address("a", 36, "127.0.0.1:1")
HEADER = Header.of(A, "g", Config(capacity=7), seed=5)
VIEW = ViewId(1, A)


def sends(count: int, start: int = 1) -> list[Event]:
    return [Event(Kind.SEND, i, VIEW, first=i, count=1, value=1) for i in range(start, start + count)]


def write(root: Path, count: int, **limits: int) -> Path:
    recorder = FileRecorder(root, HEADER, limits=RecorderLimits(**limits))
    recorder.extend(sends(count))
    recorder.close(count + 1)
    return directory_for(root, A)


def test_a_closed_recording_holds_header_start_events_and_end(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path, 3))
    events = list(recording.events)
    assert recording.header == HEADER and recording.header.config["capacity"] == 7
    assert [e.kind for e in events] == [Kind.START, Kind.SEND, Kind.SEND, Kind.SEND, Kind.CLOSED]
    assert events[1:4] == sends(3)
    assert (recording.count, recording.closed, recording.dropped, recording.cut) == (5, True, 0, None)


def test_many_blocks_and_segments_read_as_one(tmp_path: Path) -> None:
    directory = write(tmp_path, 1000, block_events=10, segment_bytes=2000)
    assert len(list(directory.iterdir())) > 5
    recording = read_recording(directory)
    assert [e.first for e in recording.events if e.kind is Kind.SEND] == list(range(1, 1001))
    assert recording.closed


def test_memory_and_file_record_the_same(tmp_path: Path) -> None:
    memory = MemoryRecorder(HEADER)
    memory.extend(sends(4))
    memory.close(5)
    directory = write(tmp_path, 4)
    assert list(memory.recording().events)[1:] == list(read_recording(directory).events)[1:]
    assert memory.recording().closed


def test_nothing_is_added_to_a_closed_recording_in_memory() -> None:
    memory = MemoryRecorder(HEADER)
    append = memory.append  # as a driver keeps it
    memory.extend(sends(1))
    memory.close(5, "crashed")
    append(sends(1)[0])
    memory.extend(sends(2))
    assert [event.kind for event in memory.recording().events] == [Kind.START, Kind.SEND, Kind.CLOSED]


def test_a_cut_recorder_keeps_what_was_flushed(tmp_path: Path) -> None:
    recorder = FileRecorder(tmp_path, HEADER)
    recorder.extend(sends(3))
    recorder.flush()
    recorder.extend(sends(3, 4))
    recorder.cut()
    recording = read_recording(directory_for(tmp_path, A))
    assert [e.first for e in recording.events if e.kind is Kind.SEND] == [1, 2, 3]
    assert not recording.closed


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_segment_under_way_has_a_name_of_its_own_until_it_is_finished(tmp_path: Path) -> None:
    recorder = FileRecorder(tmp_path, HEADER, limits=RecorderLimits(block_events=10, segment_events=20))
    recorder.extend(sends(25))
    directory = directory_for(tmp_path, A)
    assert names(directory) == ["_000000.rct"]
    recorder.extend(sends(10, 26))
    assert names(directory) == ["000000.rct", "_000001.rct"]
    assert [e.first for e in read_recording(directory).events if e.kind is Kind.SEND] == list(range(1, 30))
    recorder.close(99)
    assert names(directory) == ["000000.rct", "000001.rct"]
    assert read_recording(directory).is_whole


def test_a_segment_finished_after_it_was_listed_is_still_read(tmp_path: Path) -> None:
    recorder = FileRecorder(tmp_path, HEADER)
    recorder.extend(sends(3))
    recorder.flush()
    recording = read_recording(directory_for(tmp_path, A))
    recorder.close(4)
    assert [e.first for e in recording.events if e.kind is Kind.SEND] == [1, 2, 3]


def test_a_segment_is_finished_after_segment_seconds_if_it_has_events(tmp_path: Path) -> None:
    limits = RecorderLimits(flush_interval_ns=1_000_000, segment_seconds=1e-6)
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, limits)
    directory = directory_for(tmp_path, A)
    while not (directory / "000000.rct").exists():
        time.sleep(0.001)
    recorder.append(sends(1)[0])
    while not (directory / "000001.rct").exists():
        time.sleep(0.001)
    recorder.close(9)
    assert len(names(directory)) >= 3
    assert [e.kind for e in read_recording(directory).events] == [Kind.START, Kind.SEND, Kind.CLOSED]


def test_a_run_id_is_given_or_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGCAST_RUN_ID", raising=False)
    assert record(tmp_path).run is None
    monkeypatch.setenv("RINGCAST_RUN_ID", "soak-17")
    assert record(tmp_path).run == "soak-17"
    assert record(tmp_path, run="mine").run == "mine"
    FileRecorder(tmp_path, Header.of(A, "g", run="mine")).close(1)
    assert read_recording(directory_for(tmp_path, A)).header.run == "mine"


def test_segment_seconds_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="segment_seconds"):
        record(tmp_path, segment_seconds=0)


def test_a_file_cut_at_any_byte_yields_a_prefix_or_a_named_error(tmp_path: Path) -> None:
    (path,) = write(tmp_path, 12, block_events=4).iterdir()
    whole = path.read_bytes()
    expected = list(read_recording(path.parent).events)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        try:
            recording = read_recording(path.parent)
        except TraceError:
            continue
        events = list(recording.events)
        assert events == expected[: len(events)] and len(events) == recording.count
        assert not recording.closed


def test_a_damaged_byte_cuts_the_recording_there(tmp_path: Path) -> None:
    (path,) = write(tmp_path, 40, block_events=4).iterdir()
    data = bytearray(path.read_bytes())
    data[-200] ^= 255
    path.write_bytes(data)
    recording = read_recording(path.parent)
    assert not recording.closed and "checksum" in str(recording.cut)
    assert 0 < recording.count < 42


def test_garbage_is_not_a_recording(tmp_path: Path) -> None:
    (tmp_path / "000000.rct").write_bytes(os.urandom(4096))
    with pytest.raises(TraceError, match="does not begin"):
        read_recording(tmp_path)


def test_a_missing_segment_cuts_the_recording(tmp_path: Path) -> None:
    directory = write(tmp_path, 300, block_events=10, segment_bytes=2000)
    sorted(directory.iterdir())[1].unlink()
    recording = read_recording(directory)
    assert not recording.closed and "segment 1" in str(recording.cut)


def test_a_directory_is_recorded_only_once(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with pytest.raises(TraceError, match="already holds"):
        FileRecorder(tmp_path, HEADER)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot record in"):
        FileRecorder(tmp_path / "file", HEADER)


def test_a_later_schema_is_refused(tmp_path: Path) -> None:
    recorder = FileRecorder(tmp_path, Header(A, "g", schema=99))
    recorder.close(1)
    with pytest.raises(TraceError, match="schema 99"):
        read_run([tmp_path])


def test_the_thread_writes_everything_in_order(tmp_path: Path) -> None:
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, RecorderLimits(block_events=64, flush_interval_ns=1_000_000))
    for event in sends(5000):
        recorder.append(event)
    recorder.extend(sends(5000, 5001))
    recorder.close(9)
    recording = read_recording(directory_for(tmp_path, A))
    assert [e.first for e in recording.events if e.kind is Kind.SEND] == list(range(1, 10_001))
    assert recording.is_whole and recorder.dropped == 0


def test_a_full_disk_is_counted_and_leaves_a_marked_hole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, RecorderLimits(flush_interval_ns=10**12))
    real: Any = os.pwrite
    full = [True]

    def refusing(file: int, data: bytes, at: int) -> int:
        if full:
            full.pop()
            real(file, data[:7], at)
            raise OSError(errno.ENOSPC, "no space")
        written: int = real(file, data, at)
        return written

    monkeypatch.setattr(segment_module.os, "pwrite", refusing)
    recorder.extend(sends(3))
    recorder.close(9)
    recording = read_recording(directory_for(tmp_path, A))
    assert recorder.dropped == recording.dropped == 5
    assert recording.hole == 0 and not recording.is_whole and list(recording.judgeable()) == []


def _refusing_marks(recorder: ThreadedRecorder, times: int) -> None:
    """The disk takes blocks and refuses the marks of holes, so many times."""
    writer: Any = recorder._writer
    write_lost, left = writer.write_lost, [None] * times

    def refusing(count: int) -> None:
        if left:
            left.pop()
            raise OSError(errno.ENOSPC, "no space")
        write_lost(count)

    writer.write_lost = refusing


def test_nothing_is_written_behind_a_hole_that_could_not_be_marked(tmp_path: Path) -> None:
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, RecorderLimits(queue_events=10, flush_interval_ns=10**12))
    recorder.extend(sends(9))
    recorder.extend(sends(5, 10))  # There is no room for these.
    _refusing_marks(recorder, 1)
    recorder.close(60)
    recording = read_recording(directory_for(tmp_path, A))
    assert (recording.count, recording.dropped, recorder.dropped) == (0, 16, 16)
    assert recording.hole == 0 and not recording.is_whole


def test_a_recording_whose_last_hole_could_not_be_marked_does_not_end_in_good_order(tmp_path: Path) -> None:
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, RecorderLimits(queue_events=10, flush_interval_ns=10**12))
    recorder.extend(sends(9))
    recorder.extend(sends(5, 10))
    _refusing_marks(recorder, 9)
    recorder.close(60)
    assert recorder.dropped == 16
    assert not read_recording(directory_for(tmp_path, A)).closed


def test_of_a_list_that_finds_no_room_every_event_is_counted(tmp_path: Path) -> None:
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, RecorderLimits(queue_events=10, flush_interval_ns=10**12))
    recorder.extend(sends(9))
    recorder.extend(sends(5, 10))
    recorder.close(60)
    assert recorder.dropped == read_recording(directory_for(tmp_path, A)).dropped == 5


def test_a_full_queue_is_counted_and_the_hole_is_marked(tmp_path: Path) -> None:
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, RecorderLimits(queue_events=10, flush_interval_ns=10**12))
    for event in sends(50):
        recorder.append(event)
    recorder.close(60)
    recording = read_recording(directory_for(tmp_path, A))
    assert recording.dropped == recorder.dropped > 0
    assert recording.count + recording.dropped == 52
    assert not recording.is_whole


def test_the_size_of_a_recording_is_bounded(tmp_path: Path) -> None:
    limits = RecorderLimits(block_events=10, total_bytes=300, flush_interval_ns=10**12)
    recorder = ThreadedRecorder(tmp_path, HEADER, 0, limits)
    recorder.extend(sends(2000))
    recorder.close(9)
    recording = read_recording(directory_for(tmp_path, A))
    assert recording.dropped == recorder.dropped > 1900


KILLED = """
import sys, time
from pathlib import Path
from ringcast.model import Address, Event, Kind
from ringcast.trace import Header, RecorderLimits, ThreadedRecorder
a = Address("a", 36, "127.0.0.1:1")
limits = RecorderLimits(block_events=50, flush_interval_ns=1_000_000)
r = ThreadedRecorder(Path(sys.argv[1]), Header.of(a, "g"), 0, limits)
n = 0
while True:
    n += 1
    r.append(Event(Kind.SEND, n, first=n, count=1))
    if n == 20_000:
        print("go", flush=True)
    if n % 1000 == 0:
        time.sleep(0.0005)
"""


def test_kill_9_loses_at_most_the_tail(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"go\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    recording = read_recording(directory_for(tmp_path, A))
    firsts = [e.first for e in recording.judgeable() if e.kind is Kind.SEND]
    assert firsts == list(range(1, len(firsts) + 1)) and firsts
    assert not recording.closed


def test_two_recordings_of_one_member_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "one", 1)
    write(tmp_path / "two", 1)
    with pytest.raises(TraceError, match="two recordings"):
        read_run([tmp_path])


def test_a_place_without_recordings_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no recording"):
        read_run([tmp_path])
    with pytest.raises(TraceError, match="not a directory"):
        read_run([tmp_path / "none"])
