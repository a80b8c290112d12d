"""Recordings read through Spark: any URI, globs, many runs; what is under way; what is no recording."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.test_truth import as_segments
from ringcast.checkers import together
from ringcast.cli.check import judged_by_checkers
from ringcast.errors import UsageError
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.pipeline import Request, check, read
from ringcast.pipeline.checking import as_uri
from ringcast.trace import FileRecorder, Header, RecorderLimits, directory_for, read_recording
from ringcast.trace.story import Story

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.needs("spark")
A, B = Address("a", 36, "127.0.0.1:1"), Address("b", 37, "127.0.0.1:2")
VIEW = ViewId(1, A)


def record(root: Path, count: int = 10, run: str | None = None, cut: bool = False, **limits: int) -> Path:
    recorder = FileRecorder(root, Header.of(A, "g", run=run), limits=RecorderLimits(**limits))
    recorder.append(Event(Kind.VIEW, 0, VIEW, detail={"members": [A, B]}))
    recorder.extend(Event(Kind.DELIVER, n, VIEW, B, first=n, count=2, ordinal=n) for n in range(1, count + 1))
    if cut:
        recorder.flush()
        recorder.cut()
    else:
        recorder.close(count)
    return directory_for(root, A)


def firsts(events: DataFrame) -> dict[str, list[int]]:
    rows = events.where("kind = 'DELIVER'").orderBy("run", "index").select("run", "first").collect()
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row["run"], []).append(row["first"])
    return found


def test_a_directory_that_is_there_is_no_pattern(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path / "run [1] {a,b}", 3)
    for uri in (str(tmp_path / "run [1] {a,b}"), str(tmp_path / "run*")):
        found = firsts(read(spark, as_uri(uri)))
        assert list(found.values()) == [[1, 2, 3]]
        assert list(check(Request([uri], judge="local")).runs) == list(found)


def test_names_that_hadoop_does_not_know_are_said(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path / "at 10:30", 3)
    with pytest.raises(UsageError, match=r"no names with a colon, and there is 'at 10:30' \(--judge local does\)"):
        read(spark, as_uri(str(tmp_path)))


def test_events_are_rows_with_everything_that_was_recorded(spark: SparkSession, tmp_path: Path) -> None:
    directory = record(tmp_path, 10, "r1", block_events=4, segment_events=4)
    rows = read(spark, str(tmp_path)).orderBy("index").collect()
    events = list(read_recording(directory).events)
    assert [row["index"] for row in rows] == list(range(len(events)))
    assert [(row["kind"], row["t_ns"], row["first"], row["count"], row["ordinal"]) for row in rows] == [
        (event.kind.name, event.t_ns, event.first, event.count, event.ordinal) for event in events
    ]
    assert rows[2].asDict() == {
        "run": "r1",
        "group": "g",
        "member": str(A),
        "incarnation": 36,
        "segment": 0,
        "index": 2,
        "kind": "DELIVER",
        "t_ns": 1,
        "view": 1,
        "view_creator": str(A),
        "peer": str(B),
        "stream": 0,
        "first": 1,
        "count": 2,
        "ordinal": 1,
        "value": 0,
        "other": 0,
        "detail": None,
        "content": 0,
    }
    assert '"members"' in rows[1]["detail"]


def test_many_runs_are_read_at_once_and_by_globs(spark: SparkSession, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        record(tmp_path / f"run-{number}", number, f"r{number}")
    assert firsts(read(spark, str(tmp_path))) == {"r1": [1], "r2": [1, 2], "r3": [1, 2, 3]}
    assert list(firsts(read(spark, f"file://{tmp_path}/run-[12]"))) == ["r1", "r2"]
    assert list(firsts(read(spark, [f"{tmp_path}/run-1", f"{tmp_path}/run-3"]))) == ["r1", "r3"]


def test_a_run_without_a_name_is_the_directory_of_the_members(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path / "one", 1)
    assert list(firsts(read(spark, str(tmp_path)))) == [f"file://{tmp_path}/one"]


def test_a_segment_under_way_is_read_too_unless_it_is_not_wanted(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path, 10, "r", cut=True, block_events=4, segment_events=8)
    assert firsts(read(spark, str(tmp_path))) == {"r": list(range(1, 11))}
    assert firsts(read(spark, str(tmp_path), under_way=False)) == {"r": list(range(1, 7))}


def test_paths_that_only_spark_can_open_are_read(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path, 9, "r", cut=True, block_events=4, segment_events=4)
    mount = f"fs.viewfs.mounttable.rec{os.getpid()}.link./data"
    spark._jsc.hadoopConfiguration().set(mount, f"file://{tmp_path}")  # type: ignore[attr-defined]
    assert firsts(read(spark, f"viewfs://rec{os.getpid()}/data")) == {"r": list(range(1, 10))}


def test_what_is_no_recording_does_not_stop_reading(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path, 2, "r")
    (tmp_path / "x.1").mkdir()
    (tmp_path / "x.1" / "000000.rct").write_bytes(os.urandom(300))
    (tmp_path / "x.1" / "_000001.rct").write_bytes(b"")
    assert firsts(read(spark, str(tmp_path))) == {"r": [1, 2]}


@pytest.mark.parametrize("judge", ["checkers", "local", "spark"])
def test_a_run_of_which_nothing_can_be_read_is_not_judged(spark: SparkSession, tmp_path: Path, judge: str) -> None:
    """But a damaged recording beside good ones is of their run, and a file that no recorder wrote is of none."""
    story = Story("ab").view("ab").passed("ab", "a", 3)
    as_segments(tmp_path / "good", story.recordings())
    lost = [tmp_path / "lost [1]" / name / "000000.rct" for name in ("a.1", "b.1")]
    for path in (*lost, tmp_path / "good" / "c.1" / "_000000.rct", tmp_path / "notes" / "stray.rct"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"no recording")
    if judge == "checkers":
        told = judged_by_checkers((str(tmp_path),), ())
        runs, unread = told.runs, told.unread
    else:
        checked = check(Request([str(tmp_path)], judge=judge))
        runs, unread = checked.runs, list(checked.unread)
    assert {run: judgement.verdict for run, judgement in runs.items()} == {
        f"file://{tmp_path}/good": "held",
        f"file://{tmp_path}/lost [1]": "unjudged",
    }
    assert "nothing of this run could be read" in runs[f"file://{tmp_path}/lost [1]"].reasons[0]
    assert together(list(runs.values())).verdict == "unjudged" and len(unread) == 4


def test_a_place_that_is_not_there_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing at"):
        read(spark, str(tmp_path / "nowhere"))


def test_the_data_source_reads_local_paths_and_refuses_others(spark: SparkSession, tmp_path: Path) -> None:
    from ringcast.pipeline.source import RingcastSource, local_path

    record(tmp_path, 3, "r")
    spark.dataSource.register(RingcastSource)
    assert firsts(spark.read.format("ringcast").load(f"file://{tmp_path}")) == {"r": [1, 2, 3]}
    with pytest.raises(UsageError, match=r"use ringcast\.pipeline\.read"):
        local_path("s3a://bucket/recordings")
