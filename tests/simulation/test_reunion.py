"""States become one after a merge: exactly, wherever somebody dies (the merger, a giver, anybody)."""

from __future__ import annotations

import pytest

from integration.long import either
from ringcast.model import MS, SECOND
from unit.core.membership.world import Proc
from unit.core.reunion.world import ReunionWorld


def numbered(name: str, count: int, pad: int = 0) -> list[bytes]:
    return [f"{name}{n}".encode() + b"." * pad for n in range(count)]


def apart(seed: int, left: str = "ABC", right: str = "DE", each: int = 30, pad: int = 0) -> ReunionWorld:
    """Two sides with different states."""
    world = ReunionWorld(seed)
    for name in left + right:
        world.start(name, expect=len(left + right), seeds=left + right)
    assert world.is_soon_one(left + right)
    world.send(left[0], b"both")
    world.run_for(100 * MS)
    world.split(left, right)
    world.send(left[-1], *numbered("l", each, pad))
    world.send(right[-1], *numbered("r", each, pad))
    world.run_for(300 * MS)
    assert world.state(left[0]) == world.state(left[-1]) != world.state(right[0])
    return world


def has_reunited(world: ReunionWorld, names: str) -> bool:
    states = [world.state(name) for name in names]
    idle = all(world[name].stop is None and not world[name].inbox for name in names)
    return idle and world.is_one(names) and all(state == states[0] for state in states)


@pytest.mark.parametrize("seed", range(4))
def test_all_have_the_merged_state_and_every_update_once(seed: int) -> None:
    world = apart(seed)
    world.heal()
    for name in "BE":  # Both sides go on sending through the merge.
        world.send(name, *numbered(f"{name}-", 200))
    assert world.run_until(lambda: has_reunited(world, "ABCDE") and len(world["A"].got) == 461, 20 * SECOND)
    for name in "ABCDE":
        assert len(set(world["A"].got)) == len(world["A"].got) == 461
        assert world[name].apart == []
    assert [len(world[name].hooked) for name in "ABCDE"] == [1, 0, 0, 0, 0]
    assert world["A"].hooked == [2]
    assert world.verdict() == ""


MOST_PACKETS = 120
STEP = int(either(3, 20))


@pytest.mark.parametrize("victim", list("ABDE"))
def test_wherever_somebody_dies_the_others_end_with_one_state_and_lose_no_update(victim: str) -> None:
    """A leads and merges, D gives the state of its side; the crash is moved on packet by packet."""
    for packets in range(0, MOST_PACKETS, STEP):
        world = apart(packets, each=60, pad=200)
        last = world[victim].frames_out + packets

        def killer(proc: Proc, packet: object, last: int = last, world: ReunionWorld = world) -> None:
            if proc.name == victim and proc.frames_out >= last:
                world.crash(victim)

        world.heal()
        world.killer = killer
        world.run_for(40 * MS)
        survivors = "ABCDE".replace(victim, "")
        world.send("C", *numbered("c", 20))
        world.run_for(1 * SECOND)
        if world[victim].alive:
            world.crash(victim)
        assert world.run_until(lambda: has_reunited(world, survivors), 60 * SECOND), (  # noqa: B023
            packets,
            {n: (str(world[n].view), len(world[n].got), world[n].role, world[n].apart) for n in survivors},
        )
        state = world.state("C")
        assert len(set(state)) == len(state), packets
        assert {payload for _, payload in state} >= {*numbered("l", 60, 200), *numbered("r", 60, 200)}, packets
        assert all(world[name].apart == [] for name in survivors), packets
        assert world.verdict() == "", packets
