"""A sample of what `make link-classes` does in full: sets of one-way links for a while, and then the heal."""

from __future__ import annotations

import pytest

from simulation.link_classes import CLASSES, Case, classes, of_four, random_sets, tried

LASTS_SECONDS = 60.0
FOUR = [case for number, case in enumerate(of_four()) if number % 109 == 5]
RANDOM = list(random_sets(19))[18:]
HUB = Case("three hear the last alone", 4, tuple((a, b) for a in range(3) for b in range(3) if a != b))


def test_there_are_218_classes_of_links_among_four() -> None:
    assert len(classes()) == CLASSES
    assert classes()[0] == () and len(classes()[-1]) == 12


@pytest.mark.parametrize("case", [HUB, *FOUR, *RANDOM], ids=lambda case: case.key)
def test_nobody_waits_for_long_whichever_links_do_not_pass(case: Case) -> None:
    outcome = tried(case, LASTS_SECONDS)
    assert not outcome.failure, outcome
