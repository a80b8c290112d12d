"""A segment's bytes as columns: the same events as the reader's, alone, and up to the damage."""

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from ringcast.model import Address, Event, Kind, ViewId
from ringcast.pipeline.segment import Segment, decode, run_of
from ringcast.trace import FileRecorder, Header, RecorderLimits, TraceError, directory_for, read_recording, under_run

A, B = Address("a", 36, "127.0.0.1:1"), Address("b", 37, "127.0.0.1:2")
HEADER = Header.of(A, "g", {"capacity": 7}, run="r1")
VIEWS = [ViewId(number, A) for number in (1, 2, 3)]


def events(count: int) -> list[Event]:
    told = []
    for n in range(count):
        if n % 100 == 0:
            told.append(Event(Kind.VIEW, n, VIEWS[n // 100 % 3], detail={"members": [A, B], "n": n}))
        told.append(Event(Kind.DELIVER, -n, VIEWS[n // 100 % 3], B, 3, n, 1, n, 2**63 - 1 - n, -5))
    return told


def written(root: Path, count: int = 500, **limits: int) -> list[Path]:
    recorder = FileRecorder(root, HEADER, limits=RecorderLimits(**limits))
    recorder.extend(events(count))
    recorder.close(count)
    return sorted(directory_for(root, A).iterdir())


def as_events(segment: Segment) -> list[Event]:
    views, peers, details = [*segment.views, None], [*segment.addresses, None], [*segment.details, None]
    columns = (segment.kind, segment.t_ns, segment.view, segment.peer, segment.stream, segment.first, segment.count)
    rows = zip(
        *(c.tolist() for c in (*columns, segment.ordinal, segment.value, segment.other, segment.detail)), strict=True
    )
    return [
        Event(Kind(kind), t_ns, views[view], peers[peer], *figures, details[detail])
        for kind, t_ns, view, peer, *figures, detail in rows
    ]


def test_segments_decoded_alone_hold_what_the_reader_reads_in_order(tmp_path: Path) -> None:
    paths = written(tmp_path, block_events=64, segment_events=128)
    segments = [decode(path.read_bytes(), str(path)) for path in paths]
    told = list(read_recording(paths[0].parent).events)
    assert len(segments) > 2
    assert [event for segment in segments for event in as_events(segment)] == told
    assert [s.header.number for s in segments] == list(range(len(segments)))
    assert [int(i) for s in segments for i in s.index] == list(range(len(told)))
    assert [s.closed for s in segments] == [False] * (len(segments) - 1) + [True]


def test_each_segment_says_whose_it_is_and_which_view_was_installed_at_its_begin(tmp_path: Path) -> None:
    paths = written(tmp_path, block_events=64, segment_events=128)
    installed = None
    for path in paths:
        segment = decode(path.read_bytes(), str(path))
        header = segment.header
        assert (header.run, header.group, header.member, header.incarnation) == ("r1", "g", A, 36)
        assert header.view == installed
        for event in as_events(segment):
            installed = event.view if event.kind is Kind.VIEW else installed


def test_a_segment_ends_at_so_many_events(tmp_path: Path) -> None:
    paths = written(tmp_path, block_events=50, segment_events=100)
    assert [len(decode(path.read_bytes(), str(path))) for path in paths][:4] == [100, 100, 100, 100]


def test_a_segment_cut_or_damaged_at_any_byte_is_decoded_up_to_there(tmp_path: Path) -> None:
    (path,) = written(tmp_path, 40, block_events=8)
    data = path.read_bytes()
    whole = as_events(decode(data, str(path)))
    damaged = bytearray(data)
    for size in range(0, len(data), 3):
        damaged[size] ^= 255
        for cut in (data[:size], bytes(damaged)):
            try:
                segment = decode(cut, str(path))
            except TraceError:
                continue
            assert as_events(segment) == whole[: len(segment)]
            assert not segment.closed
        damaged[size] ^= 255


def test_events_after_a_loss_are_decoded_and_not_judged(tmp_path: Path) -> None:
    recorder = FileRecorder(tmp_path, HEADER, limits=RecorderLimits(block_events=10, segment_events=20))
    recorder.extend(events(18))
    recorder.flush()
    recorder._writer.write_lost(4)
    recorder.extend(events(40))
    recorder.close(99)
    segments = [decode(p.read_bytes(), str(p)) for p in sorted(directory_for(tmp_path, A).iterdir())]
    assert [(len(s), len(s.judgeable()), s.lost, s.hole) for s in segments[:3]] == [
        (20, 20, 0, None),
        (20, 0, 4, 20),
        (20, 0, 0, 40),
    ]


def test_a_recording_without_a_run_takes_the_directory_of_the_members() -> None:
    assert run_of("/data/run 1/a.1/000000.rct") == "file:///data/run 1"
    assert run_of("file:/data/run 1/a.1/000000.rct") == "file:///data/run 1"
    assert run_of("file:///data/run 1/a.1/_000000.rct") == "file:///data/run 1"
    assert run_of("viewfs://c/data/r/a.1/000000.rct") == "viewfs://c/data/r"


def test_later_segments_of_an_older_recording_are_named_and_read_with_what_came_before(tmp_path: Path) -> None:
    import msgspec

    from ringcast.trace import SegmentStart
    from ringcast.trace.header import to_plain
    from ringcast.trace.segment import MAGIC, _framed

    old = MAGIC + (1).to_bytes(4, "little") + _framed(b"H" + msgspec.msgpack.encode(to_plain(HEADER))) + _framed(b"Z")
    with pytest.raises(TraceError, match="older recording"):
        decode(old, "a.1/000001.rct")
    segment = decode(old, "a.1/000001.rct", SegmentStart(1, 500, VIEWS[2], 0))
    assert (segment.header.first_index, segment.header.view, segment.closed) == (500, VIEWS[2], True)


def test_a_segment_under_another_run_differs_in_nothing_else(tmp_path: Path) -> None:
    (path,) = written(tmp_path)
    before, after = decode(path.read_bytes(), "x"), decode(under_run(path.read_bytes(), "r2"), "x")
    assert (before.header.run, after.header.run) == ("r1", "r2")
    assert after.closed and as_events(after) == as_events(before)
