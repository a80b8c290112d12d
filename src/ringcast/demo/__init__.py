"""The tour: a real group on this machine, told in words, recorded and judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringcast.demo.steps import Audience, DemoError, Step, Steps
from ringcast.demo.tour import Options, walk
from ringcast.demo.verdict import Verdict, judged_by_checkers, judged_by_spark
from ringcast.lab import PuppetError

__all__ = ["Audience", "Options", "Outcome", "Step", "take_tour"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a tour: its steps, and the verdict if it came that far."""

    steps: list[dict[str, Any]]
    judgement: Verdict | None
    failure: str | None
    report: Path | None = None
    judge: str = "checkers"

    @property
    def is_good(self) -> bool:
        return self.failure is None and self.verdict == "held"

    @property
    def verdict(self) -> str:
        return "unjudged" if self.judgement is None else str(self.judgement["verdict"])


async def take_tour(options: Options, audience: Audience, *, by_spark: bool) -> Outcome:
    """Walk, then judge; the page goes beside the recordings."""
    steps = Steps(audience)
    judge = "spark" if by_spark else "checkers"
    page = options.record / "report.html"
    try:
        await walk(options, steps)
        if by_spark:
            judgement = await judged_by_spark(options.record, page, steps)
            return Outcome(steps.to_json(), judgement, None, page, judge)
        judgement = await judged_by_checkers(options.record, steps)
        return Outcome(steps.to_json(), judgement, None, judge=judge)
    except (DemoError, PuppetError) as failure:
        return Outcome(steps.to_json(), None, str(failure), judge=judge)
