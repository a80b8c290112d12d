"""Random lives of groups with observers: nobody stays away after the heal (G14). RINGCAST_SEEDS says how many;
`make observer-runs` runs 500."""

from __future__ import annotations

import pytest

from ringcast.testing import World
from simulation.random_life import SEEDS, Life, chatter


@pytest.mark.parametrize("seed", range(SEEDS))
def test_observers_are_back_after_the_heal(seed: int) -> None:
    names = "ABCOP"[seed % 2 :]
    with World(chatter, list(names), seed=seed, observers="OP", bound=20) as world:
        life = Life(world)
        life.trouble(8)
        life.settle()
