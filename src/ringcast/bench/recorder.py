"""What recording costs at full multicast speed: recorded and unrecorded turns, one after the other in the same run.

Each turn starts the same processes and sends for the same time; turns alternate, so that whatever else the machine
does hits both alike. The ratio compares the medians. A turn counts only if it is complete; a recording that dropped
events does not count either: it would have cost more.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ringcast.bench.multicast import Shape, measure
from ringcast.trace import read_run

_FIGURE = "messages_per_second_per_receiver"


def run_recorder(shape: Shape, turns: int, say: Callable[[str], None]) -> dict[str, Any]:
    """The whole of `ringcast bench recorder`."""
    rates: dict[str, list[float]] = {"unrecorded": [], "recorded": []}
    cpu: dict[str, list[float]] = {"unrecorded": [], "recorded": []}
    seen: list[dict[str, int]] = []
    is_complete = True
    for turn in range(turns):
        for name in ("unrecorded", "recorded") if turn % 2 == 0 else ("recorded", "unrecorded"):
            with TemporaryDirectory(prefix="ringcast-bench-") as place:
                figures = asyncio.run(measure(replace(shape, record=place if name == "recorded" else None), "batch"))
                if name == "recorded":
                    seen.append(_recorded(Path(place)))
            say(f"turn {turn + 1}, {name}: {figures[_FIGURE]:,.0f} messages/s at each receiver")
            rates[name].append(figures[_FIGURE])
            cpu[name].append(_cpu_per_message(figures))
            is_complete = is_complete and figures["complete"]
    return _result(rates, cpu, seen, is_complete)


def _cpu_per_message(figures: dict[str, Any]) -> float:
    seconds, sent = sum(figures["cpu_seconds"].values()), sum(figures["sent"].values())
    return float(seconds / max(1, sent) * 1e9)


def _recorded(place: Path) -> dict[str, int]:
    recordings = read_run([place])
    size = sum(path.stat().st_size for recording in recordings for path in recording.segments)
    events, dropped = sum(r.count for r in recordings), sum(r.dropped for r in recordings)
    return {"events": events, "dropped_events": dropped, "bytes": size}


def _result(
    rates: dict[str, list[float]], cpu: dict[str, list[float]], seen: list[dict[str, int]], is_complete: bool
) -> dict[str, Any]:
    medians = {name: statistics.median(values) for name, values in rates.items()}
    costs = {name: statistics.median(values) for name, values in cpu.items()}
    dropped = sum(each["dropped_events"] for each in seen)
    return {
        "messages_per_second_per_receiver": medians["recorded"],
        "unrecorded_messages_per_second_per_receiver": medians["unrecorded"],
        "overhead": 1 - medians["recorded"] / medians["unrecorded"],
        "cpu_overhead": costs["recorded"] / costs["unrecorded"] - 1 if costs["unrecorded"] else None,
        "turns": {name: [round(rate) for rate in values] for name, values in rates.items()},
        "events": sum(each["events"] for each in seen),
        "dropped_events": dropped,
        "bytes_per_event": sum(each["bytes"] for each in seen) / max(1, sum(each["events"] for each in seen)),
        "complete": is_complete and dropped == 0,
    }
