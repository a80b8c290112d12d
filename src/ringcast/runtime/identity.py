"""A member's certificate: with it, over TCP, a member is heard in its own name only.

The authority says who belongs to the group; the names in a certificate say who a member is. Each connection is TLS 1.3
with certificates of both ends, and a frame whose sender is not the connection's is dropped (decision 0171).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ringcast.errors import ConfigError
from ringcast.security import KeySource, check_private_key, names_in
from ringcast.transport import Tls, Transport, mutual_tls


@dataclass(frozen=True, slots=True)
class Identity:
    certificate: Path
    private_key: Path
    authority: Path
    names: tuple[str, ...]
    tls: Tls

    @classmethod
    def read(cls, certificate: Path, private_key: Path, authority: Path) -> Identity:
        """ConfigError, in a sentence, if these files cannot be used."""
        check_private_key(private_key)
        tls = mutual_tls(certificate, private_key, authority)
        return cls(certificate, private_key, authority, names_in(certificate), tls)

    def read_again(self, name: str) -> Tls:
        """Read the files again, for the member of this name."""
        now = Identity.read(self.certificate, self.private_key, self.authority)
        now.checked_name(name)
        return now.tls

    def checked_name(self, name: str | None) -> str:
        """The member's name: the one given, or the first of the certificate."""
        if name is None and self.names:
            return self.names[0]
        if name is None or name not in self.names:
            held = ", ".join(self.names) or "nobody"
            raise ConfigError(f"the certificate is for {held}, not for {name!r}: others would not hear this member")
        return name


def identity_of(
    certificate: str | Path | None,
    private_key: str | Path | None,
    authority: str | Path | None,
    key: KeySource | None,
    unencrypted: bool,
    transport: Transport | str,
) -> Identity | None:
    """None if no certificate was given. ConfigError if what was given does not go together."""
    if certificate is None and private_key is None and authority is None:
        return None
    if certificate is None or private_key is None or authority is None:
        raise ConfigError("certificate=, private_key= and authority= go together: give all three")
    if key is not None or unencrypted:
        raise ConfigError("a certificate is instead of key= and unencrypted=True: give one of them")
    if transport != "tcp":
        raise ConfigError("a certificate needs transport='tcp' (--transport tcp): datagrams have no connection")
    return Identity.read(Path(certificate), Path(private_key), Path(authority))
