"""The last words of a company: everybody has heard everybody, also where a view came between."""

import asyncio
import signal
from pathlib import Path

import pytest

from ringcast.lab import Company, Stage


async def wake_an_excluded_member_while_all_speak(on_exclusion: str, record: Path) -> dict[str, dict[str, object]]:
    """C is told to speak while it is frozen, and wakes when the others have gone on without it."""
    async with Stage() as stage:
        company = Company(stage, record, on_exclusion=on_exclusion)
        await company.form("ABC")
        company["C"].signal(signal.SIGSTOP)
        settling = asyncio.create_task(company.settle())
        await company.until_view("AB")
        company["C"].signal(signal.SIGCONT)
        return await settling


@pytest.mark.parametrize("on_exclusion", ["merge", "rejoin"])
def test_a_member_excluded_while_all_speak_is_heard_in_the_next_view(on_exclusion: str, tmp_path: Path) -> None:
    reports = asyncio.run(wake_an_excluded_member_while_all_speak(on_exclusion, tmp_path))
    assert sorted(reports) == ["A", "B", "C"]
    assert {report["view_id"] for report in reports.values()} == {reports["A"]["view_id"]}
