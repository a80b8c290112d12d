"""The primary policy with pauses, crashes and restarts, in the simulated world: a live majority goes on (G14, G17)."""

from __future__ import annotations

import pytest

from ringcast.runtime import Group
from ringcast.testing import World


async def idle(group: Group) -> None:
    async for _ in group:
        pass


def is_primary(world: World, *names: str) -> bool:
    """These are members of one primary view, and nobody else is."""
    groups = [world[name].group for name in names]
    views = {group.view.id: group.view for group in groups if group is not None}
    (view, *others) = views.values()
    return not others and view.is_primary and sorted(member.name for member in view.members) == sorted(names)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("paused", ["B", "C", "D"])
def test_y10_three_of_four_go_on_when_the_coordinator_died_and_one_was_paused(seed: int, paused: str) -> None:
    """Y10: the two that went on are half of the last primary view, without its first member: not primary."""
    with World(idle, list("ABCD"), seed=seed, partition="primary") as world:
        world.advance(1)
        assert is_primary(world, *"ABCD")
        world.crash("A")
        world.freeze(paused)
        world.advance(9)
        world.thaw(paused)
        world.advance(10)
        assert is_primary(world, *"BCD"), world.story()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("paused", ["A", "B"])
def test_y11_two_are_primary_again_after_one_was_paused(seed: int, paused: str) -> None:
    """Y11: whichever of the two it was."""
    with World(idle, list("AB"), seed=seed, partition="primary") as world:
        world.advance(1)
        world.freeze(paused)
        world.advance(9)
        world.thaw(paused)
        world.advance(10)
        assert is_primary(world, *"AB"), world.story()
