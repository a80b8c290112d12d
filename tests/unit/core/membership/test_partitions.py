"""A split group becomes one again by itself, inside the real nodes (seed 000, G6 to G10)."""

from __future__ import annotations

import pytest

from ringcast.core.control import Cancel
from ringcast.model import MS, SECOND
from ringcast.sim import Process
from simulation.members import Members, told


@pytest.mark.parametrize("seed", range(3))
def test_two_halves_merge_and_repeat_nothing(seed: int) -> None:
    world = Members(seed, loss=0.02)
    world.gather("ABCDEF")
    world.cut("ABC", "DEF")
    assert world.is_soon_one("ABC") and world.is_soon_one("DEF")
    for name in "AD":
        world.send(name, *[f"{name}{n}".encode() for n in range(200)])
    world.run_for(300 * MS)
    world.mend()
    assert world.is_soon_one("ABCDEF", 10 * SECOND)
    view = world["A"].node.view
    assert sorted(sorted(m.name for m in subgroup) for subgroup in view.subgroups) == [list("ABC"), list("DEF")]
    world.send("A", b"after")
    assert world.run_until(lambda: all(world.messages(n, "A")[-1:] == [b"after"] for n in "ABCDEF"))
    assert world.messages("B", "A") == world.messages("A", "A")
    assert world.verdict() == []


def joining_behind_a_merge(late_ms: int) -> tuple[Members, Process]:
    """The coordinator of the other side tells a member of it late; the merge leader calls the roll on it meanwhile."""
    world = Members()
    world.start_together("ABCD")
    assert world.is_soon_one("ABCD")
    world.cut("AB", "CD")
    assert world.is_soon_one("AB") and world.is_soon_one("CD")
    world.run_for(1 * SECOND)
    coordinator, other = (member.name for member in world["C"].node.view.members)
    world.mend()
    assert world.run_until(lambda: world["A"].node.view.is_merge)
    world.fault("one-way", coordinator, other)
    world.clock.after(late_ms * MS, world.mend)
    assert not world[other].node.view.is_merge
    world.start("J")
    return world, world[other]


@pytest.mark.parametrize("late_ms", [0, 50, 300])
def test_a_join_directly_behind_a_merge_excludes_nobody_who_has_not_got_the_merge_view_yet(late_ms: int) -> None:
    world, late = joining_behind_a_merge(late_ms)
    assert world.is_soon_one("ABCDJ")
    assert [len(view.members) for view in late.app.views[-3:]] == [2, 4, 5]
    assert world.verdict() == []


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_roll_call_that_is_cancelled_before_its_view_comes_is_not_answered(is_cancelled: bool) -> None:
    world, late = joining_behind_a_merge(100)
    coordination, leader = late.node.coordination, world["A"]
    assert coordination is not None and leader.node.coordination is not None
    leading = leader.node.coordination.membership.as_coordinator
    assert leading is not None
    world.run_for(60 * MS)
    assert leading.change is not None and not late.node.view.is_merge
    if is_cancelled:
        world.into(late.name, told(leader.address, Cancel(leading.change.roll_call.id)))
    assert world.run_until(lambda: late.node.view.is_merge)
    assert coordination.membership.is_promised is not is_cancelled
    assert world.is_soon_one("ABCDJ")


@pytest.mark.parametrize("seed", range(3))
def test_a_merge_under_load(seed: int) -> None:
    world = Members(seed)
    world.gather("ABCD")
    world.cut("AB", "CD")
    for name in "ABCD":
        world.send(name, *[f"{name}{n}".encode() for n in range(1_000)])
    assert world.is_soon_one("AB") and world.is_soon_one("CD")
    assert all(world.application(name).outbox for name in "CD")
    world.mend()
    assert world.is_soon_one("ABCD", 10 * SECOND)
    assert world.run_until(lambda: not any(world.application(n).outbox for n in "ABCD"))
    world.run_for(200 * MS)
    assert world.verdict() == []


@pytest.mark.parametrize("sides", [("A", "B", "C", "D"), ("AB", "C", "D"), ("ABD", "C"), ("A", "BCD"), ("AC", "BD")])
def test_every_kind_of_split_of_four_heals(sides: tuple[str, ...]) -> None:
    world = Members(7)
    world.gather("ABCD")
    world.cut(*sides)
    assert all(world.is_soon_one(side) for side in sides)
    world.mend()
    assert world.is_soon_one("ABCD", 15 * SECOND)
    assert world.verdict() == []


def test_a_frozen_member_comes_back_by_merge() -> None:
    world = Members(2)
    world.gather("ABCD")
    world["B"].freeze()
    assert world.is_soon_one("ACD")
    world["B"].thaw()
    assert world.is_soon_one("ABCD", 20 * SECOND)
    assert world.verdict() == []


def test_a_split_start_is_healed() -> None:
    world = Members(3)
    world.cut("AB", "CD")
    for name in "ABCD":
        world.start(name, expect=2)
    assert world.is_soon_one("AB") and world.is_soon_one("CD")
    world.mend()
    assert world.is_soon_one("ABCD", 15 * SECOND)
    assert world.verdict() == []


def test_a_one_way_cut_ends_in_one_view() -> None:
    world = Members(4)
    world.gather("ABC")
    world.fault("one-way", "A", "C")
    world.run_for(3 * SECOND)
    world.mend()
    assert world.is_soon_one("ABC", 20 * SECOND)
    world.run_for(2 * SECOND)
    assert world.is_one("ABC")
    assert world.verdict() == []


def test_a_flapping_link_ends_in_one_view() -> None:
    world = Members(5)
    world.gather("ABCD")
    for _ in range(8):
        world.cut("AB", "CD")
        world.run_for(1_500 * MS)
        world.mend()
        world.run_for(1_500 * MS)
    assert world.is_soon_one("ABCD", 20 * SECOND)
    world.run_for(2 * SECOND)
    assert world.is_one("ABCD")
    assert world.verdict() == []
