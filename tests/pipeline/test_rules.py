"""All rules through Spark: small runs, a clean one and a broken one for each guarantee, judged in one application.

Each run is judged by the checkers too, and both must say the same and have looked at as much. Every kind of planted
violation goes through the rules in this process (test_kernels.py, test_planted_histories.py) and, in `make
planted-histories`, through Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.planted_histories import PLANTED
from ringcast.checkers import GUARANTEES, Judgement, judge
from ringcast.model import Kind
from ringcast.pipeline import Application, judge_local
from ringcast.pipeline.history import Shape, make_period, write_recordings
from ringcast.pipeline.reading import segment_files
from ringcast.trace import FileRecorder, Recording, read_run, read_runs
from ringcast.trace.story import Story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHAPE: dict[str, int] = {"deliveries": 300, "members": 6, "views": 4}
ONE_EACH = list({planted.guarantee: planted for planted in PLANTED}.values())
NAMES = ["clean", *(planted.name for planted in ONE_EACH)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean history and one with a violation of each guarantee, each a run."""
    root = tmp_path_factory.mktemp("runs")
    for number, planted in enumerate([None, *ONE_EACH]):
        period = make_period(number, Shape(name=f"h{number}", **SHAPE))
        changed = None if planted is None else (1, planted.into(period))
        write_recordings(root / str(number), period, 2, changed, run=NAMES[number])
    return root


@pytest.fixture(scope="module")
def by_checkers(place: Path) -> dict[str, Judgement]:
    return {run: judge(recordings) for run, recordings in read_runs([place]).items()}


@pytest.fixture(scope="module")
def found(spark: SparkSession, place: Path) -> dict[str, Judgement]:
    return judged(spark, place)


def judged(spark: SparkSession, place: Path, **options: int) -> dict[str, Judgement]:
    application = Application(segment_files(spark, str(place)), **options)
    try:
        return application.judge()
    finally:
        application.close()


def test_every_run_is_judged_in_one_application(found: dict[str, Judgement]) -> None:
    assert sorted(found) == sorted(NAMES)
    assert found["clean"].verdict == "held"


@pytest.mark.parametrize("planted", ONE_EACH, ids=NAMES[1:])
def test_each_planted_violation_is_found_with_the_events_around_it(
    planted: object, found: dict[str, Judgement]
) -> None:
    finding = found[planted.name].findings[planted.guarantee]  # type: ignore[attr-defined]
    assert finding.verdict == "violated"
    assert finding.violations[0].evidence


@pytest.mark.parametrize("name", NAMES)
def test_checkers_and_rules_agree(name: str, found: dict[str, Judgement], by_checkers: dict[str, Judgement]) -> None:
    for guarantee in GUARANTEES:
        rules, checkers = found[name].findings[guarantee], by_checkers[name].findings[guarantee]
        assert (guarantee, bool(rules.violation_count)) == (guarantee, bool(checkers.violation_count))
        assert (guarantee, rules.examined) == (guarantee, checkers.examined)


def test_spark_and_this_process_say_the_same_word_for_word(place: Path, found: dict[str, Judgement]) -> None:
    assert {outcome.run: outcome.judgement for outcome in judge_local([str(place)])} == found


def test_runs_that_are_too_large_to_travel_whole_are_judged_alike(
    spark: SparkSession, place: Path, found: dict[str, Judgement]
) -> None:
    """By facts, and what is wanted again in jobs of its own."""
    assert judged(spark, place, small_bytes=0) == found


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


def test_a_missing_recording_and_a_cut_one_leave_it_unjudged_and_unblamed(tmp_path: Path) -> None:
    story = Story("ab").view("abc", at="ab").send("a", 3).deliver("b", "a", 1, 5)
    recorded(tmp_path, story, cut="a")
    (outcome,) = judge_local([str(tmp_path)])
    assert outcome.judgement.verdict == "unjudged" and "c#1" in outcome.judgement.reasons[0]


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
    name: str, then_ns: int, violations: int, tmp_path: Path
) -> None:
    """Seed 916, by rule and checker."""
    recordings = recorded(tmp_path, stopped_while_it_left(name, then_ns))
    (outcome,) = judge_local([str(tmp_path)])
    for judgement in (outcome.judgement, judge(recordings)):
        assert len(judgement.findings["G14"].violations) == violations
