"""Where a member can be reached: a numeric host and a port, or a name in the in-process hub.

An Endpoint is what travels in hellos and member lists, so it is always numeric: it means the same on every host, and
`sendto` takes it as it stands, without a lookup. Names are turned into endpoints once, by `resolve`.
It is not an address of the group's model (that carries an incarnation); it says where, not who.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import NamedTuple

from ringcast.errors import TransportError

MEMORY_PREFIX = "mem:"
HIGHEST_PORT = 65535


class Endpoint(NamedTuple):
    """A numeric host and a port. Prints as `127.0.0.1:7001`, `[::1]:7001` or `mem:A`."""

    host: str
    port: int

    def __str__(self) -> str:
        if self.is_memory:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_memory(self) -> bool:
        return self.host.startswith(MEMORY_PREFIX)

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET

    @property
    def is_any(self) -> bool:
        """True for a wildcard such as 0.0.0.0, which can be bound but not reached."""
        return not self.is_memory and ipaddress.ip_address(self.host).is_unspecified

    @classmethod
    def in_memory(cls, name: str) -> Endpoint:
        return cls(MEMORY_PREFIX + name, 0)

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Read the printed form back; the host must be numeric (names go through `resolve`)."""
        if text.startswith(MEMORY_PREFIX) and len(text) > len(MEMORY_PREFIX):
            return cls(text, 0)
        host, port = split_host_port(text)
        try:
            return cls(str(ipaddress.ip_address(host)), port)
        except ValueError:
            raise TransportError(f"{text!r} is not an endpoint: {host!r} is not a numeric address") from None


def split_host_port(text: str) -> tuple[str, int]:
    host, colon, digits = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or (":" in host and not bracketed) or host == "[]":
        raise TransportError(f"{text!r} is not an endpoint: write host:port, [ipv6]:port or mem:name")
    if not (digits.isascii() and digits.isdigit()) or int(digits) > HIGHEST_PORT:
        raise TransportError(f"{text!r} is not an endpoint: port {digits!r} is not a number from 0 to {HIGHEST_PORT}")
    return (host[1:-1] if bracketed else host), int(digits)


async def resolve(text: str) -> Endpoint:
    """The endpoint behind a text that may name a host; the first address the resolver gives."""
    try:
        return Endpoint.parse(text)
    except TransportError:
        host, port = split_host_port(text)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (socket.gaierror, UnicodeError) as error:
        raise TransportError(f"unknown host {host!r} in {text!r}: {reason(error)}") from None
    return Endpoint(str(found[0][4][0]), port)


def reason(error: Exception) -> str:
    """What the system says about an error, in lower case and without its number."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
