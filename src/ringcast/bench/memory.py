"""The same measurement without sockets and without processes: all members on one event loop, in memory.

It shows what the code itself costs, on one core; there is no raw limit to compare with.
"""

from __future__ import annotations

import asyncio
import resource
import time
from contextlib import AsyncExitStack
from typing import Any

from ringcast.bench.user_body import Body, cpu_seconds
from ringcast.bench.user_member import read as read_as_user
from ringcast.bench.user_member import report as report_as_user
from ringcast.bench.user_member import send as send_as_user
from ringcast.lab import END, Pattern, Tally
from ringcast.model import Batch, profile
from ringcast.runtime import Group, join, open_fixed
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


async def measure_user_form_in_memory(members: int, senders: int, size: int, seconds: float) -> dict[str, Any]:
    """What each member saw, in the form in which processes of the user's form report."""
    names, hub = [f"m{number}" for number in range(members)], MemoryHub()
    async with AsyncExitStack() as stack:
        transports = {name: MemoryTransport(hub, name) for name in names}
        joins = [
            join("bench", name=name, seeds=["mem:m0"], transport=transport, inspect=False, expect=members)
            for name, transport in transports.items()
        ]
        groups = await asyncio.gather(*(stack.enter_async_context(joining) for joining in joins))
        await asyncio.gather(*(group.wait_for(members, 60.0) for group in groups))
        bodies, before = [Body(size, senders) for _ in names], cpu_seconds()
        readings = asyncio.gather(*map(read_as_user, groups, bodies))
        sent = await asyncio.gather(*(send_as_user(group, size, seconds) for group in groups[:senders]))
        await readings
        spent = (cpu_seconds() - before) / members  # They share one process.
        told = zip(names, groups, bodies, [*sent, *[0] * (members - senders)], strict=True)
        return {name: report_as_user(body, count, spent, group, 0) for name, group, body, count in told}


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
