"""Starting the server: where it listens, who may look, and what is printed.

A token is made (or given) and stands in the address that is printed, on loopback too. Beyond loopback the connection is
encrypted with a certificate, or plain where that was asked for because a proxy in front does it.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import uvicorn

from ringcast.errors import TransportError, UsageError
from ringcast.page.server import make_app
from ringcast.page.source import Source

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
    """Ends the streams before it waits for its connections: a browser that looks does not hold up Ctrl-C."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end

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
