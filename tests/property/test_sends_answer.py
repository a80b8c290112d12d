"""Whatever happens to a send, its answer is true: random sends in the simulated world, with pauses, cancels and views.

A send that returned reaches each of its destinations once; one that raised or was cancelled reaches nobody, unless it
says otherwise (`sent`). Nothing waits without an end. (G14, G15; Y03, Y04, Y05, Y06)
"""

import asyncio
import os
from collections import Counter
from random import Random

import pytest

from ringcast import TOTAL, Address, Batch, Group
from ringcast.errors import RingcastError
from ringcast.model import profile
from ringcast.testing import World

SEEDS = int(os.environ.get("RINGCAST_SEEDS", "8"))
NAMES = ("A", "B", "C")


class Reader:
    """Reads everything, and stops now and then."""

    made = 0

    def __init__(self) -> None:
        Reader.made += 1
        self.random = Random(Reader.made)
        self.got: Counter[bytes] = Counter()
        self.group: Group | None = None

    async def run(self, group: Group) -> None:
        self.group = group
        async for event in group.batches():
            if isinstance(event, Batch):
                self.got.update(event.payloads)
            if self.random.random() < 0.2:
                await asyncio.sleep(self.random.random() / 20)


class Sender:
    """One task of one member: a send of some kind after the other, some of them cancelled or with a short limit."""

    def __init__(self, seed: str, name: str, group: Group, peers: list[Address], number: int) -> None:
        self.random = Random(f"{seed}/{name}/{number}")
        self.name, self.group, self.peers, self.number = name, group, peers, number
        self.sent: list[tuple[str, bytes]] = []  # (destination, payload)
        self.unsent: list[tuple[str, bytes]] = []

    async def run(self) -> None:
        for at in range(30):
            many = self.random.choice([1, 1, 1, 1, 5, 40])
            payloads = [self._payload(at, index) for index in range(many)]
            to = self._some() if many == 1 and self.random.random() < 0.3 else None
            is_ordered = many == 1 and self.random.random() < 0.3
            sent = await self._outcome(payloads, to, is_ordered)
            names = NAMES if to is None else [peer.name for peer in to]
            if to is None and not self.group._config.self_delivery:
                names = [name for name in names if name != self.name]
            if sent is not None:
                self.sent += [(name, payload) for payload in payloads[:sent] for name in names]
                self.unsent += [(name, payload) for payload in payloads[sent:] for name in names]

    def _payload(self, at: int, index: int) -> bytes:
        size = self.random.choice([0, 0, 50, 300, 1500, 3000])
        return f"{self.name}.{self.number}.{at}.{index} ".encode().ljust(size, b".")

    def _some(self) -> list[Address]:
        return [peer for peer in self.peers if self.random.random() < 0.5] or self.peers[:1]

    async def _outcome(self, payloads: list[bytes], to: list[Address] | None, is_ordered: bool) -> int | None:
        """How many were sent; None if that is left open."""
        timeout = self.random.choice([None, None, None, 0.0, 0.001, 0.02])
        if len(payloads) > 1:
            call = self.group.send_many(payloads, timeout=timeout)
        elif is_ordered:
            call = self.group.send(payloads[0], to=to, order=TOTAL, timeout=timeout)
        else:
            when_full = self.random.choice([None, None, "raise"])
            call = self.group.send(payloads[0], to=to, timeout=timeout, when_full=when_full)  # type: ignore[arg-type]
        task = asyncio.create_task(call)
        if self.random.random() < 0.4:
            for _ in range(self.random.randrange(4)):
                await asyncio.sleep(self.random.choice([0, 0, 0.002]))
            task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return None if is_ordered else int(getattr(error, "sent", 0))
        except RingcastError as error:
            return error.sent
        return len(payloads)


async def _ended(task: asyncio.Task[None]) -> None:
    await task


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_answer_of_a_send_is_true(seed: int) -> None:
    random = Random(seed)
    Reader.made = seed * 1_000
    config = profile(
        "test",
        capacity=random.choice([4, 8, 16, 64]),
        stream_capacity=random.choice([8, 16, 32]),
        frame_bytes=random.choice([700, 2_000]),
        self_delivery=random.random() < 0.5,
    )
    with World(Reader, NAMES, seed=seed, config=config) as world:
        groups: dict[str, Group] = {name: world.apps[name].group for name in NAMES}
        peers = [group.me for group in groups.values()]
        senders = [Sender(str(seed), name, groups[name], peers, number) for name in NAMES for number in range(2)]
        tasks = [world.spawn(sender.name, sender.run()) for sender in senders]
        for number in range(random.choice([0, 2])):
            world.config = config.with_changes(capacity=random.choice([3, 5, 16]))
            world.start(f"D{number}")
            world.agree()
            world.advance(random.random() / 5)
            world.leave(f"D{number}")
        for sender, task in zip(senders, tasks, strict=True):
            world.do(sender.name, _ended(task))
        for name in NAMES:
            world.do(name, groups[name].flush())
            world.do(name, groups[name].barrier())
        world.settle()
        got = {name: world.apps[name].got for name in NAMES}
        for sender in senders:
            assert [(to, payload, got[to][payload]) for to, payload in sender.sent if got[to][payload] != 1] == []
            assert [(to, payload) for to, payload in sender.unsent if got[to][payload]] == []
        assert sum(len(sender.sent) for sender in senders) > 50
