"""TLS for TCP connections: both ends show a certificate of one authority, and frames belong to whose it is.

A TlsSocket is a socket whose TLS is not seen by those who use it: what would wait raises BlockingIOError, as on any
other socket. Versions before 1.3 are refused. No session tickets are given, so nothing ever comes back on a connection
that only its maker writes to.
Both ends look at whom they have reached: a frame must be of one of the certificate's names, and the certificate at a
member's endpoint must be that member's. A certificate that stands in the authority's list of revoked ones is refused.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringcast.errors import ConfigError
from ringcast.transport.endpoint import Endpoint

_RECORD_BYTES = 16_384
_REVOKED = b"-----BEGIN X509 CRL-----"  # in the authority's file: its list of certificates that no longer count


class TlsSocket(ssl.SSLSocket):
    """Made by the contexts below, never by hand."""

    def shake_hands(self) -> None:
        """BlockingIOError if that takes longer: wait for bytes and call again. Another OSError: the peer is refused."""
        try:
            self.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def names(self) -> tuple[str, ...]:
        """Return the names that the other end's certificate is for: the alternative ones, or else the common one."""
        found: Any = self.getpeercert() or {}
        if "subjectAltName" in found:
            return tuple(dict.fromkeys(value for kind, value in found["subjectAltName"] if kind == "DNS"))
        common = [value for part in found.get("subject", ()) for kind, value in part if kind == "commonName"]
        return tuple(dict.fromkeys(common))

    def send(self, data: Any, flags: int = 0) -> int:
        try:
            return super().send(data, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def sendmsg(self, buffers: Iterable[Any], *_: Any) -> int:  # type: ignore[override]
        """As much as the socket takes. What it refused is offered again from the same byte on, as TLS demands."""
        data = memoryview(b"".join(buffers))
        sent = self.send(data[:_RECORD_BYTES])
        try:
            while sent < len(data):
                sent += self.send(data[sent : sent + _RECORD_BYTES])
        except BlockingIOError:
            pass
        return sent

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        try:
            return super().recv_into(buffer, nbytes, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None


@dataclass(slots=True)
class Tls:
    """The certificate that a member shows, and whom it believes. Contexts are replaced as a whole (two threads)."""

    serving: ssl.SSLContext
    dialing: ssl.SSLContext
    generation: int = 0  # of the contexts: connections of an earlier one are made again
    expected: Mapping[Endpoint, str] = field(default_factory=dict)  # who is where; elsewhere anybody of the authority

    def use(self, other: Tls) -> None:
        """Show and believe what `other` does from now on."""
        self.serving, self.dialing = other.serving, other.dialing
        self.generation += 1

    def is_expected(self, at: Endpoint, names: tuple[str, ...]) -> bool:
        """May one whose certificate is for these names be at this endpoint?"""
        expected = self.expected.get(at)
        return expected is None or expected in names

    def accepted(self, sock: socket.socket) -> TlsSocket:
        return self._wrapped(self.serving, sock, is_server=True)

    def dialed(self, sock: socket.socket) -> TlsSocket:
        return self._wrapped(self.dialing, sock, is_server=False)

    @staticmethod
    def _wrapped(context: ssl.SSLContext, sock: socket.socket, *, is_server: bool) -> TlsSocket:
        wrapped = context.wrap_socket(sock, server_side=is_server, do_handshake_on_connect=False)
        assert isinstance(wrapped, TlsSocket)
        return wrapped


def mutual_tls(certificate: Path, private_key: Path, authority: Path) -> Tls:
    """ConfigError if these files do not belong together."""
    try:
        serving = _context(ssl.PROTOCOL_TLS_SERVER, certificate, private_key, authority)
        dialing = _context(ssl.PROTOCOL_TLS_CLIENT, certificate, private_key, authority)
    except OSError as error:  # SSLError is one
        why = error.strerror or str(error)
        raise ConfigError(
            f"certificate {certificate}, its private key {private_key} and authority {authority} cannot be used: {why}"
        ) from None
    return Tls(serving, dialing)


def _context(protocol: ssl._SSLMethod, certificate: Path, private_key: Path, authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # places change; whose frames are taken is decided by the names in a certificate
    context.verify_mode = ssl.CERT_REQUIRED
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    context.sslsocket_class = TlsSocket
    context.load_cert_chain(certificate, private_key, password=lambda: b"")
    context.load_verify_locations(authority)
    if _REVOKED in authority.read_bytes():
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    return context
