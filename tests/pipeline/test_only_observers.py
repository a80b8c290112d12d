"""Rules and checkers say the same where only observers live: their view may keep the dead, and waits end (G14)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.falsified import LIMIT_NS, healed
from pipeline.test_truth import both, violated
from ringcast.model import Kind
from ringcast.trace import Recording
from ringcast.trace.story import Story, addresses


def left_with(observers: str) -> list[Recording]:
    """c, which may coordinate, dies; a and b keep a view with it."""
    return healed(lambda story: story.view("abc", 2, creator="c", at="ab", observers=addresses(observers)))


@pytest.mark.parametrize(("observers", "guarantees"), [("ab", []), ("a", ["G14"]), ("", ["G14"])])
def test_the_dead_may_stay_only_where_nobody_lives_who_could_make_a_view(
    tmp_path: Path, observers: str, guarantees: list[str]
) -> None:
    assert violated(both(tmp_path, left_with(observers))) == guarantees


def test_waits_of_observers_that_are_left_alone_end_all_the_same(tmp_path: Path) -> None:
    def wait(story: Story) -> None:
        story.view("abc", 2, creator="c", at="ab", observers=addresses("ab"))
        story.event("a", Kind.WAIT_START, value=9, other=0, detail={"what": "send"})
        story.now_ns += 20 * LIMIT_NS

    assert violated(both(tmp_path, healed(wait))) == ["G14"]
