"""Falsified recordings (`falsified.py`): each lie is found by rules and checkers alike, the true story is not accused.

In this process; the same of a few on Spark is in test_rules.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline.falsified import FALSIFIED, Falsified
from pipeline.planted_page import PAGE, section
from pipeline.test_truth import both, violated

NAMES = [f"{one.guarantee} {one.name}" for one in FALSIFIED]


@pytest.mark.parametrize("one", FALSIFIED, ids=NAMES)
def test_a_lie_is_found_and_the_true_story_is_not_accused(one: Falsified, tmp_path: Path) -> None:
    assert violated(both(tmp_path / "true", one.tell(False))) == []
    judgement = both(tmp_path / "false", one.tell(True))
    assert one.guarantee in violated(judgement)
    assert judgement.findings[one.guarantee].violations[0].sentence


def test_the_page_of_planted_violations_says_what_is_said_now() -> None:
    """`make planted-violations` writes it."""
    assert PAGE.read_text(encoding="utf-8").endswith(section())
