"""A TCP port is open to everybody: no bytes and no silence may raise in the loop, grow memory or stop the members."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from conformance.kit import LONG, TCP4, TLS4, Inbox, World, a_tls, eventually, repeat_until, tell
from ringcast.transport import DEFAULT_LIMITS, Endpoint, Frame, Passes, Source, StrangerLimits, TcpLimits, TcpTransport
from ringcast.transport.tcp_incoming import PER_ENDPOINT

FAST = TcpLimits(hello_seconds=0.05, stall_seconds=0.05, connect_seconds=0.2, last_retry_seconds=0.05)
HELLO = b"rcst\x01\x0e127.0.0.1:7001"


def limited(limits: TcpLimits) -> Callable[[Callable[[World], Awaitable[None]]], None]:
    return lambda story: tell(replace(TCP4, make=lambda _, at: TcpTransport(at or "127.0.0.1:0", limits=limits)), story)


async def dial(to: TcpTransport) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(to.local.host, to.local.port)


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """True once the other side has ended the connection."""
    try:
        return await asyncio.wait_for(reader.read(), LONG) == b""
    except ConnectionError:
        return True


def a_length(size: int) -> bytes:
    return size.to_bytes(4, "big")


BROKEN = {
    "random bytes": random.Random(3).randbytes(5000),
    "another protocol": b"GET / HTTP/1.1\r\nHost: ringcast\r\n\r\n",
    "another version": b"rcst\x02\x0e127.0.0.1:7001",
    "no endpoint": b"rcst\x01\x0enot-an-address",
    "not even text": b"rcst\x01\x04\xff\xfe\xfd\xfc",
    "a huge length": HELLO + a_length(0xFFFFFFFF),
    "one byte above the limit": HELLO + a_length(65_537),
    "a good frame, then nonsense": HELLO + a_length(3) + b"abc" + b"\xff" * 100,
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN.keys())
def test_who_breaks_the_framing_is_disconnected_and_counted(sent: bytes) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        reader, writer = await dial(b)
        writer.write(sent)
        assert await is_closed(reader)
        writer.close()
        assert b.counters.lost == {"stream broke the framing": 1}
        a.send(b.local, b"still served")
        await eventually(lambda: b"still served" in inbox.frames)

    tell(TCP4, story)


@pytest.mark.parametrize("sent", [b"", b"rcs", HELLO[:-3], HELLO, HELLO + b"\x00\x00", HELLO + a_length(9) + b"half"])
def test_a_stream_that_ends_anywhere_is_forgotten(sent: bytes) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        before = b.open_connections
        _, writer = await dial(b)
        writer.write(sent)
        await writer.drain()
        await eventually(lambda: b.open_connections > before)
        writer.close()
        await eventually(lambda: b.open_connections == before)
        a.send(b.local, b"still served")
        assert await inbox.hold(1) == [b"still served"]

    tell(TCP4, story)


def test_a_frame_that_comes_byte_by_byte_is_still_one_frame() -> None:
    async def story(world: World) -> None:
        b, inbox = await world.member()
        _, writer = await dial(b)
        for byte in HELLO + a_length(5) + b"drops" + a_length(0):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        assert await inbox.hold(2) == [b"drops", b""]
        writer.close()

    tell(TCP4, story)


def test_who_does_not_say_hello_in_time_is_disconnected() -> None:
    async def story(world: World) -> None:
        b, _ = await world.member()
        silent, slow = await dial(b), await dial(b)
        slow[1].write(HELLO[:5])
        for reader, writer in (silent, slow):
            assert await is_closed(reader)
            writer.close()
        assert b.counters.lost == {"stream broke the framing": 2}

    limited(FAST)(story)


def test_a_known_connection_may_be_silent_longer_than_a_hello_may_take() -> None:
    async def story(world: World) -> None:
        b, inbox = await world.member()
        known, stranger = await dial(b), await dial(b)
        known[1].write(HELLO)
        assert await is_closed(stranger[0])
        known[1].write(a_length(4) + b"late")
        assert await inbox.hold(1) == [b"late"]
        for _, writer in (known, stranger):
            writer.close()

    limited(FAST)(story)


def test_strangers_beyond_the_limit_are_turned_away_and_members_stay() -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        strangers = [await dial(b) for _ in range(4)]
        await eventually(lambda: b.counters.lost == {"too many connections": 1})
        a.send(b.local, b"still served")
        assert await inbox.hold(1) == [b"still served"]
        for _, writer in strangers:
            writer.close()

    limited(TcpLimits(max_strangers=3))(story)


def test_beyond_the_limit_the_silent_go_and_never_a_member() -> None:
    """Idle connections, each with a good hello, keep nobody out: neither newcomers nor members."""

    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        b.set_peers([a.local])
        a.send(b.local, b"first")
        assert await inbox.hold(1) == [b"first"]
        idle = []
        for number in range(4):
            idle.append(await dial(b))
            idle[-1][1].write(b"rcst\x01\x0e127.0.0.1:700%d" % number)
            await eventually(lambda: b.counters.lost.get("too many connections", 0) == max(0, number - 1))  # noqa: B023
            await asyncio.sleep(0.01)  # so that one was silent for longer than the other
        assert await is_closed(idle[0][0]) and await is_closed(idle[1][0])
        newcomer, _ = await world.member()
        newcomer.send(b.local, b"from a newcomer")
        await eventually(lambda: b"from a newcomer" in inbox.frames)
        a.send(b.local, b"from a member")
        await eventually(lambda: b"from a member" in inbox.frames)
        for _, writer in idle:
            writer.close()

    limited(TcpLimits(max_incoming=2))(story)


def test_sending_to_more_endpoints_than_the_limit_is_counted_as_lost() -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        assert a.send(Endpoint("127.0.0.1", 1), b"one too many")
        assert a.counters.lost == {"too many connections": 1}
        a.send(b.local, b"still served")
        assert await inbox.hold(1) == [b"still served"]

    limited(TcpLimits(max_outgoing=1))(story)


def test_a_peer_that_reads_nothing_slows_the_others_only_until_it_counts_as_stalled() -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        with socket.create_server(("127.0.0.1", 0)) as stuck:
            room = asyncio.Event()
            a.on_writable = room.set
            frames = [b"%06d" % number + bytes(50_000) for number in range(1000)]
            both, taken = [b.local, Endpoint(*stuck.getsockname())], 0
            while taken < len(frames):
                room.clear()
                taken += a.cast(both, frames[taken:])
                if taken < len(frames):
                    await asyncio.wait_for(room.wait(), LONG)
            assert await inbox.hold(len(frames)) == frames
            assert a.counters.lost["peer takes nothing"] > 0
            assert a.counters.busy > 0

    limited(FAST)(story)


def test_a_sender_refused_while_connecting_is_told_when_the_connection_is_up() -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.member(), await world.member()
        room = asyncio.Event()
        a.on_writable = room.set
        frames = [bytes(50_000)] * 40
        taken = a.cast([b.local], frames)
        assert 0 < taken < len(frames)
        await asyncio.wait_for(room.wait(), LONG)
        assert a.cast([b.local], frames[taken:]) > 0
        await inbox.hold(taken + 1)

    limited(TcpLimits(stall_seconds=1000))(story)


def test_control_passes_a_queue_that_is_full_of_data() -> None:
    async def story(world: World) -> None:
        a, _ = await world.member()
        with socket.create_server(("127.0.0.1", 0)) as stuck:
            to = Endpoint(*stuck.getsockname())
            full = [bytes(50_000)] * 1000
            await eventually(lambda: a.cast([to], full) < len(full))
            await eventually(lambda: a.cast([to], full) == 0)
            assert a.send(to, b"control")
            assert not all(a.send(to, bytes(50_000)) for _ in range(10))

    tell(TCP4, story)


def test_a_peer_that_went_away_is_connected_to_again_and_what_it_missed_is_counted() -> None:
    async def story(world: World) -> None:
        (a, _), (b, _) = await world.friends()
        b.close()
        await eventually(lambda: a.send(b.local, b"lost") and "no connection to peer" in a.counters.lost)
        again, inbox = await world.member(b.local)
        await repeat_until(lambda: a.send(again.local, b"found"), inbox, b"found")
        assert a.counters.connects == 2

    limited(FAST)(story)


def test_a_peer_is_connected_to_before_anything_is_sent() -> None:
    async def story(world: World) -> None:
        (a, _), (b, _) = await world.member(), await world.member()
        a.set_peers([b.local])
        await eventually(lambda: a.counters.connects == 1 and b.open_connections == 1)

    tell(TCP4, story)


def test_a_connection_to_a_former_peer_is_closed_when_nothing_uses_it() -> None:
    async def story(world: World) -> None:
        (a, _), (b, _), (c, _) = await world.friends(3)
        a.set_peers([c.local])
        await eventually(lambda: b.open_connections == 1 and c.open_connections == 2)

    limited(TcpLimits(idle_seconds=0.05))(story)


def test_a_frame_written_in_pieces_that_never_ends_keeps_less_than_one_frame() -> None:
    async def story(world: World) -> None:
        b, _ = await world.member()
        writers = []
        for _ in range(5):
            _, writer = await dial(b)
            writer.write(HELLO + a_length(65_536) + bytes(65_000))
            await writer.drain()
            writers.append(writer)
        await eventually(lambda: b.held_bytes == 5 * (65_000 + 4))
        for writer in writers:
            writer.close()

    tell(TCP4, story)


def test_closing_a_transport_ends_its_connections() -> None:
    async def story(world: World) -> None:
        b, _ = await world.member()
        reader, writer = await dial(b)
        writer.write(HELLO)
        await eventually(lambda: b.open_connections == 1)
        b.close()
        assert await is_closed(reader)
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await dial(b)

    tell(TCP4, story)


def test_the_last_frames_before_close_still_arrive() -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        a.cast([b.local], [b"farewell"] * 20)
        a.close()
        assert await inbox.hold(20) == [b"farewell"] * 20

    tell(TCP4, story)


def test_an_inbox_is_not_called_for_an_empty_read() -> None:
    async def story(world: World) -> None:
        b, inbox = await world.member()
        _, writer = await dial(b)
        writer.write(HELLO)
        await eventually(lambda: b.open_connections == 1)
        writer.close()
        await eventually(lambda: b.open_connections == 0)
        assert isinstance(inbox, Inbox) and inbox.batches == []

    tell(TCP4, story)


def test_connections_to_strangers_make_room_for_others_and_those_to_members_stay() -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        for port in range(1, 6):
            a.send(Endpoint("127.0.0.1", port), b"to nobody")
        newcomer, newcomers = await world.member()
        await repeat_until(lambda: a.send(newcomer.local, b"answer"), newcomers, b"answer")
        a.send(b.local, b"still served")
        assert await inbox.hold(1) == [b"still served"]

    limited(TcpLimits(max_outgoing=2))(story)


def test_a_connection_of_a_non_member_that_stays_silent_is_closed() -> None:
    async def story(world: World) -> None:
        b, _ = await world.member()
        reader, writer = await dial(b)
        writer.write(HELLO)
        assert await is_closed(reader)
        writer.close()

    limited(replace(FAST, idle_seconds=0.05))(story)


def test_many_connections_that_claim_one_endpoint_are_few() -> None:
    async def story(world: World) -> None:
        b, _ = await world.member()
        dialled = [await dial(b) for _ in range(20)]
        for _, writer in dialled:
            writer.write(HELLO)
        await eventually(lambda: b.open_connections == 8)
        for _, writer in dialled:
            writer.close()

    tell(TCP4, story)


# ---- what hosts that have proved nothing may cost


class Refusing:
    """A guard that takes nothing but one frame, as with a key nobody who lacks it sends anything that is taken.

    It foretells that it takes what begins so of `members`.
    """

    def __init__(self, *members: Endpoint) -> None:
        self.asked = 0
        self.passes: Passes = {(at.host, at.port): (0, b"genuine") for at in members}

    def __call__(self, source: Source, frame: Frame, reply_to: Source) -> Frame | None:
        self.asked += 1
        return frame if bytes(frame) == b"genuine" else None


class Turns:
    """Frames that one turn of the loop asked the guard about, the most of all turns."""

    def __init__(self, guard: Refusing) -> None:
        self.most = 0
        self._guard, self._before = guard, 0
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self.most = max(self.most, self._guard.asked - self._before)
        self._before = self._guard.asked
        asyncio.get_running_loop().call_soon(self._turn)


async def flood(to: TcpTransport, data: bytes) -> None:
    """Write all of it, or as much as the other end takes."""
    _, writer = await dial(to)
    writer.write(data)
    try:
        await asyncio.wait_for(writer.drain(), LONG)
    except ConnectionError:
        pass
    writer.close()


@pytest.mark.parametrize("frame", [b"", b"garbage"], ids=["empty", "short"])
def test_the_smallest_frames_that_nobody_takes_end_their_stream_after_a_few(frame: bytes) -> None:
    """One wake took 2 MiB of them, half a million frames, from each connection: the loop stood still for seconds."""

    async def story(world: World) -> None:
        b, _ = await world.member()
        guard = b.guard = Refusing()
        turns = Turns(guard)
        few = 4
        await asyncio.gather(*(flood(b, HELLO + (a_length(len(frame)) + frame) * 200_000) for _ in range(few)))
        await eventually(lambda: b.open_connections == 0)
        most = DEFAULT_LIMITS.refused_in_a_row
        assert guard.asked <= few * most
        assert turns.most <= few * most
        assert b.counters.lost["a stream of frames that nobody took"] == few

    tell(TCP4, story)


def test_a_stream_with_a_frame_shorter_than_any_ends_before_anybody_is_asked() -> None:
    async def story(world: World) -> None:
        b, _ = await world.member()
        guard = b.guard = Refusing()
        await flood(b, HELLO + (a_length(7) + b"garbage") * 1_000)
        await eventually(lambda: b.counters.lost == {"stream broke the framing": 1})
        assert guard.asked == 0

    tell(replace(TCP4, make=lambda _, at: TcpTransport(at or "127.0.0.1:0", least_frame=8)), story)


def test_a_connection_of_which_something_was_taken_is_ended_by_garbage_too() -> None:
    async def story(world: World) -> None:
        b, inbox = await world.member()
        guard = b.guard = Refusing()
        reader, writer = await dial(b)
        writer.write(HELLO + a_length(7) + b"genuine")
        assert await inbox.hold(1) == [b"genuine"]
        writer.write((a_length(7) + b"garbage") * 10_000)
        assert await is_closed(reader)
        assert guard.asked == 1 + DEFAULT_LIMITS.refused_in_a_row
        writer.close()

    tell(TCP4, story)


def test_the_hello_of_a_stranger_closes_no_connection_of_the_member_that_it_names() -> None:
    """It was believed: eight connections that named a member's endpoint, from any host, closed the member's own."""

    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        b.guard = Refusing(a.local)
        b.set_peers([a.local])
        a.send(b.local, b"genuine")
        await inbox.hold(1)
        text = str(a.local).encode()
        hello = b"rcst\x01" + bytes([len(text)]) + text
        dialled = [await dial(b) for _ in range(40)]
        for _, writer in dialled:
            writer.write(hello)
            await asyncio.sleep(0)
        await eventually(lambda: b.counters.lost.get("too many connections") == 40 - PER_ENDPOINT)
        a.send(b.local, b"genuine")
        assert await inbox.hold(2) == [b"genuine"] * 2
        assert a.counters.connects == 1, "it never had to connect again"
        for _, writer in dialled:
            writer.close()

    tell(TCP4, story)


def test_strangers_on_other_hosts_that_name_members_count_as_strangers() -> None:
    async def story(world: World) -> None:
        (a, _), (b, _) = await world.friends()
        b.guard = Refusing()
        b.set_peers([Endpoint("127.0.0.1", port) for port in range(7000, 7010)] + [a.local])
        dialled = []
        for number in range(20):
            dialled.append(await asyncio.open_connection(*b.local, local_addr=("127.0.0.9", 0)))
            dialled[-1][1].write(b"rcst\x01\x0e127.0.0.1:70%02d" % (number % 10))
        await eventually(lambda: b.counters.lost.get("too many connections") == 20 - 5)
        for _, writer in dialled:
            writer.close()

    limited(TcpLimits(max_strangers=5))(story)


def test_members_that_have_nothing_to_say_keep_their_connections_however_many_they_are() -> None:
    """Nothing proves them; where they come from and what they name is at least that of a member."""

    async def story(world: World) -> None:
        b, inbox = await world.member()
        b.guard = Refusing()
        others = [(await world.member())[0] for _ in range(9)]
        b.set_peers([other.local for other in others])
        for number, other in enumerate(others):
            other.set_peers([b.local])
            await eventually(lambda: b.open_connections == number + 1 and b.counters.wakes == number + 1)  # noqa: B023
        strangers = [await dial(b) for _ in range(9)]
        await eventually(lambda: b.counters.lost.get("too many connections") == 9 - 3)
        await asyncio.sleep(3 * 0.05)  # longer than what is idle is kept
        for other in others:
            other.send(b.local, b"genuine")
        assert await inbox.hold(9) == [b"genuine"] * 9
        assert [other.counters.connects for other in others] == [1] * 9, "none was closed meanwhile"
        for _, writer in strangers:
            writer.close()

    limited(TcpLimits(max_strangers=3, idle_seconds=0.05))(story)


def test_who_drips_bytes_makes_room_before_newcomers_that_are_silent_for_a_moment() -> None:
    """Else dripping on a few connections, and making new ones, kept everybody out that needs a moment to be proved."""

    async def story(world: World) -> None:
        b, _ = await world.member()
        b.guard = Refusing()
        dripping, newcomer = await dial(b), await dial(b)
        await eventually(lambda: b.open_connections == 2)
        wakes = b.counters.wakes
        for byte in HELLO[:8]:
            dripping[1].write(bytes([byte]))
            await eventually(lambda: b.counters.wakes > wakes)  # noqa: B023
            wakes = b.counters.wakes
        another = await dial(b)
        assert await is_closed(dripping[0])
        assert b.open_connections == 2
        for _, writer in (dripping, newcomer, another):
            writer.close()

    limited(TcpLimits(max_strangers=2))(story)


def test_a_host_that_connects_again_and_again_is_closed_at_once_and_is_not_waited_for() -> None:
    async def story(world: World) -> None:
        b, _ = await world.member()
        dialled = [await dial(b) for _ in range(40)]
        for reader, writer in dialled[-20:]:
            assert await is_closed(reader)
            writer.close()
        assert b.counters.lost["too many connections"] >= 20
        for _, writer in dialled:
            writer.close()

    few = StrangerLimits(connects_per_second=1)
    tell(replace(TCP4, make=lambda _, at: TcpTransport(at or "127.0.0.1:0", strangers=few)), story)


def test_a_stranger_that_only_begins_handshakes_is_given_a_few() -> None:
    """Each answer to a ClientHello costs a signature: 3 ms of the loop with RSA of 4,096 bits."""

    async def story(world: World) -> None:
        b, _ = await world.member()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        answered = 0
        for _ in range(40):
            into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
            hello = context.wrap_bio(into, out)
            with pytest.raises(ssl.SSLWantReadError):
                hello.do_handshake()
            reader, writer = await dial(b)
            writer.write(out.read())
            try:
                answered += bool(await asyncio.wait_for(reader.read(1), LONG))
            except ConnectionError:
                pass
            writer.close()
        refused = b.counters.lost["too many handshakes of hosts that are not members'"]
        assert answered + refused == 40
        assert refused >= 20

    few = StrangerLimits(handshakes_per_second=1)
    made = replace(TLS4, make=lambda _, at: TcpTransport(at or "127.0.0.1:0", tls=a_tls(), strangers=few))
    tell(made, story)
