"""The end of a tour: its recordings judged, by Spark with a page to look at, or by the checkers, rule by rule."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ringcast.checkers import GUARANTEES, Judgement, judge
from ringcast.demo.steps import Steps
from ringcast.trace import read_run


async def judged_by_checkers(record: Path, steps: Steps) -> Judgement:
    async with steps.step("The recordings of all members are judged by the checkers (not by Spark: --quick)"):
        judgement = await asyncio.to_thread(judge, read_run([record]), GUARANTEES)
        _tell(judgement, steps)
        return judgement


async def judged_by_spark(record: Path, page: Path, steps: Steps) -> Judgement:
    from ringcast.pipeline import write_report

    async with steps.step("The recordings of all members are judged by Spark"):
        title = "The demo: form, talk, wait, crash, split, merge, order"
        judgement = await asyncio.to_thread(write_report, read_run([record]), page, title, steps.tell, None, GUARANTEES)
        _tell(judgement, steps)
        return judgement


def _tell(judgement: Judgement, steps: Steps) -> None:
    for name, finding in judgement.findings.items():
        facts = f"{finding.examined:,} facts examined, {finding.violation_count} violations"
        why = f" ({finding.missing[0]})" if finding.missing else ""
        steps.tell(f"{name:>3} {finding.verdict}: {facts}{why}")
    steps.tell(f"verdict over {judgement.events:,} events: {judgement.verdict}")
