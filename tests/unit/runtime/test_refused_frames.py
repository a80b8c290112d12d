"""Frames that the transport refused: they leave first, whole and in order, and the driver learns when none waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringcast.core import Cast, Unicast
from ringcast.model import Address
from ringcast.runtime.drops import Drops
from ringcast.runtime.frames_out import FramesOut
from ringcast.runtime.unsent import Unsent
from ringcast.transport import Endpoint

ME, AT_B, AT_C = (Address(name, 1, f"127.0.0.1:{port}") for port, name in enumerate("ABC"))
B, C = Endpoint("127.0.0.1", 1), Endpoint("127.0.0.1", 2)


class Stingy:
    """Takes so many frames."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.sent: list[tuple[Endpoint, bytes]] = []

    def set_peers(self, peers: Sequence[Endpoint]) -> None: ...

    def send(self, to: Endpoint, frame: bytes) -> bool:
        return self.cast([to], [frame]) == 1

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        taken = frames[: self.room]
        self.room -= len(taken)
        self.sent += [(peer, frame) for frame in taken for peer in to]
        return len(taken)


class AsItIs:
    """A codec for packets that are frames already."""

    def encode(self, packet: bytes, to: Address | None = None) -> bytes:
        return packet


def out_on(transport: Stingy) -> Any:
    """What A sends, in a view with B."""
    out: Any = FramesOut(ME, AsItIs(), transport, Drops())  # type: ignore[arg-type]
    assert out.set_members((ME, AT_B)) == [B]
    return out


def multicast(out: Any, *frames: bytes) -> None:
    for frame in frames:
        out.cast(Cast(frame))  # type: ignore[arg-type]
    out.flush()


def send(out: Any, to: Address, frame: bytes) -> None:
    out.unicast(Unicast(to, frame))  # type: ignore[arg-type]


def test_multicasts_that_were_refused_leave_first_whole_and_in_order() -> None:
    transport = Stingy(2)
    out = out_on(transport)
    multicast(out, b"1", b"2", b"3", b"4")
    assert transport.sent == [(B, b"1"), (B, b"2")] and out.backlog
    transport.room = 1
    multicast(out, b"5")  # Nothing overtakes what waits.
    assert transport.sent == [(B, b"1"), (B, b"2")]
    assert not out.on_writable()
    assert transport.sent[2:] == [(B, b"3")]
    transport.room = 9
    assert out.on_writable()
    assert transport.sent[3:] == [(B, b"4"), (B, b"5")] and not out.backlog


def test_what_was_multicast_in_a_view_goes_to_its_members_and_not_to_those_of_the_next() -> None:
    transport = Stingy(9)
    out = out_on(transport)
    out.cast(Cast(b"1"))  # type: ignore[arg-type]
    assert out.set_members((ME, AT_C)) == [C]
    assert transport.sent == [(B, b"1")]
    multicast(out, b"2")
    assert transport.sent[1:] == [(C, b"2")]


def test_a_frame_to_one_peer_waits_behind_what_that_peer_refused_and_not_behind_others() -> None:
    transport = Stingy(0)
    out = out_on(transport)
    send(out, AT_B, b"1")
    transport.room = 1
    send(out, AT_B, b"2")
    assert transport.sent == []
    send(out, AT_C, b"3")
    assert transport.sent == [(C, b"3")]
    transport.room = 9
    out.on_writable()
    assert transport.sent[1:] == [(B, b"1"), (B, b"2")]


def test_what_finds_no_room_among_refused_frames_is_counted() -> None:
    out = out_on(Stingy(0))
    out.unsent = Unsent(1)
    send(out, AT_B, b"1")
    send(out, AT_B, b"2")
    assert dict(out._drops) == {"the socket was busy for too long": 1}


def test_an_address_that_names_no_endpoint_is_counted() -> None:
    out = out_on(Stingy(9))
    send(out, Address("X", 1, "nowhere"), b"1")
    assert dict(out._drops) == {"an address without a usable endpoint": 1}
