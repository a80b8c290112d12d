"""With one primary side the dictionary is one register for each key: its whole history is linearizable.

Judged by `linear.py`, which sees only what clients asked and were told; reads are behind `sync`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest

from ringcast import NotPrimary, RingcastError
from ringcast.blocks import ABSENT, ReplicatedDict
from ringcast.blocks.block import Block
from ringcast.testing import World
from simulation.blocks.kit import FIRST_SEED, ODD, SEEDS, Service, finish, is_caught
from simulation.blocks.linear import NEVER, Operation, explain


def op(kind: str, began: float, ended: float, **rest: Any) -> Operation:
    return Operation(kind, began, ended, **rest)


def test_a_history_that_one_copy_could_have_given_is_explained() -> None:
    history = [
        op("write", 0, 3, value="a"),
        op("read", 1, 2),  # Not yet.
        op("swap", 4, 9, expected="a", value="b", result=True),
        op("read", 5, 6, result="b"),
        op("swap", 5, 7, expected="a", value="c", result=False),
        op("delete", 10, 11, result=True),
        op("delete", 12, 13, result=False),
        op("write", 14, NEVER, value="d"),
        op("read", 20, 21),
        op("read", 22, 23, result="d"),
    ]
    assert explain(history) is None


@pytest.mark.parametrize(
    "wrong",
    [
        [op("write", 0, 1, value="a"), op("read", 2, 3)],
        [op("write", 0, 1, value="a"), op("write", 2, 3, value="b"), op("read", 4, 5, result="a")],
        [op("write", 0, 9, value="a"), op("read", 1, 2, result="a"), op("read", 3, 4)],
        [op("swap", 0, 5, expected=None, value=value, result=True) for value in "ab"],
        [op("write", 0, NEVER, value="a"), op("read", 1, 2, result="a"), op("read", 3, 4)],
        [op("write", 0, 1, value="a"), op("delete", 2, 3, result=False)],
    ],
    ids=["lost", "old", "back", "both", "gone again", "not there"],
)
def test_one_that_it_could_not_is_not(wrong: list[Operation]) -> None:
    assert explain(wrong) is not None


# ---- the dictionary


History = dict[str, list[Operation]]  # key -> what everybody asked for


class Idle(Service):
    def make(self) -> list[Block]:
        self.dict = ReplicatedDict("d", str, str)
        return [self.dict]


class Client(Service):
    def __init__(self, number: int, history: History) -> None:
        self.number, self.history = number, history
        super().__init__()

    def make(self) -> list[Block]:
        self.dict = ReplicatedDict("d", str, str)
        self.working = 2
        return [self.dict]

    @property
    def is_done(self) -> bool:
        return not self.working

    async def live(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for client in range(self.working):
                tasks.create_task(self._work(f"{self.number}.{client}"))
            await asyncio.Event().wait()

    async def _work(self, me: str) -> None:
        random, time = Random(me), asyncio.get_running_loop().time
        for number in range(25):
            await asyncio.sleep(random.choice([0, 0.002, 0.01, 0.3]))
            if self.is_enough:
                break
            key, what = random.choice("xy"), random.choice(["write", "swap", "swap", "delete", "read", "read", "read"])
            expected = self.dict.get(key) if random.random() < 0.8 else "what nobody wrote"
            asked = Operation(what, time(), NEVER, f"{me}/{number}", expected, who=me)
            self.history[key].append(asked)
            try:
                result = await self._ask(key, asked)
            except RingcastError as error:
                if error.sent is False:
                    self.history[key].remove(asked)
                await asyncio.sleep(0.1)
            else:
                self.history[key].remove(asked)
                self.history[key].append(replace(asked, ended=time(), result=result))
        self.working -= 1

    async def _ask(self, key: str, asked: Operation) -> object:
        assert asked.value is not None
        match asked.kind:
            case "read":
                await self.dict.sync()
                return self.dict.get(key)
            case "write":
                return await self.dict.set(key, asked.value)
            case "delete":
                return await self.dict.delete(key)
        expected = ABSENT if asked.expected is None else asked.expected
        return await self.dict.compare_and_set(key, expected, asked.value)


def trouble(world: World) -> None:
    world.trouble(6, faults=4)


def troubled(seed: int, story: Callable[[World], None] = trouble) -> list[str]:
    history: History = {"x": [], "y": []}
    numbers = count()
    with World(lambda: Client(next(numbers), history), members=3 + seed % 2, seed=seed, partition="primary") as world:
        story(world)
        finish(world, lambda: all(app.is_done for app in world.apps.values()), 25)
        final = world.same(lambda app: dict(app.dict))
        for key in history:
            history[key].append(Operation("read", world.now, world.now + 1, result=final.get(key)))
        return [f"{key}: {found}" for key in history if (found := explain(history[key]))]


def test_what_a_member_read_last_in_an_order_of_its_own_does_not_win_the_merge() -> None:
    """B has both operations and no announcement of their places: it ends the view with its own first (seed 1148)."""
    with World(Idle, members=3, partition="primary") as world:
        b, c = world.apps["B"].dict, world.apps["C"].dict
        world.drop("data", sender="A", to="B")
        world.do("C", c.set("x", "1"))
        deleting = world.spawn("B", b.delete("x"))
        world.advance(0.1)
        world.do("C", c.sync())
        assert "x" not in c and "x" not in b
        world.partition("A", "B", "C")
        world.advance(8)
        assert isinstance(deleting.exception(), NotPrimary) and "x" in b
        world.heal()
        world.settle(60)
        assert world.same(lambda app: dict(app.dict)) == {}


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whatever_goes_wrong_the_history_of_each_key_is_linearizable(seed: int) -> None:
    assert troubled(seed) == []


async def _reads_here(self: Any, timeout: float = 60.0) -> None:
    await asyncio.sleep(0.001)


async def _returns_when_it_is_sent(self: Any, raw: bytes, timeout: float | None = None) -> Any:
    asyncio.get_running_loop().create_task(right_do(self, raw, timeout)).add_done_callback(
        lambda task: task.exception()
    )
    await asyncio.sleep(0)


async def _decides_here(self: Any, key: str, expected: Any, new: str) -> bool:
    if self.get(key, ABSENT) != expected:
        return False
    await self.set(key, new)
    return True


right_do: Callable[..., Any] = ReplicatedDict._do
PLANTED: dict[str, tuple[str, Any]] = {
    "sync does not wait": ("sync", _reads_here),
    "a write returns before it was applied": ("_do", _returns_when_it_is_sent),
    "a comparison is decided where it is asked": ("compare_and_set", _decides_here),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicatedDict, *PLANTED[mistake])
    assert any(is_caught(partial(troubled, seed)) for seed in ODD)
