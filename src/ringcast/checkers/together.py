"""Judgements of several runs, or of several groups of one run, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ringcast.checkers.judge import Judgement
from ringcast.checkers.shape import KEPT_VIOLATIONS, Finding

_WORST = ("violated", "unjudged", "held")
_KEPT_REASONS = 10


def together(judgements: Sequence[Judgement]) -> Judgement:
    """What holds for all of them: the worst verdict, and for each guarantee everything that was found."""
    if len(judgements) == 1:
        return judgements[0]
    verdicts = [judgement.verdict for judgement in judgements]
    worst = next(verdict for verdict in _WORST if verdict in verdicts)
    reasons = dict.fromkeys(reason for j in judgements if j.verdict == worst for reason in j.reasons)
    findings = {name: _finding([j.findings[name] for j in judgements]) for name in judgements[0].findings}
    return replace(
        judgements[0],
        verdict=worst,
        findings=findings,
        events=sum(j.events for j in judgements),
        dropped_events=sum(j.dropped_events for j in judgements),
        reasons=list(reasons)[:_KEPT_REASONS],
        not_judged=list(dict.fromkeys(sentence for j in judgements for sentence in j.not_judged)),
    )


def _finding(findings: Sequence[Finding]) -> Finding:
    violations = [violation for finding in findings for violation in finding.violations]
    examined = sum(finding.examined for finding in findings)
    # A guarantee that one run did not exercise is not missing from the others.
    missing = dict.fromkeys(reason for finding in findings for reason in finding.missing)
    return Finding(
        findings[0].guarantee,
        examined,
        violations[:KEPT_VIOLATIONS],
        sum(finding.violation_count for finding in findings),
        list(missing)[:_KEPT_REASONS],
    )
