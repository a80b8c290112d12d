"""A stranger with a raw socket on loopback, and a real group that it talks to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import ringcast
from ringcast.core import Packet
from ringcast.model import Address, Batch, Message
from ringcast.wire import CHALLENGE, Codec, OriginFrames

GROUP = "strangers"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Stranger:
    """A process outside the group that knows its name, its members and its wire. `honest`: it answers challenges."""

    def __init__(self, name: str = "stranger", *, honest: bool = False) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.address = Address(name, 1, f"127.0.0.1:{self.socket.getsockname()[1]}")
        self.sent = self.received = 0
        self.frames: list[bytes] = []
        self._proofs = OriginFrames(GROUP, self.address)
        self._honest = honest

    def send(self, to: Address, packet: Packet, *, claim: Address | None = None) -> None:
        """One frame, in its own name or in another's."""
        self.send_bytes(to, Codec(GROUP, claim or self.address).encode(packet))

    def send_bytes(self, to: Address, frame: bytes) -> None:
        host, _, port = to.endpoint.rpartition(":")
        self.sent += self.socket.sendto(frame, (host, int(port)))

    def listen(self) -> None:
        """Read what came; answer challenges."""
        while True:
            try:
                frame, source = self.socket.recvfrom(65_536)
            except BlockingIOError:
                return
            self.received += len(frame)
            self.frames.append(frame)
            if self._honest and frame[3] == CHALLENGE and (proof := self._proofs.proof(frame)) is not None:
                self.sent += self.socket.sendto(proof, source)

    async def get_known(self, to: Address, packet: Packet) -> None:
        """Send until it was challenged, and prove where it is."""
        while not any(frame[3] == CHALLENGE for frame in self.frames):
            self.send(to, packet)
            await asyncio.sleep(0.02)
            self.listen()
        await asyncio.sleep(0.05)

    def close(self) -> None:
        self.socket.close()


def with_group(
    size: int, *, transport: str = "udp", key: bytes | None = None
) -> Callable[[Callable[..., Awaitable[None]]], Callable[[], None]]:
    """Run the test with that many members on loopback; the limit only turns a hang into a failure."""

    def wrap(test: Callable[..., Awaitable[None]]) -> Callable[[], None]:
        async def body() -> None:
            async with asyncio.timeout(600), AsyncExitStack() as stack:
                first = free_port()
                groups = []
                for number in range(size):
                    bind = f"127.0.0.1:{first if number == 0 else 0}"
                    options: dict[str, Any] = {
                        "transport": transport,
                        "seeds": [f"127.0.0.1:{first}"],
                        "inspect": False,
                        "key": key,
                    }
                    joining = ringcast.join(GROUP, name=f"m{number}", bind=bind, leave_on_sigterm=False, **options)
                    groups.append(await stack.enter_async_context(joining))
                while any(len(group.members) < size for group in groups):
                    await asyncio.sleep(0.01)
                await test(groups)

        def run() -> None:
            asyncio.run(body())

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return wrap


async def read_payload(group: ringcast.Group, payload: bytes) -> list[bytes]:
    """Everything read up to and with this payload."""
    read: list[bytes] = []
    async for event in group:
        if isinstance(event, Message):
            read.append(event.payload)
        elif isinstance(event, Batch):
            read += event.payloads
        if payload in read:
            return read
    raise AssertionError("the group ended")


async def still_works(groups: list[ringcast.Group], payload: bytes = b"still there?") -> list[list[bytes]]:
    """A message of the last member reaches all; what each read up to it."""
    await groups[-1].send(payload)
    return [await read_payload(group, payload) for group in groups]
