import asyncio
import socket

import pytest

from ringcast.errors import TransportError
from ringcast.transport import Endpoint, resolve


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:7001", Endpoint("127.0.0.1", 7001)),
        ("[::1]:7001", Endpoint("::1", 7001)),
        ("[fe80::1%eth0]:0", Endpoint("fe80::1%eth0", 0)),
        ("0.0.0.0:65535", Endpoint("0.0.0.0", 65535)),
        ("mem:A", Endpoint("mem:A", 0)),
        ("mem:a:b", Endpoint("mem:a:b", 0)),
    ],
)
def test_an_endpoint_prints_as_it_is_written(text: str, endpoint: Endpoint) -> None:
    assert Endpoint.parse(text) == endpoint
    assert str(endpoint) == text


def test_two_spellings_of_an_address_are_one_endpoint() -> None:
    assert Endpoint.parse("[0:0:0:0:0:0:0:1]:7") == Endpoint.parse("[::1]:7")


@pytest.mark.parametrize("text", ["", ":", "7001", "127.0.0.1", ":7001", "::1:7001", "[]:7001", "mem:"])
def test_text_without_the_form_of_an_endpoint_is_told_the_form(text: str) -> None:
    with pytest.raises(TransportError, match=r"write host:port, \[ipv6\]:port or mem:name|is not a number"):
        Endpoint.parse(text)


@pytest.mark.parametrize("port", ["65536", "-1", "x", "", "7001 ", "٣"])
def test_a_bad_port_is_named(port: str) -> None:
    with pytest.raises(TransportError, match="is not a number from 0 to 65535") as refusal:
        Endpoint.parse(f"127.0.0.1:{port}")
    assert repr(port) in str(refusal.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.256", "1.2.3", "host name"])
def test_parse_takes_numeric_hosts_only(host: str) -> None:
    with pytest.raises(TransportError, match="is not a numeric address"):
        Endpoint.parse(f"{host}:7001")


def test_family_and_wildcards_are_known_from_the_host() -> None:
    assert Endpoint("127.0.0.1", 1).family == socket.AF_INET
    assert Endpoint("::1", 1).family == socket.AF_INET6
    assert [Endpoint(host, 1).is_any for host in ("0.0.0.0", "::", "127.0.0.1", "mem:A")] == [True, True, False, False]


def test_resolve_turns_a_name_into_a_numeric_endpoint() -> None:
    assert asyncio.run(resolve("localhost:7001")) in (Endpoint("127.0.0.1", 7001), Endpoint("::1", 7001))
    assert asyncio.run(resolve("[::1]:7001")) == Endpoint("::1", 7001)


@pytest.mark.parametrize("host", ["nobody.invalid", "x" * 70 + ".example", "..", "a b"])
def test_an_unknown_host_is_one_sentence(host: str) -> None:
    with pytest.raises(TransportError, match="unknown host") as refusal:
        asyncio.run(resolve(f"{host}:7001"))
    assert repr(host) in str(refusal.value)
    assert "\n" not in str(refusal.value)
