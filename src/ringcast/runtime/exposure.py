"""Whether a member's place can be reached from other machines, which needs a key or has to be asked for.

Without a key frames are neither encrypted nor authenticated. On loopback that concerns nobody else; anywhere else
whoever reaches the port can read and forge them, so nobody gets there by a default or by accident. Not a firewall: it
looks once, at join.
"""

from __future__ import annotations

import ipaddress

from ringcast.errors import ConfigError
from ringcast.transport import Exposed, Transport, split_host_port


def check_transport(transport: Transport, *, is_sealed: bool, unencrypted: bool) -> None:
    """Check a transport that the caller made: each place on which it can be reached."""
    if isinstance(transport, Exposed):
        for place in transport.places:
            check_exposure(place, is_sealed=is_sealed, unencrypted=unencrypted)


def check_exposure(bind: str, *, is_sealed: bool, unencrypted: bool) -> None:
    """ConfigError if this place is not on loopback, has no key, and that was not asked for."""
    if is_sealed or unencrypted or bind.startswith("mem:"):
        return
    if not _is_loopback(_host(bind)):
        raise ConfigError(
            f"{bind} is not on loopback and there is no key: make one with `ringcast key new -o FILE`, copy it to "
            "every machine and give it as key= (--key-file, RINGCAST_KEY_FILE); on a network you trust, "
            "unencrypted=True (--unencrypted) goes without"
        )


def _host(place: str) -> str:
    """Return the host of host:port, or of the address of an interface."""
    try:
        return str(ipaddress.ip_address(place))
    except ValueError:
        return split_host_port(place)[0]


def _is_loopback(host: str) -> bool:
    """A name other than localhost may be any address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
