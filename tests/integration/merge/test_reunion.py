"""Six real processes whose applications merge their states: cut in two, busy on both sides, healed under load."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from integration.judging import expect_held
from integration.long import IS_LONG
from ringcast.lab import Company, Network, Stage

LEFT, RIGHT = list("ABC"), list("DEF")
NAMES = LEFT + RIGHT
WHILE_SPLIT = 3_000
KILLED: list[str | None] = [None, "A"] if IS_LONG else ["A"]  # A merges


async def merge_states(record: Path, killed: str | None) -> dict[str, Any]:
    async with Network() as network, Stage() as stage:
        company = Company(stage, record, network, profile="lan", state={"kind": "history"})
        await company.form(NAMES, right=RIGHT)
        await company.until_view(NAMES)
        company.load(["B", "E"], rate=300)
        await network.block_trunk()
        await asyncio.gather(company.until_view(LEFT), company.until_view(RIGHT))
        await company.ask(["C", "F"], "send", count=WHILE_SPLIT, size=100, rate=3_000)
        await network.unblock_trunk()
        healed = time.monotonic()
        await company.until_view(NAMES, at=["D"])
        if killed is not None:
            await company[killed].kill()
        living = [name for name in NAMES if name != killed]
        await company.until_view(living)
        await company.hush()
        await company.settle()
        took = time.monotonic() - healed
        states = await company.ask(living, "state")
        histories = await company.ask(living, "history")
        await company.ask(living, "leave")
    return {"states": states, "histories": histories, "took": took}


@pytest.mark.needs("namespaces", "nft")
@pytest.mark.parametrize("killed", KILLED)
def test_the_histories_of_both_sides_become_one_and_nothing_is_lost_or_doubled(
    killed: str | None, tmp_path: Path
) -> None:
    """The merge hook with processes; C and F spoke while the sides were apart, B and E all the time."""
    told = asyncio.run(merge_states(tmp_path, killed))
    states = told["states"]
    one = states["D"]
    for name, state in states.items():
        assert (state["counts"], state["digests"]) == (one["counts"], one["digests"]), name
    assert {one["counts"][name] for name in "CF"} == {WHILE_SPLIT + 2}, "the messages and two end markers"
    merges = sum(state["merges"] for state in states.values())
    print(f"{merges} calls of the hook at those who live, {one['loads']} loads at D, {told['took']:.2f} s in all")
    assert all(history["apart"] == [] for history in told["histories"].values())
    expect_held(tmp_path, "G1", "G4", "G5", "G8", "G9", "G10")
