"""A sender whose socket is full. UDP on loopback does not fill up at the sender; local datagram sockets do."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ringcast.transport import datagram_sender
from ringcast.transport.counters import NETWORK_REFUSED, TOO_BIG_FOR_PATH, Counters
from ringcast.transport.datagram_sender import TRAINS_PER_BUNDLE, DatagramSender
from ringcast.transport.endpoint import Endpoint

LONG = 30.0


class Desk:
    """A sender, two receivers that are not read, and whether it was told of room."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.room = asyncio.Event()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.receivers = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
        for receiver in self.receivers:
            receiver.bind("")  # a name of the kernel's choice
            receiver.setblocking(False)
        self.to: list[Any] = [receiver.getsockname() for receiver in self.receivers]
        loop = asyncio.get_running_loop()
        self.sender = DatagramSender(self.socket, loop, self.counters, self.room.set, None, 1 << 16, trains=False)

    def read(self, which: int) -> list[bytes]:
        frames: list[bytes] = []
        try:
            while True:
                frames.append(self.receivers[which].recv(1000))
        except BlockingIOError:
            return frames

    def close(self) -> None:
        self.sender.close()
        for sock in (self.socket, *self.receivers):
            sock.close()


def at_a_desk(story: Callable[[Desk], Awaitable[None]]) -> None:
    async def scene() -> None:
        desk = Desk()
        try:
            await asyncio.wait_for(story(desk), LONG)
        finally:
            desk.close()

    asyncio.run(scene())


FRAMES = [b"%04d" % number for number in range(1000)]


def test_a_full_socket_refuses_the_rest_and_tells_when_there_is_room() -> None:
    async def story(desk: Desk) -> None:
        taken = desk.sender.offer(desk.to[:1], FRAMES)
        assert 0 < taken < len(FRAMES)
        assert desk.counters.busy == 1
        assert desk.sender.offer(desk.to[:1], FRAMES) == 0
        assert desk.counters.busy == 2
        assert not desk.room.is_set()
        received = []
        while not desk.room.is_set():
            received += desk.read(0)
            await asyncio.sleep(0)
        assert received + desk.read(0) == FRAMES[:taken]
        assert desk.sender.offer(desk.to[:1], FRAMES[taken : taken + 1]) == 1
        assert desk.read(0) == FRAMES[taken : taken + 1]

    at_a_desk(story)


def test_a_bundle_that_only_some_got_is_finished_before_anything_else_is_taken() -> None:
    async def story(desk: Desk) -> None:
        while desk.sender.offer_one(desk.to[1], b"fill"):
            pass
        desk.read(1)
        await desk.room.wait()
        desk.room.clear()
        taken = 0
        while not desk.counters.busy > 1:  # the first refusal was the filling
            taken += desk.sender.offer(desk.to, FRAMES[taken : taken + TRAINS_PER_BUNDLE])
            desk.read(0)
        received: list[bytes] = []
        while not desk.room.is_set():
            assert not desk.sender.offer_one(desk.to[0], b"queue jumper")
            received += desk.read(1)
            await asyncio.sleep(0)
        assert received + desk.read(1) == FRAMES[:taken]

    at_a_desk(story)


def test_every_destination_gets_every_frame_once() -> None:
    async def story(desk: Desk) -> None:
        received: list[list[bytes]] = [[], []]
        taken = 0
        while taken < len(FRAMES):
            taken += desk.sender.offer(desk.to, FRAMES[taken:])
            for which in (0, 1):
                received[which] += desk.read(which)
            await asyncio.sleep(0)
        while any(len(frames) < len(FRAMES) for frames in received):
            for which in (0, 1):
                received[which] += desk.read(which)
            await asyncio.sleep(0)
        assert received == [FRAMES, FRAMES]
        assert desk.counters.frames_out == 2 * len(FRAMES)
        assert desk.counters.bytes_out == 2 * sum(map(len, FRAMES))

    at_a_desk(story)


@pytest.mark.parametrize("frames", [[b"x"], FRAMES[:8]])
def test_a_destination_that_the_network_refuses_is_counted_and_stops_nobody(frames: list[bytes]) -> None:
    async def story(desk: Desk) -> None:
        assert desk.sender.offer(["\0nobody", desk.to[0]], frames) == len(frames)  # type: ignore[list-item]
        assert desk.counters.lost == {"refused by the network": len(frames)}
        assert desk.read(0) == frames

    at_a_desk(story)


# ---- UDP, where the native part sends

NATIVE = pytest.param(True, marks=pytest.mark.skipif(datagram_sender.datagrams is None, reason="it was not built"))


@pytest.mark.parametrize("native", [NATIVE, False])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("many", [1, 2])
def test_over_udp_every_destination_gets_every_frame_once(
    native: bool, host: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(datagram_sender, "datagrams", None)

    async def scene() -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sender, *receivers = socks = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(1 + many)]
        for sock in socks:
            sock.bind((host, 0))
            sock.setblocking(False)
        to = [Endpoint(*receiver.getsockname()[:2]) for receiver in receivers]
        counters, loop = Counters(), asyncio.get_running_loop()
        desk = DatagramSender(sender, loop, counters, lambda: None, to[0], 1 << 16, trains=False)
        frames = [*FRAMES[:11], b"larger than any datagram" * 3_000, *FRAMES[11:20]]
        assert desk.offer(to, frames) == len(frames)
        for receiver in receivers:
            assert [receiver.recv(1_000) for _ in FRAMES[:20]] == FRAMES[:20]
        assert counters.lost == {TOO_BIG_FOR_PATH: many}
        assert desk.sends_to_group == 20
        assert (counters.frames_out, counters.bytes_out) == (20 * many, 80 * many)
        receivers[0].close()
        assert desk.offer(to[:1], FRAMES[:3]) == 3  # it may be refused, by word of the network; it is lost then
        assert set(counters.lost) <= {TOO_BIG_FOR_PATH, NETWORK_REFUSED}
        desk.close()
        for sock in socks:
            sock.close()

    asyncio.run(scene())
