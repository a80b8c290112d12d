"""Frames as UDP datagrams: unicast to each, or one IP multicast packet for everybody.

Invariant: one frame is one datagram. Datagrams that leave the host are never split by IP (`WITHIN_PATH`), except a
single frame larger than those: a repair of what another member packed, which came here as one datagram, too.
It does not repair, pace or order anything; what the kernel refuses or overflows is counted.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ringcast.errors import ConfigError, UsageError
from ringcast.transport import multicast as ip_multicast
from ringcast.transport import segments
from ringcast.transport.binding import (
    bound_socket,
    drops_of,
    endpoints_of,
    receive_buffer_bytes,
    widen_buffers,
    with_bound_port,
)
from ringcast.transport.counters import CLOSED, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.datagram_reader import DatagramReader
from ringcast.transport.datagram_sender import DatagramSender, keep_whole
from ringcast.transport.endpoint import Endpoint
from ringcast.transport.heap import keep_heap
from ringcast.transport.limits import refuse_oversize
from ringcast.transport.multicast import MulticastGroup
from ringcast.transport.own_copies import refuse_own_copies
from ringcast.transport.protocol import Guard, OnFrames, OnWritable

LARGEST_DATAGRAM = 65_507
RECEIVE_BUFFER_BYTES = 16 << 20
SEND_BUFFER_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Datagrams:
    """How large datagrams may be, and whether IP may split them on the way."""

    max_frame: int
    never_split: bool

    def __post_init__(self) -> None:
        if not 1 <= self.max_frame <= LARGEST_DATAGRAM:
            raise ConfigError(f"max_frame must be 1 to {LARGEST_DATAGRAM} B for UDP, not {self.max_frame}")


ON_ONE_HOST = Datagrams(max_frame=60_000, never_split=False)  # loopback carries 64 kB packets whole
WITHIN_PATH = Datagrams(max_frame=1_400, never_split=True)  # with IPv6 and a tunnel still inside 1,500 B


class UdpTransport:
    """A Transport over UDP. See `protocol.Transport` for the calls."""

    def __init__(
        self,
        bind: str | Endpoint = "127.0.0.1:0",
        *,
        advertise: str | Endpoint | None = None,
        datagrams: Datagrams = ON_ONE_HOST,
        multicast: MulticastGroup | None = None,
        receive_buffer_bytes: int = RECEIVE_BUFFER_BYTES,
        send_buffer_bytes: int = SEND_BUFFER_BYTES,
    ) -> None:
        self.on_writable: OnWritable | None = None
        self.counters = Counters()
        self._bind, self._advertise, self._datagrams = bind, advertise, datagrams
        self._multicast = multicast
        self._buffer_bytes = (receive_buffer_bytes, send_buffer_bytes)
        self._cut = CutSwitch()
        self._guard: Guard | None = None
        self._local: Endpoint | None = None
        self._sockets: list[socket.socket] = []  # the unicast one, then the one that receives the group
        self._readers: list[DatagramReader] = []
        self._sender: DatagramSender | None = None

    @property
    def guard(self) -> Guard | None:
        return self._guard

    @guard.setter
    def guard(self, guard: Guard | None) -> None:
        self._guard = guard
        for reader in self._readers:
            reader.guard = guard

    @property
    def local(self) -> Endpoint:
        if self._local is None:
            raise UsageError(f"the UDP transport on {self._bind} is not open yet")
        return self._local

    @property
    def places(self) -> tuple[str, ...]:
        """Where it is bound, and on which interface packets to all leave and come."""
        interface = "" if self._multicast is None else self._multicast.interface
        return (str(self._bind), interface) if interface else (str(self._bind),)

    @property
    def max_frame(self) -> int:
        return self._datagrams.max_frame

    @property
    def multicasts(self) -> bool:
        return self._multicast is not None

    @property
    def receive_buffer(self) -> int:
        return min(map(receive_buffer_bytes, self._sockets), default=0)

    @property
    def overflows(self) -> int:
        """The kernel counts own copies that the filter refused as drops; they are none."""
        own_copies = self._sender.sends_to_group if self._sender else 0
        return max(0, sum(map(drops_of, self._sockets)) - own_copies)

    async def open(self, on_frames: OnFrames) -> None:
        at, advertised = await endpoints_of(self._bind, self._advertise)
        loop = asyncio.get_running_loop()
        keep_heap()
        try:
            self._open_sockets(at)
        except Exception:
            self.close()
            raise
        whole = self._datagrams.max_frame if self._datagrams.never_split else LARGEST_DATAGRAM
        trains = self._datagrams.never_split and all(map(segments.accept_trains, self._sockets))
        self._local = with_bound_port(advertised, self._sockets[0])
        group = self._multicast.group if self._multicast else None
        self._sender = DatagramSender(self._sockets[0], loop, self.counters, self._on_room, group, whole, trains=trains)
        self._readers = [
            DatagramReader(sock, loop, self.counters, self._cut, on_frames, trains=trains) for sock in self._sockets
        ]
        self.guard = self._guard

    def _open_sockets(self, at: Endpoint) -> None:
        unicast = bound_socket(socket.SOCK_DGRAM, at)
        self._sockets.append(unicast)
        if self._datagrams.never_split:
            keep_whole(unicast)
        if self._multicast is not None:
            interface = self._multicast.interface or at.host
            ip_multicast.prepare_sender(unicast, self._multicast, interface)
            self._sockets.append(ip_multicast.group_socket(self._multicast, interface))
            # A wildcard-bound socket sends with the address of the interface that the packet leaves by.
            source = Endpoint(interface if at.is_any else at.host, unicast.getsockname()[1])
            refuse_own_copies(self._sockets[1], source)
        for sock in self._sockets:
            widen_buffers(sock, *self._buffer_bytes)

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        if self._sender is not None:
            self._sender.close()
        for sock in self._sockets:
            sock.close()
        self._sockets, self._readers, self._sender = [], [], None

    def set_peers(self, peers: Sequence[Endpoint]) -> None:
        """Nothing to keep: datagrams need no connection."""

    def block(self, endpoints: Iterable[Endpoint]) -> None:
        self._cut.block(endpoints)

    def unblock(self) -> None:
        self._cut.unblock()

    def send(self, to: Endpoint, frame: bytes) -> bool:
        refuse_oversize((frame,), LARGEST_DATAGRAM)
        reached = self._reachable((to,), 1)
        return not reached or self._sender is None or self._sender.offer_one(to, frame)

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        """With IP multicast the packets go to everybody in the group; `to` then only says that somebody is there."""
        refuse_oversize(frames, self._datagrams.max_frame)
        reached = to if self._sender is not None and not self._cut.blocked else self._reachable(to, len(frames))
        if not reached or self._sender is None:
            return len(frames)
        if self._multicast is not None:
            reached = (self._multicast.group,)
        if len(frames) == 1 and len(reached) == 1:
            return int(self._sender.offer_one(reached[0], frames[0]))
        return self._sender.offer(reached, frames)

    def send_aside(self, to: Endpoint, frame: bytes) -> bool:
        """The kernel takes datagrams from any thread; each is whole, so the loop's own are not disturbed."""
        if not self._sockets or to in self._cut.blocked:
            return False
        try:
            self._sockets[0].sendto(frame, to)
        except OSError:
            return False
        self.counters.frames_aside += 1
        return True

    def _reachable(self, to: Sequence[Endpoint], frames: int) -> Sequence[Endpoint]:
        """Those who can be sent to at all; what the others miss is counted."""
        if self._sender is None:
            self.counters.lose(CLOSED, frames * len(to))
            return ()
        return self._cut.reachable(to, frames, self.counters) if self._cut.blocked else to

    def _on_room(self) -> None:
        if self.on_writable is not None:
            self.on_writable()
