"""Short lives of groups with every block on them, one member of which throws changed copies of their messages at all.

Such a member may write what it likes, as any member may; but what it sends ends nobody's blocks, hangs nobody, and
members that go together still hold the same.
"""

from __future__ import annotations

import asyncio
from random import Random

from ringcast import TOTAL, Batch, Order, RingcastError
from ringcast.blocks import Channel, Locks, ReplicatedCounter, ReplicatedDict, ReplicatedSet, Rpc, SharedGroup
from ringcast.blocks.block import Block
from ringcast.testing import World
from simulation.blocks.kit import Service, settle
from simulation.fuzzing.mutation import mutated

KEPT = 300  # payloads that may come again, changed


class Listening(SharedGroup):
    """Keeps what is delivered."""

    heard: list[bytes]
    random: Random

    def _hand_on(self, batch: Batch) -> list[Block]:
        for payload in batch.payloads:
            if len(self.heard) < KEPT:
                self.heard.append(payload)
            else:
                self.heard[self.random.randrange(KEPT)] = payload
        return super()._hand_on(batch)


class Member(Service):
    """Uses every block, in turns; a liar throws as well."""

    def __init__(self, seed: str, lies: int) -> None:
        self.random = Random(seed)
        self.lies = lies
        self.thrown = self.done = 0
        super().__init__()
        self.shared = Listening(*self.blocks)
        self.shared.heard, self.shared.random = [], self.random
        self.get_state, self.merge_state = self.shared.get_state, self.shared.merge_state

    def make(self) -> list[Block]:
        self.dict = ReplicatedDict("prices", str, int)
        self.set = ReplicatedSet("names", str)
        self.counter = ReplicatedCounter("votes", str)
        self.locks = Locks("jobs")
        self.rpc = Rpc("sums", add)
        self.channel = Channel("talk")
        self.blocks: list[Block] = [self.dict, self.set, self.counter, self.locks, self.rpc, self.channel]
        return []

    async def live(self) -> None:
        reading = asyncio.create_task(self._read())
        while not self.is_enough:
            await asyncio.sleep(self.random.random() / 20)
            try:
                await self._use()
                for _ in range(min(8, self.lies)):
                    await self._lie()
            except RingcastError:
                await asyncio.sleep(0.1)
        await reading

    async def _read(self) -> None:
        async for _ in self.channel:
            pass

    async def _use(self) -> None:
        key = self.random.choice("abc")
        use = self.random.randrange(7)
        if use == 0:
            await self.dict.set(key, self.random.randrange(9), timeout=5)
        elif use == 1:
            await self.dict.compare_and_set(key, self.dict.get(key, 0), 7, timeout=5)
        elif use == 2:
            await self.set.add(key, timeout=5)
        elif use == 3:
            await self.counter.add(key, timeout=5)
        elif use == 4:
            async with self.locks(key, timeout=5):
                await asyncio.sleep(0.01)
        elif use == 5:
            await self.rpc.of(add).on_all(timeout=2)(1, 2)
        else:
            await self.channel.send(b"hello")
            await self.shared.tag(role=key)
        self.done += 1

    async def _lie(self) -> None:
        heard = self.shared.heard
        if not heard:
            return
        payload = mutated(self.random, self.random.choice(heard), heard)
        others = [member for member in self.shared.group.view.members if member != self.shared.me]
        to = self.random.choice((None, None, others[:1] or None))
        order = self.random.choice((TOTAL, TOTAL, Order.FIFO))
        self.lies -= 1
        self.thrown += 1
        await self.shared.group.send(payload, to=to, order=order, timeout=5)


async def add(a: int, b: int) -> int:
    return a + b


def live(seed: int, lies: int) -> int:
    """So many changed messages of one member, or what they did as an AssertionError; how many there were."""
    made: list[Member] = []

    def make() -> Member:
        made.append(Member(f"{seed}/{len(made)}", 0))
        return made[-1]

    world = World(make, 3, seed=seed)
    liar = made[-1]
    liar.lies = lies
    with world:
        while liar.lies > 0:
            world.advance(1)
            ended = [name for name, app in world.apps.items() if app.shared._ended is not None]
            assert not ended, f"the blocks of {ended} have ended after {liar.thrown} messages"
        for app in world.apps.values():
            app.is_enough = True
        world.advance(10)
        settle(world)
        assert all(app.done > 3 for app in world.apps.values()), "somebody could do nothing"
        world.same(lambda app: [content(block) for block in (app.dict, app.set, app.counter, app.locks)])
        world.same(lambda app: app.shared.tags)
    return liar.thrown


def content(block: Block) -> dict[str, str]:
    held = ("_entries", "_graves", "_shares", "_lines", "_version")
    return {name: repr(value) for name, value in vars(block).items() if name in held}
