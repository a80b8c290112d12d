"""Groups of a simulated world whose applications only read, for tests."""

from __future__ import annotations

from ringcast.runtime import Group
from ringcast.testing import World


async def idle(group: Group) -> None:
    async for _ in group:
        pass


def group_of(world: World, name: str) -> Group:
    group = world[name].group
    assert group is not None
    return group


def restart(world: World, names: str, after: float) -> None:
    """They crash together, and come back so many seconds later."""
    for name in names:
        world.crash(name)
    world.advance(after)
    for name in names:
        world.start(name)
