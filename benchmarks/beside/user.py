"""One of four programs as the guide shows them; run by ../beside_commit.py against either checkout."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Coroutine
from typing import Any

import ringcast
from ringcast.model import Message, profile
from ringcast.transport import Datagrams, Endpoint, MulticastGroup, TcpTransport, UdpTransport

ROLE: dict[str, Any] = json.loads(sys.argv[1])
SIZE: int = ROLE["size"]
END_BYTES = 9
LOOK_EVERY = 1_024


def spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def told() -> None:
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def read(group: ringcast.Group) -> dict[str, int]:
    """The body counts and compares the length; now and then it looks at the number."""
    messages, wrong, began, look, end = 0, 0, 0, 1, b""
    async for event in group:
        if isinstance(event, Message):
            if len(event.payload) == SIZE:
                messages += 1
                if messages == look:
                    began, look = began or time.monotonic_ns(), look + LOOK_EVERY
                    wrong += int.from_bytes(event.payload[:8], "little") != messages - 1
            elif len(event.payload) == END_BYTES:
                end = event.payload
                break
            else:
                wrong += 1
    wrong += messages != int.from_bytes(end, "little")
    return {"messages": messages, "wrong": wrong, "ns": time.monotonic_ns() - began}


async def read_of_many(group: ringcast.Group, senders: int) -> dict[str, int]:
    """The same for several senders, whose numbers are not looked at."""
    messages, wrong, began, due, ended = 0, 0, 0, 0, 0
    async for event in group:
        if isinstance(event, Message):
            if len(event.payload) == SIZE:
                messages += 1
                if not began:
                    began = time.monotonic_ns()
            elif len(event.payload) == END_BYTES:
                due, ended = due + int.from_bytes(event.payload, "little"), ended + 1
                if ended == senders:
                    break
            else:
                wrong += 1
    return {"messages": messages, "wrong": wrong + (messages != due), "ns": time.monotonic_ns() - began}


async def count(group: ringcast.Group) -> dict[str, int]:
    """The body only counts: it is known how many there will be."""
    messages, began = 0, 0
    async for event in group:
        if isinstance(event, Message):
            began, messages = time.monotonic_ns(), 1
            break
    async for _ in group:
        messages += 1
        if messages == ROLE["count"]:
            break
    return {"messages": messages, "wrong": 0, "ns": time.monotonic_ns() - began}


async def send(group: ringcast.Group) -> int:
    """Fresh payloads, one by one: for so many seconds, or so many."""
    sent, padding, most = 0, bytes(SIZE - 8), ROLE["count"] or 1 << 62
    until = time.monotonic() + ROLE["seconds"]
    while time.monotonic() < until and sent < most:
        for number in range(sent, sent + 64):
            await group.send(number.to_bytes(8, "little") + padding)
        sent += 64
    if not ROLE["count"]:
        await group.send(sent.to_bytes(END_BYTES, "little"))
    return sent


def reading(group: ringcast.Group) -> Coroutine[Any, Any, dict[str, int]]:
    if ROLE["count"]:
        return count(group)
    return read(group) if ROLE["senders"] == 1 else read_of_many(group, ROLE["senders"])


async def main() -> None:
    config = profile("local", frame_bytes=64_000)
    at: str = ROLE["at"]
    transport: UdpTransport | TcpTransport = TcpTransport(at, advertise=at)
    if ROLE["way"] == "udp":
        transport = UdpTransport(
            at,
            advertise=at,
            datagrams=Datagrams(config.frame_bytes, never_split=False),
            multicast=MulticastGroup(Endpoint("239.255.77.78", 45_589), "127.0.0.1"),
            receive_buffer_bytes=config.receive_buffer_bytes,
        )
    async with ringcast.join(
        "beside",
        name=ROLE["name"],
        seeds=[ROLE["seed"]],
        transport=transport,
        config=config,
        expect=4,
        inspect=False,
        record=ROLE["record"],
    ) as group:
        while len(group.members) < 4:  # noqa: ASYNC110  the old one has no wait_for
            await asyncio.sleep(0.05)
        task = asyncio.create_task(reading(group))
        print(json.dumps("ready"), flush=True)
        await told()
        before = spent()
        sent = await send(group) if ROLE["sends"] else 0
        seen: dict[str, Any] = await task
        counters = transport.counters
        seen |= {"sent": sent, "cpu": spent() - before, "again": group.retransmitted}
        seen |= {"wakes": counters.wakes, "frames_in": counters.frames_in, "frames_out": counters.frames_out}
        print(json.dumps({**seen, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)
        await told()


asyncio.run(main())
