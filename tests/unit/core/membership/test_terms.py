"""Y08: what a group must have in common is the same at all members, or a JOIN and a merge are refused on both sides."""

from __future__ import annotations

from typing import Any

import pytest

from ringcast.core import Effect, Refused, Warn
from ringcast.model import SECOND, Address, Config, Terms, first_mark, profile
from unit.core.membership.world import Proc, World

CONFIG = profile("test")


class Telling(Proc):
    """Keeps what it warns of, and why it was refused."""

    def __init__(self, *args: Any, **join: Any) -> None:
        super().__init__(*args, **join)
        self.warned: list[str] = []
        self.refused: list[str] = []

    def _do(self, effect: Effect) -> None:
        match effect:
            case Warn(words):
                self.warned.append(words)
            case Refused(why):
                self.refused.append(why)
            case _:
                super()._do(effect)


class TellingWorld(World):
    proc = Telling


def told(world: World, name: str) -> Telling:
    proc = world[name]
    assert isinstance(proc, Telling)
    return proc


DIFFERENT: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (
        {"max_message_bytes": 1_500},
        {},
        "max_message_bytes is 16777216, not 1500",
        "max_message_bytes is 1500, not 16777216",
    ),
    ({"capacity_floor": 32}, {}, "capacity_floor is 1, not 32", "capacity_floor is 32, not 1"),
    (
        {},
        {"mark": first_mark(Address("B", 1, "mem:B"), 0)},
        "partition is 'all', not 'primary'",
        "partition is 'primary', not 'all'",
    ),
    ({}, {"reunites": True}, "merge_state is absent, not given", "merge_state is given, not absent"),
]


@pytest.mark.parametrize(("config", "join", "here", "_"), DIFFERENT)
def test_a_joiner_with_other_terms_is_refused_and_both_sides_say_why_y08(
    config: dict[str, Any], join: dict[str, Any], here: str, _: str
) -> None:
    world = TellingWorld()
    world.group("A")
    world.start("B", config=CONFIG.with_changes(**config), **join)
    world.run_for(5 * SECOND)
    a, b = told(world, "A"), told(world, "B")
    assert b.view is None and a.view is not None and a.view.members == (a.address,)
    assert b.refused == [f"{a.address} refuses it: there {here} as here"]
    assert a.warned == [f"refused to let {b.address} join: here {here} as at {b.address}"]
    world.start("C")
    assert world.is_soon_one("AC"), "who has the terms of the group still gets in"


@pytest.mark.parametrize(("config", "join", "here", "there"), DIFFERENT)
def test_two_founders_with_other_terms_do_not_merge_and_both_say_why_y08(
    config: dict[str, Any], join: dict[str, Any], here: str, there: str
) -> None:
    world = TellingWorld()
    world.start("A", seeds=())
    world.start("B", config=CONFIG.with_changes(**config), seeds=(), **join)
    world.run_for(2 * SECOND)
    for name, other in (("A", "B"), ("B", "A")):
        world[name].settle(world[name].node.on_discovered(world.now, [f"mem:{other}"]))
    world.run_for(10 * SECOND)
    a, b = told(world, "A"), told(world, "B")
    assert (a.view, b.view) != (None, None)
    assert a.view is not None and a.view.members == (a.address,)
    assert b.view is not None and b.view.members == (b.address,)
    assert set(a.warned) == {f"this side and that of {b.address} do not merge: here {here} as there"}
    assert set(b.warned) == {f"this side and that of {a.address} do not merge: here {there} as there"}
    world.start("C", seeds=["A"])
    assert world.is_soon_one("AC", 20 * SECOND), "attempts that are refused stop nothing else"


def test_a_small_window_is_taken_and_warned_of_where_it_enters_y08() -> None:
    world = TellingWorld()
    world.group("A")
    world.start("B", config=CONFIG.with_changes(capacity=1))
    assert world.is_soon_one("AB")
    assert world["A"].node.group.capacity == 1
    a, b = told(world, "A"), told(world, "B")
    assert set(a.warned) == {f"{b.address} joins with capacity 1: the whole group's window shrinks from 64"}


def test_the_words_name_each_difference() -> None:
    mine, theirs = Terms(1, 2, False, False), Terms(3, 2, True, False)
    assert mine.difference(mine) is None and mine.difference(None) is None
    assert mine.difference(theirs) == "max_message_bytes is 1, not 3, partition is 'all', not 'primary'"


def test_a_window_below_the_floor_is_no_config() -> None:
    with pytest.raises(ValueError, match="capacity must be at least capacity_floor 32, got 16"):
        Config(capacity=16, capacity_floor=32)
