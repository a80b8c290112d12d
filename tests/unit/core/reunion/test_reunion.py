"""One state after a merge: who does it, what is held meanwhile, and what happens when it cannot be done."""

from __future__ import annotations

import pytest

from ringcast.core.control import Reunion, Side
from ringcast.core.state.merge_roles import reunion_after, reunion_of
from ringcast.model import MS, SECOND, Address, Kind, View, ViewId
from simulation.test_reunion import apart, has_reunited, numbered
from unit.core.reunion.world import ReunionWorld, Reuniting

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
V, W = ViewId(7, A), ViewId(8, B)


def test_the_first_that_may_coordinate_merges_and_the_first_of_each_side_gives() -> None:
    view = View(V, (A, B, C, D), observers=(A, C), subgroups=((A, B), (C, D)))
    assert reunion_of(view) == Reunion(V, V, B, (Side(B, (A, B)), Side(D, (C, D))), (A, B, C, D))


def test_a_side_of_observers_has_no_state_to_give() -> None:
    view = View(V, (A, B, C), observers=(C,), subgroups=((A, B), (C,)))
    assert reunion_of(view) == Reunion(V, V, A, (Side(A, (A, B)),), (A, B, C))
    assert reunion_of(View(V, (A, C), observers=(A, C), subgroups=((A,), (C,)))) is None


def test_another_merger_begins_anew_at_the_same_cut() -> None:
    before = Reunion(V, V, A, (Side(A, (A, B)), Side(C, (C, D))), (A, B, C, D))
    assert reunion_after(before, W, [A, C, D], ()) == before  # Nobody who works on it is gone.
    after = reunion_after(before, W, [B, C, D], ())
    assert after == Reunion(V, W, B, (Side(B, (A, B)), Side(C, (C, D))), (B, C, D))
    assert reunion_after(before, W, [A, B], ()) == Reunion(V, W, A, (Side(A, (A, B)),), (A, B))


def test_who_has_the_merged_state_gives_it_when_the_merger_dies_half_way() -> None:
    """B has it, nobody else: the state of B, as it is at the view without A, is for all; what they held is in it."""
    world = apart(5, each=60, pad=200)
    world.heal()
    world.blocked = lambda sender, receiver: sender == "A" and receiver in "CDE" and bool(world["A"].hooked)
    assert world.run_until(lambda: world["B"].reunited == 1)
    world.send("B", *numbered("b", 10))
    world.run_for(5 * MS)
    world.crash("A")
    assert world.run_until(lambda: has_reunited(world, "BCDE"), 20 * SECOND)
    assert [world[name].hooked for name in "BCDE"] == [[], [], [], []]
    assert len(world["C"].got) == len(set(world["C"].got)) == 1 + 60 + 60 + 10
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(8))
def test_a_merger_that_dies_while_it_gives_leaves_one_state(seed: int) -> None:
    """Whoever ended between its answer and the view did not count; so nobody is ahead of the others."""
    world = apart(seed, each=60, pad=200)
    world.loss = 0.1
    world.heal()
    assert world.run_until(lambda: bool(world["A"].hooked), 20 * SECOND)
    world.run_for(seed * 2 * MS)
    world.crash("A")
    world.send("C", *numbered("c", 20))
    assert world.run_until(lambda: has_reunited(world, "BCDE") and len(world["B"].got) == 141, 30 * SECOND)
    assert len(set(world["D"].got)) == 141
    assert world.verdict() == ""


def test_a_hook_that_fails_leaves_everybody_with_its_own_state_and_a_reason() -> None:
    world = apart(1)
    world["A"].hook_error = "ValueError: cannot be one"
    before = {name: world.state(name) for name in "ABCDE"}
    world.heal()
    assert world.run_until(lambda: all(world[name].apart for name in "ABCDE"))
    assert {tuple(world[name].apart) for name in "ABCDE"} == {("ValueError: cannot be one",)}
    world.send("D", b"after")
    assert world.run_until(lambda: all(world[name].messages("D")[-1:] == [b"after"] for name in "ABCDE"))
    assert all(world.state(name) == sorted([*before[name], ("D", b"after")]) for name in "ABCDE")
    handler = world["A"].node.coordination.membership.leading.handler  # type: ignore[union-attr]
    assert world.run_until(lambda: handler.phase == "idle", 1 * SECOND)
    steps = [event.detail["step"] for event in world["C"].recorder.events if event.kind is Kind.REUNION]  # type: ignore[index]
    assert steps == ["begin", "apart"]


@pytest.mark.parametrize("who", ["A", "B", "D"])
def test_a_member_whose_application_merges_nothing_lets_nobody_wait(who: str) -> None:
    """A would merge, D would give, B would only get."""
    world = apart(2)
    line = world[who].node.coordination.exchange.reunion  # type: ignore[union-attr]
    line.takes_part = False
    world.heal()
    others = "ABCDE".replace(who, "")
    assert world.is_soon_one("ABCDE")
    assert world.run_until(lambda: all(world[name].apart or world[name].reunited for name in others), 1 * SECOND)
    why = [] if who == "B" else [f"{world[who].address} was given no merge_state"]
    assert all(world[name].apart == why for name in others)
    assert world[who].stop is None


def test_a_giver_that_does_not_read_is_named_after_a_while_and_nobody_waits_for_ever() -> None:
    world = apart(3)
    world["D"]._read = lambda: False  # type: ignore[method-assign]
    world.heal()
    assert world.is_soon_one("ABCDE")
    assert world.run_until(lambda: all(world[name].apart for name in "ABCE"), 10 * SECOND)
    assert f"from {world['D'].address}; does it read its events?" in world["B"].apart[0]


def test_a_merger_that_does_not_read_lets_nobody_wait_for_ever() -> None:
    world = apart(3)
    world["A"]._read = lambda: False  # type: ignore[method-assign]
    world.heal()
    assert world.is_soon_one("ABCDE")
    assert world.run_until(lambda: all(world[name].apart for name in "BCDE"), 10 * SECOND)


def test_what_is_sent_behind_the_merge_view_is_held_within_the_window_until_the_state_is_there() -> None:
    world = apart(4)
    real = Reuniting._work
    world["A"]._work = lambda: False  # type: ignore[method-assign]
    world.heal()
    assert world.run_until(lambda: all(world[name].stop is not None for name in "ABCDE"))
    world.send("E", *numbered("e", 1_000))
    world.run_for(500 * MS)
    capacity = world["A"].node.view.capacity
    for name in "ABCDE":
        held = sum(getattr(item, "count", 0) for item in world[name].inbox)
        assert held <= capacity and len(world[name].got) == 31
    assert len(world["E"].outbox) >= 1_000 - capacity
    world["A"]._work = lambda: real(world["A"])  # type: ignore[method-assign]
    world["A"].settle([])
    assert world.run_until(lambda: has_reunited(world, "ABCDE") and len(world["A"].got) == 1_061)
    assert world.verdict() == ""


def test_three_sides_and_an_observer() -> None:
    world = ReunionWorld(6)
    for name in "ABCDE":
        world.start(name, expect=5, seeds="ABCDE", observer=name == "C")
    assert world.is_soon_one("ABCDE")
    sides = {"A": 0, "B": 0, "C": 1, "D": 1, "E": 2}
    world.blocked = lambda sender, receiver: sides[sender] != sides[receiver]
    assert world.is_soon_one("AB") and world.is_soon_one("CD") and world.is_soon_one("E")
    for name in "ADE":
        world.send(name, f"from {name}".encode())
    world.run_for(100 * MS)
    world.heal()
    assert world.run_until(lambda: has_reunited(world, "ABCDE") and len(world["C"].got) == 3, 20 * SECOND)
    assert world["C"].hooked == [] and world["C"].reunited >= 1


def test_who_joins_with_state_meanwhile_is_told_to_come_back_and_gets_the_merged_one() -> None:
    world = apart(7)
    real = Reuniting._work
    world["A"]._work = lambda: False  # type: ignore[method-assign]
    world.heal()
    assert world.run_until(lambda: all(world[name].stop is not None for name in "ABCDE"))
    world.start("J", with_state=True)
    world.start("K", observer=True)  # Without state: it may come at once.
    assert world.run_until(lambda: world["K"].view is not None)
    assert world["J"].view is None
    world["A"]._work = lambda: real(world["A"])  # type: ignore[method-assign]
    world["A"].settle([])
    assert world.run_until(lambda: world.is_one("ABCDEJK") and world.state("J") == world.state("A"), 20 * SECOND)
    assert len(world["J"].got) == 61


@pytest.mark.parametrize("seed", range(6))
def test_a_network_that_splits_again_while_states_become_one(seed: int) -> None:
    """Each side goes on with what it has; after the next heal there is one state, with every update once."""
    world = apart(seed, each=60, pad=200)
    world.heal()
    assert world.run_until(lambda: world["B"].stop is not None)
    world.run_for(seed * 3 * MS)
    world.blocked = lambda sender, receiver: (sender in "ABD") != (receiver in "ABD")
    assert world.is_soon_one("ABD") and world.is_soon_one("CE")
    world.heal()
    assert world.run_until(lambda: has_reunited(world, "ABCDE"), 30 * SECOND)
    assert len(set(world["A"].got)) == len(world["A"].got) == 121
    assert world.verdict() == ""
