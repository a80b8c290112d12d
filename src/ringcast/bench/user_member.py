"""One process of the user's form: `python -m ringcast.bench.user_member '{"name": "m0", …}'`.

What the guide shows: `join`, `await group.send(…)` one by one, `async for event in group`, own messages delivered.
It prints a line when everybody is in the view, begins when told, prints what it saw, and leaves when told.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringcast.bench.user_body import AT_ONCE, Body, Numbers, cpu_seconds, end_of
from ringcast.lab import make_transport
from ringcast.model import Message, profile
from ringcast.runtime import Group, join


@dataclass(frozen=True, slots=True)
class Role:
    """What one process does. `multicast` = [group, port, interface]."""

    name: str
    at: str
    seed: str
    members: int
    senders: int
    sends: bool
    size: int
    seconds: float
    transport: str
    multicast: Sequence[Any] | None
    frame_bytes: int
    record: str | None


async def read(group: Group, body: Body) -> None:
    """Until every sender has ended."""
    size, messages, look = body.size, 0, body.next_look
    async for event in group:
        if isinstance(event, Message):
            if len(event.payload) == size:
                messages += 1
                if messages == look:
                    look = body.look(event.sender, event.payload, messages)
            elif body.take_odd(event.payload):
                break
    body.messages = messages


async def send(group: Group, size: int, seconds: float) -> int:
    numbers, sent, until = Numbers.of(size), 0, time.monotonic() + seconds
    most, head, padding = numbers.most, numbers.head, numbers.padding
    while time.monotonic() < until:
        for number in range(sent, sent + AT_ONCE):
            await group.send((number % most).to_bytes(head, "little") + padding)
        sent += AT_ONCE
    await group.send(end_of(sent, size))
    return sent


async def run(role: Role) -> None:
    config = profile("local", frame_bytes=role.frame_bytes)
    order = {"transport": role.transport, "multicast": role.multicast}
    transport = make_transport(order, role.at, config)
    async with join(
        "bench",
        name=role.name,
        seeds=[role.seed],
        transport=transport,
        config=config,
        expect=role.members,
        record=role.record,
        inspect=False,
        unencrypted=True,
    ) as group:
        await group.wait_for(role.members, 60.0)
        body = Body(role.size, role.senders)
        reading = asyncio.create_task(read(group, body))
        print(json.dumps({"ready": True}), flush=True)
        await _told()
        before = cpu_seconds()
        sent = await send(group, role.size, role.seconds) if role.sends else 0
        await reading
        print(json.dumps(report(body, sent, cpu_seconds() - before, group, transport.overflows)), flush=True)
        await _told()


def report(body: Body, sent: int, spent: float, group: Group, overflows: int) -> dict[str, Any]:
    return {
        "messages": body.messages,
        "first_ns": body.first_ns,
        "last_ns": body.last_ns,
        "is_complete": body.is_complete,
        "sent": sent,
        "cpu_seconds": spent,
        "retransmitted": group.retransmitted,
        "overflows": overflows,
        "rss_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def _told() -> None:
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(run(Role(**json.loads(sys.argv[1]))))
