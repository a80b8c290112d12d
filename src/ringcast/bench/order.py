"""How many messages per second are read in one order at each member when all of them send to all.

Real processes; the batch form (lists of messages) and the single form (one message at a time, receipts not awaited).
A figure counts only if it is complete: every member read every message of every sender, in its sender's order, and all
members read them interleaved in the same way. Beside it: how long one ordered send takes until it has its place, in an
idle group, how long a plain message takes there and back, and the raw limit of the sockets in the same shape.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ringcast.errors import UsageError
from ringcast.lab import Stage, free_ports

Say = Callable[[str], None]
LIMIT = 120.0  # a hang becomes a failure; nothing else depends on it
PLACES = 500  # ordered sends that are timed one by one
PINGS_PER_SECOND = 500.0


@dataclass(frozen=True, slots=True)
class OrderShape:
    """What is measured."""

    members: int = 4
    size: int = 100
    seconds: float = 3.0
    frame_bytes: int = 60_000
    record: str | None = None

    def __post_init__(self) -> None:
        if not 2 <= self.members <= 64:
            raise UsageError(f"--members must be 2 to 64, got {self.members}")
        if not 1 <= self.size <= 1 << 20:
            raise UsageError(f"--size must be 1 to {1 << 20}, got {self.size}")


async def _open(stage: Stage, shape: OrderShape) -> list[str]:
    names = [f"m{number}" for number in range(shape.members)]
    members = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(shape.members), strict=True)}
    for name in names:
        await stage.start(name)
    config = {"frame_bytes": shape.frame_bytes}
    for name in names:
        await stage.puppets[name]("open", group="order", me=name, members=members, config=config, record=shape.record)
    return names


async def measure(shape: OrderShape, form: str) -> dict[str, Any]:
    """All send for `seconds`, then everybody reads to the end."""
    async with Stage() as stage:
        names = await _open(stage, shape)
        before = await stage.everybody("report")
        order = {"size": shape.size, "seconds": shape.seconds, "form": form, "in_order": True}
        limit = shape.seconds + LIMIT
        sends = [stage.puppets[name].begin("send", limit=limit, **order) for name in names]
        everything = dict.fromkeys(names, 1)
        await asyncio.gather(*(stage.puppets[name]("until_ends", ends=everything, limit=limit) for name in names))
        sent = {name: (await task)["sent"] for name, task in zip(names, sends, strict=True)}
        reports = await stage.everybody("report")
        for name, report in reports.items():
            report["cpu_seconds"] -= before[name]["cpu_seconds"]  # what the run itself cost, without the start
        await stage.everybody("close")
    return figures(reports, sent)


def figures(reports: dict[str, Any], sent: dict[str, int]) -> dict[str, Any]:
    rates = [_rate(report["received"]) for report in reports.values()]
    in_one_order = len({report["interleaving"] for report in reports.values()}) == 1
    return {
        "messages_per_second_per_receiver": statistics.median(rate for rate, _ in rates),
        "megabytes_per_second_per_receiver": statistics.median(nbytes for _, nbytes in rates) / 1e6,
        "complete": in_one_order and all(_is_complete(report["received"], sent) for report in reports.values()),
        "in_one_order": in_one_order,
        "retransmitted": sum(report["retransmitted"] for report in reports.values()),
        "rss_megabytes_max": max(report["rss_megabytes"] for report in reports.values()),
        "cpu_seconds": {name: round(report["cpu_seconds"], 2) for name, report in reports.items()},
        "sent": sent,
    }


def _rate(received: dict[str, Any]) -> tuple[float, float]:
    first, last = min(r["first_ns"] for r in received.values()), max(r["last_ns"] for r in received.values())
    seconds = max(last - first, 1) / 1e9
    return sum(r["messages"] for r in received.values()) / seconds, sum(
        r["nbytes"] for r in received.values()
    ) / seconds


def _is_complete(received: dict[str, Any], sent: dict[str, int]) -> bool:
    return all(
        name in received and received[name]["messages"] == count and not received[name]["wrong"]
        for name, count in sent.items()
    )


async def measure_latency(shape: OrderShape) -> dict[str, Any]:
    """One ordered send at a time from a member that does not coordinate; then plain round trips between two."""
    async with Stage() as stage:
        names = await _open(stage, shape)
        sender = stage.puppets[names[-1]]
        await sender("time_places", count=50, size=shape.size)  # the first ones warm up
        places = await sender("time_places", count=PLACES, size=shape.size)
        await stage.puppets[names[0]]("listen")
        plain = await sender("ping", rate=PINGS_PER_SECOND, seconds=1.0, size=shape.size)
        await stage.everybody("close")
    return {
        "place_p50_us": places["p50_us"],
        "place_p99_us": places["p99_us"],
        "plain_round_trip_p50_us": plain["p50_us"],
        "plain_round_trip_p99_us": plain["p99_us"],
    }


def run_order(shape: OrderShape, *, raw: bool, say: Say) -> dict[str, Any]:
    """The whole of `ringcast bench order`."""
    say(f"batch form: {shape.members} processes, all sending {shape.size} B to all for {shape.seconds} s")
    result = asyncio.run(measure(shape, "batch"))
    say("single-message form")
    single = asyncio.run(measure(replace(shape, record=None), "single"))  # one recording for one run
    result["single_form_messages_per_second_per_receiver"] = single["messages_per_second_per_receiver"]
    result["complete"] = result["complete"] and single["complete"]
    say("the time until a single ordered send has its place, and a plain round trip")
    result |= asyncio.run(measure_latency(replace(shape, record=None)))
    return result | (_raw(shape, result, say) if raw else {}) | {"peers": {}}


def _raw(shape: OrderShape, result: dict[str, Any], say: Say) -> dict[str, Any]:
    """The raw limit does not count own copies, so its share is taken of what came from the others."""
    from ringcast.bench.raw import beside_raw

    others = result["megabytes_per_second_per_receiver"] * (shape.members - 1) / shape.members
    return beside_raw(
        others, "udp-fanout", members=shape.members, senders=shape.members, seconds=shape.seconds, say=say
    )
