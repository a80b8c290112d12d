"""The same measurement without sockets and without processes: all members on one event loop, in memory.

It shows what the code itself costs, on one core; there is no raw limit to compare with.
"""

from __future__ import annotations

import asyncio
import resource
import time
from contextlib import AsyncExitStack
from typing import Any

from ringcast.lab import END, Pattern, Tally
from ringcast.model import Batch, profile
from ringcast.runtime import Group, open_fixed
from ringcast.transport import MemoryHub, MemoryTransport


async def measure_in_memory(members: int, senders: int, size: int, seconds: float, form: str) -> tuple[Any, Any]:
    """(reports by member, answers of the senders), in the form in which processes report."""
    names = [f"m{number}" for number in range(members)]
    places = {name: f"mem:{name}" for name in names}
    hub, config = MemoryHub(), profile("local", self_delivery=senders > 1)
    async with AsyncExitStack() as stack:
        groups: dict[str, Group] = {}
        for name in names:
            opened = await open_fixed("bench", name, places, transport=MemoryTransport(hub, name), config=config)
            groups[name] = await stack.enter_async_context(opened)
        awaited = {name: [s for s in names[:senders] if senders > 1 or s != name] for name in names}
        readings = asyncio.gather(*(_read(groups[name], len(awaited[name])) for name in names))
        sendings = asyncio.gather(*(_send(groups[name], size, seconds, form) for name in names[:senders]))
        sent, tallies = await sendings, await readings
        reports = {name: _report(groups[name], tally) for name, tally in zip(names, tallies, strict=True)}
        return reports, dict(zip(names, sent, strict=False))


async def _read(group: Group, ends: int) -> Tally:
    """Until so many senders have ended."""
    tally = Tally()
    if not ends:
        return tally
    async for event in group.batches():
        if isinstance(event, Batch):
            tally.take(event)
            if sum(seen.ends for seen in tally.by_sender.values()) == ends:
                break
    return tally


async def _send(group: Group, size: int, seconds: float, form: str) -> dict[str, Any]:
    pattern = Pattern(group.me.name, size)
    sent, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        payloads = pattern.run(sent, min(pattern.cycle, 2048 if form == "batch" else 256))
        if form == "batch":
            await group.send_many(payloads)
        else:
            for payload in payloads:
                await group.send(payload)
        sent += len(payloads)
    await group.send(END)
    return {"sent": sent}


def _report(group: Group, tally: Tally) -> dict[str, Any]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "received": tally.to_json(),
        "retransmitted": group.retransmitted,
        "overflows": 0,
        "rss_megabytes": usage.ru_maxrss / 1024,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
    }
