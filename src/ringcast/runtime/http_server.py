"""Answers GET requests of orchestrators and of Prometheus on the member's own event loop: a few fixed paths, no more.

On the loop on purpose: a member whose loop stands still does not answer, and that is what a health probe must see.
Bounded (transport/strangers.py): a host may connect so often a second; a connection carries one request, whose head has
at most `MAX_HEAD` bytes, and lives a few seconds; so many are open at once, and one more takes the place of the oldest.
So connections that say nothing keep no probe waiting. It changes nothing and tells only what its routes give.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ringcast.errors import TransportError
from ringcast.transport import DEFAULT_LIMITS, SECOND, Acceptor, Endpoint, StrangerLimits, Strangers, resolve

MAX_HEAD = 8 * 1024
_HEAD_ENDS = b"\r\n\r\n"
_BACKLOG = 128

PLAIN = "text/plain; charset=utf-8"
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}

Answer = tuple[int, str, str]  # status code, content type, body


class HttpServer:
    """A listening socket and what is answered by path."""

    def __init__(self, routes: Mapping[str, Callable[[], Answer]], limits: StrangerLimits = DEFAULT_LIMITS) -> None:
        self._routes = routes
        self.limits = limits
        self.refused = 0  # connections of hosts over their allowance, and those that made room
        self._acceptor: Acceptor | None = None
        self._asking: dict[_Asking, None] = {}  # the oldest first

    async def open(self, bind: str) -> Endpoint:
        """Listen; gives the endpoint, whose port the kernel chose if it was 0."""
        at = await resolve(bind)
        try:
            sock = socket.create_server(at, family=at.family, backlog=_BACKLOG)
        except OSError as error:
            why = "the address is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
            raise TransportError(f"cannot answer HTTP at {bind}: {why}") from None
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        strangers = Strangers(lambda: int(loop.time() * SECOND), self.limits)
        self._acceptor = Acceptor(sock, loop, strangers, lambda sock, _: self._admit(sock, loop), self._refuse)
        return at._replace(port=sock.getsockname()[1])

    async def close(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()
            self._acceptor = None
        for asking in list(self._asking):
            asking.close()

    def forget(self, asking: _Asking) -> None:
        self._asking.pop(asking, None)

    def _refuse(self) -> None:
        self.refused += 1

    def _admit(self, sock: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        if len(self._asking) >= self.limits.http_connections:
            self._refuse()
            next(iter(self._asking)).close()
        self._asking[_Asking(sock, loop, self)] = None

    def respond(self, head: bytes) -> bytes:
        """The whole answer to the head of a request."""
        line = head.lstrip(b"\r\n").partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(line) != 3 or not line[2].startswith("HTTP/1."):
            return _response(400, PLAIN, "this is not an HTTP request\n")
        method, target, _ = line
        if method not in ("GET", "HEAD"):
            return _response(405, PLAIN, "only GET and HEAD are answered\n")
        route = self._routes.get(_path_of(target))
        if route is None:
            return _response(404, PLAIN, f"here are {', '.join(self._routes)}\n")
        return _response(*route(), has_body=method == "GET")


class _Asking:
    """One connection: the head of a request as far as it came, then what is left of the answer."""

    def __init__(self, sock: socket.socket, loop: asyncio.AbstractEventLoop, server: HttpServer) -> None:
        self._socket, self._loop, self._server = sock, loop, server
        self._head = b""
        self._answer = memoryview(b"")
        self._limit = loop.call_later(server.limits.http_seconds, self.close)
        loop.add_reader(sock, self._on_readable)

    def close(self) -> None:
        self._limit.cancel()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        self._server.forget(self)

    def _on_readable(self) -> None:
        try:
            data = self._socket.recv(MAX_HEAD)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or self._answer:  # it hung up, or says more than one request
            self.close()
            return
        self._head += data
        if _HEAD_ENDS not in self._head.lstrip(b"\r\n"):
            if len(self._head) < MAX_HEAD:
                return
            self._head = b""
        try:
            self._answer = memoryview(self._server.respond(self._head))
        except BaseException:
            self.close()
            raise
        self._on_writable()

    def _on_writable(self) -> None:
        try:
            self._answer = self._answer[self._socket.send(self._answer) :]
        except BlockingIOError:
            pass
        except OSError:
            self._answer = self._answer[:0]
        if self._answer:
            self._loop.add_writer(self._socket, self._on_writable)
        else:
            self.close()


def _path_of(target: str) -> str:
    """Also of the absolute form that proxies send."""
    if not target.startswith("/"):
        try:
            parts = urlsplit(target)
        except ValueError:
            return target
        return (parts.path or "/") if parts.scheme in ("http", "https") else target
    return target.partition("?")[0]


def _response(code: int, kind: str, body: str, *, has_body: bool = True) -> bytes:
    content = body.encode()
    head = (
        f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (content if has_body else b"")
