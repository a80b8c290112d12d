"""Sending from inside the reading loop: it works up to a stated bound, and beyond it raises at once (Y07)."""

from __future__ import annotations

import asyncio

import pytest

from ringcast.errors import UsageError, WaitExpired
from ringcast.model import TOTAL, Message, Order
from ringcast.runtime import Group
from unit.runtime.test_group import World, in_world, until

SMALL = {"capacity": 16, "stream_capacity": 16}


async def serve(group: Group, requests: int, order: Order) -> None:
    """The natural way to write a server: one task, which answers what it reads."""
    async for event in group:
        if isinstance(event, Message) and event.sender != group.me:
            await group.send(b"re: " + event.payload, order=order)
            requests -= 1
            if not requests:
                return


@pytest.mark.parametrize("order", [Order.FIFO, TOTAL])
@pytest.mark.parametrize("kind", ["multicast", "ordered", "private"])
def test_answers_from_inside_the_loop_never_wait_for_themselves(order: Order, kind: str) -> None:
    """Y07: four times as many requests as the window holds, from two members at once."""

    @in_world
    async def body(world: World) -> None:
        a, b, c = await world.open("A", "B", "C", **SMALL)
        payloads = [b"%d" % number for number in range(64)]

        async def ask(group: Group) -> None:
            for payload in payloads:
                if kind == "private":
                    await group.send(payload, to=[a.me])
                else:
                    await group.send(payload, order=TOTAL if kind == "ordered" else Order.FIFO)

        async def answers(group: Group) -> int:
            found = 0
            async for event in group:
                found += isinstance(event, Message) and event.sender == a.me
                if found == 2 * len(payloads):
                    break
            return found

        reading = [asyncio.create_task(answers(group)) for group in (b, c)]
        asking = [asyncio.create_task(ask(group)) for group in (b, c)]
        async with asyncio.timeout(8):
            await serve(a, 2 * len(payloads), order)
            await asyncio.gather(*asking)
            assert await asyncio.gather(*reading) == [128, 128]
        assert a._node.group.own_unread <= 3 * 16

    body()


@pytest.mark.parametrize("order", [Order.FIFO, TOTAL])
def test_a_reader_that_only_sends_is_told_at_once(order: Order) -> None:
    """Y07: no bound is wide enough for it; the error says what to do, and what was refused was not sent."""

    @in_world
    async def body(world: World) -> None:
        (a,) = await world.open("A", **SMALL)
        await a.receive()
        sent = 0
        with pytest.raises(UsageError, match="read in one task and send in another"):
            while True:
                await a.send(b"%d" % sent, order=order)
                sent += 1
        assert 16 < sent <= 3 * 16
        found = [event for event in await a.receive_many(1000) if isinstance(event, Message)]
        assert [message.payload for message in found] == [b"%d" % number for number in range(sent)]
        await a.send(b"and on", order=order)

    body()


@in_world
async def test_another_reader_is_waited_for(world: World) -> None:
    """Two tasks read by turns: the one that sends waits until the other reads on."""
    (a,) = await world.open("A", **SMALL)
    gate = asyncio.Event()

    async def other() -> None:
        await a.receive()
        await gate.wait()
        async for _ in a:
            pass

    reading = asyncio.create_task(other())
    await asyncio.sleep(0)
    await a.send(b"0")
    assert isinstance(await a.receive(), Message)
    for number in range(16):
        await a.send(b"%d" % number)
    with pytest.raises(WaitExpired):
        await a.send(b"too much", timeout=0.05)
    waiting = asyncio.create_task(a.send(b"x"))
    gate.set()
    async with asyncio.timeout(20):
        await waiting
    reading.cancel()


@in_world
async def test_a_reader_that_was_just_started_is_waited_for(world: World) -> None:
    """It has not read yet when the send begins to wait."""
    (a,) = await world.open("A", **SMALL)
    await a.receive()

    async def read_all() -> None:
        async for _ in a:
            pass

    for number in range(16):
        await a.send(b"%d" % number)
    reading = asyncio.create_task(read_all())
    async with asyncio.timeout(20):
        for number in range(100):
            await a.send(b"%d" % number)
        await a.barrier()
    reading.cancel()


@in_world
async def test_a_barrier_of_the_only_reader_is_refused_while_something_is_unread(world: World) -> None:
    """Y07: it would wait for what its own caller has to read."""
    a, b = await world.open("A", "B", **SMALL)
    await b.receive()
    await a.send(b"x", order=TOTAL)
    await until(lambda: b._node.order.ordering.unread == 1)
    with pytest.raises(UsageError, match="read in one task and send in another"):
        await b.barrier(timeout=5)
    assert isinstance(await b.receive(), Message)
    await b.barrier(timeout=5)


PUBLISHERS = {
    "list": lambda group, count: group.send_many([b"q"] * count),
    "ordered list": lambda group, count: group.queue_many([b"q"] * count),
    "to itself": lambda group, count: _one_by_one(group, count),
}
REPLIES = {
    "plain": lambda group: group.send(b"a"),
    "ordered": lambda group: group.send(b"a", order=TOTAL),
    "to itself": lambda group: group.send(b"a", to=group.me),
}


async def _one_by_one(group: Group, count: int) -> None:
    for _ in range(count):
        await group.send(b"q", to=group.me)


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("publisher", PUBLISHERS)
def test_the_only_reader_answers_while_another_task_sends(publisher: str, reply: str) -> None:
    """Y07: whoever waits before it waits for its reading, so it goes first."""

    @in_world
    async def body(world: World) -> None:
        (a,) = await world.open("A", **SMALL)
        publishing = asyncio.create_task(PUBLISHERS[publisher](a, 100))
        left = 100
        async with asyncio.timeout(20):
            async for event in a:
                if isinstance(event, Message) and event.payload == b"q":
                    await REPLIES[reply](a)
                    left -= 1
                    if not left:
                        break
            await publishing

    body()
