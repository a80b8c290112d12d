"""Random pauses, cuts, crashes and restarts for a world of the test kit, and what must hold when they are over."""

from __future__ import annotations

import asyncio
import os
from random import Random

from ringcast.errors import RingcastError
from ringcast.model import Kind, ViewId
from ringcast.runtime import Group
from ringcast.testing import World

SEEDS = int(os.environ.get("RINGCAST_SEEDS", "3"))
PACE_SECONDS = 0.25  # views are the subject here, not load: a message now and then meets every change
VIEWS_PER_FAULT = 8  # each fault takes members away and brings them back, some as new incarnations


async def chatter(group: Group) -> None:
    """Sends now and then, and reads everything; what is refused is not sent."""
    reading = asyncio.create_task(_read(group))
    try:
        while True:
            try:
                await group.send(b"x" * 20)
            except RingcastError:
                await asyncio.sleep(0.2)
            await asyncio.sleep(PACE_SECONDS)
    finally:
        reading.cancel()


async def _read(group: Group) -> None:
    async for _ in group:
        pass


class Life:
    """What happens to a world, drawn from its seed. `spared` never crash."""

    def __init__(self, world: World, spared: str = "") -> None:
        self.world = world
        self.spared = spared
        self.faults = 0
        self._random = Random(f"{world.seed}/life")

    def trouble(self, steps: int) -> None:
        """Each step adds a fault or ends some, then lets time pass: too little to be noticed, or enough."""
        world, random = self.world, self._random
        for _ in range(steps):
            self.faults += 1
            name = random.choice(world.names)
            running = not world[name].is_over
            match random.choice(("crash", "freeze", "split", "isolate", "heal", "restart")):
                case "crash" if running and name not in self.spared:
                    world.crash(name)
                case "freeze" if running and not world[name].is_frozen:
                    world.freeze(name)
                case "split":
                    side = random.sample(world.names, random.randint(1, len(world.names) - 1))
                    world.partition(side, [other for other in world.names if other not in side])
                case "isolate":
                    world.isolate(name)
                case "restart":
                    self._start_all()
                case _:
                    world.heal()
            world.advance(random.choice((0.05, 0.3, 1.0, 2.0, 4.0)))

    def _start_all(self) -> None:
        for name in self.world.names:
            if self.world[name].is_over:
                self.world.start(name)

    def settle(self) -> None:
        """Everything heals, everybody is back; from then on there is one view that stays."""
        world = self.world
        world.heal()
        self._start_all()
        world.agree(limit=30)
        world.advance(8)
        views = {name: self.view_of(name) for name in world.names}
        world.advance(10)
        assert views == {name: self.view_of(name) for name in world.names}, "views follow each other without a cause"
        assert len(set(views.values())) == 1
        assert self._views() <= VIEWS_PER_FAULT * (self.faults + 2), world.story()

    def view_of(self, name: str) -> ViewId:
        group = self.world[name].group
        assert group is not None
        return group.view.id

    def _views(self) -> int:
        """How many views there were."""
        events = (event for recorder in self.world.recorders for event in recorder.events)
        return len({event.view for event in events if event.kind is Kind.VIEW})
