"""The end of a tour: its recordings judged, by Spark or by the checkers, and told rule by rule."""

from __future__ import annotations

from pathlib import Path

from ringcast.checkers import Judgement, judge
from ringcast.demo.steps import Steps
from ringcast.trace import read_run


async def judged(record: Path, steps: Steps) -> Judgement:
    async with steps.step("The recordings of all members are judged by the checkers"):
        judgement = judge(read_run([record]))
        for name, finding in judgement.findings.items():
            facts = f"{finding.examined:,} facts examined, {finding.violation_count} violations"
            why = f" ({finding.missing[0]})" if finding.missing else ""
            steps.tell(f"{name:>3} {finding.verdict}: {facts}{why}")
        steps.tell(f"verdict over {judgement.events:,} events: {judgement.verdict}")
        return judgement
