"""There and back between two processes that both wait in asyncio: over the bus, and over a pair of pipes."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from functools import partial

from ringcast.bench.forked import LIMIT_S, run_all
from ringcast.bus import Message, SharedBus

WARM_UP = 200


@dataclass(frozen=True, slots=True)
class Trips:
    count: int
    size: int


def measure_round_trips(trips: Trips) -> dict[str, float]:
    bus = f"bench-trip-{os.getpid()}"
    over_bus = run_all(
        {"pinger": partial(_over_bus, bus, trips, True), "ponger": partial(_over_bus, bus, trips, False)}, LIMIT_S
    )
    there, back = os.pipe(), os.pipe()
    over_pipe = run_all(
        {
            "pinger": partial(_over_pipe, back[0], there[1], trips, True),
            "ponger": partial(_over_pipe, there[0], back[1], trips, False),
        },
        LIMIT_S,
    )
    for fd in (*there, *back):
        os.close(fd)
    return _quantiles("round_trip", over_bus["pinger"]) | _quantiles("pipe_round_trip", over_pipe["pinger"])


def _quantiles(name: str, times_ns: list[int]) -> dict[str, float]:
    ordered = sorted(times_ns[WARM_UP:])
    return {
        f"{name}_p50_us": ordered[len(ordered) // 2] / 1e3,
        f"{name}_p99_us": ordered[len(ordered) * 99 // 100] / 1e3,
    }


def _over_bus(bus: str, trips: Trips, is_pinger: bool) -> list[int]:
    return asyncio.run(_bus_side(bus, trips, is_pinger))


async def _bus_side(bus: str, trips: Trips, is_pinger: bool) -> list[int]:
    me, other = ("pinger", "ponger") if is_pinger else ("ponger", "pinger")
    times: list[int] = []
    async with SharedBus.open(bus).attach(me) as peer:
        await peer.await_for(other)
        payload = bytes(trips.size)
        for _ in range(trips.count + WARM_UP):
            start = time.perf_counter_ns()
            if is_pinger:
                await peer.aqueue(payload, to=other)
            item = await peer.adequeue()
            assert isinstance(item, Message), item
            if not is_pinger:
                await peer.aqueue(item.payload, to=other)
            times.append(time.perf_counter_ns() - start)
    return times


def _over_pipe(read_fd: int, write_fd: int, trips: Trips, is_pinger: bool) -> list[int]:
    return asyncio.run(_pipe_side(read_fd, write_fd, trips, is_pinger))


async def _pipe_side(read_fd: int, write_fd: int, trips: Trips, is_pinger: bool) -> list[int]:
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(read_fd, arrived.set)
    times: list[int] = []
    payload = bytes(trips.size)
    for _ in range(trips.count + WARM_UP):
        start = time.perf_counter_ns()
        if is_pinger:
            os.write(write_fd, payload)
        await arrived.wait()
        payload = os.read(read_fd, trips.size)
        arrived.clear()
        if not is_pinger:
            os.write(write_fd, payload)
        times.append(time.perf_counter_ns() - start)
    loop.remove_reader(read_fd)
    return times
