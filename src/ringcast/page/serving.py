"""Starting the server: where it listens, who may look, and what is printed.

A token is made (or given) and stands in the address that is printed, on loopback too. Beyond loopback the connection is
encrypted with a certificate, or plain where that was asked for because a proxy in front does it.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn

from ringcast.errors import TransportError, UsageError
from ringcast.page.server import make_app
from ringcast.page.source import Source

MOST_SILENT = 64  # connections without a request
SILENT_SECONDS = 5.0
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def serve(
    source: Source,
    bind: str,
    say: Callable[[str], None],
    *,
    token: str | None = None,
    certificate: Path | None = None,
    private_key: Path | None = None,
    plain: bool = False,
) -> None:
    """Serve until Ctrl-C. `say` is given the address to open."""
    host, port = _parted(bind)
    beyond = not _is_loopback(host)
    if (certificate is None) != (private_key is None):
        raise UsageError("a certificate and its private key go together")
    for file in (certificate, private_key):
        if file is not None and not file.is_file():
            raise UsageError(f"{file} is no file")
    if beyond and certificate is None and not plain:
        raise UsageError(
            f"{host} is beyond loopback: give --certificate and --private-key, or --plain behind a proxy that encrypts"
        )
    if token is None:
        token = secrets.token_urlsafe(24)
    app = make_app(source, () if beyond else LOOPBACK_NAMES, token)
    listener = _listen(host, port)
    scheme = "http" if certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    say(f"{scheme}://{shown}:{listener.getsockname()[1]}/?token={quote(token)}")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=1,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
    )
    try:
        _Server(config, app.state.end).run(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """Ends the streams before it waits for its connections: a browser that looks does not hold up Ctrl-C.

    Connections on which no request came are few: the oldest make room, and each is closed after a while. So whoever
    only connects uses up neither the descriptors nor the patience of those who look.
    """

    def __init__(self, config: uvicorn.Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end
        self._silent: dict[Any, float] = {}  # connections without a request: since when

    async def on_tick(self, counter: int) -> bool:
        self._close_silent(time.monotonic())
        return await super().on_tick(counter)

    def _close_silent(self, now: float) -> None:
        silent = [one for one in self.server_state.connections if getattr(one, "cycle", None) is None]
        self._silent = {one: self._silent.get(one, now) for one in silent}
        oldest = sorted(silent, key=self._silent.__getitem__)
        too_many = max(0, len(oldest) - MOST_SILENT)
        for number, one in enumerate(oldest):
            if (number < too_many or now - self._silent[one] > SILENT_SECONDS) and one.transport is not None:
                one.transport.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end()
        await super().shutdown(sockets)


def _parted(bind: str) -> tuple[str, int]:
    host, colon, port = bind.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise UsageError(f"bind must be host:port, got {bind!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(64)
    except OSError as error:
        raise TransportError(f"cannot listen at {host}:{port}: {error.strerror or error}") from None
    return listener
