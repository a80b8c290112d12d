"""Transports as an order of the lab describes them."""

from __future__ import annotations

from typing import Any

from ringcast.model import Config
from ringcast.transport import (
    Datagrams,
    Endpoint,
    MulticastGroup,
    TcpTransport,
    Transport,
    UdpTransport,
)


def make_transport(order: dict[str, Any], at: str, config: Config) -> Transport:
    """The transport that an order describes: udp (with `multicast` = [group, port, interface]) or tcp."""
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
