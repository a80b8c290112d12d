"""Transports as an order of the lab describes them."""

from __future__ import annotations

import os
from typing import Any

from ringcast.model import Config
from ringcast.security import Seal, read_keyring
from ringcast.transport import (
    Datagrams,
    Endpoint,
    MulticastGroup,
    TcpTransport,
    Transport,
    UdpTransport,
    sealed_transport,
)


def make_transport(order: dict[str, Any], at: str, config: Config) -> Transport:
    """The transport that an order describes: udp (with `multicast` = [group, port, interface]) or tcp.

    In a fixed group it is sealed with `key`, a file; `join` takes the key itself.
    """
    carrier = _carrier(order, at, config)
    if order.get("key") is None or "members" not in order:
        return carrier
    return sealed_transport(carrier, Seal(order["group"], read_keyring(order["key"]), os.urandom))


def _carrier(order: dict[str, Any], at: str, config: Config) -> Transport:
    bind = order.get("bind", at)
    if order.get("transport", "udp") == "tcp":
        return TcpTransport(bind, advertise=at)
    multicast = order.get("multicast")
    return UdpTransport(
        bind,
        advertise=at,
        datagrams=Datagrams(config.frame_bytes, never_split=config.frame_bytes <= 1_500),
        multicast=None if multicast is None else MulticastGroup(Endpoint(multicast[0], multicast[1]), multicast[2]),
        receive_buffer_bytes=config.receive_buffer_bytes,
    )
