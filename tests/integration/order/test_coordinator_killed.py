"""Real processes under TOTAL load, the coordinator killed again and again: one order for all who go on."""

import asyncio
from pathlib import Path
from typing import Any

from integration.judging import expect_held
from integration.long import either
from ringcast.lab import Company, Stage

NAMES = [f"m{number}" for number in range(1, 6)]
KILLS = int(either(10, 2))


async def story(record: Path) -> dict[str, Any]:
    async with Stage() as stage:
        company = Company(stage, record)
        await company.form(NAMES)
        company.load(NAMES, rate=400, in_order=True, chunk=20)
        for _ in range(KILLS):
            coordinator = await coordinator_of(company)
            await company[coordinator].kill()
            await company.until_view([name for name in NAMES if name != coordinator])
            await company.enter(coordinator)
            await company.until_view(NAMES)
            company.load([coordinator], rate=400, in_order=True, chunk=20)
        loads = await company.hush()
        stamps = await company.ask(NAMES, "barrier")
        await company.settle()
        await company.ask(NAMES, "leave")
    return {"loads": loads, "stamps": stamps}


async def coordinator_of(company: Company) -> str:
    views = await company.ask(NAMES, "until_view", names=NAMES)
    return str(views[NAMES[0]]["coordinator"].partition("#")[0])


def test_o02_the_coordinator_is_killed_under_ordered_load_and_the_order_holds(tmp_path: Path) -> None:
    """O02, O12: crash of the coordinator, with messages to all and to random subsets on their way."""
    told = asyncio.run(story(tmp_path))
    for load in told["loads"].values():
        assert load["queued"] and load["finished_batches"] == load["batches"]
    assert len({answer["stamp"].partition(".")[0] for answer in told["stamps"].values()}) == 1
    expect_held(tmp_path, "G1", "G3", "G4", "G5", "G11", "G12", "G13")
