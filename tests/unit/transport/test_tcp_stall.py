"""A peer that takes nothing for too long: nobody waits for it, and it is served again when it takes something."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from ringcast.transport import Endpoint
from ringcast.transport.counters import PEER_STALLED, Counters
from ringcast.transport.framing import with_lengths
from ringcast.transport.tcp import TcpTransport
from ringcast.transport.tcp_limits import TcpLimits
from ringcast.transport.tcp_outgoing import THROWN_AWAY, Dialer, Outgoing
from unit.transport.test_write_queue import drain

PEER = Endpoint("127.0.0.1", 1)
LIMITS = TcpLimits(queue_bytes=1 << 22, stall_seconds=1.0)


class Loop:
    """Only what a connection asks of its loop; time stands still unless it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def add_writer(self, *_: object) -> None: ...

    def remove_writer(self, *_: object) -> None: ...

    def remove_reader(self, *_: object) -> None: ...

    def call_soon(self, *_: object) -> None: ...


class Peer:
    """A connection that is up, and its other end."""

    def __init__(self, ours: socket.socket, theirs: socket.socket, on_room: Callable[[], None]) -> None:
        self.ours, self.theirs, self.loop, self.counters = ours, theirs, Loop(), Counters()
        loop = cast(asyncio.AbstractEventLoop, self.loop)
        self.link = Outgoing(PEER, Dialer(loop, self.counters, LIMITS, b"", PEER, on_room))
        self.connect(ours)

    def connect(self, ours: socket.socket) -> None:
        link: Any = self.link
        link._socket, link._up_since = ours, self.loop.now

    def put(self, size: int) -> None:
        buffers = with_lengths([bytes(size)])
        self.link.put(buffers, sum(map(len, buffers)))

    def take(self, some: int | None = None) -> None:
        """It reads, a little or everything, and the socket has room again."""
        if some is None:
            drain(self.theirs)
        else:
            self.theirs.recv(some)
        self.link._on_writable(self.ours)

    def wait(self, seconds: float) -> None:
        self.loop.now += seconds
        self.link.note_stall(self.loop.now)

    @property
    def is_stalled(self) -> bool:
        return self.link.room() == THROWN_AWAY


@contextmanager
def peer(on_room: Callable[[], None] = lambda: None) -> Iterator[Peer]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        yield Peer(ours, theirs, on_room)


def test_who_takes_nothing_for_too_long_holds_nobody_back_until_it_takes_something() -> None:
    with peer() as it:
        it.put(1 << 21)
        it.wait(0.9)
        assert not it.is_stalled
        it.wait(0.1)
        assert it.is_stalled
        it.put(10)
        assert it.counters.lost[PEER_STALLED] == 1
        it.take()
        assert not it.is_stalled
        it.take()
        it.put(10)
        assert it.counters.lost[PEER_STALLED] == 1 and drain(it.theirs).endswith(bytes(10))


def test_who_takes_a_little_now_and_then_is_slow_and_not_stalled() -> None:
    with peer() as it:
        it.put(1 << 21)
        for _ in range(5):
            it.wait(0.9)
            assert not it.is_stalled
            it.take(1 << 16)
        it.wait(1.0)
        assert it.is_stalled


def test_a_stall_ends_with_its_connection() -> None:
    with peer() as it:
        it.put(1 << 21)
        it.wait(1.0)
        it.link._let_go()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            theirs.setblocking(False)
            it.connect(ours)
            assert it.link.room() == LIMITS.queue_bytes
            it.put(10)
            assert drain(theirs).endswith(bytes(10)) and PEER_STALLED not in it.counters.lost


def test_the_caller_is_told_of_room_when_all_peers_have_it() -> None:
    told: list[int] = []
    transport: Any = TcpTransport(limits=LIMITS)
    with peer(transport._on_room) as full, peer(transport._on_room) as free:
        transport._dialer, transport.on_writable = full.link._dialer, lambda: told.append(1)
        transport._links = {Endpoint("127.0.0.1", 2): full.link, Endpoint("127.0.0.1", 3): free.link}
        full.put((1 << 22) - (1 << 16))
        transport._is_refused = True
        free.take()
        assert told == [] and transport._is_refused
        while full.link._queue.held_bytes > LIMITS.queue_bytes // 2:
            full.take()
        assert told == [1] and not transport._is_refused
        full.take()
        assert told == [1]
