"""A frame, a deadline or an effect that raises ends a member's place, not its process, and is said with its sender."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from ringcast import TOTAL, Group, Order, join
from ringcast.core import Loose
from ringcast.core.control import Hello
from ringcast.model import Message, Rejoin, profile
from ringcast.runtime.driver import Driver
from ringcast.transport import MemoryHub, MemoryTransport
from ringcast.wire import Codec

LIMIT_S = 60  # only turns a hang into a failure


def with_two(test: Callable[[Group, Group], Awaitable[None]]) -> None:
    async def body() -> None:
        async with asyncio.timeout(LIMIT_S), AsyncExitStack() as stack:
            hub = MemoryHub()
            groups = []
            for name in "AB":
                transport = MemoryTransport(hub, name)
                joining = join(
                    "g", name=name, transport=transport, seeds=("mem:A",), config=profile("test"), inspect=False
                )
                groups.append(await stack.enter_async_context(joining))
            await groups[0].wait_for(2)
            await test(*groups)

    asyncio.run(body())


async def rejoined(group: Group) -> str:
    async for event in group:
        if isinstance(event, Rejoin):
            return event.why
    raise AssertionError("the group ended")


async def still_works(a: Group, b: Group) -> None:
    await b.wait_for(2)
    await a.wait_for(2)
    await a.send(b"again")
    async for event in b:
        if isinstance(event, Message) and event.payload == b"again":
            return


def breaking(driver: Driver, name: str) -> None:
    """The next call of the node raises, in the middle of whatever it does."""
    node: Any = driver.node
    whole = getattr(node, name)

    def broken(*args: Any) -> Any:
        setattr(node, name, whole)
        raise ZeroDivisionError("a mistake of ours")

    setattr(node, name, broken)


@pytest.mark.parametrize("name", ["on_packet", "on_time", "flush"])
def test_a_member_whose_state_may_be_half_changed_gives_up_its_place_and_comes_back(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(a: Group, b: Group) -> None:
        loop_errors: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: loop_errors.append(context))
        was = b.me
        breaking(b._driver, name)
        sending = asyncio.create_task(a.send(b"whatever", order=TOTAL if name == "flush" else Order.FIFO))
        assert "a mistake of ours" in await rejoined(b)
        await still_works(a, b)
        await sending
        assert b.me.incarnation > was.incarnation
        assert loop_errors == [], "nothing reached the loop"

    with caplog.at_level(logging.ERROR, "ringcast"):
        with_two(story)
    assert any("could not be dealt with" in record.message for record in caplog.records)


def test_a_fault_before_the_first_view_is_said_and_the_join_goes_on() -> None:
    async def body() -> None:
        async with asyncio.timeout(LIMIT_S):
            hub = MemoryHub()
            transport = MemoryTransport(hub, "B")
            joining = join("g", name="B", transport=transport, seeds=("mem:A",), config=profile("test"), inspect=False)
            joins = asyncio.ensure_future(joining._enter())
            while joining._place.entry.driver is None:
                await asyncio.sleep(0.001)
            driver = joining._place.entry.driver
            breaking(driver, "on_packet")
            other = driver.node.me._replace(name="X")
            driver.on_frames([Codec("g", other).encode(Loose(Hello()))])
            assert driver.drops == {f"Loose of {other} raised ZeroDivisionError": 1}
            breaking(driver, "on_time")
            group = await joins
            assert group.members == (group.me,)
            await group.close()

    asyncio.run(body())


def test_a_frame_that_the_decoder_stumbles_over_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(a: Group, b: Group) -> None:
        codec: Any = b._driver._codec
        monkeypatch.setattr(codec, "_read_head", lambda frame: 1 // 0)
        frame = Codec("g", a.me).encode(Loose(Hello()))
        b._driver.on_frames([frame])
        assert b._driver.drops["a frame that cannot be read: ZeroDivisionError"] >= 1
        monkeypatch.undo()
        await still_works(a, b)

    with_two(story)
