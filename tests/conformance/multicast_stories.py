"""The promises of IP multicast. test_ip_multicast.py runs this file inside a network namespace that it prepares."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from conformance.kit import UDP4, UDP6, Inbox, Kind, World, eventually, sealed, tell
from ringcast.errors import TransportError
from ringcast.transport import ON_ONE_HOST, WITHIN_PATH, Datagrams, Endpoint, MulticastGroup, UdpTransport

GROUPS = {
    "ipv4": (UDP4, MulticastGroup(Endpoint("239.7.7.7", 7007), "127.0.0.1")),
    "ipv6": (replace(UDP6, loopback="fd77::1"), MulticastGroup(Endpoint("ff05::7007", 7007))),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" not in metafunc.fixturenames:
        return
    kinds = [
        replace(base, name=f"{name} {size}", make=_member(base, group, datagrams))
        for name, (base, group) in GROUPS.items()
        for size, datagrams in (("60 kB", ON_ONE_HOST), ("1400 B", WITHIN_PATH))
    ]
    kinds += [replace(kind, name=f"sealed {kind}", make=sealed(kind)) for kind in kinds[:2]]
    metafunc.parametrize("kind", kinds, ids=str)


def _member(base: Kind, group: MulticastGroup, datagrams: Datagrams):
    return lambda _, at: UdpTransport(at or Endpoint(base.loopback, 0), datagrams=datagrams, multicast=group)


def test_one_packet_reaches_everybody_but_its_sender(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, own), *others = await world.friends(4)
        assert a.multicasts
        before = a.counters.frames_out
        frames = [b"%d" % number * 100 for number in range(60)]
        assert a.cast([other.local for other, _ in others], frames) == 60
        for other, inbox in others:
            assert sorted(await inbox.hold(60)) == sorted(frames)
            assert other.overflows == 0
        assert a.counters.frames_out - before == 60
        assert own.frames == []
        assert a.overflows == 0

    tell(kind, story)


def test_two_members_both_casting_get_each_others_frames_only(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, at_a), (b, at_b) = await world.friends(2)
        a.cast([b.local], [b"from a"] * 20)
        b.cast([a.local], [b"from b"] * 20)
        assert await at_a.hold(20) == [b"from b"] * 20
        assert await at_b.hold(20) == [b"from a"] * 20

    tell(kind, story)


def test_a_single_frame_still_goes_to_one_endpoint(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, at_b), (_, at_c) = await world.friends(3)
        a.send(b.local, b"for b")
        assert await at_b.hold(1) == [b"for b"]
        a.cast([b.local], [b"for all"])
        assert await at_c.hold(1) == [b"for all"]

    tell(kind, story)


def test_a_cut_holds_for_multicast_packets_too(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, at_b), (c, at_c) = await world.friends(3)
        b.block([a.local])
        a.cast([b.local, c.local], [b"unseen"])
        c.cast([a.local, b.local], [b"seen"])
        assert await at_c.hold(1) == [b"unseen"]
        assert await at_b.hold(1) == [b"seen"]
        await eventually(lambda: b.counters.lost == {"cut from sender": 1})
        a.block([b.local, c.local])
        assert a.cast([b.local, c.local], [b"nobody is left"]) == 1
        assert a.counters.lost == {"cut to receiver": 2}

    tell(kind, story)


def test_a_member_bound_to_the_wildcard_does_not_hear_itself() -> None:
    async def story() -> None:
        group = GROUPS["ipv4"][1]
        a = UdpTransport("0.0.0.0:0", advertise="127.0.0.1:0", multicast=group)
        b = UdpTransport(multicast=group)
        at_a, at_b = Inbox(), Inbox()
        await a.open(at_a)
        await b.open(at_b)
        a.cast([b.local], [b"x"])
        b.cast([a.local], [b"y"])
        assert await at_b.hold(1) == [b"x"]
        assert await at_a.hold(1) == [b"y"]
        a.close()
        b.close()

    asyncio.run(story())


@pytest.mark.parametrize(("bind", "interface"), [("127.0.0.1:0", "192.0.2.9"), ("[fd77::1]:0", "2001:db8::9")])
def test_an_unknown_interface_is_one_sentence_that_names_it(bind: str, interface: str) -> None:
    group = GROUPS["ipv4" if "." in interface else "ipv6"][1]
    with pytest.raises(TransportError, match=interface):
        asyncio.run(UdpTransport(bind, multicast=replace(group, interface=interface)).open(Inbox()))


def test_a_datagram_above_the_path_mtu_is_refused_and_counted_never_split() -> None:
    async def story() -> None:
        a = UdpTransport("10.9.0.1:0", datagrams=WITHIN_PATH)
        await a.open(Inbox())
        assert a.send(Endpoint("10.9.0.2", 7), bytes(1400))
        assert a.cast([Endpoint("10.9.0.2", 7)], [bytes(1400)] * 5) == 5
        assert a.counters.lost == {"larger than the path carries": 6}
        assert a.send(Endpoint("10.9.0.2", 7), bytes(9000))  # a repair of what somebody else packed: IP may split it
        assert a.send(Endpoint("10.9.0.2", 7), bytes(1400))
        assert a.counters.lost == {"larger than the path carries": 7}
        a.close()

    asyncio.run(story())
