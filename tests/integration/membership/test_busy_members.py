"""Eight real processes, each in a network namespace of its own: one is busy, one is frozen, one is stuck for good."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from integration.judging import expect_held
from ringcast.lab import Company, Network, Stage

NAMES = list("ABCDEFGH")
SENDERS = ["B", "C", "D"]
LONG_SECONDS = 20.0  # how long a member is busy or frozen; far above the 5 s in which a crash is noticed


async def busy_then_frozen(record: Path) -> dict[str, Any]:
    async with Network() as network, Stage() as stage:
        company = Company(stage, record, network, profile="lan", on_exclusion="rejoin")
        await company.form(NAMES)
        company.load(SENDERS, rate=400)
        before = await company["A"]("history")
        await company["G"]("stall", seconds=LONG_SECONDS)
        after = await company["A"]("history")
        was_frozen = await freeze(company, "H")
        back = await company["H"]("until_rejoined")
        await company.until_view(NAMES)
        loads = await company.hush()
        reports = await company.settle()
        history = await company["A"]("history")
        await company.ask(NAMES, "leave")
    return {
        "views while busy": (before["views"], after["views"]),
        "frozen": was_frozen,
        "back": back,
        "loads": loads,
        "reports": reports,
        "history": history,
    }


async def freeze(company: Company, name: str) -> dict[str, Any]:
    """SIGSTOP, and SIGCONT after a long time in which the others have gone on without it."""
    me = await company[name]("history")
    company[name].signal(signal.SIGSTOP)
    thawing = asyncio.create_task(asyncio.sleep(LONG_SECONDS))
    others = [other for other in company.names if other != name]
    await company.until_view(others)
    await thawing
    company[name].signal(signal.SIGCONT)
    return me


@pytest.mark.needs("namespaces")
def test_a_busy_member_stays_and_a_frozen_one_is_excluded_and_comes_back(tmp_path: Path) -> None:
    """V17 and beyond: slow is not dead; frozen is, learns of it, and comes back as a new incarnation under load."""
    told = asyncio.run(busy_then_frozen(tmp_path))
    before, after = told["views while busy"]
    assert before == after, "a member whose loop was blocked stays in the view"
    (rejoin,) = told["back"]["rejoins"]
    assert rejoin["was"] == told["frozen"]["me"] and "went on without it" in rejoin["why"]
    assert told["back"]["me"] != rejoin["was"] and told["back"]["me"] in told["history"]["views"][-1]
    for report in told["reports"].values():
        assert {name: seen["wrong"] for name, seen in report["received"].items() if seen["wrong"]} == {}
    print({name: load["longest_wait_seconds"] for name, load in told["loads"].items()})
    expect_held(tmp_path, "G1", "G2", "G3", "G4", "G5", "G6", "G7")


async def stuck_for_good(record: Path) -> dict[str, Any]:
    async with Stage() as stage:
        company = Company(stage, record, config={"stall_limit_ns": 4_000_000_000})
        await company.form(NAMES[:5])
        company.load(SENDERS, rate=400)
        stuck = asyncio.create_task(company["E"]("stall", seconds=3600.0, limit=3700.0))
        left = NAMES[:4]
        slow = await until_called_slow(company)
        await company.until_view(left)
        await until_all_sent_more(company)
        loads = await company.hush()
        await company["E"].kill()
        await asyncio.gather(stuck, return_exceptions=True)
        reports = await company.settle()
        await company.ask(left, "leave")
    return {"loads": loads, "reports": reports, "slow": slow}


async def until_called_slow(company: Company) -> str:
    """Before it is excluded, those who watch it say that it lives and stands still."""
    while not (slow := (await company["A"]("status"))["slow"]):
        await asyncio.sleep(0.05)
    return str(slow[0])


async def until_all_sent_more(company: Company) -> None:
    """Each sender delivers its own messages, so what it received of itself shows that it goes on."""
    before = {name: own_messages(name, report) for name, report in (await company.ask(SENDERS, "report")).items()}
    now = before
    while any(now[name] <= before[name] for name in SENDERS):
        await asyncio.sleep(0.05)
        now = {name: own_messages(name, report) for name, report in (await company.ask(SENDERS, "report")).items()}


def own_messages(name: str, report: dict[str, Any]) -> int:
    return int(report["received"][name]["messages"])


def test_a_member_that_is_blocked_for_ever_is_excluded_and_the_senders_go_on(tmp_path: Path) -> None:
    """Its heartbeats still come; after the stall limit (here 4 s) that no longer helps it."""
    told = asyncio.run(stuck_for_good(tmp_path))
    assert told["slow"].startswith("E#")
    for report in told["reports"].values():
        assert {name: seen["wrong"] for name, seen in report["received"].items() if seen["wrong"]} == {}
    expect_held(tmp_path, "G1", "G3", "G4", "G5")


async def frozen_coordinator(record: Path) -> dict[str, Any]:
    async with Stage() as stage:
        company = Company(stage, record, on_exclusion="rejoin")
        names = NAMES[:4]
        await company.form(names)
        seen = await company.until_view(names)
        coordinator = seen["A"]["coordinator"].partition("#")[0]
        others = [name for name in names if name != coordinator]
        company.load(others[:2], rate=400)
        company[coordinator].signal(signal.SIGSTOP)
        await company.until_view(others)
        company[coordinator].signal(signal.SIGCONT)
        back = await company[coordinator]("until_rejoined")
        await company.until_view(names)
        await company.hush()
        await company.settle()
        histories = await company.ask(others, "history")
        await company.ask(names, "leave")
    return {"back": back, "histories": histories}


def test_a_coordinator_that_was_frozen_learns_that_it_is_none_any_more(tmp_path: Path) -> None:
    told = asyncio.run(frozen_coordinator(tmp_path))
    (rejoin,) = told["back"]["rejoins"]
    assert told["back"]["me"] != rejoin["was"]
    for history in told["histories"].values():
        assert history["rejoins"] == [] and told["back"]["me"] in history["views"][-1]
    expect_held(tmp_path, "G1", "G3", "G4", "G5")
