"""Takes the connections of one listening socket: a few in each turn of the loop, and of each host so many a second.

Who is over its allowance is closed at once, before anything is made for it. When the system gives no more descriptors,
nothing is accepted for a moment: what waits in the kernel is taken later, and nothing is raised or logged meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from ringcast.transport.strangers import Strangers

_ACCEPTS_PER_WAKE = 16
_PAUSE_SECONDS = 0.5  # after the system refused an accept, before the next try


class Acceptor:
    """Owns the listening socket."""

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        strangers: Strangers | None,
        on_connection: Callable[[socket.socket, str], None],
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_connection` gets the connection, which does not block, and the other end's host.

        Without `strangers` everybody is taken: only this user can connect.
        """
        self._socket, self._loop, self._strangers = sock, loop, strangers
        self._on_connection, self._on_refused = on_connection, on_refused
        self._pause: asyncio.TimerHandle | None = None
        loop.add_reader(sock, self._accept)

    def close(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _accept(self) -> None:
        try:
            for _ in range(_ACCEPTS_PER_WAKE):
                sock, peer = self._socket.accept()
                self._take(sock, str(peer[0]) if peer else "")
        except (BlockingIOError, ConnectionAbortedError):
            pass
        except OSError:
            self._loop.remove_reader(self._socket)
            self._pause = self._loop.call_later(_PAUSE_SECONDS, self._loop.add_reader, self._socket, self._accept)

    def _take(self, sock: socket.socket, host: str) -> None:
        if self._strangers is not None and not self._strangers.may_connect(host):
            self._on_refused()
            sock.close()
            return
        try:
            sock.setblocking(False)
            self._on_connection(sock, host)
        except OSError:  # it is gone already
            sock.close()
