"""Joining: how processes find or found a group, told with real nodes over the real codec."""

from __future__ import annotations

from random import Random

import pytest

from ringcast.core.control import Announce
from ringcast.core.membership.joining import Joiner
from ringcast.model import MS, SECOND, Address, ViewId, profile
from simulation.members import Members


def test_a_process_that_hears_of_nobody_founds_a_group_of_one() -> None:
    world = Members()
    world.start("A")
    assert world.run_until(lambda: world.is_one("A"))
    assert 100 * MS <= world.clock.now_ns <= 150 * MS  # found_after_ns, and one look
    assert world["A"].node.view.id.number == 1
    assert world.verdict() == []


def test_a_second_process_joins_the_first() -> None:
    world = Members()
    world.gather("AB")
    world.send("A", b"a")
    world.send("B", b"b")
    assert world.run_until(lambda: all(world.messages(n, "A") + world.messages(n, "B") == [b"a", b"b"] for n in "AB"))
    assert world.verdict() == []


@pytest.mark.parametrize("ran_ms", [0, 1, 3])
def test_a_process_that_stood_still_does_not_take_that_for_the_silence_of_others(ran_ms: int) -> None:
    """It stands still for ten times what it waits before it founds a group, on its way into one that is there."""
    world = Members()
    world.gather("A")
    joiner = world.start("B")
    world.run_for(ran_ms * MS)
    joiner.freeze()
    world.run_for(10 * joiner.node.config.found_after_ns)
    joiner.thaw()
    assert world.is_soon_one("AB")
    assert [len(view.members) for view in world.application("B").views] == [2]
    assert world.verdict() == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_ten_concurrent_starters_share_one_view_v13(seed: int, loss: float) -> None:
    """V13: one 10-member view within 5 s."""
    world = Members(seed, loss=loss)
    names = "ABCDEFGHIJ"
    world.start_together(names)
    assert world.run_until(lambda: world.is_one(names), 5 * SECOND)
    assert world.verdict() == []


def test_an_observer_founds_no_group_and_does_not_keep_others_from_it() -> None:
    world = Members(observers=["A"])
    world.start("A")
    world.run_for(2 * SECOND)
    assert not world["A"].node.has_group
    world.start("B")
    assert world.is_soon_one("AB", 2 * SECOND)
    assert world["A"].node.view.coordinator == world["B"].address
    assert world.verdict() == []


@pytest.mark.parametrize("seed", range(5))
def test_starters_that_expect_nobody_still_found_one_group_the_lowest_first(seed: int) -> None:
    world = Members(seed)
    for name in "DCBA":
        world.start(name)
    assert world.is_soon_one("ABCD", 1 * SECOND)
    assert world["A"].node.view.id.creator == world["A"].address
    assert not world["A"].node.view.is_merge
    assert world.verdict() == []


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


@pytest.mark.parametrize("observers", ["", "C"])
def test_a_joiner_that_is_to_lead_is_told_the_view_by_who_has_it(observers: str) -> None:
    """Seed 310176: whoever made the view died before the joiner was told; the others waited for it to lead them."""
    world = Members(observers=observers)
    world.gather("A" + observers)
    world.fault("no-control", "A", "B")
    for name in "BC" if not observers else "B":
        world.start(name)
        world.run_for(2 * MS)

    def members(name: str) -> list[str]:
        part = world[name].node.coordination
        return [] if part is None or part.view is None else [member.name for member in part.view.members]

    assert world.run_until(lambda: "B" in members("C")) and not members("B")
    world.crash("A")
    world.mend()
    assert world.is_soon_one("BC")
    world.start("A")
    assert world.is_soon_one("ABC")
    assert world.verdict() == []
