"""The filter works on any UDP socket, so it is shown on loopback; multicast itself is shown in tests/conformance."""

import socket

import pytest

from ringcast.transport import Endpoint
from ringcast.transport.own_copies import filter_program, refuse_own_copies


def loopback_socket(host: str) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((host, 0))
    sock.settimeout(10)
    return sock


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.needs("ipv6"))])
def test_what_comes_from_the_source_is_refused_and_all_else_passes(host: str) -> None:
    with loopback_socket(host) as receiver, loopback_socket(host) as own, loopback_socket(host) as other:
        refuse_own_copies(receiver, Endpoint(host, own.getsockname()[1]))
        for number in range(3):
            own.sendto(b"own %d" % number, receiver.getsockname())
            other.sendto(b"other %d" % number, receiver.getsockname())
        assert [receiver.recv(100) for _ in range(3)] == [b"other 0", b"other 1", b"other 2"]


@pytest.mark.parametrize("own_host", ["127.0.0.9", "127.9.0.1"])
def test_the_same_port_of_another_host_passes(own_host: str) -> None:
    with loopback_socket("127.0.0.1") as receiver, loopback_socket("127.0.0.1") as other:
        refuse_own_copies(receiver, Endpoint(own_host, other.getsockname()[1]))
        other.sendto(b"heard", receiver.getsockname())
        assert receiver.recv(100) == b"heard"


def test_the_whole_packet_passes_not_a_part_of_it() -> None:
    with loopback_socket("127.0.0.1") as receiver, loopback_socket("127.0.0.1") as other:
        refuse_own_copies(receiver, Endpoint("127.0.0.1", 1))
        other.sendto(bytes(65_000), receiver.getsockname())
        assert len(receiver.recv(65_536)) == 65_000


def test_a_program_has_one_test_for_the_port_and_one_per_word_of_the_address() -> None:
    assert len(filter_program(Endpoint("127.0.0.1", 1))) == 8 * (2 * 2 + 2)
    assert len(filter_program(Endpoint("::1", 1))) == 8 * (2 * 5 + 2)
