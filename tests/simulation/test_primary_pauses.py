"""The primary policy with pauses, crashes and restarts, in the simulated world: a live majority goes on (G14, G17)."""

from __future__ import annotations

from typing import Any

import pytest

from ringcast.testing import World
from simulation.groups import idle, restart


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


WAYS: dict[str, dict[str, Any]] = {"mark file": {"primary_mark": True}, "quorum": {"quorum": 3}}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", WAYS)
def test_y12_three_that_restart_behind_a_cut_are_not_primary_beside_the_two_that_went_on(way: str, seed: int) -> None:
    """Y12: five, three, two; with the mark file the two go on, with the quorum the three: never both."""
    with World(idle, list("ABCDE"), seed=seed, partition="primary", **WAYS[way]) as world:
        world.advance(1)
        world.partition("ABC", "DE")
        world.advance(4)
        assert is_primary(world, *"ABC")
        world.heal()
        world.partition("AB", "CDE")
        world.advance(4)
        restart(world, "CDE", 1)
        world.advance(10)
        assert is_primary(world, *"AB") == (way == "mark file")
        assert any(is_primary(world, name) or is_primary(world, *"CDE") for name in "CDE") == (way == "quorum")
        world.heal()
        world.advance(10)
        assert is_primary(world, *"ABCDE"), world.story()


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_group_that_restarts_with_its_mark_files_goes_on(seed: int) -> None:
    with World(idle, list("ABC"), seed=seed, partition="primary", primary_mark=True) as world:
        world.advance(1)
        for name in "ABC":
            world.crash(name)
        world.advance(1)
        for name in "BC":
            world.start(name)
        world.advance(5)
        assert is_primary(world, *"BC")  # two of the three voters of the last primary view
        world.start("A")
        world.advance(5)
        assert is_primary(world, *"ABC")


def test_a_send_waits_for_the_primary_view_that_follows_a_merge_and_is_not_refused() -> None:
    """The view of a merge has the votes, but is not primary: a primary one of the same members follows it."""
    with World(idle, list("ABCD"), seed=1, partition="primary") as world:
        world.advance(1)
        world.partition("A", "B", "CD")
        world.advance(3)
        assert not any(is_primary(world, *side) for side in ("A", "B", "CD"))
        world.heal()
        world.agree()
        group = world["D"].group
        assert group is not None
        world.do("D", group.send(b"on"))
        assert is_primary(world, *"ABCD")


@pytest.mark.parametrize("seed", range(4))
def test_observers_that_outlived_all_voters_come_to_the_chain_which_those_begin_anew(seed: int) -> None:
    """Seed 200615: their own view, of the dead, still was a primary one, and with a higher number."""
    with World(idle, list("ABCD"), seed=seed, partition="primary", quorum=2, observers="CD") as world:
        for _ in range(3):  # for the number
            world.advance(1)
            world.crash("D")
            world.start("D")
        world.advance(1)
        assert is_primary(world, *"ABCD")
        restart(world, "AB", 3)
        world.advance(20)
        assert is_primary(world, *"ABCD"), world.story()
