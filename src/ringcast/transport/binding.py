"""Opening sockets on a named address, and saying in one sentence why that failed.

The address that is bound and the one that is advertised may differ (containers, NAT); a wildcard can only be bound.
"""

from __future__ import annotations

import contextlib
import socket

from ringcast.errors import ConfigError, TransportError
from ringcast.transport.endpoint import Endpoint, reason, resolve

_RECEIVE_BUFFER_FORCE = 33  # SO_RCVBUFFORCE and SO_SNDBUFFORCE pass the system's limit, for those who may
_SEND_BUFFER_FORCE = 32
_MEMORY_FIGURES = 55  # SO_MEMINFO: nine 32-bit numbers about the socket, the last one its drops
_MEMORY_FIGURES_BYTES = 9 * 4


def bound_socket(kind: socket.SocketKind, at: Endpoint, *, shared: bool = False) -> socket.socket:
    """A non-blocking socket bound to `at`; `shared` lets several sockets bind it (TCP restart, multicast group)."""
    try:
        sock = socket.socket(at.family, kind)
    except OSError as error:
        raise TransportError(f"cannot open a socket for {at}: {reason(error)}") from None
    try:
        sock.setblocking(False)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if at.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(at)
    except (OSError, UnicodeError) as error:
        sock.close()
        raise TransportError(f"cannot bind {at}: {reason(error)}") from None
    return sock


async def endpoints_of(bind: str | Endpoint, advertise: str | Endpoint | None) -> tuple[Endpoint, Endpoint]:
    """The endpoint to bind and the one to advertise, with names resolved; the ports may still be 0."""
    at = bind if isinstance(bind, Endpoint) else await resolve(bind)
    if advertise is None and at.is_any:
        raise ConfigError(f"nobody can reach {at}: a wildcard bind address needs an advertised address beside it")
    if advertise is None:
        return at, at
    return at, advertise if isinstance(advertise, Endpoint) else await resolve(advertise)


def with_bound_port(advertised: Endpoint, sock: socket.socket) -> Endpoint:
    """The advertised endpoint; port 0 stands for the one the kernel chose."""
    return advertised if advertised.port else advertised._replace(port=sock.getsockname()[1])


def widen_buffers(sock: socket.socket, receive_bytes: int, send_bytes: int) -> None:
    """Ask for these buffers, beyond the system's limit where permitted, else up to it."""
    _widen(sock, _RECEIVE_BUFFER_FORCE, socket.SO_RCVBUF, receive_bytes)
    _widen(sock, _SEND_BUFFER_FORCE, socket.SO_SNDBUF, send_bytes)


def _widen(sock: socket.socket, forced: int, plain: int, size: int) -> None:
    try:
        sock.setsockopt(socket.SOL_SOCKET, forced, size)
    except OSError:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, plain, size)


def receive_buffer_bytes(sock: socket.socket) -> int:
    """The effective receive buffer: half of what Linux books, whose other half is for its own upkeep."""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2


def drops_of(sock: socket.socket) -> int:
    """How many packets this socket threw away: buffer full, or refused by its filter."""
    try:
        figures = sock.getsockopt(socket.SOL_SOCKET, _MEMORY_FIGURES, _MEMORY_FIGURES_BYTES)
    except OSError:
        return 0
    return int.from_bytes(figures[-4:], "little" if _LITTLE else "big")


_LITTLE = socket.htons(1) != 1
