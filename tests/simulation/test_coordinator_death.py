"""The coordinator dies after each packet that it sends during a roll call, in turn; the survivors always agree.

Nothing here knows the steps of the protocol: the crash is moved on packet by packet until the change went through.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from integration.long import either
from ringcast.model import MS, SECOND
from simulation.members import Members

MOST_PACKETS = 160
STEP = int(either(4, 10))


def joins(world: Members) -> str:
    world.start("J")
    return "BCDJ"


def leaves(world: Members) -> str:
    world.leave("B")
    return "CD"


def crashes(world: Members) -> str:
    world.crash("C")
    return "BD"


def hands_over(world: Members) -> str:
    world.leave("A")
    return "BCD"


def several(world: Members) -> str:
    world.start("J")
    world.leave("B")
    world.crash("D")
    return "CJ"


CHANGES = [joins, leaves, crashes, hands_over, several]


@pytest.mark.parametrize("change", CHANGES)
def test_survivors_agree_wherever_the_coordinator_dies(change: Callable[[Members], str]) -> None:
    """Each change begins at another packet, so that together they cover every second one."""
    for packets in range(2 * CHANGES.index(change), MOST_PACKETS, STEP):
        world = Members(packets, loss=0.02)
        world.start_together("ABCD")
        assert world.is_soon_one("ABCD")
        for name in "ABCD":
            world.send(name, *[f"{name}{n}".encode() for n in range(60)])
        world.run_for(5 * MS)
        world.crash_after("A", packets)
        survivors = change(world)
        world.run_for(400 * MS)
        if world.is_alive("A"):
            world.crash("A")
        assert world.is_soon_one(survivors, 20 * SECOND), (packets, [world[n].node.view for n in survivors])
        world.run_for(500 * MS)
        assert world.is_one(survivors), packets
        sent = {name: len(world.messages(survivors[0], name)) for name in "ABCD"}
        for name in survivors:
            if name != "J":
                assert {n: len(world.messages(name, n)) for n in "ABCD"} == sent, (packets, name)
        assert world.verdict() == [], packets
