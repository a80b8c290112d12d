"""How often a wake reads: the read that finds nothing is saved while small datagrams come one by one."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringcast.transport import datagram_reader
from ringcast.transport.counters import NETWORK_REFUSED, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.datagram_reader import _WAKES_ALONE, READS_PER_WAKE, DatagramReader
from ringcast.transport.protocol import Frame, Passes, Source

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


# ---- the native reader and the one in Python, on real sockets


class Doorkeeper:
    """Refuses what begins with an x, hands on the rest of what begins with a c; counts how often it was asked."""

    def __init__(self, source: Source) -> None:
        self.asked: list[bytes] = []
        self.passes: Passes = {source: (1, b"ass")}

    def __call__(self, source: Source, frame: Frame, reply_to: Source) -> Frame | None:
        assert source == reply_to
        where, known = self.passes.get(source, (0, b"never"))
        if bytes(frame[where : where + len(known)]) == known:
            return frame
        self.asked.append(bytes(frame))
        return None if frame[:1] == b"x" else frame[1:] if frame[:1] == b"c" else frame


class RealDesk:
    """A reader on a UDP socket, woken by hand."""

    def __init__(self, native: bool, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket, self.other = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        for sock in (self.socket, self.other):
            sock.bind((host, 0))
            sock.setblocking(False)
        self.counters, self.seen, loop = Counters(), list[bytes](), Loop()
        how: Any = (self.socket, loop, self.counters, CutSwitch(), self.take)
        self.reader = DatagramReader(*how, trains=False)
        if not native:
            self.reader._native = None
        assert (self.reader._native is not None) is native
        self.keeper = Doorkeeper(self.other.getsockname()[:2])
        self.wake = loop.wake

    def take(self, frames: Iterable[Frame]) -> None:
        self.seen += map(bytes, frames)

    def send(self, datagrams: Iterable[bytes]) -> None:
        for datagram in datagrams:
            self.other.sendto(datagram, self.socket.getsockname())

    def close(self) -> None:
        self.reader.close()
        self.socket.close()
        self.other.close()


needs_native = pytest.mark.skipif(datagram_reader.datagrams is None, reason="the native part was not built")
WORDS = [b"", b"a", b"x", b"c", b"pass", b"passed on", b"glass", b"x" * 5_000, b"password" * 1_000]


@needs_native
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5), max_size=12), st.booleans(), st.booleans())
def test_the_native_reader_does_in_every_wake_what_the_one_in_python_does(
    wakes: list[list[bytes]], guarded: bool, foretelling: bool
) -> None:
    desks = [RealDesk(native) for native in (True, False)]
    try:
        for desk in desks:
            if guarded:
                desk.reader.guard = desk.keeper if foretelling else desk.keeper.__call__
        for datagrams in wakes:
            for desk in desks:
                desk.send(datagrams)
                desk.wake()
            one, two = desks
            assert one.seen == two.seen and one.counters == two.counters
            if not foretelling:
                assert one.keeper.asked == two.keeper.asked
    finally:
        for desk in desks:
            desk.close()


@pytest.fixture(params=["127.0.0.1", "::1"])
def real(request: pytest.FixtureRequest) -> Iterator[RealDesk]:
    desk = RealDesk(native=True, host=request.param)
    yield desk
    desk.close()


@needs_native
def test_a_guard_is_not_asked_for_what_it_has_foretold_until_it_changes_its_mind(real: RealDesk) -> None:
    real.reader.guard = real.keeper
    real.send([b"pass", b"other", b"pas"])
    real.wake()
    assert real.seen == [b"pass", b"other", b"pas"] and real.keeper.asked == [b"other", b"pas"]
    real.keeper.passes.clear()
    real.send([b"pass"])
    real.wake()
    assert real.keeper.asked[2:] == [b"pass"]


@needs_native
def test_a_wake_of_the_native_reader_is_bounded_and_what_nobody_takes_is_dropped(real: RealDesk) -> None:
    real.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    real.send([b"1"] * (READS_PER_WAKE + 1))
    real.wake()
    assert real.counters.frames_in == READS_PER_WAKE == len(real.seen)
    real.reader._on_frames = lambda frames: None
    real.wake()
    assert real.counters.frames_in == READS_PER_WAKE + 1 == len(real.seen) + 1


@needs_native
def test_a_reader_that_is_closed_by_what_it_reads_reads_no_further(real: RealDesk) -> None:
    def take(frames: Iterable[Frame]) -> None:
        for frame in frames:
            real.seen.append(bytes(frame))
            real.reader.close()
            real.socket.close()

    real.reader._on_frames = take
    real.send([b"1", b"2"])
    real.wake()
    assert real.seen == [b"1"] and not real.counters.lost


@needs_native
def test_what_the_network_complains_of_is_counted(real: RealDesk) -> None:
    place = real.other.getsockname()
    real.other.close()
    real.socket.connect(place)
    real.socket.send(b"nobody is there")
    real.wake()
    assert real.counters.lost == {NETWORK_REFUSED: 1}


@needs_native
def test_a_guard_that_raises_ends_the_wake(real: RealDesk) -> None:
    def raises(source: Source, frame: Frame, reply_to: Source) -> Frame | None:
        raise RuntimeError("a mistake")

    real.reader.guard = raises
    real.send([b"1", b"2"])
    with pytest.raises(RuntimeError, match="a mistake"):
        real.wake()
    real.reader.guard = None
    real.wake()
    assert real.seen == [b"2"]
