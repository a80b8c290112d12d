"""The merge leader dies after each packet that it sends, in turn; the survivors become one group all the same (M08).

Nothing here knows the steps of the merge: the crash is moved on packet by packet until the merge went through.
"""

from __future__ import annotations

import pytest

from integration.long import either
from ringcast.model import MS, SECOND
from simulation.members import Members

MOST_PACKETS = 160
STEP = int(either(5, 10))


@pytest.mark.parametrize("victim", ["A", "C"])
def test_survivors_merge_wherever_a_coordinator_dies(victim: str) -> None:
    """A leads {A, B} and the merge; C leads {C, D}."""
    for packets in range(5 * "AC".index(victim), MOST_PACKETS, STEP):
        world = Members(packets)
        world.start_together("ABCD")
        assert world.is_soon_one("ABCD")
        world.cut("AB", "CD")
        assert world.is_soon_one("AB") and world.is_soon_one("CD")
        for name in "ABCD":
            world.send(name, *[f"{name}{n}".encode() for n in range(40)])
        world.run_for(20 * MS)
        world.mend()
        world.crash_after(victim, packets)
        world.run_for(1 * SECOND)
        if world.is_alive(victim):
            world.crash(victim)
        survivors = [name for name in "ABCD" if name != victim]
        assert world.is_soon_one(survivors, 30 * SECOND), (packets, [str(world[n].node.view) for n in survivors])
        world.run_for(500 * MS)
        assert world.is_one(survivors), packets
        assert world.verdict() == [], packets
