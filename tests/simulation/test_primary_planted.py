"""Mistakes in the primary policy, planted one by one: the checker of G17 finds each, and nothing without them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ringcast.checkers import judge
from ringcast.model import SECOND
from ringcast.sim.planted import Planted, plant
from ringcast.testing import World
from simulation.groups import idle
from simulation.test_primary_partition import PrimaryWorld


def a_view_that_one_voter_never_got() -> int:
    """A goes on with B and C, but C never gets that view, and is cut off with D and E: they are three of five."""
    world = PrimaryWorld(1)
    world.form()
    sides = ["ABC", "DE"]

    def is_cut_off(sender: str, receiver: str, packet: object) -> bool:
        if len(world["A"].node.view.members) == 3:  # A has it, and is about to tell the others.
            sides[:] = ["AB", "CDE"]
        return not any(sender in side and receiver in side for side in sides)

    world.network.snares.append(is_cut_off)
    world.run_for(8 * SECOND)
    return _violations(world.recordings())


def two_that_are_cut_apart() -> int:
    world = World(idle, list("AB"), seed=1, partition="primary")
    world.advance(1)
    world.partition("A", "B")
    world.advance(5)
    world.abandon()
    return _violations(world.recordings())


def three_that_restart_behind_the_cut() -> int:
    """Y12, with mark files."""
    world = World(idle, list("ABCDE"), seed=1, partition="primary", primary_mark=True)
    world.advance(1)
    world.partition("ABC", "DE")
    world.advance(4)
    world.heal()
    world.partition("AB", "CDE")
    world.advance(4)
    for name in "CDE":
        world.crash(name)
        world.start(name)
    world.advance(10)
    world.abandon()
    return _violations(world.recordings())


def _violations(recordings: list) -> int:  # type: ignore[type-arg]
    finding = judge(recordings).findings["G17"]
    assert finding.examined > 1
    return finding.violation_count


MISTAKES = [
    (
        a_view_that_one_voter_never_got,
        "a primary view to come is not recorded",
        "ringcast.core.membership.primary_record:PrimaryRecord.on_fill",
        "return self.record(now_ns, fill.primary)",
        "return []",
    ),
    (
        two_that_are_cut_apart,
        "half of the voters are enough without the first",
        "ringcast.model.majority:Electorate.is_carried_by",
        "(2 * present == len(self.voters) and self.voters[0] in votes)",
        "2 * present == len(self.voters)",
    ),
    (
        three_that_restart_behind_the_cut,
        "a process that was started again forgets",
        "ringcast.runtime.joining:_mark",
        "return mark.kept_by(me, was, expect)._replace(quorum=place.quorum)",
        "return first_mark(me, expect, place.quorum)",
    ),
]


@pytest.mark.parametrize(("story", "name", "target", "right", "wrong"), MISTAKES, ids=[row[1] for row in MISTAKES])
def test_a_planted_mistake_is_found(story: Callable[[], int], name: str, target: str, right: str, wrong: str) -> None:
    assert story() == 0
    with plant(Planted(name, "G17", target, right, wrong, seeds=1)):
        assert story() > 0
