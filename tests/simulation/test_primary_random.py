"""Random lives under the primary policy, with mark files or a quorum: one chain of primary views, and a live majority
goes on (G14, G17). RINGCAST_SEEDS says how many; `make primary-runs` runs 500."""

from __future__ import annotations

from typing import Any

import pytest

from ringcast.testing import World
from simulation.random_life import SEEDS, Life, chatter

WAYS: list[dict[str, Any]] = [{"primary_mark": True}, {"primary_mark": True}, {"quorum": 3}]


# 228: the one that carries the primary view founds again from its mark, and the other one must see that as later.
@pytest.mark.parametrize("seed", [*range(SEEDS), *([228] if SEEDS <= 228 else [])])
def test_primary_views_form_one_chain_and_all_are_primary_after_the_heal(seed: int) -> None:
    way = WAYS[seed % len(WAYS)]
    names = "ABCDE" if way.get("quorum") else "ABCDE"[: 2 + seed % 4]
    with World(chatter, list(names), seed=seed, partition="primary", bound=20, **way) as world:
        life = Life(world)
        world.advance(1)
        life.trouble(8)
        life.settle()
        views = [process.group.view for process in world.processes.values() if process.group is not None]
        assert all(view.is_primary for view in views), views
