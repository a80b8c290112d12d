"""One of two members that send one message to and fro; run by ../beside_commit.py against either checkout."""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from typing import Any

from ringcast.model import Message, profile
from ringcast.runtime import open_fixed
from ringcast.transport import Datagrams, UdpTransport

ROLE: dict[str, Any] = json.loads(sys.argv[1])
SIZE: int = ROLE["size"]
STAMP = struct.Struct("<q")


async def main() -> None:
    config, at = profile("local", self_delivery=False), ROLE["members"][ROLE["name"]]
    datagrams = Datagrams(config.frame_bytes, never_split=False)
    transport = UdpTransport(at, advertise=at, datagrams=datagrams, receive_buffer_bytes=config.receive_buffer_bytes)
    where = {"transport": transport, "config": config, "record": ROLE["record"]}
    group = await open_fixed("round", ROLE["name"], ROLE["members"], **where)
    print(json.dumps("ready"), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    times: list[int] = []
    padding, until = bytes(SIZE - STAMP.size), time.monotonic_ns() + int(ROLE["seconds"] * 1e9)
    if ROLE["asks"]:
        await group.send(STAMP.pack(time.monotonic_ns()) + padding)
    async for event in group:
        if not isinstance(event, Message):
            continue
        if not ROLE["asks"]:
            if len(event.payload) < SIZE:
                break
            await group.send(event.payload)
            continue
        now = time.monotonic_ns()
        times.append(now - STAMP.unpack_from(event.payload)[0])
        if now >= until:
            await group.send(b"end")
            await group.flush()
            break
        await group.send(STAMP.pack(now) + padding)
    times.sort()
    found = {"p50_us": times[len(times) // 2] / 1e3, "p90_us": times[len(times) * 9 // 10] / 1e3} if times else {}
    print(json.dumps({**found, "count": len(times)}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await group.close()


if ROLE["loop"] == "uvloop":
    import uvloop

    uvloop.run(main())
else:
    asyncio.run(main())
