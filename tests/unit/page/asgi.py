"""An ASGI app asked without a server: a request goes in as a call, the whole answer comes out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Use as a context manager: the app lives as long as the block."""

    def __init__(self, app: Starlette, host: str = "localhost") -> None:
        self._app = app
        self._host = host
        self._runner = asyncio.Runner()
        self._life = AsyncExitStack()
        self.cookie = ""

    def __enter__(self) -> Client:
        lifespan = self._app.router.lifespan_context(self._app)
        self._runner.run(self._life.enter_async_context(lifespan))
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._life.aclose())
        self._runner.close()

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: object) -> Answer:
        return self._runner.run(self._ask("GET", path, urlencode(query), headers or {}, b""))

    def post(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Answer:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._runner.run(self._ask("POST", path, "", headers or {}, content))

    async def _ask(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Answer:
        sent = {"host": self._host, "cookie": self.cookie, **headers}
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "root_path": "",
            "scheme": "http",
            "query_string": query.encode(),
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items() if value],
        }
        messages: list[Mapping[str, Any]] = []
        is_given = False

        async def receive() -> dict[str, Any]:
            nonlocal is_given
            if is_given:
                await asyncio.Event().wait()
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        await self._app(scope, receive, send)
        start = next(message for message in messages if message["type"] == "http.response.start")
        parts = [message.get("body", b"") for message in messages if message["type"] == "http.response.body"]
        got = {name.decode(): value.decode() for name, value in start["headers"]}
        self.cookie = got.get("set-cookie", self.cookie).partition(";")[0]
        return Answer(start["status"], got, b"".join(parts))
