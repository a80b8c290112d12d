"""The page over HTTP: static files, one stream of server-sent events, and acts for a simulated world.

Everything that is drawn is computed once per update and sent to all who look, at most ten times a second; nobody looks:
nothing is computed. Every request needs the token, once as `?token=` and then as a cookie, on loopback too: the page
shows what members answer to their own user alone, and others of the host reach its loopback. A foreign web page can do
nothing here: the Host must be one of ours and an act must say where it comes from. A body is read up to its bound only.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ringcast.errors import RingcastError, UsageError
from ringcast.page.assets import STATIC
from ringcast.page.source import Source

QUIET_SECONDS = 15.0  # a comment on the stream, so that a dead browser is noticed
MOST_LOOKERS = 32
MOST_BODY = 64 * 1024
BODY_SECONDS = 10.0
MOST_LINES = 400

COOKIE = "ringcast-token"  # and the port: browsers send the cookies of one port of a host to all of them
LEAST_TOKEN = 16  # characters
_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Next = Callable[[Request], Awaitable[Response]]


class Page:
    """One source and all who look at it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lookers: dict[asyncio.Event, None] = {}
        self._frame: bytes = b"{}"
        self._ticking: asyncio.Task[None] | None = None
        self._trouble: str | None = None
        self._is_ending = False

    def end(self) -> None:
        """The server ends: streams, which else never would, end now."""
        self._is_ending = True
        for looker in self._lookers:
            looker.set()

    # ---- time

    @contextlib.asynccontextmanager
    async def life(self, app: Starlette) -> AsyncIterator[None]:
        await self.source.open()
        await self.source.tick(0)
        self._draw()
        self._ticking = asyncio.get_running_loop().create_task(self._tick())
        try:
            yield
        finally:
            self._ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticking
            await self.source.close()

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(self.source.pause)
            now, before_was = loop.time(), before
            before = now
            if not self._lookers and not self.source.goes_on_alone:
                continue
            try:
                has_news = await self.source.tick(now - before_was)
            except (RingcastError, AssertionError) as error:
                self._trouble, has_news = str(error), True
            if has_news and self._lookers:
                self._show()

    def _draw(self) -> None:
        drawn = {"scene": self.source.scene.drawn(), "about": self.source.about(), "trouble": self._trouble}
        self._frame = msgspec.json.encode(drawn)

    def _show(self) -> None:
        self._draw()
        for looker in self._lookers:
            looker.set()

    # ---- requests

    async def index(self, request: Request) -> Response:
        if "token" in request.query_params:  # It was checked; from now on the cookie carries it, not the address bar.
            response: Response = RedirectResponse("/", status_code=303)
            is_https = request.url.scheme == "https"
            token = request.query_params["token"]
            # Lax: the links of a report, which is a file, lead here. What changes anything asks for a header as well.
            response.set_cookie(cookie_name(request), token, httponly=True, samesite="lax", secure=is_https)
            return response
        return FileResponse(STATIC / "index.html")

    async def scene(self, request: Request) -> Response:
        return Response(self._frame, media_type="application/json")

    async def stream(self, request: Request) -> Response:
        if len(self._lookers) >= MOST_LOOKERS:
            return _sentence(f"{MOST_LOOKERS} browsers look at this page already", 503)
        return StreamingResponse(self._updates(request), media_type="text/event-stream")

    async def _updates(self, request: Request) -> AsyncIterator[bytes]:
        looker = asyncio.Event()
        looker.set()
        if not self._lookers:
            self._draw()  # What happened while nobody looked.
        self._lookers[looker] = None
        try:
            while not self._is_ending and not await request.is_disconnected():
                try:
                    async with asyncio.timeout(QUIET_SECONDS):
                        await looker.wait()
                except TimeoutError:
                    yield b": nothing new\n\n"
                    continue
                looker.clear()
                yield b"data: " + self._frame + b"\n\n"
        finally:
            self._lookers.pop(looker, None)

    async def log(self, request: Request) -> Response:
        query = request.query_params
        source = self.source
        try:
            since, epoch = int(query.get("since", "0")), int(query.get("epoch", "-1"))
        except ValueError:
            return _sentence("since and epoch must be whole numbers", 400)
        if epoch != source.log.epoch:
            since = 0
        lines = source.log.since(since, source.scene.begin_ns or 0, query.get("traffic") == "1", MOST_LINES)
        return _json({"epoch": source.log.epoch, "last": source.log.last, "lines": lines})

    async def act(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _body(request)
        except TimeoutError:
            return _sentence("the act did not come to its end", 408)
        if body is None:
            return _sentence("too much for an act", 413)
        try:
            words = msgspec.json.decode(body, type=dict[str, Any])
            what = words.get("do")
            if not isinstance(what, str):
                return _sentence("an act says what to do", 400)
            self.source.act(what, words)
        except (RingcastError, AssertionError) as error:
            return _sentence(str(error), 409)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _sentence(f"not an act: {error}", 400)
        self._trouble = None
        self._show()
        return _json({"ok": True})


class Guard(BaseHTTPMiddleware):
    """Who may ask: this host's names, the token where there is one, and acts from this page only."""

    def __init__(self, app: Any, hosts: tuple[str, ...], token: str | None) -> None:
        super().__init__(app)
        self._hosts = hosts
        self._token = token

    async def dispatch(self, request: Request, call_next: Next) -> Response:
        refusal = self._refusal(request)
        response = refusal if refusal is not None else await call_next(request)
        response.headers.update(_SECURITY)
        return response

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "").rsplit(":", 1)[0].strip("[]").lower()
        if self._hosts and host not in self._hosts:
            return _sentence("this page is not served under that name", 421)
        if self._token is not None and not self._has_token(request):
            return _sentence("the token is missing or wrong: open the address that `ringcast page` printed", 401)
        if request.method == "POST" and request.headers.get("x-ringcast") != "act":
            return _sentence("acts come from the page itself", 403)
        return None

    def _has_token(self, request: Request) -> bool:
        assert self._token is not None
        given = request.query_params.get("token") or request.cookies.get(cookie_name(request)) or ""
        return hmac.compare_digest(given.encode(), self._token.encode())


def cookie_name(request: Request) -> str:
    return f"{COOKIE}-{request.url.port or request.url.scheme}"


async def _body(request: Request) -> bytes | None:
    """None if it is longer than an act; the rest of it is not read then."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            return None
    return body


def make_app(source: Source, hosts: tuple[str, ...] = (), token: str | None = None) -> Starlette:
    """`hosts`: names under which the page may be asked for (none: any); `token`: what every request must carry.

    UsageError if the token is so short that it can be guessed.
    """
    if token is not None and (len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UsageError(f"a token has at least {LEAST_TOKEN} printable characters of ASCII")
    page = Page(source)
    app = Starlette(
        routes=[
            Route("/", page.index),
            Route("/api/scene", page.scene),
            Route("/api/stream", page.stream),
            Route("/api/log", page.log),
            Route("/api/act", page.act, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=hosts, token=token)],
        lifespan=page.life,
    )
    app.state.end = page.end
    return app


def _json(value: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def _sentence(words: str, status: int) -> Response:
    return Response(msgspec.json.encode({"error": words}), status_code=status, media_type="application/json")
