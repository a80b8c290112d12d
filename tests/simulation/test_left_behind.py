"""After the heal live members come together again, although nobody who could help hears of them (G14)."""

from __future__ import annotations

from typing import Literal

import pytest

from ringcast.core import Loose
from ringcast.core.control import AreYouThere, Stranger
from ringcast.core.effects import Unicast
from ringcast.model import SECOND
from ringcast.sim import process as simulated
from ringcast.testing import World
from simulation.groups import group_of, idle, restart


@pytest.mark.parametrize(("members", "deaf"), [("ABCDEFGH", "B"), ("ABCDEFGHIJKL", "E")])
def test_who_left_a_primary_view_for_one_of_its_own_comes_back(members: str, deaf: str) -> None:
    """It answers whoever asks, so nobody excluded it, and a primary side starts no merge."""
    with World(idle, list(members), seed=1, partition="primary") as world:
        world.advance(1)
        world.fault("deaf", deaf)
        while group_of(world, deaf).view.id == group_of(world, "A").view.id:
            world.advance(0.005)
        world.heal()
        world.agree(limit=8)


def test_the_last_view_of_a_coordinator_that_leaves_reaches_everybody() -> None:
    """It took the others in its own last view for members that had left it behind, and fell silent."""
    with World(idle, list("ABCDEFGHI"), seed=1) as world:
        world.advance(1)
        leaving = world.spawn("A", group_of(world, "A").leave())
        coordination = world["I"].node.coordination
        assert coordination is not None and coordination.membership.follower is not None
        follower = coordination.membership.follower
        while follower.promise is None or not follower.promise.is_filling:
            world.advance(0.0002)
        world.drop("*", sender="A", to="I", seconds=3)
        while not leaving.done():
            world.advance(0.002)
        world.advance(3)
        world.heal()
        assert world.run_until(lambda: len(group_of(world, "I").members) == 8, 8 * SECOND)


@pytest.mark.parametrize("pair", ["EB", "BA"])
def test_who_wakes_up_and_follows_a_dead_member_looks_at_it(pair: str) -> None:
    """Those who had gone on without it filled all places of its ring, and they were well."""
    paused, dead = pair
    with World(idle, list("ABCDEFGHIJKLMNO"), seed=1) as world:
        world.advance(0.5)
        world.freeze(paused)
        world.isolate(paused)
        world.advance(0.2)
        world.crash(dead)
        world.advance(2.5)
        world.heal()
        world.agree(limit=8)


@pytest.mark.parametrize("partition", ["all", "primary"])
def test_observers_tell_who_runs_in_the_place_of_their_voters(
    monkeypatch: pytest.MonkeyPatch, partition: Literal["all", "primary"]
) -> None:
    """Their endpoints counted as those of members, and who runs there now finds nobody: discovery is two seeds."""
    discovery = simulated.WorldDiscovery
    monkeypatch.setattr(simulated, "WorldDiscovery", lambda names: discovery(lambda: list("AB")))
    with World(idle, list("ABO"), observers="O", partition=partition, primary_mark=partition == "primary") as world:
        world.advance(1)
        restart(world, "AB", after=3)
        world.agree(limit=10)


def test_newcomers_that_die_as_they_join_come_back_as_the_voters_they_were() -> None:
    """They had been counted, and had not kept their marks yet: nobody was ever primary again."""
    with World(idle, ["A"], seed=1, partition="primary", primary_mark=True) as world:
        world.advance(1)
        for name in "BC":
            world.start(name)
        while len(group_of(world, "A").members) < 3:
            world.advance(0.001)
        restart(world, "BC", after=3)
        world.advance(8)
        assert group_of(world, "A").view.is_primary


def test_who_asks_a_member_that_went_on_without_it_learns_so() -> None:
    """Seed 251839: only who sent it heartbeats did; the others kept their coordinator from going on without it."""
    with World(idle, list("AB"), seed=1) as world:
        world.advance(1)
        world.partition("A", "B")
        assert world.run_until(lambda: len(group_of(world, "B").members) == 1, 5 * SECOND)
        node, asker = world["B"].node, world["A"].address
        effects = node.on_packet(world.clock.now_ns, asker, Loose(AreYouThere()))
        assert Unicast(asker, Loose(Stranger(node.view.id))) in effects
