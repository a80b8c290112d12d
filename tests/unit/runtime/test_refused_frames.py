"""Frames that the transport refused: they leave first, whole and in order, and who waits for it is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ringcast.runtime.driver import Driver
from ringcast.runtime.drops import Drops
from ringcast.runtime.unsent import Unsent
from ringcast.transport import Endpoint

B, C = Endpoint("127.0.0.1", 1), Endpoint("127.0.0.1", 2)


class Stingy:
    """Takes so many frames."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.sent: list[tuple[Endpoint, bytes]] = []

    def send(self, to: Endpoint, frame: bytes) -> bool:
        return self.cast([to], [frame]) == 1

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        taken = frames[: self.room]
        self.room -= len(taken)
        self.sent += [(peer, frame) for frame in taken for peer in to]
        return len(taken)


def driver_on(transport: Stingy, others: Sequence[Endpoint] = (B,), unsent: int = 10) -> Any:
    """Only the half of a driver that speaks to its transport."""
    driver: Any = Driver.__new__(Driver)
    driver.transport, driver._others, driver._unsent, driver.drops = transport, list(others), Unsent(unsent), Drops()
    driver._frames, driver._frame_bytes, driver._backlog, driver.freed = [], 0, deque(), 0

    def on_freed() -> None:
        driver.freed += 1

    driver.on_freed = on_freed
    return driver


def multicast(driver: Any, *frames: bytes) -> None:
    driver._frames = list(frames)
    driver._flush_frames()


def test_multicasts_that_were_refused_leave_first_whole_and_in_order() -> None:
    transport = Stingy(2)
    driver = driver_on(transport)
    multicast(driver, b"1", b"2", b"3", b"4")
    assert transport.sent == [(B, b"1"), (B, b"2")] and driver.is_busy
    transport.room = 1
    multicast(driver, b"5")  # Nothing overtakes what waits.
    assert transport.sent == [(B, b"1"), (B, b"2")]
    driver._on_writable()
    assert transport.sent[2:] == [(B, b"3")] and driver.is_busy and driver.freed == 0
    transport.room = 9
    driver._on_writable()
    assert transport.sent[3:] == [(B, b"4"), (B, b"5")] and not driver.is_busy and driver.freed == 1


def test_a_frame_to_one_peer_waits_behind_what_that_peer_refused_and_not_behind_others() -> None:
    transport = Stingy(0)
    driver = driver_on(transport)
    driver._send(B, b"1")
    transport.room = 1
    driver._send(B, b"2")
    assert transport.sent == []
    driver._send(C, b"3")
    assert transport.sent == [(C, b"3")]
    transport.room = 9
    driver._on_writable()
    assert transport.sent[1:] == [(B, b"1"), (B, b"2")]


def test_what_finds_no_room_among_refused_frames_is_counted() -> None:
    driver = driver_on(Stingy(0), unsent=1)
    driver._send(B, b"1")
    driver._send(B, b"2")
    assert dict(driver.drops) == {"the socket was busy for too long": 1}
