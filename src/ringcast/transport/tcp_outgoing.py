"""The sending half of a TCP transport: one connection that we made to one peer.

Invariants: frames leave in the order they were put; a connection that breaks takes the rest of its queue with it,
counted; the queue never holds more than `room` allowed. It never reads: the peer answers on a connection of its own, so
nothing has to be agreed when both connect at once (decision 0032).
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass

from ringcast.transport.counters import NO_CERTIFICATE, NOT_EXPECTED, PEER_DOWN, PEER_STALLED, Counters
from ringcast.transport.endpoint import Endpoint
from ringcast.transport.tcp_limits import TcpLimits
from ringcast.transport.tls import Tls, TlsSocket
from ringcast.transport.write_queue import WriteQueue

THROWN_AWAY = 1 << 62
"""The room of a peer whose frames are not kept: it holds nobody back."""

_USER_TIMEOUT, _USER_TIMEOUT_MS = 18, 60_000  # TCP_USER_TIMEOUT: a host that acknowledges nothing for so long is gone


@dataclass(frozen=True, slots=True)
class Dialer:
    """What all outgoing connections of one transport share."""

    loop: asyncio.AbstractEventLoop
    counters: Counters
    limits: TcpLimits
    hello: bytes
    source: Endpoint
    on_room: Callable[[], None]
    tls: Tls | None = None

    def dial(self, to: Endpoint) -> socket.socket:
        """A socket that is connecting."""
        sock = socket.socket(to.family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, _USER_TIMEOUT_MS)
            if self.source.family == to.family:
                sock.bind((self.source.host, 0))
            code = sock.connect_ex(to)
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, "cannot connect")
        except OSError:
            sock.close()
            raise
        return sock


class Outgoing:
    """A connection to one peer, made again whenever it breaks."""

    def __init__(self, to: Endpoint, dialer: Dialer) -> None:
        self.is_kept = False  # to a peer: made again by itself; to others: when something is sent
        self.was_used = True  # since the last sweep
        self._to, self._dialer = to, dialer
        self._socket: socket.socket | None = None
        self._names: tuple[str, ...] | None = None  # of the certificate at the other end, with TLS
        self._up_since: float | None = None
        self._queue = WriteQueue()
        self._progress_at = 0.0
        self._is_stalled = False
        self._pause = dialer.limits.first_retry_seconds
        self._dial_from = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def room(self, reserve: int = 0) -> int:
        """How many bytes may be put now."""
        if self._is_stalled or (self._socket is None and self._dialer.loop.time() < self._dial_from):
            return THROWN_AWAY
        return max(0, self._dialer.limits.queue_bytes + reserve - self._queue.held_bytes)

    def put(self, buffers: list[bytes], size: int) -> None:
        """Send these lengths and frames, now or when the socket takes them; or count them as lost."""
        self.was_used = True
        if self._socket is None and self._dialer.loop.time() >= self._dial_from:
            self.connect()
        if self._socket is None or self._is_stalled:
            self._dialer.counters.lose(PEER_STALLED if self._is_stalled else PEER_DOWN, len(buffers) // 2)
            return
        waits = self._queue.held_bytes > 0
        self._queue.put(buffers, size)
        if not waits:
            self._progress_at = self._dialer.loop.time()
            if self._up_since is not None:
                self._write(self._socket)

    def note_stall(self, now: float) -> None:
        """A peer that has taken nothing for too long holds nobody back from then on, until it takes something."""
        if self._queue.held_bytes and now - self._progress_at >= self._dialer.limits.stall_seconds:
            self._is_stalled = True

    def close(self) -> None:
        """What the socket still takes leaves; the rest is lost."""
        if self._socket is not None and self._up_since is not None:
            self._write(self._socket)
        self._let_go()

    def look_whom(self) -> None:
        """Is whom we have reached still whom we expect there?"""
        tls = self._dialer.tls
        if tls is not None and self._names is not None and not tls.is_expected(self._to, self._names):
            self._dialer.counters.lose(NOT_EXPECTED)
            self._break()

    def renew(self) -> None:
        """Make the connection again, if there is one."""
        if self._socket is not None:
            self._break()

    # ---- connecting ----

    def connect(self) -> None:
        self._stop_timer()
        try:
            self._socket = self._dialer.dial(self._to)
        except OSError:
            self._retry_later()
            return
        self._dialer.loop.add_writer(self._socket, self._on_connected, self._socket)
        self._timer = self._dialer.loop.call_later(self._dialer.limits.connect_seconds, self._break)

    def keep(self) -> None:
        """Be connected from now on, also while nothing is sent."""
        self.is_kept = True
        if self._socket is None and self._timer is None:
            self.connect()

    def _on_connected(self, sock: socket.socket) -> None:
        self._dialer.loop.remove_writer(sock)
        try:
            refused = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
            # A port that nobody listens on can meet itself: the kernel may choose it as our own.
            refused = refused or sock.getsockname() == sock.getpeername()
            if not refused and self._dialer.tls is not None:
                sock = self._socket = self._dialer.tls.dialed(sock)
        except OSError:
            refused = True
            if sock.fileno() < 0:  # TLS took it over and gave up
                self._socket = None
        if refused:
            self._break()
        elif isinstance(sock, TlsSocket):
            self._dialer.loop.add_reader(sock, self._shake_hands, sock)
            self._shake_hands(sock)
        else:
            self._say_hello(sock)

    def _shake_hands(self, sock: TlsSocket) -> None:
        try:
            sock.shake_hands()
        except BlockingIOError:
            return
        except OSError:
            self._dialer.counters.lose(NO_CERTIFICATE)
            self._break()
            return
        self._dialer.loop.remove_reader(sock)
        self._names = sock.names()
        self.look_whom()
        if self._names is not None:
            self._say_hello(sock)

    def _say_hello(self, sock: socket.socket) -> None:
        self._stop_timer()
        try:
            refused = sock.send(self._dialer.hello) < len(self._dialer.hello)
        except OSError:
            refused = True
        if refused:
            self._break()
            return
        self._up_since = self._progress_at = self._dialer.loop.time()
        self._dialer.counters.connects += 1
        self._dialer.loop.add_reader(sock, self._break)  # the peer never sends here: readable means that it closed
        self._write(sock)
        self._tell_room()

    def _break(self) -> None:
        if self._up_since is not None and self._dialer.loop.time() - self._up_since > self._pause:
            self._pause = self._dialer.limits.first_retry_seconds
        self._let_go()
        self._retry_later()
        self._dialer.loop.call_soon(self._dialer.on_room)  # later: the caller may be in the middle of a cast

    def _let_go(self) -> None:
        self._stop_timer()
        if self._queue.held_bytes:
            self._dialer.counters.lose(PEER_DOWN, self._queue.frames)
            self._queue.clear()
        if self._socket is not None:
            self._dialer.loop.remove_reader(self._socket)
            self._dialer.loop.remove_writer(self._socket)
            self._socket.close()
        self._socket, self._names, self._up_since, self._is_stalled = None, None, None, False

    def _retry_later(self) -> None:
        self._dial_from = self._dialer.loop.time() + self._pause
        if self.is_kept:
            self._timer = self._dialer.loop.call_later(self._pause, self.connect)
        self._pause = min(2 * self._pause, self._dialer.limits.last_retry_seconds)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- writing ----

    def _write(self, sock: socket.socket) -> None:
        frames = self._queue.frames
        try:
            sent = self._queue.write(sock)
        except OSError:
            self._break()
            return
        self._dialer.counters.frames_out += frames - self._queue.frames
        self._dialer.counters.bytes_out += sent
        if self._queue.held_bytes:
            self._dialer.loop.add_writer(sock, self._on_writable, sock)

    def _on_writable(self, sock: socket.socket) -> None:
        before = self._queue.held_bytes
        self._write(sock)
        if self._queue.held_bytes < before:
            self._progress_at, self._is_stalled = self._dialer.loop.time(), False
        if self._socket is not None and not self._queue.held_bytes:
            self._dialer.loop.remove_writer(sock)
        self._tell_room()

    def _tell_room(self) -> None:
        if self._queue.held_bytes <= self._dialer.limits.queue_bytes // 2:
            self._dialer.on_room()
