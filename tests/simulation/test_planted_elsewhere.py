"""Known mistakes outside the simulated world are noticed by the tests of their rooms (planted_elsewhere.py)."""

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the rules need numpy: pip install 'ringcast[pipeline]'")

from ringcast.sim.planted import plant
from simulation.planted_elsewhere import BEGIN, ELSEWHERE, END, PAGE, Elsewhere, rows


@pytest.mark.parametrize("one", ELSEWHERE, ids=lambda one: one.bug.name)
def test_a_planted_bug_is_noticed_and_its_probe_holds_without_it(one: Elsewhere, tmp_path: Path) -> None:
    one.probe(tmp_path / "right")
    with plant(one.bug), pytest.raises(Exception):  # noqa: B017 - however it is noticed
        one.probe(tmp_path / "wrong")


def test_the_page_names_them() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip() == rows()
