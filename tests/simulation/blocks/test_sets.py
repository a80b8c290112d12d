"""The replicated set and counter under faults: nothing of who is still there is lost, nothing is counted twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import msgspec
import pytest

from ringcast import Address, RingcastError, View
from ringcast.blocks import Change, ReplicatedCounter, ReplicatedSet, Token
from ringcast.blocks.block import Block, Sides
from ringcast.testing import World
from simulation.blocks.kit import FIRST_SEED, ODD, SEEDS, Log, Service, cut_and_crash, differing, finish, is_caught


class Watched(ReplicatedSet[str]):
    """Notes every change that this process sees, and the views between them."""

    log: Log

    def _on_view(self, view: View) -> None:
        super()._on_view(view)
        self.log.append(("view", view.id))

    def put(self, change: Change[str, bool]) -> None:
        if change.by is not None:
            self.log.append(("op", (change.key, change.new, str(change.by))))

    def end(self) -> None:
        pass


class Member(Service):
    """Adds items of its own, some of which it discards, and items of all; counts each in one count."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__()

    def make(self) -> list[Block]:
        self.set = Watched("names", str)
        self.set.log = []
        self.set._feeds.append(self.set)  # type: ignore[arg-type]
        self.counter = ReplicatedCounter("votes", str)
        self.added: list[str] = []  # surely, and never discarded by anybody
        self.discarded: list[str] = []
        self.tried: list[str] = []
        self.wrong: list[str] = []
        self.counted = self.counted_at_most = 0
        self.is_done = False
        return [self.set, self.counter]

    def on_loaded(self, view: int) -> None:
        self.set.log.append(("load", view))

    async def live(self) -> None:
        random = Random(self.number)
        for number in range(30):
            await asyncio.sleep(random.random() / 5)
            if self.is_enough:
                break
            try:
                await self._step(f"{self.number}/{number}", random)
            except RingcastError:
                await asyncio.sleep(0.2)
        self.is_done = True
        await asyncio.Event().wait()

    def _loads(self) -> int:
        return sum(what == "load" for what, _ in self.set.log)

    async def _step(self, item: str, random: Random) -> None:
        self.tried.append(item)
        if not await self.set.add(item):
            self.wrong.append(f"{item} was there before it was added")
        if item not in self.set:
            self.wrong.append(f"{item} was added and is not there")
        if random.random() < 0.3:
            self.discarded.append(item)
            loads = self._loads()
            were = await self.set.discard(item), item in self.set, await self.set.discard(item)
            if were != (True, False, False) and loads == self._loads():  # A union may bring back what another side has.
                self.wrong.append(f"{item} was discarded, and was not there before or was there after")
        else:
            self.added.append(item)
        amount = random.choice([1, 1, 5])
        self.counted_at_most += amount
        before = self.counter["n"]
        count = await self.counter.add("n", amount)
        self.counted += amount
        if count < before + amount:
            self.wrong.append(f"{before} and {amount} more are {count}")


def trouble(world: World) -> None:
    world.trouble(5, faults=4)


def troubled(seed: int, story: Callable[[World], None] = trouble) -> list[str]:
    made: list[Member] = []

    def make() -> Member:
        made.append(Member(len(made)))
        return made[-1]

    with World(make, members=3 + seed % 2, seed=seed) as world:
        story(world)
        finish(world, lambda: all(app.is_done for app in world.apps.values()), 12)
        found = [sentence for app in made for sentence in app.wrong] + differing([app.set.log for app in made])
        items = set(world.same(lambda app: sorted(app.set)))
        found += [
            f"{item} of {name} is lost" for name, app in world.apps.items() for item in app.added if item not in items
        ]
        found += [f"nobody added {item}" for item in sorted(items - {item for app in made for item in app.tried})]
        counted = world.same(lambda app: app.counter["n"])
        least = sum(app.counted for app in world.apps.values())
        most = sum(app.counted_at_most for app in made)
        if not least <= counted <= most:
            found.append(f"counted {counted}, of {least} that are sure and {most} at most")
        return found


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whatever_goes_wrong_set_and_counter_keep_their_promise(seed: int) -> None:
    assert troubled(seed) == []


def _of_one_side(self: Any, sides: Sides) -> bytes:
    return next(iter(sides.values()))


def _counts_what_both_sides_knew(self: Any, sides: Sides) -> bytes:
    merged = self._states.decode(right_merge(self, sides))
    states = [self._states.decode(state) for state in sides.values()]
    for _, shares in merged.shares:
        for index, (member, share) in enumerate(shares):
            amounts = [
                dict(found)[member].amount for state in states for _, found in state.shares if member in dict(found)
            ]
            shares[index] = (member, share._replace(amount=sum(amounts)))
    return right_encode(merged)


def _forgets_one_share(self: Any, shares: Any, reset: Token) -> None:
    right_fill(self, [(key, found[1:]) for key, found in shares], reset)


def _adds_for_everybody(self: Any, op: Any, sender: Address, version: Token) -> object:
    return right_apply(self, op, self._port.group.me, version)


def _always_new(self: Any, op: Any, sender: Address, version: Token) -> object:
    right_set_apply(self, op, sender, version)
    return True


def _lacks_its_last(self: Any) -> Any:
    async def cut() -> bytes:
        state = self._states.decode(await right_cut(self))
        return right_encode(type(state)(state.version, state.entries[:-1], state.graves))

    return cut()


right_merge: Callable[..., bytes] = ReplicatedCounter._merge
right_fill: Callable[..., None] = ReplicatedCounter._fill
right_apply: Callable[..., object] = ReplicatedCounter._apply
right_set_apply: Callable[..., object] = ReplicatedSet._apply
right_cut: Callable[..., Any] = ReplicatedSet._cut
right_encode: Callable[..., bytes] = msgspec.msgpack.Encoder().encode
PLANTED: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "counter: one side wins the merge": (ReplicatedCounter, "_merge", _of_one_side),
    "counter: what both sides knew counts twice": (ReplicatedCounter, "_merge", _counts_what_both_sides_knew),
    "counter: a state lacks a share": (ReplicatedCounter, "_fill", _forgets_one_share),
    "counter: shares go to whoever applies them": (ReplicatedCounter, "_apply", _adds_for_everybody),
    "set: one side wins the merge": (ReplicatedSet, "_merge", _of_one_side),
    "set: a state lacks an item": (ReplicatedSet, "_cut", _lacks_its_last),
    "set: what was not there was discarded": (ReplicatedSet, "_apply", _always_new),
}


def work_and_cut(world: World) -> None:
    """Both sides know what was counted before."""
    world.advance(1.5)
    cut_and_crash(world)


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PLANTED[mistake])
    assert any(is_caught(partial(troubled, seed, work_and_cut)) for seed in ODD)
