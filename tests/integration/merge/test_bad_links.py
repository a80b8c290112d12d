"""Links that are worse than cut: one way only, and up and down again; and a member that was only away for a while."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from integration.judging import expect_held
from integration.long import either
from ringcast.lab import Company, Network, Stage

LEFT, RIGHT = list("ABC"), list("DEF")
NAMES = LEFT + RIGHT
FLAPS = int(either(20, 6))
PERIOD_SECONDS = either(3.0, 2.0)


async def one_way(record: Path) -> dict[str, Any]:
    """The left side hears nothing of the right one, which hears everything."""
    async with Network() as network, Stage() as stage:
        company = Company(stage, record, network, profile="lan")
        await company.form(NAMES, right=RIGHT)
        company.load(["B", "E"], rate=300)
        for name in LEFT:
            await network.deafen(company[name].pid, RIGHT)
        await asyncio.gather(company.until_view(LEFT), company.until_view(RIGHT))
        for name in LEFT:
            await network.cure(company[name].pid)
        return await end_in_one_view(company)


async def flapping(record: Path) -> dict[str, Any]:
    async with Network() as network, Stage() as stage:
        company = Company(stage, record, network, profile="lan")
        await company.form(NAMES, right=RIGHT)
        company.load(["B", "E"], rate=300)
        for _ in range(FLAPS):
            await network.cut_trunk()
            await asyncio.sleep(PERIOD_SECONDS / 2)
            await network.heal_trunk()
            await asyncio.sleep(PERIOD_SECONDS / 2)
        return await end_in_one_view(company)


async def away(record: Path) -> dict[str, Any]:
    """Frozen until the others went on without it; by default it keeps its incarnation and comes back by merge."""
    async with Network() as network, Stage() as stage:
        company = Company(stage, record, network, profile="lan")
        await company.form(NAMES)
        company.load(["B", "E"], rate=300)
        company["F"].signal(signal.SIGSTOP)
        await company.until_view(NAMES[:-1])
        company["F"].signal(signal.SIGCONT)
        return await end_in_one_view(company)


async def end_in_one_view(company: Company) -> dict[str, Any]:
    healed = time.monotonic()
    await company.until_view(NAMES)
    merged = time.monotonic() - healed
    loads = await company.hush()
    reports = await company.settle()
    histories = await company.ask(NAMES, "history")
    await company.ask(NAMES, "leave")
    return {"merged": merged, "loads": loads, "reports": reports, "histories": histories}


def expect_one_group(told: dict[str, Any], what: str) -> None:
    views = max(len(history["views"]) for history in told["histories"].values())
    print(f"{what}: {told['merged']:.2f} s from the heal to the common view; {views} views on the way")
    for report in told["reports"].values():
        assert {sender: seen["wrong"] for sender, seen in report["received"].items() if seen["wrong"]} == {}
    assert len({tuple(history["views"][-1]) for history in told["histories"].values()}) == 1


@pytest.mark.needs("namespaces", "nft")
def test_a_cut_that_is_one_way_only_ends_in_one_view(tmp_path: Path) -> None:
    told = asyncio.run(one_way(tmp_path))
    expect_one_group(told, "one-way cut")
    expect_held(tmp_path, "G1", "G4", "G5", "G8", "G9", "G10")


@pytest.mark.needs("namespaces")
def test_a_flapping_link_ends_in_one_view(tmp_path: Path) -> None:
    told = asyncio.run(flapping(tmp_path))
    expect_one_group(told, f"{FLAPS} cuts of {PERIOD_SECONDS / 2} s each")
    expect_held(tmp_path, "G1", "G4")


@pytest.mark.needs("namespaces")
def test_a_member_that_was_frozen_comes_back_by_merge_with_its_incarnation(tmp_path: Path) -> None:
    told = asyncio.run(away(tmp_path))
    expect_one_group(told, "a frozen member")
    assert told["histories"]["F"]["rejoins"] == []
    everybody = {member for history in told["histories"].values() for view in history["views"] for member in view}
    assert len(everybody) == len(NAMES), "nobody began a new incarnation"
    expect_held(tmp_path, "G1", "G4", "G5", "G8", "G9", "G10")
