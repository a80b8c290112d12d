"""The same events are judged the same wherever segments end and in whatever order they come; and of a run that is right
every beginning is right. Simulated runs (good ones and ones with a planted bug), real processes, and told stories.

RINGCAST_CUTTINGS says how many cuttings of each.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline.agreement import name_of, run
from pipeline.cutting import cut_and_judged, prefix_judged, segments_of, summary
from pipeline.falsified import FALSIFIED, Falsified
from pipeline.test_truth import as_segments, violated
from ringcast.lab import Company, Stage
from ringcast.pipeline.rules import engine
from ringcast.trace import read_run

CUTTINGS = int(os.environ.get("RINGCAST_CUTTINGS", "3"))
STORIES = [f"{one.guarantee} {one.name}" for one in FALSIFIED]
EXAMINED = ("G1", "G3", "G5", "G12", "G13", "G15")


def same_however_cut(directory: Path, is_right: bool, cuttings: int = CUTTINGS) -> None:
    recordings, whole = read_run([directory]), summary(engine.judge(segments_of(directory)))
    for number in range(cuttings):
        assert cut_and_judged(recordings, Random(f"cutting {number}")) == whole, f"cutting {number}"
        if is_right:
            by_rules, by_checkers = prefix_judged(recordings, Random(f"prefix {number}"))
            assert violated(by_rules) == violated(by_checkers) == [], f"prefix {number}"
            assert by_rules.verdict == by_checkers.verdict, f"prefix {number}"


@pytest.mark.parametrize("number", range(10), ids=name_of)
def test_a_simulated_run_is_judged_the_same_however_it_is_cut(number: int, tmp_path: Path) -> None:
    outcome = run(number, tmp_path)
    same_however_cut(tmp_path, not any(outcome.violated.values()))


@pytest.mark.parametrize("one", FALSIFIED, ids=STORIES)
def test_a_told_story_is_judged_the_same_however_it_is_cut(one: Falsified, tmp_path: Path) -> None:
    for lie in (False, True):
        as_segments(tmp_path / str(lie), one.tell(lie))
        same_however_cut(tmp_path / str(lie), not lie)


async def _ordered_by_real_processes(record: Path) -> None:
    async with Stage() as stage:
        company = Company(stage, record)
        await company.form(["a", "b", "c"])
        await company.ask("abc", "send", count=100, size=100)
        await company.ask("abc", "order_subsets", count=60, seed="cutting")
        await company.settle()
        await company.ask("c", "leave")
        await company.until_view("ab")
        await company.ask("ab", "close")


def test_a_run_of_real_processes_is_judged_the_same_however_it_is_cut(tmp_path: Path) -> None:
    asyncio.run(_ordered_by_real_processes(tmp_path))
    assert all(engine.judge(segments_of(tmp_path)).findings[name].examined for name in EXAMINED)
    same_however_cut(tmp_path, True, 3 * CUTTINGS)
