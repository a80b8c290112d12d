"""Joining: how processes find or found a group, told with real nodes over the real codec."""

from __future__ import annotations

from random import Random

import pytest

from ringcast.core.control import Announce
from ringcast.core.membership.joining import Joiner
from ringcast.model import MS, SECOND, Address, ViewId, profile
from unit.core.membership.world import World


def test_a_process_that_hears_of_nobody_founds_a_group_of_one() -> None:
    world = World()
    world.start("A")
    assert world.run_until(lambda: world.is_one("A"))
    assert 100 * MS <= world.now <= 150 * MS  # found_after_ns, and one look
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


@pytest.mark.parametrize("ran_ms", [0, 1, 3])
def test_a_process_that_stood_still_does_not_take_that_for_the_silence_of_others(ran_ms: int) -> None:
    """It stands still for ten times what it waits before it founds a group, on its way into one that is there."""
    world = World()
    world.group("A")
    joiner = world.start("B")
    world.run_for(ran_ms * MS)
    joiner.frozen = True
    world.run_for(10 * joiner.node.config.found_after_ns)
    joiner.thaw()
    assert world.is_soon_one("AB")
    assert [len(view.members) for view in joiner.views] == [2]
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


def test_an_observer_founds_no_group_and_does_not_keep_others_from_it() -> None:
    world = World()
    world.start("A", observer=True, seeds="AB")
    world.run_for(2 * SECOND)
    assert not world["A"].node.has_group
    world.start("B", seeds="AB")
    assert world.is_soon_one("AB", 2 * SECOND)
    assert world["A"].node.view.coordinator == world["B"].address
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(5))
def test_starters_that_expect_nobody_still_found_one_group_the_lowest_first(seed: int) -> None:
    world = World(seed)
    for name in "DCBA":
        world.start(name, seeds="ABCD")
    assert world.is_soon_one("ABCD", 1 * SECOND)
    assert world["A"].node.view.id.creator == world["A"].address
    assert not world["A"].node.view.is_merge
    assert world.verdict() == ""


def test_a_joiner_that_others_take_for_their_coordinator_does_not_ask_itself() -> None:
    """Their view counts it in and names it next to lead; that view never reached it (simulated state seed 2)."""
    me, other = Address("A", 1, "mem:A"), Address("B", 1, "mem:B")
    joiner = Joiner(me, profile("test"), Random(1))
    joiner.begin(0)
    joiner.on_announce(0, other, Announce(ViewId(2, other), me))
    assert joiner.target is None
    assert not joiner.may_found(joiner.config.discovery_ns - 1)
    joiner.on_announce(MS, other, Announce(ViewId(3, other), other))
    assert joiner.target == other
    joiner.on_elsewhere(MS, other, me)
    assert joiner.target == other
