"""Who learns that the others went on without it: a member from its coordinator, a coordinator from everybody."""

import pytest

from ringcast.core.control import Join
from ringcast.model import SECOND
from unit.core.membership.world import World


@pytest.mark.parametrize("names", ["ABC", "ABCDEFGHIJ"], ids=["all watch it", "some watch it"])
@pytest.mark.parametrize("seed", range(3))
def test_a_frozen_coordinator_is_excluded_and_learns_of_it(seed: int, names: str) -> None:
    world = World(seed)
    world.group(names)
    world["A"].frozen = True
    assert world.is_soon_one(names[1:])
    assert not world["A"].excluded
    world["A"].thaw()
    assert world.run_until(lambda: world["A"].excluded)
    assert not any(world[name].excluded for name in names[1:])


def test_a_coordinator_is_not_excluded_by_one_that_went_alone() -> None:
    """B hears nobody and goes on by itself; A, which leads, still has C."""
    world = World(1)
    world.group("ABC")
    world.blocked = lambda sender, receiver: receiver == "B"
    assert world.is_soon_one("AC")
    world.run_for(5 * SECOND)
    assert not world["A"].excluded and not world["C"].excluded


def test_a_join_that_is_older_than_its_sender_s_membership_brings_nobody_back() -> None:
    """Simulated seed 1161: repaired after seconds, it set the stream of a former member back to its beginning."""
    world = World(1)
    world.group("ABC")
    world.send("C", b"one")
    assert world.run_until(lambda: all(world[name].messages("C") == [b"one"] for name in "ABC"))
    world["C"].frozen = True
    assert world.is_soon_one("AB")
    world.run_for(SECOND // 10)
    config = world["C"].node.config
    late = Join(False, False, config.capacity, config.window_bytes)
    world["A"].settle(world["A"].node.coordination.on_message(world.now, world["C"].address, late))
    before = world["A"].view
    world.run_for(1 * SECOND)
    assert world["A"].view == before
    world["C"].thaw()
    assert world.is_soon_one("ABC")
    world.send("C", b"two")
    assert world.run_until(lambda: all(world[name].messages("C")[-1:] == [b"two"] for name in "AB"))
    assert world.verdict() == ""


def test_a_joiner_that_was_in_a_view_and_never_knew_it_may_ask_again() -> None:
    world = World(1)
    world.group("AB")
    deaf_c = {"C"}
    world.blocked = lambda sender, receiver: receiver in deaf_c
    proc = world.start("C", seeds="AB")
    world.run_for(SECOND // 10)
    join = Join(False, False, proc.node.config.capacity, proc.node.config.window_bytes)
    world["A"].settle(world["A"].node.coordination.on_message(world.now, proc.address, join))
    assert world.run_until(lambda: proc.address in world["A"].view)
    assert world.is_soon_one("AB")
    deaf_c.clear()
    assert world.is_soon_one("ABC")
    assert world.verdict() == ""
