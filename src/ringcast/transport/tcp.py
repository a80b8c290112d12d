"""Frames over TCP: one connection per direction and pair, lengths before frames, bounded queues.

Invariants: a queue never exceeds its bound; a peer that reads slowly slows everybody down (back-pressure), a peer that
reads nothing for `stall_seconds` slows down nobody: its frames are thrown away and counted, and repaired above.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping, Sequence

from ringcast.errors import TransportError, UsageError
from ringcast.transport.binding import bound_socket, endpoints_of, with_bound_port
from ringcast.transport.counters import CLOSED, TOO_MANY_CONNECTIONS, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.endpoint import Endpoint, reason
from ringcast.transport.framing import LENGTH, encode_hello, with_lengths
from ringcast.transport.heap import keep_heap
from ringcast.transport.limits import refuse_oversize
from ringcast.transport.protocol import Guard, OnFrames, OnWritable, SpeaksFor
from ringcast.transport.strangers import DEFAULT_LIMITS, SECOND, StrangerLimits, Strangers
from ringcast.transport.tcp_aside import AsideLinks
from ringcast.transport.tcp_incoming import Listener
from ringcast.transport.tcp_limits import MAX_FRAME, TcpLimits
from ringcast.transport.tcp_outgoing import Dialer, Outgoing
from ringcast.transport.tls import Tls

NEVER_OVERFLOWS = 1 << 40


class TcpTransport:
    """A Transport over TCP. See `protocol.Transport` for the calls."""

    def __init__(
        self,
        bind: str | Endpoint = "127.0.0.1:0",
        *,
        advertise: str | Endpoint | None = None,
        limits: TcpLimits | None = None,
        tls: Tls | None = None,
        speaks_for: SpeaksFor | None = None,
        least_frame: int = 0,
        strangers: StrangerLimits = DEFAULT_LIMITS,
    ) -> None:
        """With `tls` everybody shows a certificate; `speaks_for` is asked whether a frame may be of who it is for.

        A stream with a frame shorter than `least_frame` ends. `strangers` is what hosts that proved nothing may cost.
        """
        self.on_writable: OnWritable | None = None
        self.counters = Counters()
        self._bind, self._advertise, self._limits = bind, advertise, limits or TcpLimits()
        self._cut = CutSwitch()
        self._tls, self._speaks_for = tls, speaks_for
        self._least_frame, self._strangers = least_frame, strangers
        self._guard: Guard | None = None
        self._local: Endpoint | None = None
        self._listener: Listener | None = None
        self._dialer: Dialer | None = None
        self._links: dict[Endpoint, Outgoing] = {}
        self._aside: AsideLinks | None = None
        self._is_refused = False  # the caller holds frames and waits for `on_writable`
        self._watch: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None

    @property
    def guard(self) -> Guard | None:
        return self._guard

    @guard.setter
    def guard(self, guard: Guard | None) -> None:
        self._guard = guard
        if self._listener is not None:
            self._listener.guard = guard

    @property
    def local(self) -> Endpoint:
        if self._local is None:
            raise UsageError(f"the TCP transport on {self._bind} is not open yet")
        return self._local

    @property
    def places(self) -> tuple[str, ...]:
        """Where it is bound, unless with TLS."""
        return (str(self._bind),) if self._tls is None else ()

    @property
    def max_frame(self) -> int:
        return MAX_FRAME

    @property
    def multicasts(self) -> bool:
        return False

    @property
    def receive_buffer(self) -> int:
        """A stream is slowed down before its buffer overflows."""
        return NEVER_OVERFLOWS

    @property
    def overflows(self) -> int:
        return 0

    @property
    def open_connections(self) -> int:
        """Connections that others have made to us."""
        return len(self._listener.connections) if self._listener else 0

    @property
    def held_bytes(self) -> int:
        """Bytes of frames whose end has not come."""
        return sum(connection.held_bytes for connection in self._listener.connections) if self._listener else 0

    async def open(self, on_frames: OnFrames) -> None:
        at, advertised = await endpoints_of(self._bind, self._advertise)
        keep_heap()
        loop = asyncio.get_running_loop()
        sock = bound_socket(socket.SOCK_STREAM, at, shared=True)
        listen(sock, at)
        self._local = with_bound_port(advertised, sock)
        strangers = Strangers(lambda: int(loop.time() * SECOND), self._strangers)
        self._listener = Listener(sock, loop, self.counters, self._cut, self._limits, strangers, on_frames)
        self._listener.guard, self._listener.least_frame = self._guard, self._least_frame
        self._listener.tls, self._listener.speaks_for = self._tls, self._speaks_for
        hello = encode_hello(self._local)
        self._dialer = Dialer(loop, self.counters, self._limits, hello, at, self._on_room, self._tls)
        self._aside = AsideLinks(self._dialer)
        self._sweep = loop.call_later(self._limits.idle_seconds, self._close_idle)

    def close(self) -> None:
        for timer in (self._watch, self._sweep):
            if timer is not None:
                timer.cancel()
        for link in self._links.values():
            link.close()
        if self._aside is not None:
            self._aside.close()
        if self._listener is not None:
            self._listener.close()
        self._links, self._listener, self._dialer, self._aside = {}, None, None, None

    def set_peers(self, peers: Sequence[Endpoint]) -> None:
        if self._listener is not None:
            self._listener.members = dict.fromkeys(peers)
        for link in self._links.values():
            link.is_kept = False
        for peer in peers:
            peer_link = self._link(peer)
            if peer_link is not None:
                peer_link.keep()

    def expect(self, names: Mapping[Endpoint, str]) -> None:
        if self._tls is None:
            return
        self._tls.expected = dict(names)
        for link in self._links.values():
            link.look_whom()

    def use_tls(self, tls: Tls) -> None:
        """Show other certificates from now on: every connection is made again."""
        assert self._tls is not None
        self._tls.use(tls)
        for link in self._links.values():
            link.renew()
        if self._listener is not None:
            self._listener.close_all()

    def block(self, endpoints: Iterable[Endpoint]) -> None:
        self._cut.block(endpoints)

    def unblock(self) -> None:
        self._cut.unblock()

    # ---- sending ----

    def send(self, to: Endpoint, frame: bytes) -> bool:
        return self._put((to,), (frame,), self._limits.reserve_bytes) == 1

    def cast(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        return self._put(to, frames, 0)

    def send_aside(self, to: Endpoint, frame: bytes) -> bool:
        if self._aside is None or to in self._cut.blocked or not self._aside.send(to, frame):
            return False
        self.counters.frames_aside += 1
        return True

    def _put(self, to: Sequence[Endpoint], frames: Sequence[bytes], reserve: int) -> int:
        refuse_oversize(frames, MAX_FRAME)
        links = self._reachable(to, len(frames))
        taken = 0
        while links and taken < len(frames):
            room = min(link.room(reserve) for link in links)
            count, size = fitting(frames, taken, min(room, self._limits.queue_bytes))
            if count == 0:
                return self._refuse(taken)
            buffers = with_lengths(frames[taken : taken + count])
            for link in links:
                link.put(buffers, size)
            taken += count
        return len(frames)

    def _reachable(self, to: Sequence[Endpoint], frames: int) -> list[Outgoing]:
        """Connections to those who can be sent to at all; what the others miss is counted."""
        if self._dialer is None:
            self.counters.lose(CLOSED, frames * len(to))
            return []
        if self._cut.blocked:
            to = self._cut.reachable(to, frames, self.counters)
        links = [link for endpoint in to if (link := self._link(endpoint)) is not None]
        if len(links) < len(to):
            self.counters.lose(TOO_MANY_CONNECTIONS, frames * (len(to) - len(links)))
        return links

    def _link(self, to: Endpoint) -> Outgoing | None:
        link = self._links.get(to)
        if link is not None or self._dialer is None:
            return link
        if len(self._links) >= self._limits.max_outgoing:
            oldest = next((other for other, held in self._links.items() if not held.is_kept), None)
            if oldest is None:
                return None
            self._links.pop(oldest).close()
        link = self._links[to] = Outgoing(to, self._dialer)
        return link

    # ---- waiting for room ----

    def _refuse(self, taken: int) -> int:
        self.counters.busy += 1
        self._is_refused = True
        if self._watch is None and self._dialer is not None:
            self._watch = self._dialer.loop.call_later(self._limits.stall_seconds / 2, self._look_for_stalls)
        return taken

    def _look_for_stalls(self) -> None:
        self._watch = None
        if self._dialer is None or not self._is_refused:
            return
        now = self._dialer.loop.time()
        for link in self._links.values():
            link.note_stall(now)
        self._on_room()
        if self._is_refused:
            self._watch = self._dialer.loop.call_later(self._limits.stall_seconds / 2, self._look_for_stalls)

    def _on_room(self) -> None:
        """Some peer has room again; the caller is told when all have."""
        if self._dialer is None or not self._is_refused:
            return
        if all(link.room() >= self._limits.queue_bytes // 2 for link in self._links.values()):
            self._is_refused = False
            if self.on_writable is not None:
                self.on_writable()

    def _close_idle(self) -> None:
        """Let go of connections to non-peers that were not used since the last sweep."""
        if self._dialer is None or self._listener is None:
            return
        self._listener.close_idle()
        for to, link in list(self._links.items()):
            if not link.is_kept and not link.was_used:
                link.close()
                del self._links[to]
            link.was_used = False
        self._sweep = self._dialer.loop.call_later(self._limits.idle_seconds, self._close_idle)


def listen(sock: socket.socket, at: Endpoint) -> None:
    """Two sockets may both bind before either listens; then the second learns of it here."""
    try:
        sock.listen(socket.SOMAXCONN)
    except OSError as error:
        sock.close()
        raise TransportError(f"cannot listen on {at}: {reason(error)}") from None


def fitting(frames: Sequence[bytes], start: int, room: int) -> tuple[int, int]:
    """How many frames from `start` on fit into `room` with their lengths, and how many bytes that is."""
    size = 0
    for index in range(start, len(frames)):
        longer = size + LENGTH.size + len(frames[index])
        if longer > room:
            return index - start, size
        size = longer
    return len(frames) - start, size
