"""A random life of six real processes, repeatable in its choices: killed, restarted, frozen, stalled, cut, deafened.

Whatever happened, the living end in one view, and the checkers find nothing. `make long` lives longer.
"""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from integration.judging import expect_held
from integration.long import either
from ringcast.lab import Company, Network, Stage

NAMES = list("ABCDEF")
STEPS = int(either(25, 6))
FEWEST = 3  # alive at any time


class Life:
    """What may happen, and to whom."""

    def __init__(self, seed: int, company: Company, network: Network) -> None:
        self.chance = random.Random(seed)
        self.company = company
        self.network = network
        self.dead: list[str] = []
        self.deeds: list[Callable[[str], Awaitable[None]]] = [
            self.kill, self.restart, self.freeze, self.stall, self.cut, self.deafen, self.leave,
        ]  # fmt: skip

    @property
    def living(self) -> list[str]:
        return [name for name in NAMES if name not in self.dead]

    async def step(self) -> None:
        deed = self.chance.choice(self.deeds)
        name = self.chance.choice(self.living)
        print(f"{deed.__name__} {name}")
        await deed(name)
        if self.chance.random() < 0.5:
            await self.company.until_view(self.living)

    async def kill(self, name: str) -> None:
        if len(self.living) > FEWEST:
            self.dead.append(name)
            await self.company[name].kill()

    async def leave(self, name: str) -> None:
        if len(self.living) > FEWEST:
            await self.company.hush()
            self.dead.append(name)
            await self.company[name]("leave")
            await self.company[name].end()
            self.load()

    async def restart(self, name: str) -> None:
        if self.dead:
            await self.company.enter(self.dead.pop(0))

    async def freeze(self, name: str) -> None:
        self.company[name].signal(signal.SIGSTOP)
        await self.a_while(5.0)
        self.company[name].signal(signal.SIGCONT)

    async def stall(self, name: str) -> None:
        await self.company[name]("stall", seconds=4.0 * self.chance.random())

    async def cut(self, name: str) -> None:
        await self.network.cut_trunk()
        await self.a_while(5.0)
        await self.network.heal_trunk()

    async def deafen(self, name: str) -> None:
        others = [other for other in self.living if other != name]
        pid = self.company[name].pid
        await self.network.deafen(pid, self.chance.sample(others, self.chance.randint(1, len(others))))
        await self.a_while(5.0)
        await self.network.cure(pid)

    async def a_while(self, longest: float) -> None:
        await asyncio.sleep(longest * self.chance.random())

    def load(self) -> None:
        self.company.load(self.chance.sample(self.living, 2), rate=200)


async def live(seed: int, on_exclusion: str, record: Path) -> dict[str, Any]:
    async with Network() as network, Stage() as stage:
        company = Company(stage, record, network, profile="lan", on_exclusion=on_exclusion)
        await company.form(NAMES, right=NAMES[3:])
        life = Life(seed, company, network)
        life.load()
        for _ in range(STEPS):
            await life.step()
        await company.until_view(life.living)
        await company.hush()
        reports = await company.settle()
        await company.ask(life.living, "leave")
    return reports


@pytest.mark.needs("namespaces", "nft")
@pytest.mark.parametrize(("seed", "on_exclusion"), [(1, "merge"), (2, "rejoin")])
def test_whatever_happens_the_living_end_in_one_view(seed: int, on_exclusion: str, tmp_path: Path) -> None:
    reports = asyncio.run(live(seed, on_exclusion, tmp_path))
    for report in reports.values():
        assert {name: seen["wrong"] for name, seen in report["received"].items() if seen["wrong"]} == {}
    expect_held(tmp_path, "G1", "G3", "G4", "G5", "G7")
