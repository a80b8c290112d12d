"""Groups whose members write down everything they read, in the simulated world, and make one list of it after a merge.

Merged, each entry stands once; so an update that is in the merged state and is delivered again would stand twice, and
one that is in neither is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from ringcast.model import Address, Message, StatesApart
from ringcast.runtime import Group
from ringcast.testing import World

Entries = list[tuple[str, bytes]]


class Ledger:
    """`reads` and `merges` are open; who closes one lets the program stop there."""

    def __init__(self) -> None:
        self.got: Entries = []
        self.hooked: list[int] = []  # how many sides each call of the hook got
        self.apart: list[str] = []
        self.loaded = 0
        self.sent = 0
        self.error: str | None = None  # what the hook fails with
        self.reads, self.merges = asyncio.Event(), asyncio.Event()
        self.reads.set()
        self.merges.set()

    async def run(self, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                self.got.append((event.sender.name, event.payload))
            elif isinstance(event, StatesApart):
                self.apart.append(event.why)
            await self.reads.wait()

    async def send(self, group: Group, payloads: Sequence[bytes]) -> None:
        for payload in payloads:
            await group.send(payload)
            self.sent += 1

    def get_state(self) -> bytes:
        return b"".join(b"%s:%s\n" % (sender.encode(), payload) for sender, payload in self.got)

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.got = entries_of(b"".join([chunk async for chunk in chunks]))
        self.loaded += 1

    async def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        self.hooked.append(len(sides))
        await self.merges.wait()
        if self.error is not None:
            raise ValueError(self.error)
        return b"".join(sorted({line: None for state in sides.values() for line in state.splitlines(keepends=True)}))


def entries_of(state: bytes) -> Entries:
    return [(line.partition(b":")[0].decode(), line.partition(b":")[2]) for line in state.splitlines()]


def numbered(name: str, count: int, pad: int = 0) -> list[bytes]:
    return [f"{name}{n}".encode() + b"." * pad for n in range(count)]


def send(world: World, name: str, *payloads: bytes) -> None:
    """In that process, while time passes."""
    group = world[name].group
    assert group is not None
    world.spawn(name, world.apps[name].send(group, payloads))


def apart(
    seed: int, left: str = "ABC", right: str = "DE", each: int = 30, pad: int = 0, observers: Sequence[str] = ()
) -> World:
    """Two sides with different states."""
    world = World(Ledger, list(left + right), seed=seed, observers=observers)
    send(world, left[0], b"both")
    world.settle()
    world.partition(left)
    world.advance(3)
    send(world, left[-1], *numbered("l", each, pad))
    send(world, right[-1], *numbered("r", each, pad))
    world.advance(0.5)
    apps = world.apps
    assert len(apps[left[0]].got) == len(apps[right[0]].got) == 1 + each
    for app in apps.values():
        app.loaded = 0
    return world


def is_waiting(world: World, name: str) -> bool:
    """It stands behind the MergeView until there is one state."""
    coordination = world[name].node.coordination
    return coordination is not None and coordination.exchange.reunion.reunion is not None


def one_list(world: World) -> Entries:
    """What everybody holds, once all hold the same."""
    world.settle(60)
    entries: Entries = world.same(lambda app: app.got)
    assert len(set(entries)) == len(entries)
    return entries
