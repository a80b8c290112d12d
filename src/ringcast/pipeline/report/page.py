"""The page: verdict first, then each guarantee with what was looked at, then what happened and how fast.

One file without scripts and without network; everything on it can be printed.
"""

from __future__ import annotations

from html import escape

from ringcast.checkers import Finding, Judgement
from ringcast.pipeline.report.markup import figures, headings, tiles
from ringcast.pipeline.report.sections import changes, latency, members, timeline, traffic, waiting
from ringcast.pipeline.report.style import STYLE
from ringcast.pipeline.report.subject import Subject
from ringcast.pipeline.report.words import EXAMINED, STATEMENTS, TITLES

_META = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'


def render(subject: Subject) -> str:
    """The page as HTML text."""
    parts = [_top(subject), _guarantees(subject.judgement)]
    parts += [part(subject) for part in (timeline, traffic, latency, waiting, changes, members)]
    head = f"<head>{_META}<title>{escape(subject.title)}</title><style>{STYLE}</style></head>"
    return f'<!doctype html><html lang="en">{head}<body>{"".join(parts)}{_foot(subject)}</body></html>'


def _top(subject: Subject) -> str:
    judgement = subject.judgement
    word, why = _verdict_in_words(judgement)
    box = f'<div class="verdict {judgement.verdict}"><strong>{escape(word)}</strong>{_reasons(why)}</div>'
    counts = [f.verdict for f in judgement.findings.values()]
    shown = {
        "guarantees held": f"{counts.count('held')} of {len(counts)}",
        "violated": str(counts.count("violated")),
        "recordings": f"{len(subject.names):,}",
        "events judged": f"{judgement.events:,}",
        "events dropped": f"{judgement.dropped_events:,}",
    }
    where = f"What happened in {subject.seconds(subject.end_ns):,.3g} s, and whether every promise was kept"
    return f'<h1>{escape(subject.title)}</h1><p class="soft">{where}</p>{box}{tiles(shown)}'


def _verdict_in_words(judgement: Judgement) -> tuple[str, list[str]]:
    broken = [name for name, finding in judgement.findings.items() if finding.verdict == "violated"]
    if judgement.verdict == "violated":
        many = f"{len(broken)} guarantees were" if len(broken) > 1 else "A guarantee was"
        return f"{many} violated: {', '.join(f'{n} {TITLES[n]}' for n in broken)}", judgement.reasons[:3]
    if judgement.verdict == "unjudged":
        return "Unjudged: something is missing to say that all went well", judgement.reasons[:3]
    if judgement.unexercised:
        return "Held: every guarantee that this run put to the test", judgement.reasons[:3]
    return f"Held: all {len(judgement.findings)} guarantees were put to the test, and all held", []


def _reasons(reasons: list[str]) -> str:
    return "".join(f"<p>{escape(reason)}</p>" for reason in reasons)


def _guarantees(judgement: Judgement) -> str:
    rows = "".join(_guarantee(name, finding) for name, finding in judgement.findings.items())
    head = f"<tr><th></th><th>Guarantee</th><th>Verdict</th>{headings('Examined', 'Violations')}</tr>"
    note = '<p class="soft">Examined says how much a rule looked at: one that saw nothing is unjudged, never held.</p>'
    return f"<h2>Guarantees</h2>{note}<table>{head}{rows}</table>"


def _guarantee(name: str, finding: Finding) -> str:
    pill = f'<span class="pill {finding.verdict}">{finding.verdict}</span>'
    text = f"<b>{TITLES[name]}</b><small>{STATEMENTS[name]}</small>{_evidence(finding)}"
    examined = f"{finding.examined:,}<small>{EXAMINED[name]}</small>"
    cells = f'<td class="id">{name}</td><td>{text}</td><td>{pill}</td>'
    return f"<tr>{cells}{figures(examined, f'{finding.violation_count:,}')}</tr>"


def _evidence(finding: Finding) -> str:
    lines = [
        f"{escape(v.sentence)}<small>event {v.index} in the recording of {escape(str(v.members[0]))}</small>"
        for v in finding.violations[:5]
        if v.members
    ]
    if finding.violation_count > 5:
        lines.append(f"and {finding.violation_count - 5:,} more")
    shown = "".join(f'<div class="evidence">{line}</div>' for line in lines)
    return shown + "".join(f"<small>lacks: {escape(reason)}</small>" for reason in finding.missing[:2])


def _foot(subject: Subject) -> str:
    clocks = len(subject.clocks)
    if clocks <= 1:
        skew = "All members were stamped by one clock, so times of different members can be compared."
    else:
        skew = (
            f"Members were stamped by {clocks} clocks. Causality between members on different clocks was not judged by "
            "time, and latencies between them are left out."
        )
    order = "Order at one member is the place in its recording, never time."
    steps = "Latency histograms have sixteen steps in each doubling, so a figure is known to 6 %."
    where = "on Spark" if subject.judge == "spark" else "in one process"
    judge = f"Judged from the recordings by the ringcast pipeline {where}. {order} {skew}"
    return f"<footer><p>{judge}</p><p>{steps}</p></footer>"
