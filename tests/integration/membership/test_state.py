"""Real processes join with state: while everybody sends, and when the state is large."""

import asyncio
from pathlib import Path
from typing import Any

from integration.judging import expect_held
from integration.long import either
from ringcast.lab import Company, Stage
from ringcast.model import SECOND, Kind
from ringcast.trace import read_run

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
    expect_held(tmp_path, "G1", "G4", "G5", "G18")


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


# ---- a joiner whose `set_state` takes long (Y16)

SENDERS = list("ABC")
LOAD_SECONDS = 6.0


async def join_under_load(record: Path, seconds: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Three send all the time, much more than a window in the time that the fourth needs for its state."""
    async with Stage() as stage:
        company = Company(stage, record, state={"kind": "history"}, config={"capacity": 512})
        await company.form(SENDERS)
        company.load(SENDERS, rate=1_000)
        await company.enter("D", state={"kind": "history", "seconds": seconds})
        said = await company["D"]("status")
        await company.until_view([*SENDERS, "D"])
        await company.hush()
        await company.settle()
        states = await company.ask([*SENDERS, "D"], "state")
        await company.ask([*SENDERS, "D"], "leave")
    return states, said


def longest_send_ns(record: Path) -> int:
    """The longest wait of any send of the three, as they recorded it."""
    longest = 0
    for recording in read_run([record]):
        begun: dict[int, int] = {}
        for event in recording.events:
            if event.kind is Kind.WAIT_START and (event.detail or {}).get("what") == "send":
                begun[event.value] = event.t_ns
            elif event.kind is Kind.WAIT_END and event.value in begun and recording.member.name in SENDERS:
                longest = max(longest, event.t_ns - begun.pop(event.value))
    return longest


def test_no_send_waits_for_a_set_state_of_six_seconds(tmp_path: Path) -> None:
    """Y16: at most half a second longer than beside a quick one."""
    quick, _ = asyncio.run(join_under_load(tmp_path / "quick", 0.0))
    slow, said = asyncio.run(join_under_load(tmp_path / "slow", LOAD_SECONDS))
    waits = {name: longest_send_ns(tmp_path / name) for name in ("quick", "slow")}
    print(f"longest send, in ms: { ({name: ns // 1_000_000 for name, ns in waits.items()}) }; joiner: {said['spool']}")
    assert waits["slow"] <= waits["quick"] + SECOND // 2, waits
    for states in (quick, slow):
        assert all(state["digests"] == states["A"]["digests"] for state in states.values())
        assert states["D"]["loads"] == 1
    assert slow["D"]["counts"]["A"] > LOAD_SECONDS * 512
    expect_held(tmp_path / "slow", "G1", "G3", "G5", "G18")
