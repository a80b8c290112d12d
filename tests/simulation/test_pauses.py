"""A process that stood still while another crashed comes back by one merge, and nobody is excluded after it (Y14)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from random import Random

import pytest

from ringcast.model import Address
from ringcast.runtime import Group
from ringcast.testing import World
from simulation.views import is_merge, members_of, views_of


class Counting:
    """Reads everything, and counts how often it merged the states of the sides."""

    def __init__(self) -> None:
        self.merged = 0

    async def run(self, group: Group) -> None:
        async for _ in group:
            pass

    def get_state(self) -> bytes:
        return b""

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        async for _ in chunks:
            pass

    def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        self.merged += 1
        return b""


@pytest.mark.parametrize("profile", ["lan", "test"])
@pytest.mark.parametrize("seed", range(10))
def test_a_paused_member_comes_back_by_one_merge_and_stays_y14(seed: int, profile: str) -> None:
    """P, C, A, Q in some order: one crashes, a later one is paused until the others went on, and continues."""
    random = Random(seed)
    scale = 1.0 if profile == "lan" else 0.2
    with World(Counting, ["P", "C", "A", "Q"], seed=seed, config=profile) as world:
        order = [member.name for member in world["P"].group.members]  # type: ignore[union-attr]
        crashed, paused = sorted(random.sample(order, 2), key=order.index)
        world.freeze(paused)
        world.advance(random.uniform(0, 2 * scale))
        world.crash(crashed)
        world.advance(random.uniform(5, 9) * scale)
        continued_ns = world.clock.now_ns
        world.thaw(paused)
        world.advance(20 * scale)
        live = sorted(name for name in order if name != crashed)
        views = views_of(world, continued_ns)
        for name in live:
            assert [members_of(view) for view in views[name] if is_merge(view)] == [live], name
            assert members_of(views[name][-1]) == live, f"{name} was excluded after the merge"
        assert sum(app.merged for app in world.apps.values()) == 1
