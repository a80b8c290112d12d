"""Members' tags in the simulated world: set by each member itself, known to all of its view, through any trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from ringcast import RingcastError, UsageError
from ringcast.blocks.control import Control
from ringcast.testing import World
from simulation.blocks.kit import FIRST_SEED, SEEDS, Service, cut_and_crash, service


def test_tags_are_known_to_all_and_to_newcomers_and_found_by_value() -> None:
    with World(service(list), members=2) as world:
        a, b = (world.apps[name].shared for name in "AB")
        world.do("A", a.tag(role="web", port="80"))
        assert dict(a.tags[a.me]) == {"role": "web", "port": "80"}, "known here when it returns"
        world.start("C")
        world.settle()
        assert world.same(lambda app: app.shared.tagged(role="web")) == [a.me]
        assert b.tagged(role="web", port="81") == [] and b.tags[b.me] == {}
        world.do("A", a.tag(role="db"))
        world.settle()
        assert world.same(lambda app: dict(app.shared.tags[a.me])) == {"role": "db"}
        with pytest.raises(UsageError, match="bytes"):
            world.do("A", a.tag(note="x" * 2000))
        with pytest.raises(UsageError, match="texts by text"):
            world.do("A", a.tag(port=80))


def test_a_new_incarnation_tells_its_tags_again() -> None:
    with World(service(list), members=3, partition="primary") as world:
        for name, app in world.apps.items():
            world.do(name, app.shared.tag(role="web"))
        before = world.same(lambda app: app.shared.members)
        world.isolate("A")
        world.advance(8)
        world.heal()
        world.settle(60)
        world.advance(1)
        after = world.same(lambda app: app.shared.members)
        assert set(after) != set(before)
        assert world.same(lambda app: app.shared.tagged(role="web")) == list(after)


class Tagged(Service):
    async def live(self) -> None:
        me = str(self.shared.me)
        random = Random(me)
        number = 0
        while number < 12:
            await asyncio.sleep(random.random() / 2)
            try:
                await self.shared.tag(who=str(self.shared.me), number=str(number))
                number += 1
            except RingcastError:
                await asyncio.sleep(0.2)
        await asyncio.Event().wait()


def trouble(world: World) -> None:
    world.trouble(5, faults=4)


def troubled(seed: int, story: Callable[[World], None] = trouble) -> list[str]:
    with World(Tagged, members=4, seed=seed) as world:
        story(world)
        world.advance(12)
        world.settle(60)
        tags = world.same(lambda app: {str(member): dict(found) for member, found in app.shared.tags.items()})
        return [f"{who}: {found}" for who, found in tags.items() if found != {"who": who, "number": "11"}]


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whatever_goes_wrong_everybody_knows_the_last_tags_of_all(seed: int) -> None:
    assert troubled(seed) == []


def _one_side_wins(self: Any, sides: Any) -> bytes:
    return next(iter(sides.values()))  # type: ignore[no-any-return]


async def _no_state(self: Any, state: bytes) -> None:
    pass


def late_cut(world: World) -> None:
    """Nobody tags itself again behind the merge."""
    world.advance(15)
    world.partition("AB")
    world.advance(5)
    world.heal()


@pytest.mark.parametrize(("name", "wrong"), [("_merge", _one_side_wins), ("_load", _no_state)])
def test_a_planted_mistake_is_caught(name: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Control, name, wrong)
    try:
        found = troubled(0, late_cut if name == "_merge" else cut_and_crash)
    except AssertionError as error:
        assert "the members differ" in str(error)
    else:
        assert found
