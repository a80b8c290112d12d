"""The listener for probes and metrics: silent, slow and many connections keep nobody waiting."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable

import pytest

from ringcast.runtime.http_server import MAX_HEAD, PLAIN, HttpServer
from ringcast.runtime.operations import Kept
from ringcast.transport import Endpoint, StrangerLimits

LONG = 30.0
MANY = StrangerLimits(connects_per_second=10_000, connects_of_all=10_000)
Story = Callable[[HttpServer, Endpoint], Awaitable[None]]


def serving(limits: StrangerLimits = MANY) -> Callable[[Story], Callable[[], None]]:
    def made(story: Story) -> Callable[[], None]:
        @functools.wraps(story)
        def test() -> None:
            async def scene() -> None:
                server = HttpServer({"/healthz": lambda: (200, PLAIN, "runs\n"), "/": lambda: (200, PLAIN, "")}, limits)
                at = await server.open("127.0.0.1:0")
                try:
                    async with asyncio.timeout(LONG):
                        await story(server, at)
                finally:
                    await server.close()

            asyncio.run(scene())

        del test.__wrapped__  # pytest would ask for the story's arguments
        return test

    return made


async def ask(at: Endpoint, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(at.host, at.port)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def is_healthy(at: Endpoint) -> bool:
    answer = await ask(at, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    return answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"runs\n")


@serving()
async def test_silent_connections_keep_no_probe_waiting(server: HttpServer, at: Endpoint) -> None:
    """32 of them were enough: every later connection was closed without an answer, for five seconds."""
    silent = [await asyncio.open_connection(at.host, at.port) for _ in range(3 * server.limits.http_connections)]
    assert [await is_healthy(at) for _ in range(24)] == [True] * 24
    assert len(server._asking) <= server.limits.http_connections
    for _, writer in silent:
        writer.close()


@serving()
async def test_a_probe_is_answered_beside_a_request_that_comes_byte_by_byte(server: HttpServer, at: Endpoint) -> None:
    reader, writer = await asyncio.open_connection(at.host, at.port)
    for byte in b"\r\nGET /healthz HTTP/1.1\r\n\r\n":
        writer.write(bytes([byte]))
        await writer.drain()
        assert await is_healthy(at)
    assert (await reader.read()).endswith(b"runs\n")
    writer.close()


@serving(StrangerLimits(http_seconds=0.05))
async def test_a_request_that_does_not_end_is_closed(server: HttpServer, at: Endpoint) -> None:
    assert await ask(at, b"GET /healthz") == b""
    assert not server._asking


@serving(StrangerLimits(connects_per_second=1))
async def test_a_host_that_connects_too_often_is_closed_at_once(server: HttpServer, at: Endpoint) -> None:
    answers = [await ask(at, b"GET /healthz HTTP/1.1\r\n\r\n") for _ in range(40)]
    assert sum(not answer for answer in answers) >= 10
    assert server.refused >= 10


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", 200),
        (b"\r\nGET /healthz HTTP/1.0\r\n\r\n", 200),
        (b"GET /healthz?x=1 HTTP/1.1\r\n\r\n", 200),
        (b"GET http://member:9464/healthz HTTP/1.1\r\n\r\n", 200),
        (b"GET http://member:9464/healthz?x HTTP/1.1\r\n\r\n", 200),
        (b"GET http://member:9464 HTTP/1.1\r\n\r\n", 200),
        (b"GET ftp://member/healthz HTTP/1.1\r\n\r\n", 404),
        (b"GET http://[/healthz HTTP/1.1\r\n\r\n", 404),
        (b"GET /elsewhere HTTP/1.1\r\n\r\n", 404),
        (b"POST /healthz HTTP/1.1\r\n\r\n", 405),
        (b"\xff\xfe\r\n\r\n", 400),
        (b"GET /healthz\r\n\r\n", 400),
        (b"x" * MAX_HEAD, 400),
    ],
)
def test_what_is_asked_is_answered(request_: bytes, status: int) -> None:
    @serving()
    async def story(server: HttpServer, at: Endpoint) -> None:
        assert (await ask(at, request_)).startswith(b"HTTP/1.1 %d " % status)

    story()


def test_a_text_is_made_once_in_a_second_however_many_ask() -> None:
    """A scrape costs the loop half a millisecond."""
    now, made = [0.0], []

    def make() -> str:
        made.append(now[0])
        return f"at {now[0]}"

    kept = Kept(make, 1.0, lambda: now[0])
    assert [kept() for _ in range(100)] == ["at 0.0"] * 100
    now[0] = 0.99
    assert kept() == "at 0.0"
    now[0] = 1.0
    assert kept() == "at 1.0" and made == [0.0, 1.0]
