"""A place that others can reach is never got by accident."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import ringcast
from conformance.certificates import Authority
from ringcast.runtime.exposure import check_exposure
from ringcast.transport import Endpoint, MulticastGroup, TcpTransport, Transport, UdpTransport, mutual_tls


@pytest.mark.parametrize("bind", ["127.0.0.1:0", "127.9.9.9:7001", "[::1]:7001", "localhost:7001", "mem:A"])
def test_loopback_needs_no_word(bind: str) -> None:
    check_exposure(bind, is_sealed=False, unencrypted=False)


@pytest.mark.parametrize("bind", ["0.0.0.0:7001", "10.0.0.1:7001", "[::]:7001", "host.example:7001"])
def test_anything_else_must_be_asked_for(bind: str) -> None:
    with pytest.raises(ringcast.ConfigError, match="unencrypted=True"):
        ringcast.join("g", bind=bind)
    check_exposure(bind, is_sealed=False, unencrypted=True)
    check_exposure(bind, is_sealed=True, unencrypted=False)


ON_A_NETWORK = {
    "udp": lambda: UdpTransport("10.9.0.1:7001"),
    "udp everywhere": lambda: UdpTransport("0.0.0.0:7001", advertise="10.9.0.1:7001"),
    "udp at an endpoint": lambda: UdpTransport(Endpoint("10.9.0.1", 7001)),
    "ip multicast": lambda: UdpTransport(
        "127.0.0.1:7001", multicast=MulticastGroup(Endpoint("239.1.1.1", 7002), "10.9.0.1")
    ),
    "tcp": lambda: TcpTransport("10.9.0.1:7001"),
}


@pytest.mark.parametrize("make", ON_A_NETWORK.values(), ids=ON_A_NETWORK.keys())
def test_a_transport_that_the_caller_made_is_looked_at_too(make: Callable[[], Transport]) -> None:
    """It joined in clear without a word."""
    with pytest.raises(ringcast.ConfigError, match="unencrypted=True"):
        ringcast.join("g", transport=make())
    with pytest.raises(ringcast.ConfigError, match="unencrypted=True"):
        asyncio.run(ringcast.open_fixed("g", "a", {"a": "10.9.0.1:7001"}, transport=make()))
    ringcast.join("g", transport=make(), unencrypted=True)
    ringcast.join("g", transport=make(), key=bytes(range(32)))


def test_a_transport_on_loopback_needs_no_word(tmp_path: Path) -> None:
    multicast = MulticastGroup(Endpoint("239.1.1.1", 7002), "127.0.0.1")
    ringcast.join("g", transport=UdpTransport("127.0.0.1:0", multicast=multicast))
    ringcast.join("g", transport=TcpTransport("[::1]:0"))
    files = Authority(tmp_path).files_for("a")
    tls = mutual_tls(*(Path(files[part]) for part in ("certificate", "private_key", "authority")))
    ringcast.join("g", transport=TcpTransport("10.9.0.1:7001", tls=tls))
