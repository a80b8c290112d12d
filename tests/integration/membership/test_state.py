"""Real processes join with state: while everybody sends, and when the state is large."""

import asyncio
from pathlib import Path
from typing import Any

from integration.judging import expect_held
from integration.long import either
from ringcast.lab import Company, Stage

NAMES = list("ABCD")
COUNT = 1000
MEGABYTES = int(either(1000, 60))


async def all_join_while_all_send(record: Path) -> dict[str, Any]:
    async with Stage() as stage:
        company = Company(stage, record, state={"kind": "history"})
        await company.enter("A")

        async def take_part(name: str) -> None:
            if name != "A":
                await company.enter(name)
            await company[name]("send", count=COUNT, size=100, rate=2000)

        await asyncio.gather(*map(take_part, NAMES))
        await company.until_view(NAMES)
        await company.settle()
        states = await company.ask(NAMES, "state")
        await company.ask(NAMES, "leave")
    return states


def test_four_join_with_state_while_each_sends_and_all_hold_the_identical_history(tmp_path: Path) -> None:
    """T01 with processes: 4 x 1000 messages and the end markers, the same of each sender at each member."""
    states = asyncio.run(all_join_while_all_send(tmp_path))
    for state in states.values():
        assert (state["counts"], state["digests"]) == (states["A"]["counts"], states["A"]["digests"])
        assert all(count >= COUNT for count in state["counts"].values()) and set(state["counts"]) == set(NAMES)
    expect_held(tmp_path, "G1", "G4", "G5")


async def large_state(record: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    async with Stage() as stage:
        company = Company(stage, record, state={"kind": "bulk", "megabytes": MEGABYTES})
        await company.enter("A")
        before = await company["A"]("report")
        await company.enter("B", limit=600.0)
        state = await company["B"]("state")
        reports = await company.ask(["A", "B"], "report")
        await company.ask(["A", "B"], "leave")
    return state, before, reports


def test_a_large_state_streams_with_flat_memory(tmp_path: Path) -> None:
    state, before, reports = asyncio.run(large_state(tmp_path))
    assert (state["got"], state["is_right"]) == (MEGABYTES * 1_000_000, True)
    base = before["rss_megabytes"]
    peaks = {name: report["rss_megabytes"] for name, report in reports.items()}
    print(f"a state of {MEGABYTES} MB; peak memory {peaks} MB, {base:.0f} MB before")
    assert all(peak - base < 40 for peak in peaks.values()), (base, peaks)
