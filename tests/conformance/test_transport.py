"""The promises of `ringcast.transport.Transport`, asked of every transport in the same words."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from conformance.kit import KINDS, LONG, MEMORY, Inbox, Kind, World, eventually, repeat_until, tell
from ringcast.errors import TransportError, UsageError
from ringcast.transport import Endpoint, TcpTransport, UdpTransport


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest, needs: Callable[[str], None]) -> Kind:
    if request.param.loopback == "::1":
        needs("ipv6")
    return request.param


@pytest.fixture(params=[kind for kind in KINDS if kind is not MEMORY], ids=str)
def socket_kind(request: pytest.FixtureRequest, needs: Callable[[str], None]) -> Kind:
    if request.param.loopback == "::1":
        needs("ipv6")
    return request.param


def test_a_frame_of_any_size_up_to_max_frame_arrives_whole(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        frames = [bytes(i % 256 for i in range(size)) for size in (0, 1, 100, a.max_frame - 1, a.max_frame)]
        for frame in frames:
            assert a.send(b.local, frame)
        assert await inbox.hold(len(frames)) == frames

    tell(kind, story)


def test_frames_of_mixed_sizes_are_never_joined_or_split(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        sizes, full = random.Random(7), min(1400, a.max_frame)
        frames = [sizes.randbytes(sizes.choice((1, 40, full, sizes.randint(1, full)))) for _ in range(300)]
        assert a.cast([b.local], frames) == len(frames)
        assert sorted(await inbox.hold(len(frames))) == sorted(frames)

    tell(kind, story)


def test_frames_that_wait_together_come_in_one_call(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        for number in range(12):
            a.send(b.local, b"%d" % number)
        await inbox.hold(12)
        assert len(inbox.batches) < 12

    tell(kind, story)


def test_a_cast_brings_the_same_frames_to_everybody(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, own), *others = await world.friends(4)
        frames = [b"%d" % number * 50 for number in range(40)]
        assert a.cast([other.local for other, _ in others], frames) == 40
        for _, inbox in others:
            assert sorted(await inbox.hold(40)) == sorted(frames)
        assert own.frames == []

    tell(kind, story)


def test_a_cast_to_nobody_is_taken(kind: Kind) -> None:
    async def story(world: World) -> None:
        a, _ = await world.member()
        assert a.cast([], [b"one", b"two"]) == 2

    tell(kind, story)


def test_an_oversize_frame_is_refused_and_nothing_is_sent(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        huge = bytes(a.max_frame + 1)
        with pytest.raises(UsageError, match=f"{len(huge)} B is larger than max_frame {a.max_frame} B"):
            a.cast([b.local], [b"small", huge])
        a.send(b.local, b"last")
        assert await inbox.hold(1) == [b"last"]

    tell(kind, story)


def test_a_single_frame_may_be_as_large_as_others_pack_them(kind: Kind) -> None:
    """A member with small frames repairs what one with large frames sent."""

    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        large = bytes(i % 256 for i in range(65_000))
        assert a.send(b.local, large)
        assert a.send(b.local, b"last")
        assert sorted(await inbox.hold(2)) == sorted([large, b"last"])

    tell(kind, story)


def test_a_busy_endpoint_is_one_sentence_that_names_it(kind: Kind) -> None:
    async def story(world: World) -> None:
        first, _ = await world.member()
        with pytest.raises(TransportError, match="already in use") as refusal:
            await world.member(first.local)
        assert str(first.local) in str(refusal.value)

    tell(kind, story)


def test_an_endpoint_can_be_taken_again_after_close(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, _) = await world.friends()
        b.close()
        again, inbox = await world.member(b.local)
        assert again.local == b.local
        await repeat_until(lambda: a.send(again.local, b"welcome back"), inbox, b"welcome back")

    tell(kind, story)


@pytest.mark.parametrize("transport", [UdpTransport, TcpTransport])
def test_an_unknown_host_is_one_sentence_that_names_it(transport: type[UdpTransport | TcpTransport]) -> None:
    with pytest.raises(TransportError, match=r"unknown host 'nobody\.invalid' in 'nobody\.invalid:7001'"):
        asyncio.run(transport("nobody.invalid:7001").open(Inbox()))


def test_an_address_of_another_host_cannot_be_bound(socket_kind: Kind) -> None:
    async def story(world: World) -> None:
        stranger = "192.0.2.1" if socket_kind.loopback == "127.0.0.1" else "2001:db8::1"
        with pytest.raises(TransportError, match=f"cannot bind .*{stranger}"):
            await world.member(Endpoint(stranger, 0))

    tell(socket_kind, story)


def test_port_0_becomes_a_real_port_that_prints_and_parses(socket_kind: Kind) -> None:
    async def story(world: World) -> None:
        a, _ = await world.member()
        assert a.local.host == socket_kind.loopback
        assert a.local.port > 0
        assert Endpoint.parse(str(a.local)) == a.local

    tell(socket_kind, story)


def test_the_local_endpoint_is_not_known_before_open(socket_kind: Kind) -> None:
    with pytest.raises(UsageError, match="not open yet"):
        _ = socket_kind.make(World(socket_kind), None).local


@pytest.mark.parametrize("transport", [UdpTransport, TcpTransport])
def test_what_is_bound_and_what_is_advertised_may_differ(transport: type[UdpTransport | TcpTransport]) -> None:
    async def story() -> None:
        one = transport("0.0.0.0:0", advertise="127.0.0.1:0")
        other = transport("0.0.0.0:0", advertise="10.1.2.3:7001")
        sender = transport()
        inbox = Inbox()
        for member in (one, other, sender):
            await member.open(inbox)
        assert one.local.host == "127.0.0.1"
        assert other.local == Endpoint("10.1.2.3", 7001)
        await repeat_until(lambda: sender.send(one.local, b"through the wildcard"), inbox, b"through the wildcard")
        for member in (one, other, sender):
            member.close()

    asyncio.run(story())


@pytest.mark.parametrize("transport", [UdpTransport, TcpTransport])
def test_a_wildcard_alone_cannot_be_advertised(transport: type[UdpTransport | TcpTransport]) -> None:
    with pytest.raises(ValueError, match=r"nobody can reach 0\.0\.0\.0:0"):
        asyncio.run(transport("0.0.0.0:0").open(Inbox()))


@pytest.mark.parametrize("transport", [UdpTransport, TcpTransport])
def test_a_name_is_resolved_when_it_is_bound(transport: type[UdpTransport | TcpTransport]) -> None:
    async def story() -> None:
        member = transport("localhost:0")
        await member.open(Inbox())
        assert member.local.host in ("127.0.0.1", "::1")
        member.close()

    asyncio.run(story())


def test_frames_after_close_are_counted_as_lost(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        a.close()
        a.close()
        assert a.send(b.local, b"late")
        assert a.cast([b.local], [b"late", b"later"]) == 2
        assert a.counters.lost == {"transport closed": 3}
        assert inbox.frames == []

    tell(kind, story)


def test_closing_while_frames_are_being_handed_over_or_sent_is_safe(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, _) = await world.friends()
        closed = asyncio.Event()

        def close_both(frames: list[bytes]) -> None:
            for transport in (receiver, a):
                transport.close()
            closed.set()

        receiver = world.kind.make(world, None)
        await receiver.open(close_both)
        a.send(b.local, b"also")
        async with asyncio.timeout(LONG):
            while not closed.is_set():
                a.cast([receiver.local, b.local], [b"x" * 1000] * 20)
                await asyncio.sleep(0.01)

    tell(kind, story)


def test_sending_to_an_endpoint_where_nobody_listens_raises_nothing(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        gone, _ = await world.member()
        gone.close()
        for _ in range(20):
            a.send(gone.local, b"anybody?")
            a.cast([gone.local, b.local], [b"still here"])
            await asyncio.sleep(0)
        assert (await inbox.hold(20)) == [b"still here"] * 20

    tell(kind, story)


def test_a_cut_stops_frames_both_ways_until_it_is_healed(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, at_a), (b, at_b), (c, at_c) = await world.friends(3)
        a.block([b.local])
        assert a.send(b.local, b"out")
        assert a.cast([b.local, c.local], [b"all 1", b"all 2"]) == 2
        b.send(a.local, b"in")
        c.send(a.local, b"from c")
        assert await at_a.hold(1) == [b"from c"]
        assert await at_c.hold(2) == [b"all 1", b"all 2"]
        await eventually(lambda: a.counters.lost == {"cut to receiver": 3, "cut from sender": 1})
        assert at_b.frames == []
        a.unblock()
        a.send(b.local, b"healed")
        b.send(a.local, b"healed")
        assert await at_b.hold(1) == [b"healed"]
        assert await at_a.hold(2) == [b"from c", b"healed"]

    tell(kind, story)


def test_what_was_counted_out_is_counted_in(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        sent, received = a.counters.frames_out, b.counters.frames_in
        a.cast([b.local], [b"x" * 1000] * 30)
        await inbox.hold(30)
        assert a.counters.frames_out - sent == 30
        assert b.counters.frames_in - received == 30
        assert b.counters.wakes > 0
        assert a.counters.frames_lost == b.overflows == 0
        assert b.counters.as_dict()["bytes_in"] == b.counters.bytes_in

    tell(kind, story)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.slows_senders], ids=str)
def test_a_full_receiver_makes_the_sender_wait_and_nothing_is_lost(kind: Kind) -> None:
    """Datagrams to a full receiver are lost instead; a full sender is shown in tests/unit/transport."""

    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        room = asyncio.Event()
        a.on_writable = room.set
        frames = [b"%06d" % number + bytes(50_000) for number in range(1000)]
        taken = a.cast([b.local], frames)
        assert taken < len(frames)
        assert a.counters.busy == 1
        while taken < len(frames):
            room.clear()
            await asyncio.wait_for(room.wait(), LONG)
            taken += a.cast([b.local], frames[taken:])
        assert await inbox.hold(len(frames)) == frames

    tell(kind, story)


def test_the_receive_buffer_is_known_once_open(kind: Kind) -> None:
    async def story(world: World) -> None:
        a, _ = await world.member()
        assert a.receive_buffer >= a.max_frame

    tell(kind, story)


def test_only_ip_multicast_says_that_it_multicasts(kind: Kind) -> None:
    assert not kind.make(World(kind), None).multicasts
