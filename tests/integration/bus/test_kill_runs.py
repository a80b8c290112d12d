"""A random producer or consumer killed at a random moment: survivors agree, nothing committed is lost, nothing hangs.

A few runs here; all 1,000 with RINGCAST_LONG=1, or with kill_runs.py itself.
"""

from pathlib import Path

import pytest

from integration.bus.kill_runs import Run, judge, one_run
from integration.bus.shared_log import Row
from integration.long import either

pytestmark = pytest.mark.needs("native")


@pytest.mark.parametrize("seed", range(1, int(either(long=1001, short=13))))
def test_survivors_of_a_random_kill_agree(seed: int) -> None:
    wrong, rows = one_run(seed)
    assert wrong == []
    assert rows >= 0


def told(**rows: list[Row]) -> Run:
    run = Run(0, Path(), victim="p1")
    for name, written in rows.items():
        for row in written:
            run.logs[name].append(row)
    return run


ALL, C0 = 0b111, 0b001
X, Y, LEFT = Row(1, 0, 1, ALL), Row(2, 1, 1, ALL), Row(3, 1, 0, 0)


def test_agreement_is_accepted() -> None:
    assert judge(told(p0=[X], p1=[Y], c0=[X, Y, LEFT], c1=[X, Y, LEFT], c2=[X, Y, LEFT])) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"c0": [Y, X, LEFT]}, "c0 does not see growing seqs"),
        ({"c0": [X, LEFT]}, "c0 lacks"),
        ({"c0": [X, Row(2, 0, 2, ALL), LEFT]}, "seq 2 is"),
        ({"c0": [X, Y]}, "c0 heard 0 times that p1 died"),
        ({"c0": [X, Y, LEFT, Row(4, 1, 0, 0)]}, "c0 heard 2 times that p1 died"),
        ({"c1": [X, Y, LEFT, Row(4, 0, 2, C0)]}, "c1 got"),
    ],
)
def test_each_kind_of_disagreement_is_found(rows: dict[str, list[Row]], words: str) -> None:
    right = {"p0": [X], "p1": [Y], "c0": [X, Y, LEFT], "c1": [X, Y, LEFT], "c2": [X, Y, LEFT]}
    assert any(words in wrong for wrong in judge(told(**{**right, **rows})))
