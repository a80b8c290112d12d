"""Random runs: a crash plus a pause, and one bad link or direction for a minute; no live member is excluded after it.

`RINGCAST_SEEDS` says how many of each (`make pause-runs`, `make link-runs`: 500); a failure names its seed.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from ringcast.model import SECOND, profile
from ringcast.testing import World
from simulation.test_bad_links import Talking
from simulation.views import members_of, views_of

SEEDS = range(int(os.environ.get("RINGCAST_SEEDS", "3")))
LINK_SECONDS = 60
CONFIG = profile("lan", readmit_ns=4 * SECOND, readmit_max_ns=16 * SECOND)
BACK_SECONDS = CONFIG.readmit_max_ns / SECOND + 5


def expect_nobody_excluded(world: World, since_ns: int, live: list[str]) -> None:
    """Once all live ones share a view, no later view of anybody is without one of them."""
    for name, views in views_of(world, since_ns).items():
        held = [members_of(view) for view in views]
        together = held.index(live) if live in held else len(held)
        assert all(members == live for members in held[together:]), f"{name} after the heal: {held}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_plus_a_pause_ends_in_one_view_that_stays_y14(seed: int) -> None:
    random = Random(f"pause/{seed}")
    with World(Talking, random.randint(3, 6), seed=seed, config="lan") as world:
        crashed, *paused = random.sample(world.names, random.randint(2, 3) if len(world.names) > 3 else 2)
        began_ns = world.clock.now_ns
        for name, at in sorted([(name, random.uniform(0, 4)) for name in (crashed, *paused)], key=lambda act: act[1]):
            world.advance(max(0.0, began_ns / SECOND + at - world.now))
            (world.crash if name == crashed else world.freeze)(name)
        for name in random.sample(paused, len(paused)):
            world.advance(random.uniform(0.1, 9))
            world.thaw(name)
        continued_ns = world.clock.now_ns
        world.heal()
        world.agree(10)
        world.advance(5)
        live = sorted(name for name in world.names if name != crashed)
        expect_nobody_excluded(world, continued_ns, live)
        faults = 1 + len(paused)
        most = max(len(views) for views in views_of(world, began_ns).values())
        assert most <= 3 * faults + 1, f"{most} views for {faults} faults"


@pytest.mark.parametrize("seed", SEEDS)
def test_one_bad_link_or_direction_for_a_minute_costs_few_views_y13(seed: int) -> None:
    random = Random(f"link/{seed}")
    with World(Talking, random.randint(3, 6), seed=seed, config=CONFIG, bound=BACK_SECONDS) as world:
        first, second = random.sample(world.names, 2)
        began_ns = world.clock.now_ns
        kind, amount = random.choice([("one-way", 0.0), ("one-way", 0.0), ("loss", random.choice((0.5, 0.9, 0.99)))])
        world.fault(kind, first, second, amount=amount)
        if random.random() < 0.5:
            world.fault(kind, second, first, amount=amount)
        world.advance(LINK_SECONDS)
        views = views_of(world, began_ns)
        most = 8  # An exclusion and a return after 4 s, 8 s, 16 s and 16 s more.
        assert max(map(len, views.values())) <= most, {name: len(found) for name, found in views.items()}
        healed_ns = world.clock.now_ns
        world.heal()
        world.agree(BACK_SECONDS)
        world.advance(5)
        expect_nobody_excluded(world, healed_ns, sorted(world.names))
