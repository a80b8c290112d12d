import asyncio
import socket

import pytest

from ringcast.errors import ConfigError, TransportError
from ringcast.transport import ON_ONE_HOST, Datagrams, Endpoint, MulticastGroup, TcpLimits, UdpTransport
from ringcast.transport.binding import bound_socket, drops_of, endpoints_of, receive_buffer_bytes, widen_buffers

LOOPBACK = Endpoint("127.0.0.1", 0)


def test_a_busy_port_names_the_endpoint_and_the_reason() -> None:
    with bound_socket(socket.SOCK_DGRAM, LOOPBACK) as first:
        taken = Endpoint(*first.getsockname())
        with pytest.raises(TransportError, match=f"^cannot bind {taken}: address already in use$"):
            bound_socket(socket.SOCK_DGRAM, taken)


def test_the_receive_buffer_is_what_was_asked_for_or_what_the_system_allows() -> None:
    with bound_socket(socket.SOCK_DGRAM, LOOPBACK) as sock:
        widen_buffers(sock, 100_000, 100_000)
        assert receive_buffer_bytes(sock) == 100_000
        widen_buffers(sock, 1 << 28, 1 << 28)
        assert 100_000 < receive_buffer_bytes(sock) <= 1 << 28


def test_packets_that_did_not_fit_the_buffer_are_counted() -> None:
    with bound_socket(socket.SOCK_DGRAM, LOOPBACK) as sock, bound_socket(socket.SOCK_DGRAM, LOOPBACK) as sender:
        widen_buffers(sock, 20_000, 20_000)
        for _ in range(100):
            sender.sendto(bytes(1000), sock.getsockname())
        received = 0
        try:
            while sock.recv(2000):
                received += 1
        except BlockingIOError:
            pass
        assert 0 < received < 100
        assert drops_of(sock) == 100 - received


def test_overflows_of_a_transport_are_told() -> None:
    async def story() -> None:
        got: list[bytes] = []
        receiver, sender = UdpTransport(receive_buffer_bytes=65_536), UdpTransport()
        await receiver.open(got.extend)
        await sender.open(got.extend)
        sender.cast([receiver.local], [bytes(1000)] * 1000)
        assert receiver.overflows > 0
        receiver.close()
        sender.close()
        assert receiver.overflows == 0

    asyncio.run(story())


def test_bind_and_advertise_may_be_names_endpoints_or_texts() -> None:
    assert asyncio.run(endpoints_of("127.0.0.1:7", None)) == (Endpoint("127.0.0.1", 7),) * 2
    assert asyncio.run(endpoints_of(LOOPBACK, "10.1.2.3:9")) == (LOOPBACK, Endpoint("10.1.2.3", 9))
    assert asyncio.run(endpoints_of("[::]:7", Endpoint("::1", 0))) == (Endpoint("::", 7), Endpoint("::1", 0))


def test_a_wildcard_needs_an_advertised_address_beside_it() -> None:
    with pytest.raises(ConfigError, match=r"nobody can reach \[::\]:7"):
        asyncio.run(endpoints_of("[::]:7", None))


@pytest.mark.parametrize("size", [0, 65_508])
def test_a_datagram_size_that_udp_cannot_carry_is_refused(size: int) -> None:
    with pytest.raises(ConfigError, match=f"max_frame must be 1 to 65507 B for UDP, not {size}"):
        Datagrams(size, never_split=False)
    assert Datagrams(65_507, never_split=False).max_frame > ON_ONE_HOST.max_frame


@pytest.mark.parametrize(
    ("group", "hops", "complaint"),
    [
        (Endpoint("10.0.0.1", 7), 1, "10.0.0.1:7 is not a multicast address"),
        (Endpoint("239.0.0.1", 0), 1, "needs a port that all members share, not 0"),
        (Endpoint("ff05::1", 7), 256, "hops must be 0 to 255, not 256"),
    ],
)
def test_a_multicast_group_that_cannot_work_is_refused(group: Endpoint, hops: int, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        MulticastGroup(group, hops=hops)


def test_tcp_limits_are_checked_when_they_are_made() -> None:
    with pytest.raises(ConfigError, match="max_incoming must be above 0, not 0"):
        TcpLimits(max_incoming=0)
    with pytest.raises(ConfigError, match="queue_bytes must hold one frame"):
        TcpLimits(queue_bytes=1000)
