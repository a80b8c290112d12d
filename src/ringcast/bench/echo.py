"""The bare round trip to compare with: an asyncio UDP echo between two processes, paced like our pings or
in a closed loop.

`python -m ringcast.bench.echo` is the answering process; it prints its port and ends when its input ends.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from typing import Any, cast

from ringcast.lab import percentiles_us

_STAMP = struct.Struct("<q")


class _Answer(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.transport.sendto(data, addr)


class _Ask(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.round_trips_ns: list[int] = []
        self.until_ns = 0  # of a closed loop
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        now = time.monotonic_ns()
        self.round_trips_ns.append(now - _STAMP.unpack_from(data)[0])
        if now < self.until_ns:
            self.transport.sendto(_STAMP.pack(now) + data[_STAMP.size :])
        elif self.until_ns and not self.over.done():
            self.over.set_result(None)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(_Answer, local_addr=("127.0.0.1", 0))
    print(transport.get_extra_info("sockname")[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


async def measure_echo(rate: float, seconds: float, size: int, closed_loop: bool = False) -> dict[str, Any]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "ringcast.bench.echo",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None and child.stdin is not None
    port = int(await child.stdout.readline())
    try:
        return await (_ask_in_turn(port, seconds, size) if closed_loop else _ask(port, rate, seconds, size))
    finally:
        child.stdin.close()
        await child.wait()


async def _ask(port: int, rate: float, seconds: float, size: int) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    transport, ask = await loop.create_datagram_endpoint(_Ask, remote_addr=("127.0.0.1", port))
    padding = b"*" * max(0, size - _STAMP.size)
    count, gap_ns = int(rate * seconds), int(1e9 / rate)
    due = time.monotonic_ns()
    for _ in range(count):
        while time.monotonic_ns() < due:  # noqa: ASYNC110  spinning: a timer is coarser than a round trip
            await asyncio.sleep(0)
        transport.sendto(_STAMP.pack(due) + padding)
        due += gap_ns
    for _ in range(1_000):  # loopback loses nothing at this pace, but an echo has no repair: do not wait for ever
        if len(ask.round_trips_ns) == count:
            break
        await asyncio.sleep(0.001)
    transport.close()
    return percentiles_us(ask.round_trips_ns)


async def _ask_in_turn(port: int, seconds: float, size: int) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    transport, ask = await loop.create_datagram_endpoint(_Ask, remote_addr=("127.0.0.1", port))
    now = time.monotonic_ns()
    ask.until_ns = now + int(seconds * 1e9)
    transport.sendto(_STAMP.pack(now) + b"*" * max(0, size - _STAMP.size))
    async with asyncio.timeout(seconds + 30):  # An echo has no repair: do not wait for ever.
        await ask.over
    transport.close()
    return percentiles_us(ask.round_trips_ns)


if __name__ == "__main__":
    asyncio.run(_serve())
