"""`send_aside`, asked of every transport in the same words: a thread speaks beside the loop, even a blocked one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from conformance.kit import KINDS, MEMORY, Kind, World, eventually, repeat_until, tell
from ringcast.transport import Endpoint, TcpTransport


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest, needs: Callable[[str], None]) -> Kind:
    if request.param.loopback == "::1":
        needs("ipv6")
    return request.param


def in_thread(act: Callable[[], bool]) -> bool:
    """Block this thread, and with it the loop, until the other one has acted."""
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(act()))
    thread.start()
    thread.join()
    return answers[0]


def test_a_frame_sent_by_a_thread_while_the_loop_is_blocked_arrives(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        await repeat_until(lambda: in_thread(lambda: a.send_aside(b.local, b"alive")), inbox, b"alive")
        assert a.counters.frames_aside >= 1

    tell(kind, story)


def test_frames_of_the_loop_and_of_the_thread_do_not_break_each_other(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        frames = [b"%04d" % number + b"x" * 900 for number in range(40)]
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(0.0005):
                a.send_aside(b.local, b"alive")

        thread = threading.Thread(target=beat)
        thread.start()
        for frame in frames:
            await repeat_until(lambda: a.send(b.local, frame), inbox, frame)  # noqa: B023
        await eventually(lambda: b"alive" in inbox.frames)
        ended.set()
        await asyncio.to_thread(thread.join)
        assert {*inbox.frames} == {*frames, b"alive"}

    tell(kind, story)


def test_the_cut_switch_holds_for_the_thread_too(kind: Kind) -> None:
    async def story(world: World) -> None:
        (a, _), (b, inbox) = await world.friends()
        a.block([b.local])
        for _ in range(3):
            in_thread(lambda: a.send_aside(b.local, b"cut"))
            await asyncio.sleep(0.01)
        a.unblock()
        await repeat_until(lambda: in_thread(lambda: a.send_aside(b.local, b"healed")), inbox, b"healed")
        assert b"cut" not in inbox.frames

    tell(kind, story)


def test_nobody_at_the_endpoint_is_no_error(kind: Kind) -> None:
    async def story(world: World) -> None:
        a, _ = await world.member()
        b, _ = await world.member()
        gone = b.local
        b.close()
        for _ in range(3):
            in_thread(lambda: a.send_aside(gone, b"anybody?"))
            await asyncio.sleep(0)
        a.close()
        if kind is not MEMORY:
            assert not a.send_aside(gone, b"closed")

    tell(kind, story)


def test_over_tcp_a_peer_that_comes_back_is_reached_again() -> None:
    async def story(world: World) -> None:
        a, _ = await world.member()
        b, inbox = await world.member()
        at = b.local
        await repeat_until(lambda: in_thread(lambda: a.send_aside(at, b"one")), inbox, b"one")
        b.close()
        again, inbox = await world.member(Endpoint(at.host, at.port))
        assert isinstance(again, TcpTransport)
        await repeat_until(lambda: in_thread(lambda: a.send_aside(at, b"two")), inbox, b"two")

    tell(Kind("tcp4", lambda _, at: TcpTransport(at or Endpoint("127.0.0.1", 0))), story)
