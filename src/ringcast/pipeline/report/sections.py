"""The parts of the page below the verdict; one that has nothing to show is left out."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from ringcast.model import Kind
from ringcast.pipeline.metrics import percentile
from ringcast.pipeline.report import svg
from ringcast.pipeline.report.markup import duration, durations, figures, headings, tiles
from ringcast.pipeline.report.subject import Subject

KEPT_SERIES = 8
KEPT_PAIRS = 64


def timeline(subject: Subject) -> str:
    rows = {subject.short(name): subject.blocks(name) for name in subject.names}
    rows = {name: blocks for name, blocks in rows.items() if blocks}
    if not rows:
        return ""
    note = (
        "One line per member, one block per view it was in; members in the same view have the same colour at the same "
        "time. A block with an edge began with a merge."
    )
    plot = svg.timeline(rows, subject.seconds(subject.end_ns))
    return f'<h2>Views and merges</h2><p class="soft">{note}</p><figure>{plot}</figure>'


def traffic(subject: Subject) -> str:
    metrics = subject.metrics
    if not metrics.delivered:
        return ""
    sent, dropped = metrics.total(Kind.SEND), sum(subject.changes.drops.values()) or metrics.total(Kind.DROP)
    views = max(1, subject.view_count)
    shown = {
        "messages sent": f"{sent:,}",
        "messages delivered": f"{metrics.total(Kind.DELIVER):,}",
        "mean run": f"{metrics.mean_run:.1f}",
        "sent again": f"{100 * metrics.repeated_share:.2f} %",
        "not used on arrival": f"{100 * dropped / max(1, metrics.total(Kind.DELIVER) + dropped):.2f} %",
        "messages sent per view": f"{sent / views:,.0f}",
    }
    plot = svg.lines(_rates(subject, metrics.delivered), *_span(subject), "messages delivered per second")
    return f"<h2>Throughput</h2>{tiles(shown)}<figure>{plot}</figure>{_drops(subject)}"


def _drops(subject: Subject) -> str:
    if not subject.changes.drops:
        return ""
    most = sorted(subject.changes.drops.items(), key=lambda item: -item[1])[:8]
    rows = "".join(f"<tr><td>{escape(why)}</td>{figures(f'{count:,}')}</tr>" for why, count in most)
    return f"<h3>Not used on arrival</h3><table><tr><th>Why</th>{headings('messages')}</tr>{rows}</table>"


def latency(subject: Subject) -> str:
    histogram = subject.metrics.all_latencies()
    if not histogram:
        return ""
    shares = {"median": 0.5, "99 % within": 0.99, "99.9 % within": 0.999}
    shown = {name: duration(percentile(histogram, share) or 0) for name, share in shares.items()}
    note = "From SEND at the sender to DELIVER at another member, of messages taken at regular seqnos, to a turn."
    bars = svg.bars([(duration(low), count) for low, count in sorted(histogram.items())], "messages")
    head = f"<tr><th>Sender</th><th>Receiver</th>{headings('messages', 'median', '99 %', '99.9 %')}</tr>"
    rows = "".join(_pair(subject, pair) for pair in sorted(subject.metrics.latency)[:KEPT_PAIRS] if pair[0] != pair[1])
    return (
        f'<h2>Latency</h2><p class="soft">{note}</p>{tiles(shown)}<figure>{bars}</figure>'
        f"<h3>Over time</h3><figure>{_pace(subject)}</figure>"
        f"<h3>By sender and receiver</h3><table>{head}{rows}</table>"
    )


def _pace(subject: Subject) -> str:
    """Median and 99 % of each slot of time."""
    series = {
        name: [(percentile(subject.metrics.pace.get(slot, {}), share) or 0) / 1e6 for slot in range(_slots(subject))]
        for name, share in (("median", 0.5), ("99 %", 0.99))
    }
    return svg.lines(series, *_span(subject), "milliseconds")


def _pair(subject: Subject, pair: tuple[str, str]) -> str:
    histogram = subject.metrics.latency[pair]
    cells = [f"{sum(histogram.values()):,}", *(duration(percentile(histogram, s) or 0) for s in (0.5, 0.99, 0.999))]
    return f"<tr><td>{subject.short(pair[0])}</td><td>{subject.short(pair[1])}</td>{figures(*cells)}</tr>"


def waiting(subject: Subject) -> str:
    metrics, parts = subject.metrics, []
    if metrics.occupancy:
        plot = svg.lines(_values(subject, metrics.occupancy), *_span(subject), "messages held, the most in each moment")
        parts.append(f"<h3>Send windows</h3><figure>{plot}</figure>")
    if subject.changes.waits or subject.changes.unended:
        parts.append(f"<h3>Waits</h3>{_waits(subject)}")
    return f"<h2>Windows and waiting</h2>{''.join(parts)}" if parts else ""


def _waits(subject: Subject) -> str:
    rows = ""
    for what in sorted({*subject.changes.waits, *subject.changes.unended}):
        times = subject.changes.waits.get(what)
        cells = durations(times) if times else figures("0", "", "", "")
        rows += f"<tr><td>{escape(what)}</td>{cells}{figures(f'{subject.changes.unended.get(what, 0):,}')}</tr>"
    head = f"<tr><th>Waited for</th>{headings('times', 'median', '90 %', 'longest', 'without success')}</tr>"
    return f"<table>{head}{rows}</table>"


def changes(subject: Subject) -> str:
    told, parts = subject.changes, []
    for title, phases in (("View changes, by phase", told.views), ("Merges, by phase", told.merges)):
        if phases:
            parts.append(_phases(title, "Phase", phases))
    if told.suspensions:
        parts.append(_phases("How long the view handler was suspended", "Suspended for → ended by", told.suspensions))
    if not parts:
        return ""
    asked = f"{len(told.asked):,} roll calls asked {sum(told.asked):,} members. " if told.asked else ""
    note = f'<p class="soft">{asked}Times are those of the coordinator (of a merge: the leader).</p>'
    return f"<h2>Membership</h2>{note}{''.join(parts)}"


def _phases(title: str, what: str, phases: Mapping[str, list[int]]) -> str:
    rows = "".join(f"<tr><td>{escape(name)}</td>{durations(times)}</tr>" for name, times in phases.items())
    head = f"<tr><th>{what}</th>{headings('times', 'median', '90 %', 'longest')}</tr>"
    return f"<h3>{title}</h3><table>{head}{rows}</table>"


def members(subject: Subject) -> str:
    rows = []
    for name in subject.names:
        messages = subject.metrics.messages.get(name, {})
        counts = [messages.get(kind.name, 0) for kind in (Kind.SEND, Kind.DELIVER, Kind.REPAIR)]
        counts.append(sum(subject.metrics.events.get(name, {}).values()))
        cells = figures(*(f"{count:,}" for count in counts))
        rows.append(f"<tr><td>{escape(name)}</td><td>{escape(subject.endings[name])}</td>{cells}</tr>")
    head = f"<tr><th>Member</th><th>Recording</th>{headings('sent', 'delivered', 'sent again', 'events')}</tr>"
    return f"<h2>Members</h2><table>{head}{''.join(rows)}</table>"


def _span(subject: Subject) -> tuple[float, str]:
    """How far the x axis reaches."""
    return _slots(subject) * subject.metrics.slot_ns / 1e9, "s"


def _slots(subject: Subject) -> int:
    return 1 + max(0, subject.end_ns - subject.metrics.start_ns) // max(1, subject.metrics.slot_ns)


def _values(subject: Subject, by_member: Mapping[str, Mapping[int, int]]) -> dict[str, list[float]]:
    return {
        subject.short(name): [float(by_slot.get(slot, 0)) for slot in range(_slots(subject))]
        for name, by_slot in sorted(by_member.items())[:KEPT_SERIES]
    }


def _rates(subject: Subject, by_member: Mapping[str, Mapping[int, int]]) -> dict[str, list[float]]:
    seconds = subject.metrics.slot_ns / 1e9
    return {name: [v / seconds for v in values] for name, values in _values(subject, by_member).items()}
