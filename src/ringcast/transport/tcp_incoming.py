"""The receiving half of a TCP transport: connections that others made to us.

Nothing a stranger sends raises or allocates beyond the limits: one read buffer serves all connections, each keeps back
less than one frame, and there are at most `max_incoming` of them beside those of members. One too many takes the place
of the one that was silent for longest, and never a member's; so strangers keep nobody out. Who breaks the framing is
disconnected and counted.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

from ringcast.errors import PeerError
from ringcast.transport.counters import BAD_STREAM, CUT_IN, NO_CERTIFICATE, NOT_ITS_NAME, TOO_MANY_CONNECTIONS, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.endpoint import Endpoint
from ringcast.transport.framing import LENGTH, decode_hello, split_frames
from ringcast.transport.protocol import Foretelling, Frame, Guard, OnFrames, Passes, Source, SpeaksFor
from ringcast.transport.tcp_limits import MAX_FRAME, TcpLimits
from ringcast.transport.tls import Tls, TlsSocket

_ACCEPTS_PER_WAKE = 16
PER_ENDPOINT = 8  # a member has two, and those that it has not ended yet
_PAUSE_SECONDS = 0.5  # after the system refused an accept (no descriptors left), before the next try
_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 15, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3}


class Listener:
    """Accepts connections and reads them all through one buffer."""

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        counters: Counters,
        cut: CutSwitch,
        limits: TcpLimits,
        on_frames: OnFrames,
    ) -> None:
        self.loop, self.counters, self.cut, self.limits, self.on_frames = loop, counters, cut, limits, on_frames
        self.buffer = memoryview(bytearray(limits.read_bytes + LENGTH.size + MAX_FRAME))
        self.connections: dict[Incoming, None] = {}
        self._socket = sock
        self._pause: asyncio.TimerHandle | None = None
        self._guard: Guard | None = None
        self.passes: Passes = {}  # what the guard need not be asked for
        self.tls: Tls | None = None
        self.speaks_for: SpeaksFor | None = None
        self.members: dict[Endpoint, None] = {}
        loop.add_reader(sock, self._on_connection)

    @property
    def guard(self) -> Guard | None:
        return self._guard

    @guard.setter
    def guard(self, guard: Guard | None) -> None:
        self._guard = guard
        self.passes = guard.passes if isinstance(guard, Foretelling) else {}

    def close(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self.loop.remove_reader(self._socket)
        self._socket.close()
        for connection in list(self.connections):
            connection.close()

    def _on_connection(self) -> None:
        try:
            for _ in range(_ACCEPTS_PER_WAKE):
                self._admit(*self._socket.accept())
        except (BlockingIOError, ConnectionAbortedError):
            pass
        except OSError:
            self.loop.remove_reader(self._socket)
            self._pause = self.loop.call_later(_PAUSE_SECONDS, self.loop.add_reader, self._socket, self._on_connection)

    def _admit(self, sock: socket.socket, peer: tuple[Any, ...]) -> None:
        waiting = [connection for connection in self.connections if connection.sender is None]
        if len(waiting) >= self.limits.max_strangers:
            self._make_room(waiting)
        others = [connection for connection in self.connections if not connection.is_members]
        if len(others) >= self.limits.max_incoming:
            self._make_room(others)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE.items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        if self.tls is not None:
            try:
                sock = self.tls.accepted(sock)
            except OSError:  # it is gone already
                self.counters.lose(NO_CERTIFICATE)
                sock.close()
                return
        self.connections[Incoming(sock, str(peer[0]), self)] = None

    def _make_room(self, connections: list[Incoming]) -> None:
        self.counters.lose(TOO_MANY_CONNECTIONS)
        min(connections, key=lambda connection: connection.used_at).close()

    def keep_to(self, connection: Incoming) -> None:
        """It says who it is: of one endpoint a few connections at most, the silent ones go."""
        same = [other for other in self.connections if other.sender == connection.sender]
        if len(same) > PER_ENDPOINT:
            self._make_room([other for other in same if other is not connection])

    def close_idle(self) -> None:
        """Connections of non-members on which nothing came for long."""
        since = self.loop.time() - self.limits.idle_seconds
        for connection in list(self.connections):
            if connection.used_at < since and not connection.is_members:
                connection.close()


class Incoming:
    """One connection: first its hello, then its frames."""

    def __init__(self, sock: socket.socket, host: str, listener: Listener) -> None:
        self.sender: Endpoint | None = None
        self.used_at = listener.loop.time()
        self._names: tuple[str, ...] | None = None  # in its certificate, once it has shown one
        self._host = host  # that it comes from
        self._socket, self._listener = sock, listener
        self._held = b""  # the beginning of a frame (or hello) whose end has not come
        self._deadline = listener.loop.call_later(listener.limits.hello_seconds, self._break)
        listener.loop.add_reader(sock, self._on_readable)

    @property
    def is_members(self) -> bool:
        return self.sender is not None and self.sender in self._listener.members and self.sender.host == self._host

    @property
    def held_bytes(self) -> int:
        return len(self._held)

    def close(self) -> None:
        self._deadline.cancel()
        self._listener.loop.remove_reader(self._socket)
        self._socket.close()
        self._listener.connections.pop(self, None)

    def _break(self) -> None:
        self._listener.counters.lose(BAD_STREAM)
        self.close()

    def _on_readable(self) -> None:
        self._listener.counters.wakes += 1
        self.used_at = self._listener.loop.time()
        if isinstance(self._socket, TlsSocket) and self._names is None and not self._is_let_in(self._socket):
            return
        frames = self._frames()
        self._listener.on_frames(frames)
        for _ in frames:  # What nobody took is dropped; left in the socket, it would wake us for ever.
            pass

    def _is_let_in(self, sock: TlsSocket) -> bool:
        """It has shown a certificate of the authority by now."""
        try:
            sock.shake_hands()
        except BlockingIOError:
            return False
        except OSError:
            self._listener.counters.lose(NO_CERTIFICATE)
            self.close()
            return False
        self._names = sock.names()
        return True

    def _frames(self) -> Iterator[Frame]:
        """What is there, up to a bound, read while it is taken."""
        limits = self._listener.limits
        for _ in range(limits.reads_per_wake):
            held = len(self._held)
            count = self._read(held) if self in self._listener.connections else 0  # what it read may have closed it
            if not count:
                return
            try:
                yield from self._admitted(self._take(self._listener.buffer[: held + count]))
            except PeerError:
                self._break()
                return
            if count < limits.read_bytes and self._names is None:  # TLS gives one record at a time
                return

    def _read(self, held: int) -> int:
        """Into the shared buffer, behind what is held back; 0 if nothing is there or the stream has ended."""
        buffer = self._listener.buffer
        try:
            count = self._socket.recv_into(buffer[held : held + self._listener.limits.read_bytes])
        except BlockingIOError:
            return 0
        except OSError:
            count = 0
        if count == 0:
            self.close()
        else:
            buffer[:held] = self._held
        return count

    def _take(self, data: memoryview) -> list[memoryview]:
        """The frames that are whole now; the rest is held back."""
        start = 0
        if self.sender is None:
            hello = decode_hello(data)
            if hello is None:
                self._held = bytes(data)
                return []
            self.sender, start = hello
            self._deadline.cancel()
            self._listener.keep_to(self)
        frames, used = split_frames(data[start:], MAX_FRAME)
        self._held = bytes(data[start + used :])
        return frames

    def _admitted(self, frames: list[memoryview]) -> Iterator[Frame]:
        """All of them, unless the sender is cut off or the guard refuses one."""
        listener = self._listener
        if self.sender in listener.cut.blocked:
            listener.counters.lose(CUT_IN, len(frames))
            return
        listener.counters.frames_in += len(frames)
        listener.counters.bytes_in += sum(map(len, frames))
        guard, sender = listener.guard, self.sender
        if guard is None or sender is None:
            yield from frames
            return
        source: Source = (self._host, sender.port)
        if self._names is None and _are_foretold(listener.passes.get(source), frames):
            yield from frames
            return
        speaks_for = listener.speaks_for
        for frame in frames:
            if self._names is not None and speaks_for is not None and not speaks_for(self._names, frame):
                listener.counters.lose(NOT_ITS_NAME)
                continue
            admitted = guard(source, frame, sender)
            if admitted is not None:
                yield admitted


def _are_foretold(known: tuple[int, bytes] | None, frames: list[memoryview]) -> bool:
    """Would the guard hand on all of them as they are, as nearly always?"""
    if known is None:
        return False
    at, expected = known
    end = at + len(expected)
    return all(frame[at:end] == expected for frame in frames)
