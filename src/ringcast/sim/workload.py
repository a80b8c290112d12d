"""What the programs of a simulated run do: they send, at a pace, to the group or to some of its members.

Each payload names its sender and its number, so that a reader's contents can be held against what was sent. A sender
is a user that awaits its sends: while too many wait for room it makes no new ones. Some of its sends have a limit of
their own, and some are in the one order.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from ringcast.model import Address
from ringcast.runtime import Group
from ringcast.sim.application import Application, Outbound
from ringcast.sim.cluster import Cluster
from ringcast.sim.units import payload_of

MOST_WAITING = 8
LIMITS = (0.02, 0.2, 1.0)  # seconds that a send may wait, of those that may not wait for long
LIMITED_SHARE = 0.1
ORDERED_SIZES = (0, 10, 100, 1000)


@dataclass(frozen=True, slots=True)
class Load:
    """How much each member sends: messages per second, sizes drawn from `sizes`, this share not to the whole group."""

    per_second: float = 20.0
    sizes: tuple[int, ...] = (10, 100)
    private_share: float = 0.2
    burst: int = 1  # messages that are sent together


@dataclass(frozen=True, slots=True)
class OrderedLoad:
    """What is sent in the one order beside that: to the view, to random subsets, barriers."""

    per_second: float = 0.0  # messages of each member
    subset_share: float = 0.5
    barrier_share: float = 0.05
    large: int = 0  # the size of a message now and then, above any frame
    aside_share: float = 0.0  # of what is read, this share makes the reader tell another one, past the group (G13)


def draw_ordered(seed: int | str, members: int, *, always: bool = False) -> OrderedLoad:
    """The ordered load that belongs to a seed; a third of the seeds have none, unless it is always wanted.

    By a source of its own, so that the plain workload of a seed stays what it is.
    """
    random = Random(f"{seed}/ordered")
    pace = random.choice((1.0, 2.0) if always else (0.0, 1.0, 2.0))
    subset_share = random.choice((0.5, 1.0) if always else (0.0, 0.5, 1.0))
    large = random.choice((0, 0, 9_000))
    aside_share = random.choice((0.0, 0.3)) / members  # fewer than one follows from one
    return OrderedLoad(pace * max(1.0, 16.0 / members**2), subset_share, 0.05, large, aside_share)


class Workload:
    """Lets every process send until a given moment of the world's time."""

    def __init__(self, load: Load, ordered: OrderedLoad, until_ns: int) -> None:
        self.load = load
        self.ordered = ordered
        self.until_ns = until_ns
        self._ordered_until_ns = until_ns
        self._numbers: dict[str, int] = {}

    def make_app(self, cluster: Cluster, name: str) -> Talker:
        return Talker(cluster, name, self)

    def number(self, what: str) -> int:
        """Of the next message of this kind, whichever process of that name sends it."""
        self._numbers[what] = self._numbers.get(what, 0) + 1
        return self._numbers[what]

    def goes_on(self, cluster: Cluster) -> bool:
        return cluster.clock.now_ns < self.until_ns

    def orders(self, cluster: Cluster) -> bool:
        return cluster.clock.now_ns < self._ordered_until_ns

    def extend(self, more_ns: int, faster: int = 2) -> None:
        """Go on for longer and so many times as fast: the faults let little through, or few are left."""
        self.until_ns += more_ns
        self.load = replace(self.load, per_second=faster * self.load.per_second)

    def hurry(self, cluster: Cluster, more_ns: int) -> None:
        """Four times faster still, and from now on: what was planned at the slow pace would come too late."""
        self.extend(more_ns, faster=4)
        for process in cluster.alive():
            if isinstance(process.app, Talker):
                process.app.hurry()


class Talker(Application):
    """A program that sends."""

    def __init__(self, cluster: Cluster, name: str, workload: Workload) -> None:
        self.purpose = str(cluster.started(name))
        super().__init__(cluster.random(name, f"reading/{self.purpose}"))
        self._cluster = cluster
        self._name = name
        self._workload = workload
        self._hurried = asyncio.Event()
        self._talking: list[asyncio.Task[None]] = []

    async def run(self, group: Group) -> None:
        self._talking.append(asyncio.create_task(self._talk(group)))
        ordered = self._workload.ordered
        if ordered.per_second:
            self._talking.append(asyncio.create_task(self._order(group, ordered)))
            if ordered.aside_share:
                self._tell_aside(ordered.aside_share)
        try:
            await super().run(group)
        finally:
            for task in self._talking:
                task.cancel()

    def hurry(self) -> None:
        if self._loop is not None:
            self._loop.call_soon(self._hurried.set)

    def _source(self, purpose: str) -> Random:
        return self._cluster.random(self._name, f"{purpose}/{self.purpose}")

    # ---- without order

    async def _talk(self, group: Group) -> None:
        random = self._source("workload")
        while self._workload.goes_on(self._cluster):
            load = self._workload.load
            pause = random.expovariate(load.per_second / load.burst)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._hurried.wait()
                    self._hurried.clear()
                    continue
            if self._workload.goes_on(self._cluster) and len(self.outbox) < MOST_WAITING:
                for _ in range(load.burst):
                    self.put(self._message(group, random, load))

    def _message(self, group: Group, random: Random, load: Load) -> Outbound:
        size = min(random.choice(load.sizes), self.largest(group))
        payload = payload_of(self._name, self._workload.number(self._name), size)
        to = _some_peers(group, random) if random.random() < load.private_share else ()
        timeout = random.choice(LIMITS) if random.random() < LIMITED_SHARE else None
        return Outbound(payload, to, timeout=timeout)

    def largest(self, group: Group) -> int:
        """What may be sent at all: its pieces must fit an empty window together."""
        node = self._cluster[self._name].node
        config = node.config
        pieces = min(node.group.capacity if node.has_group else config.capacity, config.stream_capacity)
        return min(config.max_message_bytes, pieces * node.largest_whole)

    # ---- in the one order

    async def _order(self, group: Group, load: OrderedLoad) -> None:
        random = self._source("ordered")
        while True:
            await asyncio.sleep(random.expovariate(load.per_second))
            if not self._workload.orders(self._cluster):
                return
            self.queue_one(random)

    def queue_one(self, random: Random) -> None:
        """One ordered message more, unless too many wait."""
        if self.group is not None and len(self.outbox) < MOST_WAITING:
            number = self._workload.number(f"{self._name}!")
            most = self.largest(self.group) - 100
            self.put(ordered_message(self._workload.ordered, random, self._name, number, self.group.members, most))

    def _tell_aside(self, share: float) -> None:
        """A side channel: who has read an ordered message may tell another, which then queues one of its own (G13)."""
        random, cluster = self._source("aside"), self._cluster

        def on_message(origin: Address, payload: bytes) -> None:
            if b"!:" in payload[:20] and random.random() < share:
                told = cluster[random.choice(cluster.names)]
                if isinstance(told.app, Talker) and not told.is_over:
                    told.loop.call_soon(told.app.queue_one, random)

        self.on_message = on_message


def _some_peers(group: Group, random: Random) -> tuple[Address, ...]:
    others = [address for address in group.members if address != group.me]
    if not others:
        return ()
    return tuple(random.sample(others, random.randint(1, min(3, len(others)))))


def ordered_message(
    load: OrderedLoad, random: Random, name: str, number: int, view: tuple[Address, ...], most: int
) -> Outbound:
    """Message `number` of this name in the one order; now and then a barrier."""
    size = load.large if random.random() < 0.05 else random.choice(ORDERED_SIZES)
    payload = payload_of(f"{name}!", number, min(size, most))
    draw = random.random()
    if draw < load.barrier_share:
        return Outbound(b"", None, in_order=True, is_barrier=True)
    to = tuple(random.sample(view, random.randint(1, len(view)))) if draw < load.subset_share else None
    return Outbound(payload, to, in_order=True)
