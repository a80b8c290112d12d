"""Sixteen real processes on loopback: one group from a concurrent start, a crash, leaves and a return under load."""

import asyncio
from pathlib import Path
from typing import Any

from integration.judging import expect_held
from ringcast.lab import Company, Stage

NAMES = [f"m{number:02d}" for number in range(1, 17)]


async def story(record: Path) -> dict[str, Any]:
    async with Stage() as stage:
        company = Company(stage, record)
        await company.form(NAMES)
        company.load(NAMES[4:8], rate=500)
        coordinator = await kill_the_coordinator(company)
        left = [name for name in NAMES if name != coordinator]
        await company.until_view(left)
        leavers = left[-2:]
        await company.ask(leavers, "leave")
        await company.until_view(left[:-2])
        await asyncio.gather(*(company[name].end() for name in leavers))
        before = await company[left[0]]("history")
        await company.enter(coordinator)
        await company.until_view([*left[:-2], coordinator])
        loads = await company.hush()
        reports = await company.settle()
        after = await company[left[0]]("history")
        await company.ask(company.names, "leave")
    return {"loads": loads, "reports": reports, "coordinator": coordinator, "before": before, "after": after}


async def kill_the_coordinator(company: Company) -> str:
    views = await company.ask(company.names, "until_view", names=NAMES)
    coordinator = views[NAMES[0]]["coordinator"].partition("#")[0]
    await company[coordinator].kill()
    return str(coordinator)


def test_sixteen_members_survive_a_crash_leaves_and_a_return_under_load(tmp_path: Path) -> None:
    """V07, V13: concurrent start, kill -9 of the coordinator, two leaves at once, a rejoin at the same address."""
    told = asyncio.run(story(tmp_path))
    for report in told["reports"].values():
        assert {name: seen["wrong"] for name, seen in report["received"].items() if seen["wrong"]} == {}
    members = [{view.partition("#")[0] for view in views} for views in told["after"]["views"]]
    assert set(NAMES) in members and set(NAMES) - {told["coordinator"]} in members
    incarnations = {m for views in told["after"]["views"] for m in views if m.startswith(told["coordinator"])}
    assert len(incarnations) == 2, "a restarted process at the same address is a new incarnation"
    expect_held(tmp_path, "G1", "G2", "G3", "G4", "G5", "G6", "G7")
