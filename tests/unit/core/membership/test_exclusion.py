"""Who learns that the others went on without it: a member from its coordinator, a coordinator from everybody."""

import pytest

from ringcast.model import SECOND
from unit.core.membership.world import World


@pytest.mark.parametrize("names", ["ABC", "ABCDEFGHIJ"], ids=["all watch it", "some watch it"])
@pytest.mark.parametrize("seed", range(3))
def test_a_frozen_coordinator_is_excluded_and_learns_of_it(seed: int, names: str) -> None:
    world = World(seed)
    world.group(names)
    world["A"].frozen = True
    assert world.is_soon_one(names[1:])
    assert not world["A"].excluded
    world["A"].thaw()
    assert world.run_until(lambda: world["A"].excluded)
    assert not any(world[name].excluded for name in names[1:])


def test_a_coordinator_is_not_excluded_by_one_that_went_alone() -> None:
    """B hears nobody and goes on by itself; A, which leads, still has C."""
    world = World(1)
    world.group("ABC")
    world.blocked = lambda sender, receiver: receiver == "B"
    assert world.is_soon_one("AC")
    world.run_for(5 * SECOND)
    assert not world["A"].excluded and not world["C"].excluded
