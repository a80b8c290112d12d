"""The page itself: verdict per guarantee with coverage, timeline of views and merges, plots, and where figures come
from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ringcast.checkers import Finding, Judgement
from ringcast.model import Kind
from ringcast.pipeline.metrics import Metrics, lower_bound, percentile
from ringcast.pipeline.report import svg

TITLES = {
    "G1": "FIFO",
    "G2": "Bounded windows",
    "G3": "Purged means delivered",
    "G4": "Views",
    "G5": "Agreed cut",
    "G6": "Separation of merges and view changes",
    "G7": "Every suspension ends",
    "G8": "No hearsay",
    "G9": "Merge is whole",
    "G10": "Merge repeats nothing",
    "G11": "Local order",
    "G12": "Atomic queueing",
    "G13": "Causality",
    "G14": "Nothing blocks for ever",
}

_STYLE = """
:root { color-scheme: light; --ink: #1c2530; --soft: #5b6775; --line: #d9dee4; --good: #1f7a45; --bad: #b3261e; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 60rem; padding: 2rem 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } p { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .92rem; } caption { text-align: left; color: var(--soft); }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.held { color: var(--good); font-weight: 600; } .violated { color: var(--bad); font-weight: 700; }
.unjudged { color: var(--soft); } .verdict { font-size: 1.3rem; } small { color: var(--soft); display: block; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: #444; }
@media print { body { max-width: none; padding: 0; } h2, table, svg { break-inside: avoid; } }
"""

_LATENCY_NOTE = """<p>From SEND to DELIVER, of the last message of each run. Members of one host share a clock; between
hosts the figures include the difference of their clocks.</p>"""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a page is about: the verdict, the figures, and the control events as plain rows."""

    title: str
    judgement: Judgement
    metrics: Metrics
    names: Sequence[str]
    control: Sequence[Mapping[str, Any]]
    end_ns: int


def render(subject: Subject) -> str:
    """The page as HTML text."""
    parts = [_verdict(subject), _guarantees(subject), _views(subject), _traffic(subject), _latency(subject)]
    parts += [_windows(subject), _handler(subject), _members(subject)]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"<head>{meta}<title>{escape(subject.title)}</title><style>{_STYLE}</style></head>"
    return f'<!doctype html><html lang="en">{head}<body>{"".join(parts)}</body></html>'


def _verdict(subject: Subject) -> str:
    judgement = subject.judgement
    why = "; ".join(judgement.reasons[:3])
    word = f'<span class="verdict {judgement.verdict}">{judgement.verdict}</span>'
    facts = f"{judgement.events:,} events of {len(subject.names)} members, {judgement.dropped_events:,} dropped"
    return f"<h1>{escape(subject.title)}</h1><p>{word} · {facts}<small>{escape(why)}</small></p>"


def _guarantees(subject: Subject) -> str:
    rows = "".join(_guarantee(name, finding) for name, finding in subject.judgement.findings.items())
    head = f"<tr><th></th><th>Guarantee</th><th>Verdict</th>{_headings('Examined', 'Violations')}</tr>"
    return f"<h2>Guarantees</h2><table>{head}{rows}</table>"


def _headings(*names: str) -> str:
    """Heads of columns with figures."""
    return "".join(f'<th class="number">{name}</th>' for name in names)


def _figures(*figures: str) -> str:
    return "".join(f'<td class="number">{figure}</td>' for figure in figures)


def _guarantee(name: str, finding: Finding) -> str:
    notes = [f"event {v.index} of {', '.join(map(str, v.members[:1]))}: {v.sentence}" for v in finding.violations[:5]]
    notes += finding.missing[:2]
    if finding.violation_count > 5:
        notes.append(f"and {finding.violation_count - 5:,} more")
    text = "".join(f"<small>{escape(note)}</small>" for note in notes)
    cells = f'<td>{name}</td><td>{TITLES[name]}{text}</td><td class="{finding.verdict}">{finding.verdict}</td>'
    return f"<tr>{cells}{_figures(f'{finding.examined:,}', f'{finding.violation_count:,}')}</tr>"


def _views(subject: Subject) -> str:
    rows: dict[str, list[tuple[float, float, str, bool]]] = {name: [] for name in subject.names}
    by_member: dict[int, list[Mapping[str, Any]]] = {}
    for row in subject.control:
        if row["kind"] == Kind.VIEW and row["number"] is not None:
            by_member.setdefault(row["member"], []).append(row)
    for member, views in by_member.items():
        for i, view in enumerate(views):
            end = views[i + 1]["t_ns"] if i + 1 < len(views) else subject.end_ns
            creator = _name(subject, view["number_creator"])
            block = (_seconds(subject, view["t_ns"]), _seconds(subject, end), f"{creator}|{view['number']}")
            rows[subject.names[member]].append((*block, bool(view["subgroups"])))
    note = "<p>One row per member, one block per view; a merge has a dark edge.</p>"
    return f"<h2>Views and merges</h2>{note}{svg.timeline(rows, _seconds(subject, subject.end_ns))}"


def _traffic(subject: Subject) -> str:
    metrics = subject.metrics
    seconds = metrics.slot_ns / 1e9
    slots = 1 + max((max(by_slot, default=0) for by_slot in metrics.delivered.values()), default=0)
    series = {
        subject.names[m]: [by_slot.get(s, 0) / seconds for s in range(slots)]
        for m, by_slot in sorted(metrics.delivered.items())[:8]
    }
    if not series:
        return ""
    sent, delivered = metrics.total(Kind.SEND), metrics.total(Kind.DELIVER)
    again, dropped = metrics.total(Kind.REPAIR), metrics.total(Kind.DROP)
    facts = f"{sent:,} messages sent, {delivered:,} delivered in runs of {metrics.mean_run:.1f}; {again:,} sent again "
    facts += f"({100 * metrics.repeated_share:.2f} %), {dropped:,} dropped on arrival"
    plot = svg.lines(series, slots * seconds, "s", "delivered per second")
    return f"<h2>Throughput</h2><p>{facts}</p>{plot}"


def _latency(subject: Subject) -> str:
    histogram = subject.metrics.all_latencies()
    if not histogram:
        return ""
    bars = svg.bars([(_time(lower_bound(b)), count) for b, count in sorted(histogram.items())], "messages")
    rows = "".join(_pair(subject, pair) for pair in sorted(subject.metrics.latency)[:64])
    head = f"<tr><th>Sender</th><th>Receiver</th>{_headings('messages', 'p50', 'p99', 'p99.9')}</tr>"
    return f"<h2>Latency</h2>{_LATENCY_NOTE}{bars}<table>{head}{rows}</table>"


def _pair(subject: Subject, pair: tuple[int, int]) -> str:
    histogram = subject.metrics.latency[pair]
    figures = [f"{sum(histogram.values()):,}", *(_time(percentile(histogram, s) or 0) for s in (0.5, 0.99, 0.999))]
    return f"<tr><td>{_name(subject, pair[0])}</td><td>{_name(subject, pair[1])}</td>{_figures(*figures)}</tr>"


def _windows(subject: Subject) -> str:
    metrics = subject.metrics
    slots = 1 + max((max(by_slot, default=0) for by_slot in metrics.occupancy.values()), default=0)
    series = {
        subject.names[m]: [float(by_slot.get(s, 0)) for s in range(slots)]
        for m, by_slot in sorted(metrics.occupancy.items())[:8]
    }
    if not series:
        return ""
    plot = svg.lines(series, slots * metrics.slot_ns / 1e9, "s", "messages in the send window (highest)")
    return f"<h2>Send windows</h2>{plot}"


def _handler(subject: Subject) -> str:
    """How long view changes and merges took: from SUSPEND to RESUME."""
    begun: dict[tuple[int, int], Mapping[str, Any]] = {}
    took: dict[str, list[int]] = {}
    for row in subject.control:
        key = (row["member"], row["value"])
        if row["kind"] == Kind.SUSPEND:
            begun[key] = row
        elif row["kind"] == Kind.RESUME and key in begun:
            took.setdefault(f"{begun[key]['cause']} → {row['cause']}", []).append(row["t_ns"] - begun[key]["t_ns"])
    if not took:
        return ""
    rows = "".join(
        f"<tr><td>{escape(what)}</td>{_durations(sorted(times))}</tr>" for what, times in sorted(took.items())
    )
    head = f"<tr><th>Suspended for → ended by</th>{_headings('times', 'median', 'longest')}</tr>"
    return f"<h2>View handler</h2><table>{head}{rows}</table>"


def _durations(times: Sequence[int]) -> str:
    return _figures(f"{len(times):,}", _time(times[len(times) // 2]), _time(times[-1]))


def _members(subject: Subject) -> str:
    rows = []
    for member, name in enumerate(subject.names):
        messages = subject.metrics.messages.get(member, {})
        counts = [messages.get(int(kind), 0) for kind in (Kind.SEND, Kind.DELIVER)]
        counts.append(sum(subject.metrics.events.get(member, {}).values()))
        rows.append(f"<tr><td>{escape(name)}</td>{_figures(*(f'{count:,}' for count in counts))}</tr>")
    head = f"<tr><th>Member</th>{_headings('sent', 'delivered', 'events')}</tr>"
    return f"<h2>Members</h2><table>{head}{''.join(rows)}</table>"


def _name(subject: Subject, code: int) -> str:
    return escape(subject.names[code]) if 0 <= code < len(subject.names) else "?"


def _seconds(subject: Subject, t_ns: int) -> float:
    return (t_ns - subject.metrics.start_ns) / 1e9


def _time(ns: int) -> str:
    for limit, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "µs")):
        if ns >= limit:
            return f"{ns / limit:.3g} {unit}"
    return f"{ns} ns"
