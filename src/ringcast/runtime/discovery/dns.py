"""DNS: all addresses of a name (as a headless Kubernetes service gives), or the targets of an SRV record.

A and AAAA records go through the system's resolver. SRV records need the package dnspython (`ringcast[dns]`).
A name without addresses has no members yet. An SRV name without records, or with none that can be found, is not set up
yet: the joiner waits for it and founds no group of its own.
"""

from __future__ import annotations

import asyncio
import socket

from ringcast.errors import ConfigError, TransportError
from ringcast.runtime.discovery.protocol import NoAnswerYet
from ringcast.transport import Endpoint, reason

_NO_RECORDS = (socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_AGAIN)


class DnsDiscovery:
    """`DnsDiscovery("ringcast.default.svc", 7001)`, or `DnsDiscovery("_ringcast._udp.example.org")` for SRV."""

    def __init__(self, name: str, port: int | None = None) -> None:
        if port is None and not name.startswith("_"):
            raise ConfigError(f"DNS discovery by {name!r} needs a port, or an SRV name such as _ringcast._udp.{name}")
        self._name = name
        self._port = port
        self._me: Endpoint | None = None

    async def open(self, group: str, me: Endpoint) -> None:
        self._me = me

    async def find(self) -> list[Endpoint]:
        found = await (self._service() if self._port is None else self._addresses(self._name, self._port))
        return [endpoint for endpoint in dict.fromkeys(found) if endpoint != self._me]

    async def close(self) -> None:
        """Whoever runs the name server decides who is in it."""

    async def _addresses(self, name: str, port: int) -> list[Endpoint]:
        try:
            answers = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_DGRAM)
        except socket.gaierror as error:
            if error.errno in _NO_RECORDS:
                return []  # A headless service without ready members has no records yet.
            raise TransportError(f"cannot look up {name!r}: {reason(error)}") from None
        except UnicodeError as error:
            raise TransportError(f"cannot look up {name!r}: {reason(error)}") from None
        return [Endpoint(str(answer[4][0]), port) for answer in answers]

    async def _service(self) -> list[Endpoint]:
        """The targets that can be found; a dead one among them does no harm."""
        records = await self._records()
        looked_up = [self._addresses(target, port) for target, port in records]
        answers = await asyncio.gather(*looked_up, return_exceptions=True)
        found: list[Endpoint] = []
        refusals = [
            f"{target} has no address" for (target, _), answer in zip(records, answers, strict=True) if not answer
        ]
        for answer in answers:
            if isinstance(answer, TransportError):
                refusals.append(str(answer))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found += answer
        if not found:
            raise NoAnswerYet(f"no target of {self._name!r} can be found: {'; '.join(refusals)}")
        return found

    async def _records(self) -> list[tuple[str, int]]:
        """Target and port of each SRV record."""
        try:
            from dns import asyncresolver, exception
        except ImportError:
            raise ConfigError(
                f"SRV records such as {self._name!r} need dnspython: pip install 'ringcast[dns]'"
            ) from None
        try:
            answers = await asyncresolver.resolve(self._name, "SRV")
        except (exception.DNSException, OSError) as error:
            raise NoAnswerYet(f"no SRV record of {self._name!r}: {reason(error)}") from None
        return [(str(answer.target).rstrip("."), int(answer.port)) for answer in answers]
