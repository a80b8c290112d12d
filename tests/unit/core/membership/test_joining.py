"""Joining: how processes find or found a group, told with real nodes over the real codec."""

from __future__ import annotations

import pytest

from ringcast.model import SECOND
from unit.core.membership.world import World


def test_a_process_that_hears_of_nobody_founds_a_group_of_one() -> None:
    world = World()
    world.start("A")
    assert world.run_until(lambda: world.is_one("A"))
    view = world["A"].view
    assert view is not None and view.id.number == 1
    assert world.verdict() == ""


def test_a_second_process_joins_the_first() -> None:
    world = World()
    world.group("AB")
    world.send("A", b"a")
    world.send("B", b"b")
    assert world.run_until(lambda: len(world["A"].got) == len(world["B"].got) == 2)
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_ten_concurrent_starters_share_one_view_v13(seed: int, loss: float) -> None:
    """V13: one 10-member view within 5 s."""
    world = World(seed, loss=loss)
    names = "ABCDEFGHIJ"
    for name in names:
        world.start(name, expect=10, seeds=names)
    assert world.run_until(lambda: world.is_one(names), 5 * SECOND)
    assert world.verdict() == ""
