"""A service of blocks for a world of the test kit: what runs in each process, and random work on it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable

from ringcast import Group, StateError, ViewId
from ringcast.blocks import SharedGroup
from ringcast.blocks.block import Block
from ringcast.testing import Diverged, Unsettled, Violated, World

SECOND = 1_000_000_000
STEP = 0.25  # virtual seconds between two looks
LIMIT = 60.0  # virtual seconds in which everything must settle
SEEDS = int(os.environ.get("RINGCAST_SEEDS", "2"))
ODD = (1, 3, 5)  # seeds with four members, for stories that name them
FIRST_SEED = int(os.environ.get("RINGCAST_FIRST_SEED", "0"))


class Service:
    """Blocks on the group of one process. Subclasses make the blocks and may work with them in `live`."""

    is_enough = False  # nothing new is to be begun

    def __init__(self) -> None:
        self.shared = SharedGroup(*self.make())
        self.get_state = self.shared.get_state
        self.merge_state = self.shared.merge_state

    def make(self) -> list[Block]:
        return []

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        await self.shared.set_state(chunks)
        self.on_loaded(self.shared._state_view)

    def on_loaded(self, view: int) -> None:
        """A state was loaded, cut at the view with this number."""

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


# ("view", its id), ("op", what), ("load", the number of the view where the state was cut), in a process' own order
Log = list[tuple[str, object]]


def differing(logs: list[Log]) -> list[str]:
    """Independent of the blocks: processes that go together from a view to the next saw the same between them (G5).

    Whoever loaded a state that was cut behind the view that it had read did not go with them: the rest is in the state.
    """
    seen: dict[tuple[object, object], list[list[object]]] = {}
    for log in logs:
        view: object = None
        between: list[object] = []
        for what, item in log:
            if what == "op":
                between.append(item)
                continue
            if what == "load":
                view = view if isinstance(view, ViewId) and view.number == item else None
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


def settle(world: World) -> None:
    """As `World.settle`. A process that lost its place, came back and was cut off before it had the state has ended
    with StateError: it is started again, as whoever runs a service would do."""
    end = world.now + LIMIT
    while True:
        for name, app in world.apps.items():
            if isinstance(app.shared._ended, StateError):
                world.crash(name)
                world.start(name)
        try:
            world.settle(2)
        except Unsettled:
            if world.now >= end:
                raise
        else:
            return


def finish(world: World, is_done: Callable[[], bool], limit: float) -> None:
    """The trouble is over: a second later nobody begins anything new; let time pass until this is so, at most `limit`
    seconds, and then until everything is settled.

    Then nothing waits any more, so the world need not wait for long at its end. Quiet time finds nothing and costs as
    much as any other.
    """
    settle(world)
    world.advance(1)
    for app in world.apps.values():
        app.is_enough = True
    end = world.now + limit
    while not is_done():
        if world.now >= end:
            raise Unsettled(f"somebody is not done {limit:g} s after everything has settled; seed={world.seed}")
        world.advance(STEP)
    settle(world)
    world._bound_ns = SECOND


def is_caught(run: Callable[[], list[str]]) -> bool:
    """Does this run of a planted mistake say that something is wrong: in its list, or that members differ or hang?"""
    try:
        return bool(run())
    except (Diverged, Unsettled, Violated):
        return True


def cut_and_crash(world: World) -> None:
    """One story with everything in it that blocks must bear: two sides that merge, a crash, a newcomer."""
    world.partition("AB")
    world.advance(3)
    world.heal()
    world.agree(60)
    world.crash("D")
    world.advance(2)
    world.start("D")
