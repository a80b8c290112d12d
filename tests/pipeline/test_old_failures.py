"""Failures that an older judge called held (old_failures.py) are named today, with place and members, by checkers and
rules alike."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline.old_failures import BEGIN, END, PAGE, RUNS, TOLD, PlantedRun, section, stories
from pipeline.test_truth import as_segments
from ringcast.checkers import Judgement
from ringcast.checkers import judge as judge_by_checkers
from ringcast.pipeline.rules import engine
from ringcast.trace import Recording, read_run

STRENGTHENED = {"G4", "G6", "G7", "G8", "G14", "G15", "G16", "G17", "G18"}
STORIES = stories()


def located(judgement: Judgement, guarantee: str, recordings: list[Recording]) -> bool:
    """Is the first violation told with members that have a recording, and an event of one of them?"""
    first = judgement.findings[guarantee].violations[0]
    lengths = {recording.member: recording.count for recording in recordings}
    assert first.sentence and first.members, first
    return all(member in lengths for member in first.members) and first.index < max(lengths.values())


def both_name(root: Path, guarantee: str, recordings: list[Recording]) -> None:
    by_rules = engine.judge(as_segments(root, recordings))
    by_checkers = judge_by_checkers(read_run([root]))
    for judgement in (by_rules, by_checkers):
        assert judgement.verdict == "violated"
        assert judgement.findings[guarantee].violation_count
        assert located(judgement, guarantee, recordings)


@pytest.mark.parametrize("name", TOLD)
def test_a_story_is_named(name: str, tmp_path: Path) -> None:
    both_name(tmp_path, *STORIES[name])


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.guarantee} {run.bug}")
def test_a_run_with_the_old_mistake_is_named(run: PlantedRun, tmp_path: Path) -> None:
    both_name(tmp_path, run.guarantee, run.recordings())


def test_every_strengthened_guarantee_has_one() -> None:
    assert {guarantee for guarantee, _ in STORIES.values()} == STRENGTHENED
    assert set(STORIES) == set(TOLD)


def test_the_page_says_what_is_said_now() -> None:
    assert PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip() == section()
