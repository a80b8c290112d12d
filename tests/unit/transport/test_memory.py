import asyncio

from ringcast.transport import MemoryHub, MemoryTransport


def test_an_inbox_never_holds_more_than_its_bound_but_one_frame_always_fits() -> None:
    async def story() -> None:
        hub, got = MemoryHub(), list[list[bytes]]()
        a = MemoryTransport(hub, "A")
        b = MemoryTransport(hub, "B", inbox_bytes=100)
        await a.open(got.append)
        await b.open(got.append)
        assert a.cast([b.local], [bytes(60)] * 3) == 1
        await asyncio.sleep(0)
        assert a.send(b.local, bytes(500))
        assert not a.send(b.local, b"")
        await asyncio.sleep(0)
        assert got == [[bytes(60)], [bytes(500)]]

    asyncio.run(story())


def test_a_frame_is_never_handed_over_inside_the_senders_call() -> None:
    async def story() -> None:
        hub, got = MemoryHub(), list[list[bytes]]()
        a = MemoryTransport(hub, "A")
        await a.open(got.append)
        a.cast([a.local], [b"to", b"myself"])
        assert got == []
        await asyncio.sleep(0)
        assert got == [[b"to", b"myself"]]

    asyncio.run(story())


def test_a_sender_that_waits_for_a_receiver_which_closes_is_told() -> None:
    async def story() -> None:
        hub, told = MemoryHub(), asyncio.Event()
        a, b = MemoryTransport(hub, "A"), MemoryTransport(hub, "B", inbox_bytes=10)
        await a.open(lambda frames: None)
        await b.open(lambda frames: None)
        a.on_writable = told.set
        assert a.cast([b.local], [bytes(10)] * 2) == 1
        b.close()
        await asyncio.wait_for(told.wait(), 30)
        assert a.cast([b.local], [bytes(10)]) == 1
        assert a.counters.lost == {"nobody at that endpoint": 1}

    asyncio.run(story())
