"""Round trips between two members, timed from when each ping should have left.

Pings leave at a fixed rate, whatever became of the earlier ones; a ping that had to wait counts from its intended time,
so a stall shows in every ping it delayed (no coordinated omission). The sender spins between pings, because a timer of
the event loop is coarser than a round trip.
"""

from __future__ import annotations

import asyncio
import struct
import time
from typing import Any

from ringcast.model import Batch
from ringcast.runtime import Group

PING = b"\x01ping"
PONG = b"\x02pong"
_STAMP = struct.Struct("<q")
_AT = slice(len(PING), len(PING) + _STAMP.size)


class Pinger:
    """Sends pings, answers those of others, and keeps the times of its own."""

    def __init__(self, group: Group, private: bool) -> None:
        self._group = group
        self._private = private
        self.round_trips_ns: list[int] = []

    def concerns(self, batch: Batch) -> bool:
        return batch.payloads[0].startswith((PING, PONG))

    async def take(self, batch: Batch) -> None:
        for payload in batch.payloads:
            if payload.startswith(PING):
                to = [batch.sender] if self._private else None
                await self._group.send(PONG + payload[len(PING) :], to=to)
            elif payload.startswith(PONG):
                self.round_trips_ns.append(time.monotonic_ns() - _STAMP.unpack(payload[_AT])[0])

    async def ping(self, rate: float, seconds: float, size: int) -> None:
        """One ping every 1/rate seconds to the other members, then wait for the last answers."""
        others = [member for member in self._group.members if member != self._group.me]
        to = others[:1] if self._private else None
        padding = b"*" * max(0, size - len(PING) - _STAMP.size)
        count, gap_ns = int(rate * seconds), int(1e9 / rate)
        due = time.monotonic_ns()
        for _ in range(count):
            while time.monotonic_ns() < due:  # noqa: ASYNC110
                await asyncio.sleep(0)
            await self._group.send(PING + _STAMP.pack(due) + padding, to=to)
            due += gap_ns
        while len(self.round_trips_ns) < count:  # noqa: ASYNC110  the caller's limit ends a wait in vain
            await asyncio.sleep(0.001)


def percentiles_us(round_trips_ns: list[int]) -> dict[str, Any]:
    """p50, p99, p99.9 and the maximum, from a histogram of three significant digits."""
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, 60_000_000_000, 3)
    for round_trip in round_trips_ns:
        histogram.record_value(round_trip)
    return {
        "count": histogram.get_total_count(),
        "p50_us": histogram.get_value_at_percentile(50) / 1e3,
        "p99_us": histogram.get_value_at_percentile(99) / 1e3,
        "p999_us": histogram.get_value_at_percentile(99.9) / 1e3,
        "max_us": histogram.get_max_value() / 1e3,
    }
