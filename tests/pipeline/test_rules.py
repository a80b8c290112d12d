"""All rules through Spark, in one application: made histories, a clean one and a broken one for each guarantee;
simulated runs (agreement.py); falsified recordings (falsified.py).

Each run is judged by the checkers and by the rules in this process too, and all three must say the same and have looked
at as much. `make agreement` (RINGCAST_AGREEMENT_RUNS) takes many simulated runs, `make judged-by-spark`
(RINGCAST_JUDGE) every falsified recording, `make planted-histories` every kind of planted violation.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline import agreement
from pipeline.falsified import FALSIFIED
from pipeline.planted_histories import PLANTED
from pipeline.test_truth import as_segments, violated
from ringcast.bench.history import Shape, make_period, write_recordings
from ringcast.checkers import GUARANTEES, Judgement, judge
from ringcast.model import Kind
from ringcast.pipeline import Application, judge_local
from ringcast.pipeline.reading import segment_files
from ringcast.trace import FileRecorder, Recording, read_run, read_runs
from ringcast.trace.story import Story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHAPE: dict[str, int] = {"deliveries": 300, "members": 6, "views": 4}
ONE_EACH = list({planted.guarantee: planted for planted in PLANTED}.values())
NAMES = ["clean", *(planted.name for planted in ONE_EACH)]
SIMULATED = [f"seed {agreement.FIRST_SEED + number}" for number in range(agreement.ASKED or 4)]
LIES = FALSIFIED if os.environ.get("RINGCAST_JUDGE") == "spark" else {one.guarantee: one for one in FALSIFIED}.values()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for number, planted in enumerate([None, *ONE_EACH]):
        period = make_period(number, Shape(name=f"h{number}", **SHAPE))
        changed = None if planted is None else (1, planted.into(period))
        write_recordings(root / f"made-{number}", period, 2, changed, run=NAMES[number])
    for number in range(len(SIMULATED)):
        agreement.run(number, root / f"simulated-{number}")
    for number, one in enumerate(LIES):
        as_segments(root / f"true-{number}", one.tell(False))
        as_segments(root / f"false-{number}", one.tell(True))
    return root


@pytest.fixture(scope="module")
def by_checkers(place: Path) -> dict[str, Judgement]:
    return {run: judge(recordings) for run, recordings in read_runs([place]).items()}


@pytest.fixture(scope="module")
def found(spark: SparkSession, place: Path) -> dict[str, Judgement]:
    return judged(spark, str(place))


def judged(spark: SparkSession, uri: str, **options: int) -> dict[str, Judgement]:
    application = Application(segment_files(spark, uri), **options)
    try:
        return application.judge()
    finally:
        application.close()


def test_every_run_is_judged_in_one_application(place: Path, found: dict[str, Judgement]) -> None:
    told = [(place / f"{word}-{number}").as_uri() for word in ("true", "false") for number in range(len(LIES))]
    assert sorted(found) == sorted([*NAMES, *SIMULATED, *told])
    assert found["clean"].verdict == "held"


@pytest.mark.parametrize("planted", ONE_EACH, ids=NAMES[1:])
def test_each_planted_violation_is_found_with_the_events_around_it(
    planted: object, found: dict[str, Judgement]
) -> None:
    finding = found[planted.name].findings[planted.guarantee]  # type: ignore[attr-defined]
    assert finding.verdict == "violated"
    assert finding.violations[0].evidence


def test_each_lie_is_found_and_the_true_story_is_not_accused(place: Path, found: dict[str, Judgement]) -> None:
    for number, one in enumerate(LIES):
        assert violated(found[(place / f"true-{number}").as_uri()]) == [], one.name
        assert one.guarantee in violated(found[(place / f"false-{number}").as_uri()]), one.name


def test_checkers_and_rules_agree(found: dict[str, Judgement], by_checkers: dict[str, Judgement]) -> None:
    assert said(found) == said(by_checkers)
    broken = {name: sum(bool(said(found)[run][name][1]) for run in SIMULATED) for name in GUARANTEES}
    print(f"{len(SIMULATED)} simulated runs, guarantees broken in runs: {broken}")
    assert any(broken.values())


def said(judgements: dict[str, Judgement]) -> dict[str, dict[str, tuple[int, bool]]]:
    """Of each run and guarantee: how much was examined, and was it violated?"""
    return {
        run: {name: (f.examined, f.violation_count > 0) for name, f in judgement.findings.items()}
        for run, judgement in judgements.items()
    }


def test_spark_and_this_process_say_the_same_word_for_word(place: Path, found: dict[str, Judgement]) -> None:
    assert {outcome.run: outcome.judgement for outcome in judge_local([str(place)])} == found


def test_runs_that_are_too_large_to_travel_whole_are_judged_alike(
    spark: SparkSession, place: Path, found: dict[str, Judgement]
) -> None:
    """By facts, and what is wanted again in jobs of its own."""
    by_facts = judged(spark, f"{place}/made-?", small_bytes=0)
    assert len(by_facts) == 10
    assert by_facts == {run: found[run] for run in by_facts}


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
