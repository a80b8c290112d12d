"""The parts of the report below the verdict; one that has nothing to show is left out."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import log
from urllib.parse import quote

from ringcast.model import Kind
from ringcast.report.histogram import percentile
from ringcast.report.markup import duration, durations, section, table, tiles
from ringcast.report.subject import SHOWN, Shown, Subject
from ringcast.report.words import EXAMINED, STATEMENTS, TITLES

PAGE = "127.0.0.1:8642"  # where the links to the page point; the command beside them makes it listen there
MOST_MOMENTS = 150
MOST_HEAT = 32  # members in the heat map


def violations(subject: Subject) -> str:
    if not subject.violations:
        return ""
    each = []
    for name, finding in subject.judgement.findings.items():
        mine = [shown for shown in subject.violations if shown.guarantee == name]
        if not mine:
            continue
        each.append(f"<h3>{name} {TITLES[name]}: {finding.violation_count:,}</h3>")
        each += [_violation(shown) for shown in mine[:SHOWN]]
        each.append(_more(mine[SHOWN:], finding.violation_count - SHOWN))
    command = f"ringcast page {' '.join(subject.about.sources)} --bind {PAGE}"
    note = f'<p class="soft">“Show on the page” needs <code>{escape(command)}</code> to run on this machine.</p>'
    return section("violations", "Violations", note, *each)


def _violation(shown: Shown) -> str:
    links = []
    if shown.t is not None:
        links.append(f'<a href="#course" class="jump" data-t="{shown.t:.6f}">show in the charts</a>')
    if shown.place is not None:
        event = quote(f"{shown.place[0]}/{shown.place[1]}")
        links.append(f'<a href="http://{PAGE}/#event={event}">show on the page</a>')
    when = "" if shown.t is None else f'<span class="when">{shown.t:.4f} s</span> '
    lines = [
        f'<tr{" class=evidence" if line.is_evidence else ""}><td class="number">{line.t:.4f} s</td>'
        f"<td>{escape(line.member)}</td><td>{line.kind}</td><td>{escape(line.words)}</td></tr>"
        for line in shown.lines
    ]
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("time", "member", "kind", "what"))
    around = (
        f'<details open><summary>the events around it</summary><table class="log"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></details>"
    )
    return (
        f'<article class="violation" id="{shown.anchor}"><p>{when}{escape(shown.sentence)}</p>'
        f"<p>{' · '.join(links)}</p>{around if lines else ''}</article>"
    )


def _more(rest: list[Shown], count: int) -> str:
    if count <= 0:
        return ""
    sentences = "".join(f"<li>{escape(shown.sentence)}</li>" for shown in rest)
    return f"<details><summary>{count:,} more</summary><ul>{sentences}</ul></details>"


def guarantees(subject: Subject) -> str:
    cards = []
    for name, finding in subject.judgement.findings.items():
        found = ""
        if finding.violation_count:
            found = f'<a href="#{name}-1">{finding.violation_count:,} violations</a>'
        lacks = "".join(f"<small>lacks: {escape(subject.names.within(why))}</small>" for why in finding.missing[:2])
        cards.append(
            f'<div class="card {finding.verdict}" data-guarantee="{name}" data-examined="{finding.examined}">'
            f'<p><b>{name}</b> <span class="pill {finding.verdict}">{finding.verdict}</span></p>'
            f"<p><b>{TITLES[name]}</b></p><small>{STATEMENTS[name]}</small>"
            f"<p>{finding.examined:,} {EXAMINED[name]} {found}</p>{lacks}</div>"
        )
    note = "Examined says how much a rule looked at: one that saw nothing is unjudged, never held."
    return section("guarantees", "Guarantees", f'<div class="grid">{"".join(cards)}</div>', note=note)


CONTROLS = """<div class="controls" role="toolbar" aria-label="Time axis">
<button type="button" data-zoom="in">zoom in</button><button type="button" data-zoom="out">zoom out</button>
<button type="button" data-zoom="left" aria-label="earlier">‹</button>
<button type="button" data-zoom="right" aria-label="later">›</button>
<button type="button" data-zoom="all">whole run</button>
<label><input type="checkbox" id="stretch" checked> busy moments wide, idle ones short</label>
<output id="span" aria-live="polite"></output></div>"""


def course(subject: Subject) -> str:
    note = (
        "One time axis for all charts: drag to zoom, double-click for the whole run, and point at a moment to see it "
        "everywhere. Red bands and dashed lines are faults. In the first chart members in the same view have the same "
        "colour; a thick edge is a merge."
    )
    shown = subject.moments[:MOST_MOMENTS]
    items = "".join(
        f'<li class="{moment.kind}"><a href="#course" class="jump" data-t="{moment.t:.6f}">'
        f'<span class="when">{moment.t:.3f} s</span> {escape(moment.words)}</a></li>'
        for moment in shown
    )
    left = len(subject.moments) - len(shown)
    more = f'<p class="soft">and {left:,} more</p>' if left > 0 else ""
    told = f'<details open><summary>in words</summary><ol class="moments">{items}</ol>{more}</details>' if items else ""
    return section("course", "The course of the run", CONTROLS, '<div id="charts"></div>', told, note=note)


def traffic(subject: Subject) -> str:
    metrics = subject.metrics
    if not metrics.messages:
        return ""
    sent, dropped = metrics.total(Kind.SEND), sum(metrics.changes.drops.values()) or metrics.total(Kind.DROP)
    delivered = metrics.total(Kind.DELIVER)
    shown = {
        "messages sent": f"{sent:,}",
        "messages delivered": f"{delivered:,}",
        "mean run delivered": f"{metrics.mean_run:.1f}",
        "sent again": f"{100 * metrics.repeated_share:.2f} %",
        "not used on arrival": f"{100 * dropped / max(1, delivered + dropped):.2f} %",
        "messages sent per view": f"{sent / max(1, len(subject.scene['views'])):,.0f}",
    }
    most = sorted(metrics.changes.drops.items(), key=lambda item: -item[1])[:8]
    rows = [(subject.names.within(why), f"{count:,}") for why, count in most]
    drops = f"<h3>Not used on arrival</h3>{table(('why', 'messages'), rows)}" if rows else ""
    note = "Counted as “ringcast trace stats” does: on all streams, messages between protocols included."
    return section("traffic", "Traffic", tiles(shown), drops, note=note)


def latency(subject: Subject) -> str:
    histogram = subject.metrics.all_latencies()
    if not histogram:
        return ""
    shares = {"median": 0.5, "99 % within": 0.99, "99.9 % within": 0.999}
    shown = {name: duration(percentile(histogram, share) or 0) for name, share in shares.items()}
    shown["longest"] = duration(max(histogram))
    note = "From SEND at the sender to DELIVER at another member on the same clock; multicasts only."
    return section(
        "latency",
        "Latency",
        tiles(shown),
        '<div id="histogram" class="chart"></div>',
        "<h3>From each sender to each receiver</h3>",
        _heat(subject),
        note=note,
    )


def _heat(subject: Subject) -> str:
    """Medians as a heat map: rows send, columns receive."""
    pairs = {pair: found for pair, found in subject.metrics.latency.items() if pair[0] != pair[1] and found}
    members = [row["member"] for row in subject.people if any(row["member"] in pair for pair in pairs)]
    kept = members[:MOST_HEAT]
    marks = {pair: (percentile(found, 0.5) or 0, percentile(found, 0.99) or 0) for pair, found in pairs.items()}
    medians = [median for median, _ in marks.values()]
    low, high = min(medians), max(medians)
    head = "".join(f'<th scope="col">{escape(subject.names.of(name))}</th>' for name in kept)
    rows = []
    for sender in kept:
        cells = []
        for receiver in kept:
            found = marks.get((sender, receiver))
            if found is None:
                cells.append('<td class="none">·</td>')
                continue
            share = _share(found[0], low, high)
            words = f"{subject.names.of(sender)} to {subject.names.of(receiver)}: median {duration(found[0])}, "
            words += f"99 % within {duration(found[1])}, {sum(pairs[sender, receiver].values()):,} messages"
            cells.append(
                f'<td style="--heat:{8 + 42 * share:.0f}%" title="{escape(words)}"><b>{duration(found[0])}</b>'
                f"<small>{duration(found[1])}</small></td>"
            )
        rows.append(f'<tr><th scope="row">{escape(subject.names.of(sender))}</th>{"".join(cells)}</tr>')
    caption = "Median, and below it the time within which 99 % arrived. Rows send, columns receive; stronger is slower."
    left = f" The first {len(kept)} of {len(members)} members." if len(members) > len(kept) else ""
    return (
        f'<p class="soft">{caption}{left}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="Latency by pair">'
        f'<table class="heat"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _share(value: int, low: int, high: int) -> float:
    """Where a latency stands between the lowest and the highest, by ratio."""
    if high <= low:
        return 0.0
    return log(max(1, value) / max(1, low)) / log(max(1, high) / max(1, low))


def waiting(subject: Subject) -> str:
    told = subject.metrics.changes
    if not told.waits and not told.unended:
        return ""
    rows = []
    for what in sorted({*told.waits, *told.unended}):
        times = told.waits.get(what)
        rows.append([what, *(durations(times) if times else ("0", "", "", "")), f"{told.unended.get(what, 0):,}"])
    heads = ("waited for", "times", "median", "90 %", "longest", "without success")
    return section("waiting", "Waiting", table(heads, rows))


def changes(subject: Subject) -> str:
    told, parts = subject.metrics.changes, []
    for title, phases in (("View changes, by phase", told.views), ("Merges, by phase", told.merges)):
        if phases:
            parts.append(_phases(title, "phase", phases))
    if told.suspensions:
        parts.append(_phases("How long the view handler was suspended", "suspended for → ended by", told.suspensions))
    if not parts:
        return ""
    asked = f"{len(told.asked):,} roll calls asked {sum(told.asked):,} members. " if told.asked else ""
    note = f"{asked}Times are those of the coordinator (of a merge: the leader)."
    return section("membership", "Membership", *parts, note=note)


def _phases(title: str, what: str, phases: Mapping[str, list[int]]) -> str:
    rows = [(name, *durations(times)) for name, times in phases.items()]
    return f"<h3>{title}</h3>{table((what, 'times', 'median', '90 %', 'longest'), rows)}"


def members(subject: Subject) -> str:
    rows = []
    for row in subject.people:
        messages = subject.metrics.messages.get(row["member"], {})
        events = subject.metrics.events.get(row["member"], {})
        counts = [messages.get(kind.name, 0) for kind in (Kind.SEND, Kind.DELIVER, Kind.REPAIR)]
        counts.append(sum(events.values()))
        figures = [f"{count:,}" for count in counts]
        rows.append([subject.names.of(row["member"]), row["member"], row["endpoint"], _ending(row), *figures])
    heads = ("member", "full name", "address", "recording", "sent", "delivered", "sent again", "events")
    return section("members", "Members", table(heads, rows, words=4))


def _ending(row: Mapping[str, object]) -> str:
    if row["dropped"]:
        return f"{row['dropped']:,} events dropped"
    if not row["closed"]:
        return "breaks off"
    return f"whole ({row['how']})" if row.get("how") else "whole"


def about(subject: Subject) -> str:
    told = subject.about
    judged = {"spark": "Spark", "local": "the pipeline's rules in one process", "checkers": "the checkers"}
    facts = {
        "made": told.made,
        "recorded until": told.recorded,
        "by": f"ringcast {told.version}",
        "judged by": judged.get(subject.judge, subject.judge),
        "command": told.command,
        "recordings": ", ".join(told.sources),
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value)
    if len(subject.clocks) <= 1:
        skew = "All members were stamped by one clock, so times of different members can be compared."
    else:
        skew = (
            f"Members were stamped by {len(subject.clocks)} clocks. They are laid side by side by the first view that "
            "they share; latencies between them are left out, and causality between them was not judged by time."
        )
    steps = "Latency histograms have sixteen steps in each doubling, so a figure is known to 6 %."
    order = "Order at one member is the place in its recording, never time."
    unjudged = "".join(f"<li>{escape(subject.names.within(s))}</li>" for s in subject.judgement.not_judged)
    lacking = f"<p>Not judged:</p><ul>{unjudged}</ul>" if unjudged else ""
    return section("about", "About this report", f"<dl>{rows}</dl>", f"<p>{order} {skew} {steps}</p>", lacking)
