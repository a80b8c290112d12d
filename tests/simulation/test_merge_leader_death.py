"""The merge leader dies after each packet that it sends, in turn; the survivors become one group all the same (M08).

Nothing here knows the steps of the merge: the crash is moved on packet by packet until the merge went through.
"""

from __future__ import annotations

import pytest

from integration.long import either
from ringcast.model import MS, SECOND
from unit.core.membership.world import Proc, World

MOST_PACKETS = 160
STEP = int(either(5, 10))


def crash_after(world: World, name: str, packets: int) -> None:
    last = world[name].frames_out + packets

    def killer(proc: Proc, packet: object) -> None:
        if proc.name == name and proc.frames_out >= last:
            world.crash(name)

    world.killer = killer


@pytest.mark.parametrize("victim", ["A", "C"])
def test_survivors_merge_wherever_a_coordinator_dies(victim: str) -> None:
    """A leads {A, B} and the merge; C leads {C, D}."""
    for packets in range(5 * "AC".index(victim), MOST_PACKETS, STEP):
        world = World(packets)
        for name in "ABCD":
            world.start(name, expect=4, seeds="ABCD")
        assert world.is_soon_one("ABCD")
        world.blocked = lambda sender, receiver: (sender in "AB") != (receiver in "AB")
        assert world.is_soon_one("AB") and world.is_soon_one("CD")
        for name in "ABCD":
            world.send(name, *[f"{name}{n}".encode() for n in range(40)])
        world.run_for(20 * MS)
        world.blocked = lambda sender, receiver: False
        crash_after(world, victim, packets)
        world.run_for(1 * SECOND)
        if world[victim].alive:
            world.crash(victim)
        survivors = [name for name in "ABCD" if name != victim]
        assert world.is_soon_one(survivors, 30 * SECOND), (packets, [str(world[n].view) for n in survivors])
        world.run_for(500 * MS)
        assert world.is_one(survivors), packets
        assert world.verdict() == "", packets
