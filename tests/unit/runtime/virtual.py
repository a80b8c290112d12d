"""The world of test_join.py in virtual time: a machine that is slow changes nothing, and nobody waits for a limit."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from random import Random

from ringcast.model import Address
from ringcast.runtime.host import RealHost
from ringcast.sim import Clock
from ringcast.sim.loop import VirtualLoop
from ringcast.sim.passing import Passing
from unit.runtime.test_join import World

LIMIT_NS = 600 * 10**9


class VirtualHost(RealHost):
    """What ships, but for the thread that beats; a run is repeated by the next one."""

    beats_itself = True

    def __init__(self, loop: VirtualLoop) -> None:
        self.now_ns = loop.now_ns  # type: ignore[misc]  # each has its own
        self._begun = 0

    def incarnation(self) -> int:  # type: ignore[override]
        self._begun += 1
        return self._begun

    def random(self, me: Address) -> Random:
        return Random(f"{me.name}/{me.incarnation}")


def in_virtual_world(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        passing = Passing(clock := Clock())
        loop = VirtualLoop(
            clock, lambda told: passing.complain("the world", told.get("exception"), str(told["message"]))
        )  # type: ignore[abstract]  # without sockets on purpose

        async def body() -> None:
            async with AsyncExitStack() as stack:
                await test(World(stack, VirtualHost(loop)))

        task = loop.create_task(body())
        try:
            assert passing.until(LIMIT_NS, task.done), "it still waits"
        finally:
            passing.is_over = True
            for left in loop.unfinished():
                left.cancel()
            passing.until(clock.now_ns + LIMIT_NS, lambda: not loop.unfinished())
        task.result()

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run
