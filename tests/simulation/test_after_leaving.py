"""A member left: nothing is sent to it any more once the limit of control streams has passed (Y19)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from ringcast.core import Packet
from ringcast.errors import StateError
from ringcast.model import SECOND, profile
from ringcast.runtime import Group
from ringcast.testing import World


async def read(group: Group) -> None:
    async for _ in group:
        pass


async def read_to_the_end(group: Group) -> None:
    with suppress(StateError):
        await read(group)


def test_no_packet_goes_to_a_member_that_left_y19() -> None:
    with World(read, 4, seed=3, config="lan") as world:
        left = world.names[1]
        world.leave(left)
        world.advance(profile("lan").resumer_ns / SECOND)
        sent: list[tuple[str, float]] = []

        def note(sender: str, to: str, packet: Packet) -> bool:
            if to == left:
                sent.append((sender, world.now))
            return False

        world.network.snares.append(note)
        world.advance(30)
        assert sent == []


def test_a_process_that_starts_where_a_member_left_joins_y19() -> None:
    with World(read, 3, seed=4, config="lan") as world:
        world.leave(world.names[1])
        world.advance(15)
        world.start(world.names[1])
        world.advance(0.1)
        world.agree(10)


def test_who_leaves_while_it_leaves_gets_no_error() -> None:
    """Simulated seed 6 (rejoin): the second call waited for the one order when the first one closed the group."""
    with World(read, 3, seed=5, config=profile("test", leave_ns=200_000_000)) as world:
        group = world["A"].group
        assert group is not None
        seconds = world.config.leave_ns / SECOND

        async def leave_twice() -> None:
            first = asyncio.create_task(group.leave())
            await asyncio.sleep(0.6 * seconds)
            await group.leave()
            await first

        world.isolate("A")
        world.do("A", group.queue(b"nobody gives it a place"))
        world.do("A", leave_twice())
        world.heal()


def test_who_leaves_and_loses_its_place_meanwhile_gets_no_error() -> None:
    """Seed 1 of the rejoin workload: it came back, nobody had the state any more, and it was leaving already."""
    with World(read_to_the_end, 3, seed=5, config="test") as world:
        group = world["A"].group
        assert group is not None

        async def leave_and_end() -> None:
            leaving = asyncio.create_task(group.leave())
            await asyncio.sleep(0.01)
            group._end(StateError("nobody in the view has the state"), "no state")
            await leaving

        world.isolate("A")
        world.do("A", group.queue(b"nobody gives it a place"))
        world.do("A", leave_and_end())
        world.heal()


def test_a_member_that_left_and_starts_again_without_knowing_anybody_meets_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It founded a second group in silence, and the two never met: nobody looked for it where it had been."""
    with World(read, 3, seed=6) as world:
        world.leave("B")
        world.advance(0.3)
        monkeypatch.setattr(type(world), "names", property(lambda self: ["B"]))  # all that any discovery finds
        process = world.start("B")
        assert world.run_until(lambda: process.group is not None and len(process.group.members) == 3)
        monkeypatch.undo()
