"""What `explain()` says where something is wrong for long: true sentences, derived from what the member knows."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from ringcast.errors import StateError
from ringcast.runtime import Group
from ringcast.testing import World
from simulation.groups import group_of, idle


async def reads(group: Group) -> None:
    async for _ in group:
        pass


async def stays(group: Group) -> None:
    """Whatever ends its place, the process goes on."""
    with suppress(StateError):
        await reads(group)
    await asyncio.sleep(3600)


def waiting_flush(world: World, name: str) -> asyncio.Task[None]:
    async def flush() -> None:
        group = group_of(world, name)
        await group.send(b"x")
        await group.flush()

    return world.spawn(name, flush())


@pytest.mark.parametrize("ends", [("A", "B"), ("B", "A")])
def test_a_dead_link_is_not_taken_for_an_application_that_does_not_read(ends: tuple[str, str]) -> None:
    """C hears both: A waits for an ack of B that cannot come, and says why, and what will be decided."""
    with World(reads, 3, seed=2, config="lan", bound=90) as world:
        world.fault("one-way", *ends)
        flushed = waiting_flush(world, "A")
        world.advance(4)
        words = group_of(world, "A").explain()
        assert not flushed.done()
        assert "it lives, and it and A do not hear each other" in words
        assert "they hear each other again, or one of them is excluded; that is decided after 2.0 s" in words
        assert f"{ends[1]} does not hear {ends[0]}; others do" in words
        assert f"{ends[1]} does not hear {ends[0]}; others do" in group_of(world, "C").explain()
        assert "has not read the rest" not in words and "of silence" not in words
        world.heal()


def test_who_is_held_back_for_a_bad_link_comes_back_when_the_link_is_good() -> None:
    with World(reads, 3, seed=2, config="lan", bound=90) as world:
        world.fault("one-way", "A", "B")
        world.fault("one-way", "B", "A")
        world.advance(12)
        members = {name: group_of(world, name).members for name in world.names}
        (alone,) = (name for name, found in members.items() if len(found) == 1)
        (other,) = {"A", "B"} - {alone}
        assert f"or when it and {other} have heard each other for 2.0 s" in group_of(world, other).explain()
        world.heal()
        world.agree(10)


def test_where_only_observers_are_left_no_view_without_the_dead_is_promised() -> None:
    with World(idle, list("ABOP"), seed=1, observers="OP", bound=30) as world:
        world.crash("A")
        world.crash("B")
        world.advance(60)
        words = group_of(world, "O").explain()
        assert "A is suspected (silent); nobody excludes it: only observers are left" in words
        assert "on its way" not in words and "makes a view without it" not in words
        world.start("A")
        world.start("B")
        world.agree(limit=20)


def test_after_leaving_a_member_says_that_it_is_out() -> None:
    """All others are frozen, so nobody confirms the leave; three seconds later the place is over."""
    with World(reads, 3, seed=1, config="lan", bound=60) as world:
        world.advance(3)
        world.freeze("B")
        world.freeze("C")
        group = group_of(world, "A")
        left = world.spawn("A", group.leave())
        world.advance(1)
        assert "leave waits for 1.0 s" in group.explain()
        world.advance(3)
        assert left.done()
        words = group.explain()
        assert "A at mem:A is no longer in group world: its place ended" in words
        assert "nothing waits" not in words and "suspected" not in words
        world.heal()


def test_after_a_state_error_nobody_says_that_it_comes_back() -> None:
    """Its place is over: it meets no primary side any more, whatever its node last knew."""
    with World(stays, 3, seed=1, partition="primary", bound=30) as world:
        world.isolate("C")
        world.advance(8)
        group = group_of(world, "C")
        assert "this side is not primary" in group.explain()
        group._end(StateError("nobody in the view has the state"), "no state")
        world.advance(120)
        words = group.explain()
        assert "is no longer in group world: its place ended 120.0 s ago (no state)" in words
        assert "comes back" not in words and "not primary" not in words
        assert group.status()["not_ready_because"] == "this member's place in the group has ended"
        world.heal()
