"""How often a wake reads: the read that finds nothing is saved while small datagrams come one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import pytest

from ringcast.transport.counters import Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.datagram_reader import _WAKES_ALONE, READS_PER_WAKE, DatagramReader
from ringcast.transport.protocol import Frame

SMALL, LARGE = b"small", bytes(60_000)


class Socket:
    """What came and how often it was read."""

    def __init__(self) -> None:
        self.held: deque[bytes] = deque()
        self.reads = 0

    def recv_into(self, buffer: memoryview) -> int:
        self.reads += 1
        if not self.held:
            raise BlockingIOError
        datagram = self.held.popleft()
        buffer[: len(datagram)] = datagram
        return len(datagram)

    def recvfrom_into(self, buffer: memoryview) -> tuple[int, tuple[str, int]]:
        return self.recv_into(buffer), ("127.0.0.1", 7001)


class Loop:
    def add_reader(self, sock: Socket, callback: Any) -> None:
        self.wake = callback

    def remove_reader(self, sock: Socket) -> None: ...


class Desk:
    def __init__(self, guarded: bool) -> None:
        self.socket, loop, self.seen = Socket(), Loop(), list[bytes]()
        how: Any = (self.socket, loop, Counters(), CutSwitch(), self.take)
        self.reader = DatagramReader(*how, trains=False)
        if guarded:
            self.reader.guard = lambda source, frame, reply_to: frame
        self._wake = loop.wake

    def take(self, frames: Iterable[Frame]) -> None:
        self.seen += map(bytes, frames)

    def wake(self, *datagrams: bytes) -> int:
        """The loop wakes as long as something is there; how many reads that took."""
        self.socket.held.extend(datagrams)
        before = self.socket.reads
        while self.socket.held:
            self._wake()
        return self.socket.reads - before


@pytest.fixture(params=["plain", "guarded"])
def desk(request: pytest.FixtureRequest) -> Desk:
    return Desk(request.param == "guarded")


def test_small_datagrams_one_by_one_are_read_once_each_and_now_and_then_twice(desk: Desk) -> None:
    assert desk.wake(SMALL) == 2  # nothing is known yet: it looks for a second one
    assert [desk.wake(SMALL) for _ in range(_WAKES_ALONE)] == [1] * _WAKES_ALONE
    assert desk.wake(SMALL) == 2
    assert desk.wake(SMALL) == 1
    assert desk.seen == [SMALL] * (3 + _WAKES_ALONE)


def test_nothing_is_left_behind_when_more_comes_than_was_expected(desk: Desk) -> None:
    desk.wake(SMALL)
    three = [b"1", b"2", b"3"]
    assert desk.wake(*three) == 3
    assert desk.seen == [SMALL, *three]


def test_while_several_come_at_once_all_are_read_in_one_wake(desk: Desk) -> None:
    for _ in range(3):
        assert desk.wake(b"1", b"2") == 3
    assert desk.reader._counters.wakes == 3


def test_a_large_datagram_has_company_as_a_rule(desk: Desk) -> None:
    desk.wake(SMALL)
    assert desk.wake(LARGE, LARGE) == 3
    assert desk.wake(LARGE) == 2


def test_a_wake_is_bounded(desk: Desk) -> None:
    assert desk.wake(*[LARGE] * (READS_PER_WAKE + 1)) == READS_PER_WAKE + 2
    assert desk.reader._counters.wakes == 2
