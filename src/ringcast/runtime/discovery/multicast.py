"""UDP multicast: ask the network segment who is there.

A question is padded to the size of the largest answer, so this can never be used to make somebody else receive more
than the asker sent. Bounded: so many questions a second are answered (transport/strangers.py), answers are kept for a
short while and at most `MAX_FOUND` of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from zlib import crc32

from ringcast.errors import TransportError
from ringcast.transport import DEFAULT_LIMITS, Allowance, Endpoint, MulticastGroup, group_socket, prepare_sender

MAX_FOUND = 1_024
_ASK, _HERE = b"RC?1", b"RC!1"
_SIZE = 128


class MulticastDiscovery:
    """All members listen on one multicast group and port; `interface` is the address of a local interface."""

    def __init__(
        self, group: str = "239.255.42.42", port: int = 45_599, *, interface: str, wait_seconds: float = 0.2
    ) -> None:
        self._cast = MulticastGroup(Endpoint(group, port), interface)
        self._interface = interface
        self._wait = wait_seconds
        self._found: dict[Endpoint, None] = {}
        self._sockets: list[socket.socket] = []
        self._me: Endpoint | None = None
        self._tag = b""
        self._questions = Allowance(DEFAULT_LIMITS.questions_per_second, time.monotonic_ns())

    async def open(self, group: str, me: Endpoint) -> None:
        self._me = me
        self._tag = crc32(group.encode()).to_bytes(4, "little")
        asker = socket.socket(self._cast.group.family, socket.SOCK_DGRAM)
        asker.setblocking(False)
        asker.bind((self._interface, 0))
        prepare_sender(asker, self._cast, self._interface)
        self._sockets = [asker, group_socket(self._cast, self._interface)]
        for sock in self._sockets:
            asyncio.get_running_loop().add_reader(sock, self._on_readable, sock)

    async def find(self) -> list[Endpoint]:
        self._found.clear()
        try:
            self._sockets[0].sendto((_ASK + self._tag).ljust(_SIZE, b"\0"), self._cast.group)
        except OSError as error:
            raise TransportError(f"cannot ask {self._cast.group} who is there: {error.strerror}") from None
        await asyncio.sleep(self._wait)
        return [endpoint for endpoint in self._found if endpoint != self._me]

    async def close(self) -> None:
        for sock in self._sockets:
            asyncio.get_running_loop().remove_reader(sock)
            sock.close()
        self._sockets = []

    def _on_readable(self, sock: socket.socket) -> None:
        try:
            data, source = sock.recvfrom(_SIZE + 1)
        except OSError:
            return
        if data[4:8] != self._tag or len(data) > _SIZE:
            return
        if data[:4] == _ASK and len(data) == _SIZE:
            if not self._questions.take(time.monotonic_ns()):
                return
            with contextlib.suppress(OSError):  # Who asks may be out of reach: it is not answered, others are.
                sock.sendto(_HERE + self._tag + str(self._me).encode(), source)
        elif data[:4] == _HERE and len(self._found) < MAX_FOUND:
            self._note(data[8:])

    def _note(self, raw: bytes) -> None:
        try:
            self._found[Endpoint.parse(raw.decode())] = None
        except (UnicodeDecodeError, TransportError):
            return
