"""Six real processes, each in a network namespace: cut in two, busy on both sides, healed under load."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from integration.judging import expect_held
from ringcast.lab import Company, Network, Stage

LEFT, RIGHT = list("ABC"), list("DEF")
NAMES = LEFT + RIGHT
WHILE_SPLIT = 10_000  # messages of each side


async def cut_and_heal(record: Path, profile: str) -> dict[str, Any]:
    async with Network() as network, Stage() as stage:
        company = Company(stage, record, network, profile=profile)
        await company.form(NAMES, right=RIGHT)
        company.load(["B", "E"], rate=300)
        await network.block_trunk()
        await asyncio.gather(company.until_view(LEFT), company.until_view(RIGHT))
        await company.ask(["A", "D"], "send", count=WHILE_SPLIT, size=100, rate=5_000)
        await network.unblock_trunk()
        healed = time.monotonic()
        await company.until_view(NAMES)
        merged = time.monotonic() - healed
        loads = await company.hush()
        reports = await company.settle()
        histories = await company.ask(NAMES, "history")
        await company.ask(NAMES, "leave")
    return {"merged": merged, "loads": loads, "reports": reports, "histories": histories}


@pytest.mark.needs("namespaces", "nft")
@pytest.mark.parametrize("profile", ["lan", "local"])
def test_two_halves_that_were_busy_apart_become_one_again(profile: str, tmp_path: Path) -> None:
    """M09, M13: {A,B,C} | {D,E,F}, ten thousand messages on each side, healed under load: one view, no repetition."""
    told = asyncio.run(cut_and_heal(tmp_path, profile))
    print(f"{profile}: {told['merged']:.2f} s from the heal to the common view")
    for name, report in told["reports"].items():
        assert {sender: seen["wrong"] for sender, seen in report["received"].items() if seen["wrong"]} == {}
        side = "A" if name in LEFT else "D"
        assert report["received"][side]["messages"] == WHILE_SPLIT
    assert len({tuple(history["views"][-1]) for history in told["histories"].values()}) == 1
    expect_held(tmp_path, *(f"G{number}" for number in range(1, 11)))
