"""Connections of a second thread: signs of life leave while the event loop is blocked.

A connection that the loop writes to cannot be shared (a half-written frame would be broken by the next one), so the
thread has its own, made with the same hello to the same listener: where data gets through, signs of life do, and the
cut switch and whatever guards the port hold for both (decision 0050).

Invariants: a frame leaves whole or its connection is closed; nothing is queued; no call waits longer than
`DIAL_WAIT_MS`. Used by one thread. Not a second transport: it never reads, and it gives up rather than wait.
"""

from __future__ import annotations

import select
import socket
import time

from ringcast.transport.endpoint import Endpoint
from ringcast.transport.framing import with_lengths
from ringcast.transport.tcp_outgoing import Dialer
from ringcast.transport.tls import Tls, TlsSocket

DIAL_WAIT_MS = 50  # for a connection to come up; one that needs longer is used by the next sign of life
MAX_LINKS = 256


class AsideLinks:
    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._links: dict[Endpoint, _Link] = {}

    def send(self, to: Endpoint, frame: bytes) -> bool:
        try:
            link = self._links.get(to) or self._dial(to)
            if not link.is_current(self._dialer.tls):
                self._drop(to)
                link = self._dial(to)
            link.used_at = time.monotonic()
            link.send(self._dialer, frame)
        except BlockingIOError:
            return False  # Still connecting, or the peer reads nothing: this one is lost.
        except OSError:
            self._drop(to)
            return False
        return True

    def close(self) -> None:
        for to in list(self._links):
            self._drop(to)

    def _dial(self, to: Endpoint) -> _Link:
        self._drop_idle()
        tls = self._dialer.tls
        link = self._links[to] = _Link(to, self._dialer.dial(to), 0 if tls is None else tls.generation)
        link.wait_for_connection()
        return link

    def _drop(self, to: Endpoint) -> None:
        link = self._links.pop(to, None)
        if link is not None:
            link.socket.close()

    def _drop_idle(self) -> None:
        """Those of earlier views; and the longest unused one if there are too many."""
        since = time.monotonic() - self._dialer.limits.idle_seconds
        for to in [to for to, link in self._links.items() if link.used_at < since]:
            self._drop(to)
        if len(self._links) >= MAX_LINKS:
            self._drop(min(self._links, key=lambda to: self._links[to].used_at))


class _Link:
    __slots__ = ("_generation", "_names", "_to", "has_said_hello", "socket", "used_at")

    def __init__(self, to: Endpoint, sock: socket.socket, generation: int) -> None:
        self._to, self._generation = to, generation
        self._names: tuple[str, ...] | None = None  # of the certificate at the other end
        self.socket = sock
        self.has_said_hello = False
        self.used_at = time.monotonic()

    def is_current(self, tls: Tls | None) -> bool:
        """Was it made with the certificates of now, and is at its other end who is expected there?"""
        if tls is None or self._names is None:
            return True
        return tls.generation == self._generation and tls.is_expected(self._to, self._names)

    def wait_for_connection(self) -> None:
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT)
        poll.poll(DIAL_WAIT_MS)

    def send(self, dialer: Dialer, frame: bytes) -> None:
        if not self.has_said_hello:
            self._check_connected()
            if dialer.tls is not None:
                self._shake_hands(dialer.tls)
        data = b"".join([b"" if self.has_said_hello else dialer.hello, *with_lengths((frame,))])
        if self.socket.send(data) < len(data):
            raise ConnectionError("half a frame was taken")
        self.has_said_hello = True

    def _shake_hands(self, tls: Tls) -> None:
        """Raises BlockingIOError if that takes longer than one wait; the next call goes on."""
        if not isinstance(self.socket, TlsSocket):
            self.socket = tls.dialed(self.socket)
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        try:
            self.socket.shake_hands()
        except BlockingIOError:
            poll.poll(DIAL_WAIT_MS)
            self.socket.shake_hands()
        self._names = self.socket.names()
        if not tls.is_expected(self._to, self._names):
            raise ConnectionError("somebody else is there")

    def _check_connected(self) -> None:
        """Raises BlockingIOError while the connection is still coming up."""
        code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code != 0:
            raise OSError(code, "cannot connect")
        try:
            peer = self.socket.getpeername()
        except OSError:
            raise BlockingIOError from None
        if self.socket.getsockname() == peer:
            raise ConnectionError("a port that nobody listens on has met itself")
