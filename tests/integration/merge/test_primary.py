"""Real processes of which only the primary side goes on: cut in two and healed; all have the larger side's state."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from integration.judging import expect_held
from ringcast.lab import Company, Network, Stage

LEFT, RIGHT = list("ABC"), list("DE")
NAMES = LEFT + RIGHT
WHILE_SPLIT = 1_000


async def cut_and_heal(record: Path) -> dict[str, Any]:
    async with Network() as network, Stage() as stage:
        options = {"profile": "lan", "state": {"kind": "history"}, "partition": "primary"}
        company = Company(stage, record, network, **options)
        await company.form(NAMES, right=RIGHT)
        await company.ask(["B", "D"], "send", count=100, size=100)
        await network.block_trunk()
        await asyncio.gather(company.until_view(LEFT), company.until_view(RIGHT))
        refused = await asyncio.gather(company["D"]("send", count=1, size=100), return_exceptions=True)
        await company["B"]("send", count=WHILE_SPLIT, size=100)
        await network.unblock_trunk()
        await company.ask(RIGHT, "until_rejoined")
        await company.until_view(NAMES)
        await company.settle()
        told = {"refused": str(refused[0]), "states": await company.ask(NAMES, "state")}
        told["histories"] = await company.ask(NAMES, "history")
        await company.ask(NAMES, "leave")
    return told


@pytest.mark.needs("namespaces", "nft")
def test_the_smaller_side_is_refused_and_comes_back_with_the_state_of_the_larger_one(tmp_path: Path) -> None:
    told = asyncio.run(cut_and_heal(tmp_path))
    assert "this side is not primary: 2 of the 5 voters" in told["refused"]
    one = told["states"]["A"]
    for state in told["states"].values():
        assert (state["counts"], state["digests"]) == (one["counts"], one["digests"])
    assert one["counts"]["B"] >= WHILE_SPLIT + 100
    assert [len(told["histories"][name]["rejoins"]) for name in NAMES] == [0, 0, 0, 1, 1]
    expect_held(tmp_path, "G1", "G4", "G5")


PAUSE_SECONDS = 9.0
LIMIT_SECONDS = 10.0  # from the end of the pause to the primary view


async def pause_one(record: Path, names: list[str], paused: str, killed: str | None = None) -> None:
    """The group is primary, one is killed and another stopped for a while; then the live ones are primary again."""
    async with Stage() as stage:
        company = Company(stage, record, profile="lan", partition="primary")
        await company.form(names)
        await company.until_view(names, primary=True)
        if killed is not None:
            await company[killed].kill()
        company[paused].signal(signal.SIGSTOP)
        await asyncio.sleep(PAUSE_SECONDS)
        company[paused].signal(signal.SIGCONT)
        live = [name for name in names if name != killed]
        async with asyncio.timeout(LIMIT_SECONDS):
            await company.until_view(live, primary=True)
        await company.ask(live, "send", count=10, size=100)
        await company.ask(live, "leave")


def test_y10_three_of_four_are_primary_after_the_coordinator_died_and_one_was_paused(tmp_path: Path) -> None:
    """Y10: the two that went on were half of the last primary view, without its first member."""
    asyncio.run(pause_one(tmp_path, list("ABCD"), paused="C", killed="A"))
    expect_held(tmp_path, "G4", "G5")


@pytest.mark.parametrize("paused", ["A", "B"])
def test_y11_two_are_primary_again_after_one_was_paused(tmp_path: Path, paused: str) -> None:
    """Y11: whichever of the two it was."""
    asyncio.run(pause_one(tmp_path, list("AB"), paused=paused))
    expect_held(tmp_path, "G4", "G5")
