"""Who learns that the others went on without it: a member from its coordinator, a coordinator from everybody."""

import pytest

from ringcast.core.control import Join
from ringcast.model import SECOND
from simulation.members import Members, excluded, told


def say_join(world: Members, joiner: str, to: str) -> None:
    """The JOIN of this process reaches that member now, whatever else does."""
    process = world[joiner]
    join = Join(False, False, process.node.config.capacity, process.node.config.window_bytes)
    world.into(to, told(process.address, join))


@pytest.mark.parametrize("names", ["ABC", "ABCDEFGHIJ"], ids=["all watch it", "some watch it"])
@pytest.mark.parametrize("seed", range(3))
def test_a_frozen_coordinator_is_excluded_and_learns_of_it(
    seed: int, names: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = Members(seed)
    world.gather(names)
    world["A"].freeze()
    assert world.is_soon_one(names[1:])
    assert excluded(caplog) == []
    world["A"].thaw()
    assert world.run_until(lambda: bool(excluded(caplog)))
    assert excluded(caplog) == ["A#1"]


def test_a_coordinator_is_not_excluded_by_one_that_went_alone(caplog: pytest.LogCaptureFixture) -> None:
    """B hears nobody and goes on by itself; A, which leads, still has C."""
    world = Members(1)
    world.gather("ABC")
    world.fault("deaf", "B")
    assert world.is_soon_one("AC")
    world.run_for(5 * SECOND)
    assert not {"A#1", "C#1"} & set(excluded(caplog))


def test_a_join_that_is_older_than_its_sender_s_membership_brings_nobody_back() -> None:
    """Simulated seed 1161: repaired after seconds, it set the stream of a former member back to its beginning."""
    world = Members(1)
    world.gather("ABC")
    world.send("C", b"one")
    assert world.run_until(lambda: all(world.messages(name, "C") == [b"one"] for name in "ABC"))
    world["C"].freeze()
    assert world.is_soon_one("AB")
    world.run_for(SECOND // 10)
    say_join(world, "C", "A")
    before = world["A"].node.view
    world.run_for(1 * SECOND)
    assert world["A"].node.view == before
    world["C"].thaw()
    assert world.is_soon_one("ABC")
    world.send("C", b"two")
    assert world.run_until(lambda: all(world.messages(name, "C")[-1:] == [b"two"] for name in "AB"))
    assert world.verdict() == []


def test_a_joiner_that_was_in_a_view_and_never_knew_it_may_ask_again() -> None:
    world = Members(1)
    world.gather("AB")
    world.fault("deaf", "C")
    world.start("C")
    world.run_for(SECOND // 10)
    say_join(world, "C", "A")
    assert world.run_until(lambda: world["C"].address in world["A"].node.view)
    assert world.is_soon_one("AB")
    world.mend()
    assert world.is_soon_one("ABC")
    assert world.verdict() == []
