"""The receiving half of a TCP transport: connections that others made to us.

Nothing a stranger sends raises or allocates beyond the limits: one read buffer serves all connections, each keeps back
less than one frame, and there are at most `max_incoming` of them beside those of members. A connection is *proved* once
a frame of it was taken, or its certificate is of the authority; its hello proves nothing. Until then it is one of
`max_strangers`, of which one too many takes the place of the oldest, whatever that one says, and what it costs is
bounded by strangers.py: it is read a little at a time, and ends after a few frames that nobody took. One that names a
member's endpoint and comes from that member's host is not among them, for a member may have nothing to say; of these
there are `PER_ENDPOINT` for each member. So strangers close no connection of a member that has said anything, and keep
nobody out. Who breaks the framing is disconnected and counted.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

from ringcast.errors import PeerError
from ringcast.transport.accepting import Acceptor
from ringcast.transport.counters import (
    BAD_STREAM,
    CUT_IN,
    NO_CERTIFICATE,
    NOBODY_TOOK,
    NOT_ITS_NAME,
    TOO_MANY_CONNECTIONS,
    TOO_MANY_HANDSHAKES,
    Counters,
)
from ringcast.transport.cut import CutSwitch
from ringcast.transport.endpoint import Endpoint
from ringcast.transport.framing import LENGTH, decode_hello, split_frames
from ringcast.transport.protocol import Foretelling, Frame, Guard, OnFrames, Passes, Source, SpeaksFor
from ringcast.transport.strangers import Strangers
from ringcast.transport.tcp_limits import MAX_FRAME, TcpLimits
from ringcast.transport.tls import Tls, TlsSocket

PER_ENDPOINT = 8  # a member has two, and those that it has not ended yet
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
        strangers: Strangers,
        on_frames: OnFrames,
    ) -> None:
        self.loop, self.counters, self.cut, self.limits, self.on_frames = loop, counters, cut, limits, on_frames
        self.buffer = memoryview(bytearray(limits.read_bytes + LENGTH.size + MAX_FRAME))
        self.connections: dict[Incoming, None] = {}
        self.strangers = strangers
        self._guard: Guard | None = None
        self.passes: Passes = {}  # what the guard need not be asked for
        self.tls: Tls | None = None
        self.speaks_for: SpeaksFor | None = None
        self.least_frame = 0  # what is shorter is no frame
        self._members: dict[Endpoint, None] = {}
        self._acceptor = Acceptor(sock, loop, strangers, self._admit, lambda: counters.lose(TOO_MANY_CONNECTIONS))

    @property
    def guard(self) -> Guard | None:
        return self._guard

    @guard.setter
    def guard(self, guard: Guard | None) -> None:
        self._guard = guard
        self.passes = guard.passes if isinstance(guard, Foretelling) else {}

    @property
    def members(self) -> dict[Endpoint, None]:
        return self._members

    @members.setter
    def members(self, members: dict[Endpoint, None]) -> None:
        self._members = members
        self.strangers.set_members(member.host for member in members)

    def close(self) -> None:
        self._acceptor.close()
        self.close_all()

    def close_all(self) -> None:
        """Close what others made to us; those who need it make it again."""
        for connection in list(self.connections):
            connection.close()

    def _admit(self, sock: socket.socket, host: str) -> None:
        unproved = [one for one in self.connections if not one.is_proved and not one.is_members]
        if len(unproved) >= self.limits.max_strangers:
            self._make_room(unproved)
        others = [connection for connection in self.connections if not connection.is_members]
        if len(others) >= self.limits.max_incoming:
            self._make_room(others)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE.items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        self.connections[Incoming(sock, host, self)] = None

    def _make_room(self, connections: list[Incoming]) -> None:
        self.counters.lose(TOO_MANY_CONNECTIONS)
        min(connections, key=lambda connection: connection.used_at).close()

    def keep_to(self, connection: Incoming) -> None:
        """Keep a few connections at most of one endpoint on one host: the silent ones go.

        Called when a connection says who it is, and when that is proved. Each time it takes the place of one that has
        proved as much as it has: what anybody can say closes no connection of a member.
        """
        same = [other for other in self.connections if other.is_like(connection)]
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
        self.is_proved = False  # something of it was taken
        self.used_at = listener.loop.time()
        self._refused = 0  # frames in a row that nobody took
        self._names: tuple[str, ...] | None = None  # in its certificate, once it has shown one
        self._host = host  # that it comes from
        self._socket, self._listener = sock, listener
        self._held = b""  # the beginning of a frame (or hello) whose end has not come
        self._deadline = listener.loop.call_later(listener.limits.hello_seconds, self._break)
        listener.loop.add_reader(sock, self._on_readable)

    @property
    def is_members(self) -> bool:
        """Does it say that it is a member's, and come from that member's host? Not proved: others there can say so."""
        return self.sender is not None and self.sender in self._listener.members and self.sender.host == self._host

    def is_like(self, other: Incoming) -> bool:
        """Does it say the same of itself, from the same host, and has it proved as much?"""
        return (self.sender, self._host, self.is_proved) == (other.sender, other._host, other.is_proved)

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
        if self.is_proved:  # Else it counts from its beginning: who drips bytes is not spared for it.
            self.used_at = self._listener.loop.time()
        if self._listener.tls is not None and self._names is None and not self._has_shaken_hands(self._listener.tls):
            return
        frames = self._frames()
        self._listener.on_frames(frames)
        for _ in frames:  # What nobody took is dropped; left in the socket, it would wake us for ever.
            pass

    def _has_shaken_hands(self, tls: Tls) -> bool:
        """It has shown a certificate of the authority by now."""
        try:
            if not isinstance(self._socket, TlsSocket):
                if not self._listener.strangers.may_shake_hands(self._host):
                    self._listener.counters.lose(TOO_MANY_HANDSHAKES)
                    self.close()
                    return False
                self._socket = tls.accepted(self._socket)
            self._socket.shake_hands()
        except BlockingIOError:
            return False
        except OSError:
            self._listener.counters.lose(NO_CERTIFICATE)
            self.close()
            return False
        self._names = self._socket.names()
        self._prove()
        return True

    def _prove(self) -> None:
        """Something of it was taken: it is no stranger's any more."""
        self.is_proved = True
        self.used_at = self._listener.loop.time()
        self._listener.strangers.prove(self._host)
        if self.sender is not None:
            self._listener.keep_to(self)

    def _frames(self) -> Iterator[Frame]:
        """What is there, up to a bound, read while it is taken."""
        limits = self._listener.limits
        for _ in range(limits.reads_per_wake):
            held, was_proved = len(self._held), self.is_proved
            bound = limits.read_bytes if was_proved else self._listener.strangers.limits.unproved_read_bytes
            count = self._read(held, bound) if self in self._listener.connections else 0  # reading may have closed it
            if not count:
                return
            try:
                yield from self._admitted(self._take(self._listener.buffer[: held + count]))
            except PeerError:
                self._break()
                return
            if not was_proved or (count < limits.read_bytes and self._names is None):  # TLS gives a record at a time
                return

    def _read(self, held: int, bound: int) -> int:
        """Into the shared buffer, behind what is held back; 0 if nothing is there or the stream has ended."""
        buffer = self._listener.buffer
        try:
            count = self._socket.recv_into(buffer[held : held + bound])
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
        frames, used = split_frames(data[start:], MAX_FRAME, self._listener.least_frame)
        self._held = bytes(data[start + used :])
        return frames

    def _admitted(self, frames: list[memoryview]) -> Iterator[Frame]:
        """All of them, unless the sender is cut off or the guard refuses one."""
        listener = self._listener
        if not frames:  # a hello, or the beginning of a frame: it proves nothing
            return
        if self.sender in listener.cut.blocked:
            listener.counters.lose(CUT_IN, len(frames))
            return
        listener.counters.frames_in += len(frames)
        listener.counters.bytes_in += sum(map(len, frames))
        guard, sender = listener.guard, self.sender
        if guard is None or sender is None:
            self._taken()
            yield from frames
            return
        source: Source = (self._host, sender.port)
        if self._names is None and _are_foretold(listener.passes.get(source), frames):
            self._taken()
            yield from frames
            return
        speaks_for = listener.speaks_for
        for frame in frames:
            if self._names is not None and speaks_for is not None and not speaks_for(self._names, frame):
                listener.counters.lose(NOT_ITS_NAME)
                admitted = None
            else:
                admitted = guard(source, frame, sender)
            if admitted is not None:
                if self._refused or not self.is_proved:
                    self._taken()
                yield admitted
            elif self._is_refused():
                return

    def _taken(self) -> None:
        self._refused = 0
        if not self.is_proved:
            self._prove()

    def _is_refused(self) -> bool:
        """Count one more frame that nobody took; True if these were so many in a row that the stream ends here."""
        self._refused += 1
        limits = self._listener.strangers.limits
        is_known = self.is_proved and self.is_members
        most = limits.refused_in_a_row_of_members if is_known else limits.refused_in_a_row
        if self._refused < most:
            return False
        self._listener.counters.lose(NOBODY_TOOK)
        self.close()
        return True


def _are_foretold(known: tuple[int, bytes] | None, frames: list[memoryview]) -> bool:
    """Would the guard hand on all of them as they are, as nearly always?"""
    if known is None:
        return False
    at, expected = known
    end = at + len(expected)
    return all(frame[at:end] == expected for frame in frames)
