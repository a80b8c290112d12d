"""Only one side of a partition goes on: over many seeds two sides are never primary, and the rest come back to it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from integration.long import either
from ringcast.model import MS, SECOND, View
from simulation.members import Members

NAMES = "ABCDE"
SEEDS = int(either(200, 6))
STEPS = 6


class PrimaryWorld(Members):
    """Whoever is excluded comes back as a new incarnation that remembers its mark."""

    def __init__(self, seed: int, **options: Any) -> None:
        super().__init__(seed, partition="primary", **options)

    def form(self, names: str = NAMES) -> None:
        self.start_together(names)
        assert self.is_soon_one(names)
        self.run_for(300 * MS)

    def live(self, duration_ns: int) -> None:
        """Let time pass, looking at every member every 20 ms."""
        for _ in range(duration_ns // (20 * MS)):
            self.run_for(20 * MS)
            self.look()

    def is_primary(self, name: str) -> bool:
        return self[name].node.has_group and self[name].node.view.is_primary

    def primary_views(self) -> list[View]:
        views = [process.node.view for process in self.alive() if self.is_primary(process.name)]
        return list({view.id: view for view in sorted(views, key=lambda view: view.id)}.values())

    def look(self) -> None:
        """A member may not know yet that it was left; but no two primary views are without a common member."""
        views = self.primary_views()
        for view in views:
            for other in views:
                names = {member.name for member in view.members}
                assert names & {member.name for member in other.members}, f"{view} and {other} are both primary"


def sides_of(chance: Random, names: str = NAMES) -> list[str]:
    numbers = {name: chance.randrange(chance.choice([1, 2, 2, 3])) for name in names}
    return [side for n in range(3) if (side := "".join(name for name in names if numbers[name] == n))]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_two_sides_are_never_both_primary(seed: int) -> None:
    """Random cuts, also while views are on their way; whenever things are quiet at most one side is primary."""
    chance = Random(seed)
    world = PrimaryWorld(seed, loss=0.05 * (seed % 3))
    world.form()
    for _ in range(STEPS):
        world.cut(*sides_of(chance))
        world.live(int(chance.choice([0.06, 0.3, 1.0]) * SECOND))
    world.cut(*sides_of(chance))
    world.live(6 * SECOND)
    assert len(world.primary_views()) <= 1, world.primary_views()
    world.cut(NAMES)
    world.fault("loss")
    world.live(8 * SECOND)
    assert world.is_one(NAMES), world.primary_views()
    assert len(world.primary_views()) == 1


def test_the_larger_side_goes_on_and_the_smaller_one_comes_back_as_new() -> None:
    world = PrimaryWorld(1)
    world.form()
    world.cut("ABC", "DE")
    world.live(3 * SECOND)
    assert [len(view.members) for view in world.primary_views()] == [3]
    assert not world.is_primary("D")
    world.cut(NAMES)
    world.live(4 * SECOND)
    assert world.is_one(NAMES)
    assert [world[name].address.incarnation for name in NAMES] == [1, 1, 1, 2, 2]


def test_of_two_halves_the_one_with_the_first_member_goes_on() -> None:
    world = PrimaryWorld(2)
    world.form("ABCD")
    first = world["A"].node.view.members[0].name
    with_first = first + next(name for name in "ABCD" if name != first)
    world.cut(with_first, "".join(name for name in "ABCD" if name not in with_first))
    world.live(3 * SECOND)
    (view,) = world.primary_views()
    assert sorted(member.name for member in view.members) == sorted(with_first)


def test_a_group_may_shrink_step_by_step_and_stay_primary() -> None:
    """Five, three, two, one: each time a majority of the view before."""
    world = PrimaryWorld(3)
    world.form()
    for left in ("ABC", "AB", "A"):
        for name in NAMES:
            if name not in left and world.is_alive(name):
                world.crash(name)
        assert world.is_soon_one(left)
        world.run_for(300 * MS)
        assert world.is_primary("A"), left


def test_a_minority_stays_what_it_is_when_the_majority_is_gone_for_good() -> None:
    world = PrimaryWorld(4)
    world.form()
    for name in "ABC":
        world.crash(name)
    assert world.is_soon_one("DE")
    world.live(3 * SECOND)
    assert world.primary_views() == []


def test_observers_do_not_count() -> None:
    world = PrimaryWorld(5, observers=["D", "E"])
    world.form()
    world.cut("AB", "CDE")
    world.live(3 * SECOND)
    assert [sorted(m.name for m in view.members) for view in world.primary_views()] == [["A", "B"]]


def test_who_meets_only_an_observer_of_the_primary_side_keeps_its_place() -> None:
    """E was left alone in the primary view without C. C cannot go there, and would see the same again (seed 30579)."""
    world = PrimaryWorld(5, observers=["D", "E"])
    world.form()
    world.cut("ABDE", "C")
    world.live(2 * SECOND)
    world.cut("ABD", "CE")
    world.live(1 * SECOND)
    at_first = world["C"].address
    world.live(3 * SECOND)
    assert world["C"].address == at_first and world.is_one("CE")
    world.cut(NAMES)
    world.live(3 * SECOND)
    assert world.is_one(NAMES) and len(world.primary_views()) == 1


def test_sides_without_a_majority_are_primary_again_when_they_meet() -> None:
    world = PrimaryWorld(6)
    world.form()
    world.cut("AB", "CD", "E")
    world.live(3 * SECOND)
    assert world.primary_views() == []
    world.cut("ABCD", "E")
    world.live(4 * SECOND)
    assert [len(view.members) for view in world.primary_views()] == [4]


def test_a_group_of_which_more_are_expected_is_primary_when_half_of_them_are_there() -> None:
    world = PrimaryWorld(7)
    world.cut(*NAMES)
    world.start_together(NAMES)
    world.run_for(3 * SECOND)
    assert all(world.is_one(name) for name in NAMES)
    assert world.primary_views() == []
