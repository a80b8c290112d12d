"""The same life over TCP, whose heartbeats have connections of their own: busy, killed, frozen, back."""

import asyncio
import signal
from pathlib import Path
from typing import Any

from integration.judging import expect_held
from ringcast.lab import Company, Stage

NAMES = list("ABCDE")
BUSY_SECONDS = 6.0  # above the time in which silence is suspected, below the stall limit


async def story(record: Path) -> dict[str, Any]:
    async with Stage() as stage:
        company = Company(stage, record, transport="tcp", on_exclusion="rejoin")
        await company.form(NAMES)
        company.load(["B", "C"], rate=300)
        before = await company["A"]("history")
        await company["D"]("stall", seconds=BUSY_SECONDS)
        after = await company["A"]("history")
        await company["A"].kill()
        await company.until_view("BCDE")
        company["E"].signal(signal.SIGSTOP)
        await company.until_view("BCD")
        company["E"].signal(signal.SIGCONT)
        back = await company["E"]("until_rejoined")
        await company.until_view("BCDE")
        await company.hush()
        reports = await company.settle()
        await company.ask(company.names, "leave")
    return {"views": (before["views"], after["views"]), "back": back, "reports": reports}


def test_over_tcp_a_busy_member_stays_a_dead_one_goes_and_a_frozen_one_comes_back(tmp_path: Path) -> None:
    told = asyncio.run(story(tmp_path))
    before, after = told["views"]
    assert before == after
    assert len(told["back"]["rejoins"]) == 1
    for report in told["reports"].values():
        assert report["counters"]["frames_aside"] > 0
        assert {name: seen["wrong"] for name, seen in report["received"].items() if seen["wrong"]} == {}
    expect_held(tmp_path, "G1", "G3", "G4", "G5")
