"""IP multicast: which group, on which interface, and the socket that receives it.

One socket per member joins the group and receives; sending is done from the member's unicast socket, so that a packet's
source is the member's own endpoint, whichever way it travels.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringcast.errors import ConfigError, TransportError
from ringcast.transport.binding import bound_socket
from ringcast.transport.endpoint import Endpoint, reason

_MULTICAST_ALL = 49  # IP_MULTICAST_ALL and IPV6_MULTICAST_ALL: 0 = only groups that this very socket joined
_MULTICAST_ALL_6 = 29

Setting = tuple[int, int, int | bytes]


@dataclass(frozen=True, slots=True)
class MulticastGroup:
    """A group address and port. `interface` is the address of a local interface ("" = the one that is bound)."""

    group: Endpoint
    interface: str = ""
    hops: int = 1

    def __post_init__(self) -> None:
        if not ipaddress.ip_address(self.group.host).is_multicast:
            raise ConfigError(f"multicast group {self.group} is not a multicast address")
        if self.group.port == 0:
            raise ConfigError(f"multicast group {self.group} needs a port that all members share, not 0")
        if not 0 <= self.hops <= 255:
            raise ConfigError(f"multicast hops must be 0 to 255, not {self.hops}")


def prepare_sender(sock: socket.socket, cast: MulticastGroup, interface: str) -> None:
    """Let the unicast socket send to the group through the interface, with copies for others on this host."""
    if cast.group.family == socket.AF_INET:
        settings: list[Setting] = [
            (socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface)),
            (socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, cast.hops),
            (socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1),
        ]
    else:
        settings = [
            (socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, interface_index(interface)),
            (socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, cast.hops),
            (socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 1),
        ]
    _apply(sock, settings, f"cannot multicast to {cast.group} on interface {interface}")


def group_socket(cast: MulticastGroup, interface: str) -> socket.socket:
    """A socket that receives what is sent to the group, and nothing else."""
    if cast.group.family == socket.AF_INET:
        membership = socket.inet_aton(cast.group.host) + socket.inet_aton(interface)
        settings: list[Setting] = [
            (socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership),
            (socket.IPPROTO_IP, _MULTICAST_ALL, 0),
        ]
    else:
        packed = ipaddress.IPv6Address(cast.group.host.partition("%")[0]).packed
        membership = packed + struct.pack("@I", interface_index(interface))
        settings = [
            (socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership),
            (socket.IPPROTO_IPV6, _MULTICAST_ALL_6, 0),
        ]
    sock = bound_socket(socket.SOCK_DGRAM, cast.group, shared=True)
    try:
        _apply(sock, settings, f"cannot join {cast.group} on interface {interface}")
    except TransportError:
        sock.close()
        raise
    return sock


def _apply(sock: socket.socket, settings: Sequence[Setting], task: str) -> None:
    try:
        for level, option, value in settings:
            sock.setsockopt(level, option, value)
    except OSError as error:
        raise TransportError(f"{task}: {reason(error)}") from None


def interface_index(address: str) -> int:
    """The number of the interface that has this IPv6 address (the kernel's join call takes nothing else)."""
    wanted = ipaddress.IPv6Address(address.partition("%")[0])
    for line in Path("/proc/net/if_inet6").read_text().splitlines():
        digits, index, *_ = line.split()
        if ipaddress.IPv6Address(bytes.fromhex(digits)) == wanted:
            return int(index, 16)
    raise TransportError(f"no interface of this host has the address {address}")
