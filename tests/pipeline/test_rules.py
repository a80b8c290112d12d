"""All rules through Spark: many small histories, clean and broken, in one dataset, so that one judgement decides them
all.

Members of different histories have different names, and no rule looks beyond those who share views. Each history is
judged by the checkers too, and both must say the same.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ringcast.checkers import Judgement, judge
from ringcast.model import Kind
from ringcast.pipeline.history import PLANTED, Shape, make_period, write_recordings
from ringcast.pipeline.ingest import ingest_here
from ringcast.pipeline.judge import judge_dataset, judge_recordings
from ringcast.trace import FileRecorder, Recording, read_run
from ringcast.trace.story import Story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHAPE: dict[str, int] = {"deliveries": 6_000, "members": 6}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Recording]]:
    """A clean history and one for each planted violation, by the name their members have."""
    made = {}
    for number, planted in enumerate([None, *PLANTED]):
        name = f"h{number:02d}x"
        root = tmp_path_factory.mktemp(name)
        period = make_period(number, Shape(name=name, **SHAPE))
        write_recordings(root, period, 2, None if planted is None else (1, planted.into(period)))
        made[name] = read_run([root])
    return made


@pytest.fixture(scope="module")
def found(spark: SparkSession, runs: dict[str, list[Recording]], tmp_path_factory: pytest.TempPathFactory) -> Judgement:
    dataset = ingest_here([r for run in runs.values() for r in run], tmp_path_factory.mktemp("tables"))
    return judge_dataset(spark, dataset)


def by_run(judgement: Judgement) -> dict[str, set[str]]:
    broken: defaultdict[str, set[str]] = defaultdict(set)
    for name, finding in judgement.findings.items():
        for violation in finding.violations:
            broken[violation.members[0].name[:4]].add(name)
    return broken


def test_every_guarantee_was_examined(found: Judgement) -> None:
    assert [name for name, finding in found.findings.items() if not finding.examined] == []


def test_the_clean_history_is_clean(found: Judgement) -> None:
    assert by_run(found).get("h00x", set()) == set()


@pytest.mark.parametrize("number", range(len(PLANTED)), ids=[planted.name for planted in PLANTED])
def test_each_planted_violation_is_found(number: int, found: Judgement) -> None:
    assert PLANTED[number].guarantee in by_run(found)[f"h{number + 1:02d}x"]


@pytest.mark.parametrize("number", range(len(PLANTED) + 1))
def test_checkers_and_rules_agree(number: int, found: Judgement, runs: dict[str, list[Recording]]) -> None:
    name = f"h{number:02d}x"
    said = {g for g, finding in judge(runs[name]).findings.items() if finding.violation_count}
    assert said == by_run(found)[name]


def recorded(root: Path, story: Story, cut: str = "") -> list[Recording]:
    for recording in story.recordings(cut):
        recorder = FileRecorder(root, recording.header)
        recorder.extend([e for e in recording.events if e.kind.name not in ("START", "CLOSED")])
        if recording.closed:
            recorder.close(story.now_ns)
        else:
            recorder.flush()
            recorder.cut()
    return read_run([root])


def test_recordings_are_ingested_by_tasks_and_judged(spark: SparkSession, tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 4).view("ab", 2).passed("ab", "b", 3)
    judgement = judge_recordings(spark, recorded(tmp_path, story))
    assert judgement.verdict == "held"
    expected = judge(read_run([tmp_path]))
    assert {g: f.examined for g, f in judgement.findings.items()} == {
        g: f.examined for g, f in expected.findings.items()
    }


def test_a_missing_recording_and_a_cut_one_leave_it_unjudged_and_unblamed(spark: SparkSession, tmp_path: Path) -> None:
    story = Story("ab").view("abc", at="ab").send("a", 3).deliver("b", "a", 1, 5)
    judgement = judge_recordings(spark, recorded(tmp_path, story, cut="a"))
    assert judgement.verdict == "unjudged" and "c#1" in judgement.reasons[0]


def stopped_while_it_left(name: str, then_ns: int = 0) -> Story:
    """`a` may wait a second for its leave and ends that after eight; `name` did not run meanwhile."""
    second = 1_000_000_000
    story = Story("ab").view("ab")
    story.event("a", Kind.WAIT_START, value=1, other=story.now_ns + second, detail={"what": "leave"})
    since_ns = story.now_ns
    story.now_ns += 8 * second
    story.event("a", Kind.HEAL, peer=name, other=since_ns)
    story.now_ns += then_ns
    return story.event("a", Kind.WAIT_END, value=1, detail={"how": "limit"})


@pytest.mark.parametrize(("name", "then_ns", "violations"), [("a", 0, 0), ("b", 0, 1), ("a", 2_000_000_000, 1)])
def test_a_process_that_was_stopped_ends_its_waits_when_it_runs_again(
    name: str, then_ns: int, violations: int, spark: SparkSession, tmp_path: Path
) -> None:
    """Seed 916, by rule and checker."""
    recordings = recorded(tmp_path, stopped_while_it_left(name, then_ns))
    for judgement in (judge_recordings(spark, recordings), judge(recordings)):
        assert len(judgement.findings["G14"].violations) == violations
