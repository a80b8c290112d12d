"""From recordings to a page on disk: judge, measure, render."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ringcast.checkers import Judgement
from ringcast.pipeline.checking import Request, outcome_of_one
from ringcast.pipeline.report import render
from ringcast.pipeline.report.subject import gather


def write_report(request: Request, output: Path, title: str, say: Callable[[str], None]) -> Judgement:
    """Judge and measure the recordings of one run and write the page; the judgement is what it says."""
    outcome = outcome_of_one(request, say)
    output.write_text(render(gather(outcome, title)), encoding="utf-8")
    return outcome.judgement
