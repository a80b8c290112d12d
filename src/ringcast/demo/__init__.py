"""The tour: a real group on this machine, told in words, recorded and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ringcast.checkers import Judgement
from ringcast.demo.steps import DemoError, Say, Steps
from ringcast.demo.tour import Options, walk
from ringcast.demo.verdict import judged
from ringcast.lab import PuppetError

__all__ = ["Options", "Outcome", "take_tour"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a tour: its steps, and the verdict if it came that far."""

    steps: list[dict[str, Any]]
    judgement: Judgement | None
    failure: str | None

    @property
    def is_good(self) -> bool:
        return self.failure is None and self.judgement is not None and self.judgement.verdict == "held"


async def take_tour(options: Options, say: Say) -> Outcome:
    steps = Steps(say)
    try:
        await walk(options, steps)
        judgement = await judged(options.record, steps)
    except (DemoError, PuppetError) as failure:
        return Outcome(steps.to_json(), None, str(failure))
    return Outcome(steps.to_json(), judgement, None)
