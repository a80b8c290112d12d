"""What the browser draws, as plain values: it places them on the axis and computes nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ringcast.model import SECOND
from ringcast.report.histogram import bucket, lower_bound, percentile
from ringcast.report.moments import fault_words
from ringcast.report.subject import Subject

LEAST_NS = 1_000  # what took less is drawn as a microsecond
COARSER = 4  # buckets of a histogram that are drawn as one
MOST_LINES = 16  # members drawn in a chart; the busiest ones


def drawn_charts(subject: Subject) -> dict[str, Any]:
    """Everything that the script of the report reads."""
    names = [row["member"] for row in subject.people]
    rows = {name: number for number, name in enumerate(names)}
    merged = {view["id"] for view in subject.scene["views"] if view["subgroups"]}
    labels = {view["id"]: view["label"] for view in subject.scene["views"]}
    return {
        "length": subject.length,
        "knots": subject.knots,
        "rows": [subject.names.of(name) for name in names],
        "blocks": [
            {
                "row": rows[span["member"]],
                "view": span["view"],
                "label": labels.get(span["view"], ""),
                "merged": span["view"] in merged,
                "from": span["from"],
                "to": span["to"],
            }
            for span in subject.scene["spans"]
            if span["member"] in rows
        ],
        "faults": [
            {"what": fault["what"], "from": fault["from"], "to": fault["to"], "words": fault_words(fault)}
            for fault in subject.scene["faults"]
        ],
        "suspicions": [
            {"t": one["t"], "row": rows[one["by"]]} for one in subject.scene["suspicions"] if one["by"] in rows
        ],
        "violations": [shown.t for shown in subject.violations if shown.t is not None],
        "charts": [chart for chart in _charts(subject) if chart["series"]],
        "histogram": _histogram(subject),
    }


def _charts(subject: Subject) -> list[dict[str, Any]]:
    metrics = subject.metrics
    rate = SECOND / metrics.slot_ns
    return [
        _chart(subject, "Delivered", "messages per second", metrics.delivered, rate),
        _chart(subject, "Sent", "messages per second", metrics.sent, rate),
        _pace(subject),
        _chart(subject, "Send windows", "messages held, the most in each moment", metrics.occupancy, 1.0),
        _chart(subject, "Sent again", "messages per second", metrics.repair, rate),
    ]


def _slots(subject: Subject) -> list[float]:
    """The moments at which slots begin."""
    width = subject.metrics.slot_ns / SECOND
    count = int(max(0.0, subject.length - subject.origin) / width) + 1 if width > 1e-9 else 1
    return [round(max(0.0, subject.origin + number * width), 6) for number in range(count)]


def _chart(
    subject: Subject, title: str, unit: str, by_member: Mapping[str, Mapping[int, int]], factor: float
) -> dict[str, Any]:
    times = _slots(subject)
    busiest = sorted(by_member, key=lambda name: -sum(by_member[name].values()))[:MOST_LINES]
    chosen = [row["member"] for row in subject.people if row["member"] in busiest]
    left_out = len(by_member) - len(busiest)
    return {
        "title": title,
        "unit": unit + (f"; the {MOST_LINES} busiest of {len(by_member)} members" if left_out > 0 else ""),
        "t": times,
        "series": [
            {"label": subject.names.of(name), "values": _values(subject, by_member[name], name, len(times), factor)}
            for name in chosen
        ],
    }


def _values(subject: Subject, by_slot: Mapping[int, int], name: str, count: int, factor: float) -> list[float | None]:
    """Nothing before the member was there and behind its end, 0 where it only was quiet."""
    spans = [span for span in subject.scene["spans"] if span["member"] == name]
    width = subject.metrics.slot_ns / SECOND
    begin = min([span["from"] for span in spans], default=0.0)
    end = max([span["to"] for span in spans], default=subject.length)
    values: list[float | None] = []
    for slot in range(count):
        is_there = begin - width <= subject.origin + slot * width <= end
        value = by_slot.get(slot, 0)
        values.append(round(value * factor, 3) if value or is_there else None)
    return values


def _pace(subject: Subject) -> dict[str, Any]:
    """Median and 99 % of the latencies in each slot."""
    times, pace = _slots(subject), subject.metrics.pace
    series = []
    for label, share in (("median", 0.5), ("99 %", 0.99)) if pace else ():
        marks = [percentile(pace.get(slot, {}), share) for slot in range(len(times))]
        series.append({"label": label, "values": [None if mark is None else round(mark / 1e6, 4) for mark in marks]})
    return {"title": "Latency", "unit": "milliseconds", "t": times, "series": series, "points": True}


def _histogram(subject: Subject) -> dict[str, Any]:
    together: Counter[int] = Counter()
    for low, count in subject.metrics.all_latencies().items():
        together[max(LEAST_NS, lower_bound(bucket(low) // COARSER * COARSER))] += count
    found = sorted(together.items())
    shares = {"median": 0.5, "99 %": 0.99, "99.9 %": 0.999}
    marks = {label: subject.metrics.latency_at(share) for label, share in shares.items()}
    return {"low_ns": [low for low, _ in found], "counts": [count for _, count in found], "marks": marks}
