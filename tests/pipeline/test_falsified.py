"""Falsified recordings (`falsified.py`): each lie is found by rules and checkers alike, the true story is not accused.

In this process one by one; as runs of one application on Spark one for each guarantee, in `make judged-by-spark`
(RINGCAST_JUDGE) all of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline.falsified import FALSIFIED, Falsified
from pipeline.planted_page import PAGE, section
from pipeline.test_truth import as_segments, both, violated
from ringcast.pipeline import Application
from ringcast.pipeline.reading import segment_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = [f"{one.guarantee} {one.name}" for one in FALSIFIED]
ONE_EACH = list({one.guarantee: one for one in FALSIFIED}.values())
ON_SPARK = FALSIFIED if os.environ.get("RINGCAST_JUDGE") == "spark" else ONE_EACH


@pytest.mark.parametrize("one", FALSIFIED, ids=NAMES)
def test_a_lie_is_found_and_the_true_story_is_not_accused(one: Falsified, tmp_path: Path) -> None:
    assert violated(both(tmp_path / "true", one.tell(False))) == []
    judgement = both(tmp_path / "false", one.tell(True))
    assert one.guarantee in violated(judgement)
    assert judgement.findings[one.guarantee].violations[0].sentence


def test_the_page_of_planted_violations_says_what_is_said_now() -> None:
    """`make planted-violations` writes it."""
    assert PAGE.read_text(encoding="utf-8").endswith(section())


@pytest.mark.needs("spark")
def test_lies_are_found_by_one_application(spark: SparkSession, tmp_path: Path) -> None:
    for number, one in enumerate(ON_SPARK):
        for lie in (False, True):
            as_segments(tmp_path / f"{number}-{lie}", one.tell(lie))
    application = Application(segment_files(spark, str(tmp_path)), with_tables=False)
    judged = {run.rpartition("/")[2]: judgement for run, judgement in application.judge().items()}
    application.close()
    for number, one in enumerate(ON_SPARK):
        assert violated(judged[f"{number}-False"]) == [], one.name
        assert one.guarantee in violated(judged[f"{number}-True"]), one.name
