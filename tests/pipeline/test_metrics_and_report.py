"""Metrics measured from tables, and the page that shows them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the pipeline needs pyarrow: pip install 'ringcast[pipeline]'")

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline import Request, judge_local, judged_of, write_report
from ringcast.pipeline.metrics import bucket_of
from ringcast.report import About, Changes, Subject, gather, lower_bound, measured, percentile
from ringcast.report import bucket as bucket_alone
from ringcast.trace import FileRecorder, read_run
from ringcast.trace.story import MS, Story

ABOUT = About("<A run>", "ringcast report", ["recordings"], "2026-01-02 03:04 UTC", "1.2.3")


def test_a_bucket_is_within_a_sixteenth_of_its_values() -> None:
    values = np.array([0, 1, 31, 32, 33, 1000, 123_456_789, 2**50 + 12345])
    for value, bucket in zip(values.tolist(), bucket_of(values).tolist(), strict=True):
        assert bucket == bucket_alone(value)
        assert lower_bound(bucket) <= value <= lower_bound(bucket) * 17 / 16 + 1
    assert (np.diff(bucket_of(np.arange(100_000))) >= 0).all()


def test_percentiles_come_from_counts() -> None:
    assert percentile({10: 99, 20: 1}, 0.99) == 10
    assert percentile({10: 98, 20: 2}, 0.99) == 20
    assert percentile({}, 0.5) is None


def write(root: Path, story: Story, **headers: str) -> str:
    for name, recorder in story.recorders.items():
        recorder.close(story.now_ns)
        header = replace(recorder.header, clock=headers.get(name, recorder.header.clock))
        written = FileRecorder(root, header)
        written.extend([event for event in recorder.events if event.kind not in (Kind.START, Kind.CLOSED)])
        written.close(story.now_ns)
    return str(root)


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    story = Story("ab").view("ab").passed("ab", "a", 4).passed("ab", "a", 8).view("ab", 2).deliver("b", "a", 99, 1)
    (outcome,) = judge_local([write(tmp_path, story)])
    return gather(judged_of(outcome), ABOUT)


def test_what_is_measured_is_what_happened(subject: Subject) -> None:
    metrics = subject.metrics
    assert metrics.total(Kind.SEND) == 12 and metrics.total(Kind.DELIVER) == 25
    assert sum(metrics.latency["a#1", "b#1"].values()) == 12
    assert sum(sum(by_slot.values()) for by_slot in metrics.delivered.values()) == 25
    assert sum(sum(by_bucket.values()) for by_bucket in metrics.pace.values()) == 12
    # In this story b delivers three events, so three milliseconds, after a has sent.
    assert metrics.latency["a#1", "b#1"].keys() == {lower_bound(int(bucket_of(np.array([3 * MS]))[0]))}
    assert max(metrics.occupancy["a#1"].values()) == 8


def test_the_report_of_the_rules_shows_a_violation_among_its_events(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 4).view("ab", 2).deliver("b", "a", 99, 1)
    source, page = write(tmp_path / "run", story), tmp_path / "report.html"
    assert write_report(Request([source], judge="local"), page, ABOUT, print).verdict == "violated"
    text = page.read_text(encoding="utf-8")
    assert "&lt;A run&gt;" in text and "delivers 99 of a" in text and "class=evidence" in text


def test_checkers_and_rules_measure_the_same(tmp_path: Path) -> None:
    """Rows of a run that is too short to be sampled; slots differ in width, so over time only sums are compared."""
    story = Story("abc").view("abc")
    for number in range(1, 40):
        story.passed("abc", "abc"[number % 3], number)
    story.view("ab", 2).passed("ab", "b", 5)
    (outcome,) = judge_local([write(tmp_path, story)])
    by_rules, by_fold = outcome.tables["metrics"], measured(read_run([tmp_path]))

    def plain(rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[object, ...]]:
        found: Counter[tuple[object, ...]] = Counter()
        for row in rows:
            if row["metric"] != "occupancy":
                key = tuple(row[name] for name in ("metric", "member", "peer", "label", "low_ns"))
                found[key] += row["value"]
        return found

    assert plain(by_rules) == plain(by_fold)


def test_latency_between_two_clocks_is_left_out(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 4)
    (outcome,) = judge_local([write(tmp_path, story, a="x", b="y")])
    pairs = {(row["peer"], row["member"]) for row in outcome.tables["metrics"] if row["metric"] == "latency"}
    assert pairs == {("a#1", "a#1")}


def test_latency_of_long_segments_is_sampled_at_the_same_messages(tmp_path: Path) -> None:
    story = Story("ab", capacity=1 << 20).view("ab")
    for _ in range(40):
        story.passed("ab", "a", 1000)
    (outcome,) = judge_local([write(tmp_path, story)])
    taken = [row for row in outcome.tables["metrics"] if row["metric"] == "latency" and row["member"] == "b#1"]
    assert sum(row["value"] for row in taken) == 40_000 >> 4
    assert {row["low_ns"] for row in taken} == {lower_bound(int(bucket_of(np.array([3 * MS]))[0]))}


def test_phases_of_a_view_change_and_waits_are_told_apart() -> None:
    """Suspended at 0, asked at 2, filled at 5, ended at 9, resumed at 10."""
    rows = [
        _row(Kind.SUSPEND, 0, value=1, cause="view"),
        _row(Kind.ROLL_CALL, 2, step="start", purpose="view", asked=[0, 1]),
        _row(Kind.ROLL_CALL, 5, step="fill"),
        _row(Kind.ROLL_CALL, 9, step="end", outcome="installed"),
        _row(Kind.RESUME, 10, value=1, cause="view-installed"),
        _row(Kind.WAIT_START, 11, value=7, what="send"),
        _row(Kind.WAIT_END, 14, value=7, how="done"),
        _row(Kind.WAIT_START, 15, value=8, what="send"),
    ]
    changes = Changes()
    changes.add(rows)
    assert changes.views == {"gathering": [2], "asking": [3], "filling": [4], "installing": [1], "in all": [10]}
    assert (changes.waits, changes.unended) == ({"send": [3]}, {"send": 1})
    assert changes.asked == [2]


def test_phases_of_a_merge_are_told_apart() -> None:
    steps = (("start", 0), ("accept", 1), ("call", 4), ("answer", 6), ("view", 9), ("end", 11))
    changes = Changes()
    changes.add([_row(Kind.MERGE, t, step=step, merge_id="m", outcome="installed") for step, t in steps])
    assert changes.merges == {"asking": [4], "calling": [5], "installing": [2], "in all": [11]}


def _row(kind: Kind, t_ns: int, **fields: object) -> dict[str, object]:
    names = ("step", "cause", "outcome", "merge_id", "what", "how", "asked", "value")
    return {**dict.fromkeys(names), "kind": int(kind), "t_ns": t_ns, **fields}
