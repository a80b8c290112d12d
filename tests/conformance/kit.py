"""What the conformance tests stand on: one kind of transport, a world that makes and closes members, and their inboxes.

A world runs its story on one event loop and fails if anything was raised in that loop that nobody caught.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from conformance.certificates import Authority
from ringcast.security import Key, Keyring, Seal
from ringcast.transport import (
    WITHIN_PATH,
    Endpoint,
    Frame,
    MemoryHub,
    MemoryTransport,
    TcpTransport,
    Tls,
    Transport,
    UdpTransport,
    mutual_tls,
    sealed_transport,
)

LONG = 30.0
"""Ends a wait that will never end; how long it takes decides nothing."""


@dataclass(frozen=True)
class Kind:
    """One way to move frames: how a member is made, on a given endpoint or on one of its own choice."""

    name: str
    make: Callable[[World, Endpoint | None], Transport]
    loopback: str = "127.0.0.1"
    slows_senders: bool = False
    """True if a full receiver makes the sender wait instead of losing frames."""

    def __str__(self) -> str:
        return self.name


class Inbox:
    """Keeps what one member received; `batches` keeps which frames came in one call."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self._grown = asyncio.Event()

    @property
    def frames(self) -> list[bytes]:
        return [frame for batch in self.batches for frame in batch]

    def __call__(self, frames: Iterable[Frame]) -> None:
        if batch := [bytes(frame) for frame in frames]:  # a frame is valid until the next one is taken
            self.batches.append(batch)
        self._grown.set()

    async def hold(self, count: int) -> list[bytes]:
        """Wait until at least so many frames are here."""
        while sum(map(len, self.batches)) < count:
            self._grown.clear()
            await asyncio.wait_for(self._grown.wait(), LONG)
        return self.frames


@dataclass
class World:
    """The members of one story."""

    kind: Kind
    hub: MemoryHub = field(default_factory=MemoryHub)
    members: list[Transport] = field(default_factory=list)
    raised: list[dict[str, Any]] = field(default_factory=list)
    names: int = 0

    async def member(self, at: Endpoint | None = None) -> tuple[Transport, Inbox]:
        transport, inbox = self.kind.make(self, at), Inbox()
        await transport.open(inbox)
        self.members.append(transport)
        return transport, inbox

    async def friends(self, count: int = 2) -> list[tuple[Transport, Inbox]]:
        """Members that have already exchanged a frame each way, so that connections are up and inboxes empty."""
        members = [await self.member() for _ in range(count)]
        for transport, _ in members:
            transport.set_peers([other.local for other, _ in members if other is not transport])
        for transport, _ in members:
            for other, inbox in members:
                if other is not transport:
                    await repeat_until(lambda: transport.send(other.local, b"hi"), inbox, b"hi")  # noqa: B023
                    inbox.batches.clear()
        return members

    def next_name(self) -> str:
        self.names += 1
        return f"M{self.names}"


def tell(kind: Kind, story: Callable[[World], Awaitable[None]]) -> None:
    """Run a story to its end and close everything, also when it fails."""

    async def scene() -> None:
        world = World(kind)
        asyncio.get_running_loop().set_exception_handler(lambda _, context: world.raised.append(context))
        try:
            await story(world)
        finally:
            for member in world.members:
                member.close()
        await asyncio.sleep(0)
        assert world.raised == []

    asyncio.run(scene())


async def repeat_until(act: Callable[[], object], inbox: Inbox, wanted: bytes) -> None:
    """Act again and again, as a sender that repeats what was lost, until the frame is there."""
    async with asyncio.timeout(LONG):
        while wanted not in inbox.frames:
            act()
            await asyncio.sleep(0.01)


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG):
        while not condition():
            await asyncio.sleep(0.005)


def _udp(loopback: str, **options: Any) -> Callable[[World, Endpoint | None], Transport]:
    return lambda _, at: UdpTransport(at or Endpoint(loopback, 0), **options)


def _tcp(loopback: str) -> Callable[[World, Endpoint | None], Transport]:
    return lambda _, at: TcpTransport(at or Endpoint(loopback, 0))


def _memory(world: World, at: Endpoint | None) -> Transport:
    return MemoryTransport(world.hub, at.host.removeprefix("mem:") if at else world.next_name())


UDP4 = Kind("udp4", _udp("127.0.0.1"))
UDP4_WITHIN_PATH = Kind("udp4-within-path", _udp("127.0.0.1", datagrams=WITHIN_PATH))
UDP6 = Kind("udp6", _udp("::1"), loopback="::1")
UDP6_WITHIN_PATH = Kind("udp6-within-path", _udp("::1", datagrams=WITHIN_PATH), loopback="::1")
TCP4 = Kind("tcp4", _tcp("127.0.0.1"), slows_senders=True)
TCP6 = Kind("tcp6", _tcp("::1"), loopback="::1", slows_senders=True)
MEMORY = Kind("memory", _memory, loopback="mem", slows_senders=True)


def sealed(kind: Kind) -> Callable[[World, Endpoint | None], Transport]:
    keyring = Keyring((Key(b"k" * 32),))
    return lambda world, at: sealed_transport(kind.make(world, at), Seal("g", keyring, os.urandom))


@cache
def a_tls() -> Tls:
    files = Authority(Path(tempfile.mkdtemp(prefix="ringcast-tls-"))).files_for("anybody")
    return mutual_tls(*(Path(files[part]) for part in ("certificate", "private_key", "authority")))


def _over_tls(world: World, at: Endpoint | None) -> Transport:
    return TcpTransport(at or "127.0.0.1:0", tls=a_tls())


TLS4 = Kind("tls4", _over_tls, slows_senders=True)
SEALED_UDP = Kind("sealed-udp4-within-path", sealed(UDP4_WITHIN_PATH))
SEALED_TCP = Kind("sealed-tcp4", sealed(TCP4), slows_senders=True)

KINDS = (UDP4, UDP4_WITHIN_PATH, UDP6, UDP6_WITHIN_PATH, TCP4, TCP6, MEMORY, SEALED_UDP, SEALED_TCP, TLS4)


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
