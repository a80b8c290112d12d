"""A service of blocks for a world of the test kit: what runs in each process, and random work on it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from ringcast import Group
from ringcast.blocks import SharedGroup
from ringcast.blocks.block import Block
from ringcast.testing import World

SEEDS = int(os.environ.get("RINGCAST_SEEDS", "2"))
FIRST_SEED = int(os.environ.get("RINGCAST_FIRST_SEED", "0"))


class Service:
    """Blocks on the group of one process. Subclasses make the blocks and may work with them in `live`."""

    def __init__(self) -> None:
        self.shared = SharedGroup(*self.make())
        self.get_state = self.shared.get_state
        self.set_state = self.shared.set_state
        self.merge_state = self.shared.merge_state

    def make(self) -> list[Block]:
        return []

    async def run(self, group: Group) -> None:
        async with self.shared.on(group):
            await self.live()

    async def live(self) -> None:
        await asyncio.Event().wait()


def service(make: Callable[[], list[Block]]) -> type[Service]:
    """A service that only has these blocks."""

    class Plain(Service):
        def make(self) -> list[Block]:
            return make()

    return Plain


Log = list[tuple[str, object]]  # ("view", its id) and ("op", what), in a process' own order


def differing(logs: list[Log]) -> list[str]:
    """Independent of the blocks: processes that go together from a view to the next saw the same between them (G5)."""
    seen: dict[tuple[object, object], list[list[object]]] = {}
    for log in logs:
        view: object = None
        between: list[object] = []
        for what, item in log:
            if what == "op":
                between.append(item)
                continue
            if view is not None and view != item:
                seen.setdefault((view, item), []).append(between)
            view, between = item, []
    return [
        f"between {views[0]} and {views[1]}: {first} and {other}"
        for views, (first, *others) in seen.items()
        for other in others
        if other != first
    ]


def cut_and_crash(world: World) -> None:
    """One story with everything in it that blocks must bear: two sides that merge, a crash, a newcomer."""
    world.partition("AB")
    world.advance(3)
    world.heal()
    world.agree(60)
    world.crash("D")
    world.advance(2)
    world.start("D")
