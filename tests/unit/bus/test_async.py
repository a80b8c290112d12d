"""The asyncio forms: waiting without blocking the loop, cancel-safe."""

import asyncio
import threading

import pytest

from ringcast.bus import BusFull, Detached, LocalBus, Message, PeerLeft, SharedBus

Bus = LocalBus | SharedBus
LONGEST = (1 << 14) - 52


def payloads(items: list[Message | PeerLeft]) -> list[bytes]:
    return [item.payload for item in items if isinstance(item, Message)]


def test_a_waiting_task_is_woken_by_a_message_from_another_thread(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")

    async def story() -> Message | PeerLeft:
        waiting = asyncio.create_task(b.adequeue())
        await asyncio.sleep(0)
        threading.Thread(target=a.queue, args=(b"hello",), kwargs={"to": "b"}).start()
        return await waiting

    assert payloads([asyncio.run(story())]) == [b"hello"]


def test_a_full_ring_makes_the_task_wait_until_the_reader_made_room(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"x" * LONGEST, to="b")

    async def story() -> list[Message | PeerLeft]:
        sending = asyncio.create_task(a.aqueue(b"y", to="b"))
        await asyncio.sleep(0)
        assert not sending.done()
        first = await b.adequeue()
        await sending
        return [first, await b.adequeue()]

    assert payloads(asyncio.run(story())) == [b"x" * LONGEST, b"y"]


def test_a_long_batch_flows_through_a_small_ring(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    sent = [str(i).encode() * 50 for i in range(2000)]

    async def story() -> list[bytes]:
        sending = asyncio.create_task(a.aqueue_many(sent, to="b"))
        got: list[bytes] = []
        while len(got) < len(sent):
            got += payloads(await b.adequeue_many(100))
        await sending
        return got

    assert asyncio.run(story()) == sent


def test_a_cancelled_read_takes_nothing(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")

    async def story() -> list[bytes]:
        reading = asyncio.create_task(b.adequeue())
        await asyncio.sleep(0)
        a.queue(b"kept", to="b")
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return payloads(b.dequeue_many(timeout=0))

    assert asyncio.run(story()) == [b"kept"]


def test_a_cancelled_send_queues_nothing_x3(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"x" * LONGEST, to="b")

    async def story() -> list[bytes]:
        sending = asyncio.create_task(a.aqueue(b"never", to="b"))
        await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        b.dequeue()
        await a.aqueue(b"next", to="b")
        return payloads(b.dequeue_many(timeout=0))

    assert asyncio.run(story()) == [b"next"]


def test_a_cancelled_barrier_gives_back_what_it_took(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")
    a.queue(b"1", to="b")
    with pytest.raises(BusFull):
        while True:
            b.queue(b"x" * 1000, to="b", policy="raise")

    async def story() -> list[bytes]:
        barrier = asyncio.create_task(b.abarrier())
        barrier.cancel()
        with pytest.raises(asyncio.CancelledError):
            await barrier
        return payloads(await b.abarrier())

    assert asyncio.run(story())[0] == b"1"


def test_two_tasks_may_read_one_peer_and_each_message_goes_to_one(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")

    async def story() -> list[bytes]:
        reading = [asyncio.create_task(b.adequeue()) for _ in range(2)]
        await asyncio.sleep(0)
        a.queue(b"1", to="b")
        a.queue(b"2", to="b")
        return sorted(payloads(await asyncio.gather(*reading)))

    assert asyncio.run(story()) == [b"1", b"2"]


def test_iteration_and_context_managers(bus: Bus) -> None:
    a = bus.attach("a")

    async def story() -> list[bytes]:
        async with bus.attach("b") as b:
            a.queue_many([b"1", b"2"], to="b")
            got = []
            async for item in b:
                got += payloads([item])
                if len(got) == 2:
                    return got
        raise AssertionError

    assert asyncio.run(story()) == [b"1", b"2"]
    assert isinstance(next(iter(a)), PeerLeft)


def test_waiting_for_a_peer_ends_when_it_attaches(bus: Bus) -> None:
    a = bus.attach("a")

    async def story() -> list[str]:
        waiting = asyncio.create_task(a.await_for("a", "late"))
        await asyncio.sleep(0)
        late = bus.attach("late")
        await waiting
        return late.names()

    assert asyncio.run(story()) == ["a", "late"]


def test_detaching_ends_a_waiting_task_with_words(bus: Bus) -> None:
    a = bus.attach("a")

    async def story() -> None:
        waiting = asyncio.create_task(a.adequeue())
        await asyncio.sleep(0)
        a.detach()
        with pytest.raises(Detached, match="peer 'a' of bus 'test' was detached"):
            await waiting

    asyncio.run(story())


def test_detaching_in_another_thread_ends_a_waiting_task_too(bus: Bus) -> None:
    a = bus.attach("a")

    async def story() -> None:
        waiting = asyncio.create_task(a.adequeue())
        await asyncio.sleep(0)
        await asyncio.to_thread(a.detach)
        with pytest.raises(Detached):
            await waiting

    asyncio.run(story())


def test_a_peer_may_move_from_one_event_loop_to_the_next(bus: Bus) -> None:
    a, b = bus.attach("a"), bus.attach("b")

    async def story(payload: bytes) -> Message | PeerLeft:
        waiting = asyncio.create_task(b.adequeue())
        await asyncio.sleep(0)
        threading.Thread(target=a.queue, args=(payload,), kwargs={"to": "b"}).start()
        return await waiting

    assert payloads([asyncio.run(story(b"1")), asyncio.run(story(b"2"))]) == [b"1", b"2"]
