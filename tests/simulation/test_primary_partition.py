"""Only one side of a partition goes on: over many seeds two sides are never primary, and the rest come back to it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from integration.long import either
from ringcast.model import MS, SECOND, Address, View, first_mark
from unit.core.membership.world import World

NAMES = "ABCDE"
SEEDS = int(either(200, 6))
STEPS = 6


class PrimaryWorld(World):
    """Whoever is excluded comes back as a new incarnation that remembers its mark, as the driver does it."""

    def start_primary(self, name: str, expect: int = 0, **join: Any) -> None:
        incarnation = 1 + sum(proc.name == name for proc in [*self.past, *self.procs.values()])
        me = Address(name, incarnation, f"mem:{name}")
        before = self.procs.get(name)
        known = None if before is None else before.node.mark
        mark = first_mark(me, expect) if before is None or known is None else known.kept_by(me, before.address)
        self.start(name, expect=expect, mark=mark, **join)

    def begin(self, names: str = NAMES) -> None:
        for name in names:
            self.start_primary(name, len(names), seeds=names)
        assert self.is_soon_one(names)
        self.run_for(300 * MS)

    def split(self, *sides: str) -> None:
        side_of = {name: number for number, side in enumerate(sides) for name in side}
        self.blocked = lambda sender, receiver: side_of.get(sender) != side_of.get(receiver)

    def live(self, duration_ns: int, names: str = NAMES) -> None:
        """Let time pass, looking at every member every 20 ms."""
        for _ in range(duration_ns // (20 * MS)):
            self.run_for(20 * MS)
            self.look()
            for name in names:
                if self[name].excluded and self[name].alive:
                    self.stop(self[name], "excluded")
                    self.start_primary(name, seeds=names)

    def primary_views(self) -> list[View]:
        views = {p.view.id: p.view for p in self.procs.values() if p.alive and p.view is not None and p.view.is_primary}
        return [views[view_id] for view_id in sorted(views)]

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
    world.begin()
    for _ in range(STEPS):
        world.split(*sides_of(chance))
        world.live(int(chance.choice([0.06, 0.3, 1.0]) * SECOND))
    world.split(*sides_of(chance))
    world.live(6 * SECOND)
    assert len(world.primary_views()) <= 1, world.primary_views()
    world.split(NAMES)
    world.loss = 0.0
    world.live(8 * SECOND)
    assert world.is_one(NAMES), [str(world[name].view) for name in NAMES]
    assert len(world.primary_views()) == 1


def test_the_larger_side_goes_on_and_the_smaller_one_comes_back_as_new() -> None:
    world = PrimaryWorld(1)
    world.begin()
    world.split("ABC", "DE")
    world.live(3 * SECOND)
    assert [len(view.members) for view in world.primary_views()] == [3]
    assert not world["D"].view.is_primary  # type: ignore[union-attr]
    world.split(NAMES)
    world.live(4 * SECOND)
    assert world.is_one(NAMES)
    assert [world[name].address.incarnation for name in NAMES] == [1, 1, 1, 2, 2]


def test_of_two_halves_the_one_with_the_first_member_goes_on() -> None:
    world = PrimaryWorld(2)
    world.begin("ABCD")
    first = world["A"].view.members[0].name  # type: ignore[union-attr]
    with_first = first + next(name for name in "ABCD" if name != first)
    world.split(with_first, "".join(name for name in "ABCD" if name not in with_first))
    world.live(3 * SECOND, "ABCD")
    (view,) = world.primary_views()
    assert sorted(member.name for member in view.members) == sorted(with_first)


def test_a_group_may_shrink_step_by_step_and_stay_primary() -> None:
    """Five, three, two, one: each time a majority of the view before."""
    world = PrimaryWorld(3)
    world.begin()
    for left in ("ABC", "AB", "A"):
        gone = [name for name in NAMES if name not in left and world[name].alive]
        world.crash(*gone)
        assert world.is_soon_one(left)
        world.run_for(300 * MS)
        assert world["A"].view.is_primary, left  # type: ignore[union-attr]


def test_a_minority_stays_what_it_is_when_the_majority_is_gone_for_good() -> None:
    world = PrimaryWorld(4)
    world.begin()
    world.crash("A", "B", "C")
    assert world.is_soon_one("DE")
    world.live(3 * SECOND, "DE")
    assert world.primary_views() == []


def test_observers_do_not_count() -> None:
    world = PrimaryWorld(5)
    for name in "ABCDE":
        world.start_primary(name, 5, seeds="ABCDE", observer=name in "DE")
    assert world.is_soon_one("ABCDE")
    world.run_for(300 * MS)
    world.split("AB", "CDE")
    world.live(3 * SECOND)
    assert [sorted(m.name for m in view.members) for view in world.primary_views()] == [["A", "B"]]


def test_sides_without_a_majority_are_primary_again_when_they_meet() -> None:
    world = PrimaryWorld(6)
    world.begin()
    world.split("AB", "CD", "E")
    world.live(3 * SECOND)
    assert world.primary_views() == []
    world.split("ABCD", "E")
    world.live(4 * SECOND)
    assert [len(view.members) for view in world.primary_views()] == [4]


def test_a_group_of_which_more_are_expected_is_primary_when_half_of_them_are_there() -> None:
    world = PrimaryWorld(7)
    for name in "ABCDE":
        world.start_primary(name, 5, seeds="")
    world.run_for(3 * SECOND)
    assert all(world[name].view is not None for name in NAMES)
    assert world.primary_views() == []
