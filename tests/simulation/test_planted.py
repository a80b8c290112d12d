"""Each known mistake is caught, as what it is said to be, within the seeds that it states."""

import pytest

from ringcast.sim import KNOWN, hunt
from ringcast.sim.planted import Planted


@pytest.mark.parametrize("bug", KNOWN, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_within_its_seeds(bug: Planted) -> None:
    caught = hunt(bug)
    assert caught.is_caught, f"{bug.name} was not seen as {bug.guarantee} in {bug.seeds} seeds"
