"""Answers GET requests of orchestrators and of Prometheus on the member's own event loop: a few fixed paths, no more.

On the loop on purpose: a member whose loop stands still does not answer, and that is what a health probe must see.
Bounded: a request's head has at most `MAX_HEAD` bytes and `LIMIT_SECONDS`, a connection carries one request, at most
`MOST_CONNECTIONS` are served at once. It changes nothing and tells only what its routes give.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import Callable, Mapping

from ringcast.errors import TransportError
from ringcast.transport import Endpoint, resolve

MAX_HEAD = 8 * 1024
LIMIT_SECONDS = 5.0
MOST_CONNECTIONS = 32

PLAIN = "text/plain; charset=utf-8"
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}

Answer = tuple[int, str, str]  # status code, content type, body


class HttpServer:
    """A listening socket and what is answered by path."""

    def __init__(self, routes: Mapping[str, Callable[[], Answer]]) -> None:
        self._routes = routes
        self._server: asyncio.Server | None = None
        self._serving: dict[asyncio.Task[None], None] = {}

    async def open(self, bind: str) -> Endpoint:
        """Listen; gives the endpoint, whose port the kernel chose if it was 0."""
        at = await resolve(bind)
        try:
            self._server = await asyncio.start_server(self._accept, at.host, at.port, limit=MAX_HEAD)
        except OSError as error:
            # asyncio puts the address and its own words into strerror; the number says what happened.
            why = "the address is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
            raise TransportError(f"cannot answer HTTP at {bind}: {why}") from None
        return at._replace(port=self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in list(self._serving):
                task.cancel()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving[task] = None
        task.add_done_callback(lambda done: self._serving.pop(done, None))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(LIMIT_SECONDS):
                    try:
                        head = await reader.readuntil(b"\r\n\r\n")
                    except asyncio.LimitOverrunError:
                        head = b""
                    writer.write(self._respond(head))
                    await writer.drain()
        finally:
            writer.close()

    def _respond(self, head: bytes) -> bytes:
        line = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(line) != 3 or not line[2].startswith("HTTP/1."):
            return _response(400, PLAIN, "this is not an HTTP request\n")
        method, target, _ = line
        if method not in ("GET", "HEAD"):
            return _response(405, PLAIN, "only GET and HEAD are answered\n")
        route = self._routes.get(target.partition("?")[0])
        if route is None:
            return _response(404, PLAIN, f"here are {', '.join(self._routes)}\n")
        return _response(*route(), has_body=method == "GET")


def _response(code: int, kind: str, body: str, *, has_body: bool = True) -> bytes:
    content = body.encode()
    head = (
        f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (content if has_body else b"")
