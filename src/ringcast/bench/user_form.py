"""The user's form of the multicast benchmark: four programs as the guide shows them, started and told when to begin."""

from __future__ import annotations

import statistics
from typing import Any

from ringcast.bench.told import Told, run_together


def measure_user_form(members: int, senders: int, size: int, seconds: float, places: list[str], **how: Any) -> Any:
    """Messages per second at the median receiver that is no sender (with several senders: at any), and what it cost."""
    names = [f"m{number}" for number in range(members)]
    roles = [
        {
            "name": name,
            "at": at,
            "seed": places[0],
            "members": members,
            "senders": senders,
            "sends": name in names[:senders],
            "size": size,
            "seconds": seconds,
            **how,
        }
        for name, at in zip(names, places, strict=True)
    ]
    reports = run_together([Told("ringcast.bench.user_member", role) for role in roles])
    return figures(dict(zip(names, reports, strict=True)), size)


def figures(reports: dict[str, dict[str, Any]], size: int) -> dict[str, Any]:
    sending = [name for name, report in reports.items() if report["sent"]]
    receivers = [report for name, report in reports.items() if sending != [name]]
    rate = statistics.median(r["messages"] / max(r["last_ns"] - r["first_ns"], 1) * 1e9 for r in receivers)
    sent = sum(report["sent"] for report in reports.values())
    spent = sum(report["cpu_seconds"] for report in reports.values())
    return {
        "messages_per_second_per_receiver": rate,
        "megabytes_per_second_per_receiver": rate * size / 1e6,
        "complete": all(report["is_complete"] for report in reports.values()),
        "retransmitted": sum(report["retransmitted"] for report in reports.values()),
        "overflows": sum(report["overflows"] for report in reports.values()),
        "rss_megabytes_max": max(report["rss_megabytes"] for report in reports.values()),
        "cpu_seconds": {name: round(report["cpu_seconds"], 2) for name, report in reports.items()},
        "cpu_us_per_message": spent / max(sent, 1) * 1e6,
        "sent": {name: report["sent"] for name, report in reports.items() if report["sent"]},
    }
