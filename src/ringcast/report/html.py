"""The report: one file with its styles, scripts and figures in it. Nothing is fetched, and its own policy forbids it.

Words and tables are in the HTML, so that they are there without scripts, on paper and for a screen reader; the charts
are drawn by uPlot and by the components of the live page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ringcast.checkers import Judgement
from ringcast.page import asset, joined_modules
from ringcast.report.charts import drawn_charts
from ringcast.report.markup import tiles
from ringcast.report.sections import (
    about,
    changes,
    course,
    guarantees,
    latency,
    members,
    traffic,
    violations,
    waiting,
)
from ringcast.report.subject import Subject
from ringcast.report.words import TITLES

_STATIC = Path(__file__).parent / "static"
_META = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
_PARTS = {
    "Violations": violations,
    "Guarantees": guarantees,
    "Course": course,
    "Traffic": traffic,
    "Latency": latency,
    "Waiting": waiting,
    "Membership": changes,
    "Members": members,
    "About": about,
}


def render(subject: Subject) -> str:
    """The report as HTML text."""
    parts = {name: text for name, part in _PARTS.items() if (text := part(subject))}
    scripts = [
        asset("vendor/uPlot.iife.min.js"),
        joined_modules([asset("look.js"), asset("paint.js"), _own("report.js")]),
    ]
    styles = "\n".join([asset("theme.css"), asset("vendor/uPlot.min.css"), _own("report.css")])
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}; img-src data:; base-uri 'none'"
    head = (
        f'<head>{_META}<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(subject.about.title)}</title>'
        f'<link rel="icon" href="data:,"><style>{styles}</style></head>'
    )
    running = "".join(f"<script>{script}</script>" for script in scripts)
    data = f'<script type="application/json" id="data">{_embedded(drawn_charts(subject))}</script>'
    main = f"<main>{''.join(parts.values())}</main>"
    body = f"<body>{_top(subject)}{_contents(parts)}{main}{data}{running}</body>"
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _own(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _embedded(value: Mapping[str, Any]) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _top(subject: Subject) -> str:
    judgement, people = subject.judgement, subject.people
    word, why = _verdict_in_words(judgement)
    reasons = "".join(f"<p>{escape(subject.names.within(reason))}</p>" for reason in why)
    box = f'<div class="verdict {judgement.verdict}"><strong>{escape(word)}</strong>{reasons}</div>'
    counts = [finding.verdict for finding in judgement.findings.values()]
    shown = {
        "guarantees held": f"{counts.count('held')} of {len(counts)}",
        "violated": str(counts.count("violated")),
        "members": f"{len(people):,}",
        "views": f"{len(subject.scene['views']):,}",
        "events judged": f"{judgement.events:,}",
        "events dropped": f"{judgement.dropped_events:,}",
    }
    made = f"{subject.length:,.4g} s of {len(people)} members · {subject.about.made} · ringcast {subject.about.version}"
    return (
        f'<header><h1>{escape(subject.about.title)}</h1><p class="soft">{escape(made)}</p>{box}{tiles(shown)}</header>'
    )


def _contents(parts: Mapping[str, str]) -> str:
    anchors = {name: part.partition('id="')[2].partition('"')[0] for name, part in parts.items()}
    links = "".join(f'<li><a href="#{anchor}">{name}</a></li>' for name, anchor in anchors.items())
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


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
