"""Judgements of several runs as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ringcast.checkers.judge import Judgement, judge
from ringcast.checkers.shape import joined

_WORST = ("violated", "unjudged", "held")
_KEPT_REASONS = 10


def nothing_read(why: str) -> Judgement:
    """The judgement of a run of which nothing could be read."""
    return replace(judge(()), reasons=[f"nothing of this run could be read: {why}"])


def together(judgements: Sequence[Judgement]) -> Judgement:
    """What holds for all of them: the worst verdict, and for each guarantee everything that was found."""
    if len(judgements) == 1:
        return judgements[0]
    verdicts = [judgement.verdict for judgement in judgements]
    worst = next(verdict for verdict in _WORST if verdict in verdicts)
    reasons = dict.fromkeys(reason for j in judgements if j.verdict == worst for reason in j.reasons)
    findings = {name: joined([j.findings[name] for j in judgements]) for name in judgements[0].findings}
    return replace(
        judgements[0],
        verdict=worst,
        findings=findings,
        events=sum(j.events for j in judgements),
        dropped_events=sum(j.dropped_events for j in judgements),
        recordings=sum(j.recordings for j in judgements),
        reasons=list(reasons)[:_KEPT_REASONS],
        not_judged=list(dict.fromkeys(sentence for j in judgements for sentence in j.not_judged)),
    )
