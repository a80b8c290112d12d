"""Random readers and senders over real groups: what was sent is handed over once and in order, and answers are true.

Readers leave loops, are cancelled, time out, raise, read one, many or runs, and stop for a while; senders send small
and large messages, to all and to one, in one order too, with limits and cancels; a member with a smaller window joins
in the middle. On the memory transport and in the simulated world, where the recordings are judged as well.
RINGCAST_SEEDS says how many seeds of each (`make reading-seeds`: 2,000). G15, Y01 to Y07.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from random import Random

import pytest

from ringcast.errors import WaitExpired
from ringcast.model import TOTAL, Address, Message, profile
from ringcast.runtime import Group, join
from ringcast.sim import Link
from ringcast.testing import World
from ringcast.transport import MemoryHub, MemoryTransport

SEEDS = int(os.environ.get("RINGCAST_SEEDS", "6"))
WINDOW = {"capacity": 24, "stream_capacity": 12, "frame_bytes": 1400}
SENDS = 40
LARGE = 9_000


class Sender:
    """What one member sent, by line: to all, to one peer, in one order; and how each send was answered."""

    def __init__(self, group: Group, peers: list[Address], random: Random) -> None:
        self.group, self.peers, self.random = group, peers, random
        self.sent: dict[str, list[bytes]] = {}  # returned: it is sent
        self.unsent: set[bytes] = set()  # raised or cancelled: it is not
        self.count = 0

    async def run(self) -> None:
        for _ in range(SENDS):
            await self._send_one()
            if self.random.random() < 0.2:
                await asyncio.sleep(0)

    async def _send_one(self) -> None:
        random = self.random
        self.count += 1
        size = LARGE if random.random() < 0.1 else 20
        payload = (f"{self.group.me.name}:{self.count}:".encode()).ljust(size, b".")
        kind = random.choice(["all", "all", "one", "ordered"])
        peer = random.choice(self.peers)
        line = f"one {peer.name}" if kind == "one" else kind
        to = [peer] if kind == "one" else None
        if kind == "ordered":  # A cancelled one may be sent; it is left alone here.
            await self.group.send(payload, order=TOTAL)
            self.sent.setdefault(line, []).append(payload)
            return
        limit = random.choice([None, None, 0.0, 0.001])
        task = asyncio.create_task(self.group.send(payload, to=to, timeout=limit))
        if random.random() < 0.2:
            await asyncio.sleep(0)
            task.cancel()
        (answer,) = await asyncio.gather(task, return_exceptions=True)
        if answer is None:
            self.sent.setdefault(line, []).append(payload)
        else:
            assert isinstance(answer, WaitExpired | asyncio.CancelledError), answer
            self.unsent.add(payload)


class Reader:
    """Reads in every way, and leaves each in every way."""

    def __init__(self, group: Group, random: Random) -> None:
        self.group, self.random = group, random
        self.found: list[Message] = []

    def _add(self, event: object) -> None:
        if isinstance(event, Message):
            self.found.append(event)

    async def run(self) -> None:
        ways = [self._leave, self._raise, self._receive, self._many, self._batch, self._cancelled, self._pause]
        while True:
            await self.random.choice(ways)()

    async def _leave(self) -> None:
        left = self.random.randint(1, 10)
        async for event in self.group:
            self._add(event)
            left -= 1
            if not left:
                break

    async def _raise(self) -> None:
        try:
            async with asyncio.timeout(self.random.choice([0.0, 0.002])):
                async for event in self.group:
                    self._add(event)
                    if self.random.random() < 0.1:
                        raise ValueError
        except (ValueError, TimeoutError):
            pass

    async def _receive(self) -> None:
        try:
            self._add(await self.group.receive(timeout=self.random.choice([0, 0.002])))
        except WaitExpired:
            pass

    async def _many(self) -> None:
        for event in await self.group.receive_many(self.random.randint(1, 30)):
            self._add(event)

    async def _batch(self) -> None:
        async for event in self.group.batches():
            if hasattr(event, "payloads"):
                self.found += [Message(event.sender, payload, event) for payload in event.payloads]
            break

    async def _cancelled(self) -> None:
        task = asyncio.create_task(self._leave())
        for _ in range(self.random.randint(0, 3)):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _pause(self) -> None:
        await asyncio.sleep(self.random.choice([0, 0.001, 0.005]))


def lines_of(reader: Reader, sender: Sender) -> dict[str, list[bytes]]:
    """What this reader was handed of this sender, by line."""
    me, lines = reader.group.me, dict[str, list[bytes]]()
    for message in reader.found:
        if message.sender == sender.group.me:
            line = "ordered" if message.stamp else (f"one {me.name}" if message.private else "all")
            lines.setdefault(line, []).append(message.payload)
    return lines


def is_complete(reader: Reader, sender: Sender) -> bool:
    found = lines_of(reader, sender)
    wanted = ("all", "ordered", f"one {reader.group.me.name}")
    return all(len(found.get(line, [])) >= len(sender.sent.get(line, [])) for line in wanted)


async def play(seed: int) -> None:
    hub = MemoryHub()
    async with AsyncExitStack() as stack:

        async def enter(name: str, **window: int) -> Group:
            config = profile("test", **{**WINDOW, **window})
            transport = MemoryTransport(hub, name)
            options = {"name": name, "transport": transport, "seeds": ("mem:A",), "config": config, "inspect": False}
            return await stack.enter_async_context(join("g", **options))

        groups = [await enter(name) for name in "ABC"]
        while len(groups[0].members) < 3:
            await asyncio.sleep(0.001)
        everybody = [group.me for group in groups]
        readers = [Reader(group, Random(f"{seed} read {group.me.name}")) for group in groups]
        senders = [Sender(group, everybody, Random(f"{seed} send {group.me.name}")) for group in groups]
        tasks = [asyncio.create_task(reader.run()) for reader in readers]
        sending = [asyncio.create_task(sender.run()) for sender in senders]
        joiner = Reader(await enter("D", capacity=12), Random(f"{seed} read D"))
        tasks.append(asyncio.create_task(joiner.run()))
        await asyncio.gather(*sending)
        for group in groups:
            await group.flush(timeout=30)
        while not all(is_complete(reader, sender) for reader in readers for sender in senders):
            assert not any(task.done() for task in tasks), tasks
            await asyncio.sleep(0.002)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        check(seed, readers, senders, joiner)


def check(seed: int, readers: list[Reader], senders: list[Sender], joiner: Reader) -> None:
    """Everything that was sent was handed over once and in order, and nothing else."""
    for reader in readers:
        for sender in senders:
            found = lines_of(reader, sender)
            for line in ("all", "ordered", f"one {reader.group.me.name}"):
                assert found.get(line, []) == sender.sent.get(line, []), (seed, line, reader.group.me)
    assert not {message.payload for message in joiner.found} & {p for s in senders for p in s.unsent}


def play_in_world(seed: int) -> None:
    """The same in virtual time, on a network that loses and reorders; waits end, and all guarantees are judged."""

    class App:
        async def run(self, group: Group) -> None:
            self.reader = Reader(group, Random(f"{seed} read {group.me.name}"))
            await self.reader.run()

    loss = Random(f"{seed} link").choice([0.0, 0.0, 0.05])
    config, link = profile("test", **WINDOW), Link(loss=loss, reorder=2 * loss)
    with World(App, list("ABC"), seed=seed, config=config, link=link, bound=5.0) as world:
        groups = [world[name].group for name in "ABC"]
        everybody = [group.me for group in groups]
        senders = [Sender(group, everybody, Random(f"{seed} send {group.me.name}")) for group in groups]
        sending = [world.spawn(sender.group.me.name, sender.run()) for sender in senders]
        world.config = profile("test", **{**WINDOW, "capacity": 12})
        world.start("D")
        world.agree()
        readers = [world.apps[name].reader for name in "ABC"]
        for _ in range(600):  # a minute of virtual time
            if all(task.done() for task in sending) and all(is_complete(r, s) for r in readers for s in senders):
                break
            world.advance(0.1)
        for task in sending:
            assert task.done(), (seed, [group.explain() for group in groups])
            task.result()
        check(seed, readers, senders, world.apps["D"].reader)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_everything_is_handed_over_once_and_every_answer_is_true(seed: int) -> None:
    """The limit turns a wait without an end into a failure."""
    asyncio.run(asyncio.wait_for(play(seed), 60))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_holds_in_the_simulated_world(seed: int) -> None:
    play_in_world(seed)
