"""One bad link or direction that lasts: few views, a decision within ten seconds, nobody blocked, one group at the end.

With the shipped runtime and the default limits in the simulated world of the test kit (Y13).
"""

from __future__ import annotations

import asyncio
import sys
from itertools import permutations

import pytest

from ringcast.core.failure import watched, watchers
from ringcast.model import SECOND, profile
from ringcast.runtime import Group
from ringcast.sim import Fault
from ringcast.testing import World
from simulation.link_classes import Sending
from simulation.views import members_of, views_of

LASTS_SECONDS = 60
MOST_VIEWS = 6
DECIDED_SECONDS = 10
TOGETHER_SECONDS = 10  # after the heal
BACK_SECONDS = profile("lan").readmit_max_ns / SECOND + 10


class Talking:
    """Sends two messages a second and reads everything. Counts what it could send."""

    def __init__(self) -> None:
        self.sent = 0

    async def run(self, group: Group) -> None:
        self.group = group
        talking = asyncio.get_running_loop().create_task(self._talk())
        try:
            async for _ in group:
                pass
        finally:
            talking.cancel()

    async def _talk(self) -> None:
        while True:
            await self.group.send(b"x" * 100)
            self.sent += 1
            await asyncio.sleep(0.5)


def bad_link(size: int, ends: tuple[int, int], both: bool) -> World:
    """A bad link between the members at these places of the view, for a minute; then it is good again."""
    world = World(Talking, size, seed=size, config="lan", bound=BACK_SECONDS)
    group = world[world.names[0]].group
    assert group is not None
    order = [member.name for member in group.members]
    first, second = (order[place] for place in ends)
    began_ns = world.clock.now_ns
    world.fault("one-way", first, second)
    if both:
        world.fault("one-way", second, first)
    world.advance(LASTS_SECONDS)
    views = views_of(world, began_ns)
    assert max(map(len, views.values())) <= MOST_VIEWS, {name: len(found) for name, found in views.items()}
    decided = min(found[0].t_ns for found in views.values())
    assert decided - began_ns <= DECIDED_SECONDS * SECOND
    assert all(app.sent > LASTS_SECONDS for app in world.apps.values()), "nobody is blocked for long"
    return world


@pytest.mark.parametrize("ends", list(permutations(range(3), 2)))
@pytest.mark.parametrize("both", [True, False])
def test_a_bad_link_among_three_costs_few_views_and_ends_in_one_y13(ends: tuple[int, int], both: bool) -> None:
    with bad_link(3, ends, both) as world:
        world.heal()
        world.agree(BACK_SECONDS)


def test_the_others_say_how_long_who_was_excluded_for_a_bad_link_is_held_back_y13() -> None:
    with World(Talking, 3, seed=3, config="lan", bound=BACK_SECONDS) as world:
        world.fault("one-way", "A", "B")
        world.fault("one-way", "B", "A")
        world.advance(DECIDED_SECONDS)
        words = [app.group.explain() for app in world.apps.values() if len(app.group.members) == 2]
        assert len(words) == 2
        for said in words:
            assert "two members did not hear each other, so it is held back; it may come back in " in said
        world.heal()
        world.agree(BACK_SECONDS)


@pytest.mark.parametrize("ends", [(0, 3), (2, 3)])
@pytest.mark.parametrize("both", [True, False])
def test_a_bad_link_among_four_leaves_three_together_y13(ends: tuple[int, int], both: bool) -> None:
    with bad_link(4, ends, both) as world:
        world.heal()
        world.agree(BACK_SECONDS)


def test_who_was_excluded_does_not_come_back_while_its_link_is_known_to_be_bad_and_at_once_when_it_is_good_y13() -> (
    None
):
    """B and C do not hear each other, A hears both: one view without C, and one with it when the link is good."""
    with bad_link(3, (1, 2), both=True) as world:
        sizes = [len(members_of(view)) for view in views_of(world)["A"]]
        assert sizes[-2:] == [3, 2]
        world.heal()
        world.agree(TOGETHER_SECONDS)


def test_a_network_in_which_three_do_not_hear_each_other_hangs_nobody_y13() -> None:
    """A, B and C hear D alone: A and D stay together, because no set is larger and A is first."""
    with World(Talking, 4, seed=4, config="lan", bound=BACK_SECONDS) as world:
        group = world[world.names[0]].group
        assert group is not None
        *deaf, hub = (member.name for member in group.members)
        for first, second in permutations(deaf, 2):
            world.fault("one-way", first, second)
        world.advance(LASTS_SECONDS)
        views = views_of(world)
        assert sorted(len(app.group.members) for app in world.apps.values()) == [1, 1, 2, 2]
        assert members_of(views[hub][-1]) == sorted((deaf[0], hub))
        assert all(app.sent > LASTS_SECONDS for app in world.apps.values()), "nobody is blocked for long"
        world.heal()
        world.agree(TOGETHER_SECONDS)


@pytest.mark.parametrize("both", [True, False])
def test_a_link_between_two_of_twelve_that_do_not_watch_each_other_is_judged_too_y13(both: bool) -> None:
    """Above seven members each watches six: missing acks show the link, and a row asks the other end to watch it."""
    with World(Sending, 12, seed=1, config="lan", bound=BACK_SECONDS) as world:
        group = world[world.names[0]].group
        assert group is not None
        members, first = group.members, group.members[0]
        near = [*watched(members, first, 6), *watchers(members, first, 6), first]
        second = next(member for member in members if member not in near)
        world.advance(2)
        world.fault("one-way", first.name, second.name)
        if both:
            world.fault("one-way", second.name, first.name)
        world.advance(30)
        for app in world.apps.values():
            app.note(world.now)
        assert max(app.longest for app in world.apps.values()) <= DECIDED_SECONDS
        assert sorted(len(app.group.members) for app in world.apps.values()) == [1, *[11] * 11]
        world.heal()
        world.agree(TOGETHER_SECONDS)


def test_observers_left_behind_for_bad_links_come_back_when_the_links_are_good_y17() -> None:
    """They stay in the view that they shared with the voters, because no observer makes another (seed 700048)."""
    with World(Talking, list("ABOP"), seed=4, config="lan", observers="OP", bound=BACK_SECONDS) as world:
        for voter, observer in ("AO", "AP", "BO"):
            world.fault("one-way", voter, observer)
            world.fault("one-way", observer, voter)
        world.advance(30)
        assert len(world.apps["A"].group.members) == len(world.apps["B"].group.members) < 4
        world.heal()
        world.agree(TOGETHER_SECONDS)


@pytest.mark.parametrize("old", ["A", "B", "C"])
def test_a_member_of_the_version_before_and_the_others_understand_each_other_y13(old: str) -> None:
    """It drops messages of types that it does not know, and sends none: rows and echoes. Complaints it knows."""
    with World(Talking, 3, seed=3, config="lan", bound=BACK_SECONDS) as world:
        for kind in ("unheard", "askecho", "echo"):
            world.drop(kind, old)
            world.drop(kind, "*", old)
        world.fault("one-way", "B", "C")
        world.fault("one-way", "C", "B")
        began_ns = world.clock.now_ns
        world.advance(LASTS_SECONDS)
        views = views_of(world, began_ns)
        assert max(map(len, views.values())) <= MOST_VIEWS
        assert all(app.sent > LASTS_SECONDS for app in world.apps.values()), "nobody is blocked for long"
        for fault in list(world.faults.active):
            world.faults.end(fault)
        world.advance(BACK_SECONDS)
        assert {len(app.group.members) for app in world.apps.values()} == {3}
        world.heal()


def test_two_coordinators_that_do_not_hear_each_other_are_asked_through_others_y13() -> None:
    """Two sides of two heal, but their coordinators do not hear each other: three of the four go on together."""
    world = World(Talking, 4, seed=4, config="lan", bound=BACK_SECONDS)
    with world:
        group = world[world.names[0]].group
        assert group is not None
        order = [member.name for member in group.members]
        first, second = order[:2]
        split = Fault("split", 0, sys.maxsize, (first, order[2]))
        world.faults.begin(split)
        world.advance(10)
        assert sorted(len(app.group.members) for app in world.apps.values()) == [2, 2, 2, 2]
        world.fault("one-way", first, second)
        world.fault("one-way", second, first)
        healed_ns = world.clock.now_ns
        world.faults.end(split)
        world.advance(LASTS_SECONDS)
        assert sorted(len(app.group.members) for app in world.apps.values()) == [1, 3, 3, 3]
        assert max(map(len, views_of(world, healed_ns).values())) <= MOST_VIEWS
        world.heal()
        world.agree(BACK_SECONDS)
