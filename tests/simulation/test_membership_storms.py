"""Storms of crashes, leaves, restarts, freezes and cuts under load; then quiet, and one view (G1 to G10)."""

from __future__ import annotations

from random import Random

import pytest

from ringcast.model import MS, SECOND
from simulation.members import Members

DEEDS = ("crash", "leave", "restart", "send", "send", "send", "freeze", "thaw", "cut", "heal", "one way", "nothing")


class Storm:
    """Everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"storm {seed}")
        self.names = "ABCDEFG"[: self.random.randint(3, 7)]
        self.world = Members(seed, loss=self.random.choice([0.0, 0.02, 0.1]))
        self.world.start_together(self.names)
        self.world.run_for(self.random.randint(0, 1_500) * MS)

    def living(self) -> list[str]:
        return [process.name for process in self.world.alive()]

    def rage(self, deeds: int) -> None:
        for number in range(deeds):
            self._do(self.random.choice(DEEDS), number)
            self.world.run_for(self.random.choice([1, 5, 30, 100, 300, 1_000, 2_500]) * MS)

    def _do(self, deed: str, number: int) -> None:
        world, random, living = self.world, self.random, self.living()
        dead = [name for name in world.names if name not in living]
        name = random.choice(living) if living else ""
        if deed == "crash" and len(living) > 1:
            world.crash(name)
        elif deed == "leave" and name:
            world.leave(name)
        elif deed == "restart" and dead:
            world.start(random.choice(dead))
        elif deed == "send" and name:
            world.send(name, *[f"{name}{number}.{n}".encode() for n in range(random.randint(1, 200))])
        elif deed == "freeze" and name:
            world[name].freeze()
        elif deed == "thaw" and name and world[name].is_frozen:
            world[name].thaw()
        elif deed == "cut":
            side = {member: random.randint(0, 2) for member in self.names}
            world.cut(*["".join(name for name in self.names if side[name] == number) for number in range(3)])
        elif deed == "one way":
            world.mend()
            world.fault("one-way", random.choice(self.names), random.choice(self.names))
        elif deed == "heal":
            world.mend()

    def calm(self) -> None:
        self.world.mend()
        self.world.fault("loss")
        for process in self.world.alive():
            process.thaw()


@pytest.mark.parametrize("seed", range(12))
def test_after_a_storm_all_who_live_share_one_view_that_stays(seed: int) -> None:
    storm = Storm(seed)
    storm.rage(12)
    storm.calm()
    world = storm.world
    assert world.run_until(lambda: world.is_one(storm.living()), 40 * SECOND)
    world.run_for(3 * SECOND)
    assert world.is_one(storm.living())
    assert not any(world.application(name).outbox or world.application(name).lost for name in storm.living())
    assert world.verdict() == []
