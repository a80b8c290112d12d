"""A member killed with kill -9 in the middle of its work leaves a recording that is judged up to the cut, and the run
is judged as held: what it did after its last flush is unknown, never a violation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the pipeline needs pyarrow: pip install 'ringcast[pipeline]'")

from ringcast.checkers import judge
from ringcast.lab import Company, Stage
from ringcast.model import Kind
from ringcast.pipeline import judge_local
from ringcast.trace import read_run


async def _live(record: Path) -> None:
    async with Stage() as stage:
        company = Company(stage, record)
        await company.form(["a", "b", "c"])
        company.load("abc", rate=3_000)
        await asyncio.sleep(0.5)  # not to wait for anything: so long they talk
        await company["c"].kill()
        await company.until_view("ab")
        await company.hush()
        await company.settle(["a", "b"])
        await company.ask("ab", "close")


def test_a_recording_cut_by_kill_9_is_judged_cleanly_up_to_the_cut(tmp_path: Path) -> None:
    asyncio.run(_live(tmp_path / "recordings"))
    recordings = read_run([tmp_path / "recordings"])
    cut = [recording for recording in recordings if not recording.closed]
    assert [recording.member.name for recording in cut] == ["c"]
    assert sum(event.kind is Kind.DELIVER for event in cut[0].judgeable()) > 0
    (outcome,) = judge_local([str(tmp_path / "recordings")])
    by_rules = outcome.judgement
    assert by_rules.verdict == judge(recordings).verdict == "held"
    assert all(by_rules.findings[name].examined for name in ("G1", "G2", "G3", "G4", "G5"))
