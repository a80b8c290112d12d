"""The one order through the Group: awaiting, receipts, barriers, stamps, what happens when a member goes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import ringcast
from ringcast import TOTAL
from ringcast.errors import GroupClosed, UsageError, WaitExpired, WindowFull
from ringcast.model import Batch, Delivery, Message, ViewChange, profile
from ringcast.runtime import Group
from unit.runtime.test_group import SMALL, World, in_world, read, until
from unit.runtime.test_join import World as JoiningWorld
from unit.runtime.test_join import in_world as in_joining_world


@in_world
async def test_o01_thirty_tasks_at_three_members_queue_and_all_read_one_order(world: World) -> None:
    groups = await world.open("A", "B", "C")
    readers = [asyncio.create_task(read(group, 500)) for group in groups]

    async def task(group: Group, name: int) -> None:
        for number in range(50):
            await group.send(f"{name}.{number}".encode(), order=TOTAL)

    await asyncio.gather(*(task(groups[name % 3], name) for name in range(10)))
    orders = [[(m.sender, m.payload) for m in await reader] for reader in readers]
    assert orders[0] == orders[1] == orders[2] and len(set(orders[0])) == 500


@in_world
async def test_a_send_in_order_returns_when_it_has_its_place(world: World) -> None:
    a, b = await world.open("A", "B")
    readers = [asyncio.create_task(read(group, 1)) for group in (a, b)]
    await b.send(b"x", order=TOTAL)
    assert b._node.order.ordering.in_flight.finished == 1
    assert [await reader for reader in readers] == [[Message(b.me, b"x")]] * 2


@in_world
async def test_receipts_let_a_sender_go_on_and_wait_later(world: World) -> None:
    a, b = await world.open("A", "B")
    reader = asyncio.create_task(read(a, 20))
    receipts = [await b.queue(str(number).encode()) for number in range(20)]
    assert receipts[0].stamp is None
    stamps = [await receipt for receipt in receipts]
    assert stamps == sorted(stamps, key=lambda stamp: int(stamp.partition(".")[2]))
    assert stamps[0] == receipts[0].stamp and await receipts[0] == stamps[0]
    assert [m.payload for m in await reader] == [str(number).encode() for number in range(20)]


@in_world
async def test_messages_of_one_turn_share_a_tick(world: World) -> None:
    a, b = await world.open("A", "B")
    reader = asyncio.create_task(read(a, 5))
    receipts = await asyncio.gather(*(b.queue(b"x") for _ in range(5)))
    assert len({await receipt for receipt in receipts}) == 1
    await reader


@in_world
async def test_a_subset_gets_a_private_message_and_the_others_nothing(world: World) -> None:
    a, b, c = await world.open("A", "B", "C")
    reading = [asyncio.create_task(read(group, count)) for group, count in ((a, 1), (b, 2), (c, 2))]
    await a.send(b"secret", to=[b.me, c.me, b.me], order=TOTAL)
    await a.send(b"open", order=TOTAL)
    got = [await reader for reader in reading]
    assert got[0] == [Message(a.me, b"open")]
    assert got[1] == got[2] == [Message(a.me, b"secret", Delivery(private=True)), Message(a.me, b"open")]


@in_world
async def test_a_message_to_oneself_alone_is_read_in_its_place(world: World) -> None:
    a, b = await world.open("A", "B")
    reader = asyncio.create_task(read(b, 2))
    await b.send(b"to me", to=[b.me], order=TOTAL)
    await a.send(b"to all", order=TOTAL)
    assert [m.payload for m in await reader] == [b"to me", b"to all"]


@in_world
async def test_a_list_goes_in_few_batches_and_arrives_in_order(world: World) -> None:
    a, b = await world.open("A", "B", capacity=5_000, window_bytes=1 << 20)
    payloads = [f"{number}".encode() * 3 for number in range(10_000)]

    async def batches() -> list[bytes]:
        got: list[bytes] = []
        async for event in a.batches():
            if isinstance(event, Batch):
                got += event.payloads
                if len(got) == len(payloads):
                    return got
        return got

    reader = asyncio.create_task(batches())
    drain = asyncio.create_task(read(b, len(payloads)))
    await (await b.queue_many(payloads))
    assert await reader == payloads
    await drain


@in_world
async def test_a_message_larger_than_a_frame_is_ordered_too(world: World) -> None:
    a, b, c = await world.open("A", "B", "C")
    large = bytes(range(256)) * 80
    reading = [asyncio.create_task(read(group, count)) for group, count in ((a, 2), (b, 1), (c, 2))]
    await a.send(large, order=TOTAL)
    await b.send(large[::-1], to=[a.me, c.me], order=TOTAL)
    got = [[m.payload for m in await reader] for reader in reading]
    assert got == [[large, large[::-1]], [large], [large, large[::-1]]]


@in_world
async def test_a_barrier_returns_when_what_was_finished_before_has_been_read(world: World) -> None:
    """The seed's side channel: A queues, then tells C by other means; C must have read it before it goes on."""
    a, b, c = await world.open("A", "B", "C")
    got: list[bytes] = []

    async def reading() -> None:
        async for event in c:
            if isinstance(event, Message):
                got.append(event.payload)

    readers = [asyncio.create_task(reading()), asyncio.create_task(read(a, 100)), asyncio.create_task(read(b, 100))]
    for number in range(20):
        await a.send(str(number).encode(), order=TOTAL)
        await c.barrier()
        assert got[-1] == str(number).encode()
    for reader in readers:
        reader.cancel()


Handle = Callable[[bytes], Awaitable[None]]


async def in_a_loop(group: Group, handle: Handle) -> None:
    async for event in group:
        if isinstance(event, Message):
            await handle(event.payload)


async def in_a_loop_that_is_left(group: Group, handle: Handle) -> None:
    """What is handled behind the loop is not waited for: the loop was left."""
    while True:
        async for event in group:
            if isinstance(event, Message):
                await handle(event.payload)
                break


async def one_by_one(group: Group, handle: Handle) -> None:
    while True:
        event = await group.receive()
        if isinstance(event, Message):
            await handle(event.payload)


async def many_at_a_time(group: Group, handle: Handle) -> None:
    while True:
        for event in await group.receive_many(3):
            if isinstance(event, Message):
                await handle(event.payload)


async def in_any_form(group: Group, handle: Handle) -> None:
    """What was read in one form is handled when the next event is asked for in another."""
    while True:
        event = await group.receive()
        if isinstance(event, Message):
            await handle(event.payload)
        async for event in group:
            if isinstance(event, Message):
                await handle(event.payload)
                break
        async for batch in group.batches():
            if isinstance(batch, Batch):
                for payload in batch.payloads:
                    await handle(payload)
                break


async def in_batches(group: Group, handle: Handle) -> None:
    async for event in group.batches():
        if isinstance(event, Batch):
            for payload in event.payloads:
                await handle(payload)


async def batch_by_batch(group: Group, handle: Handle) -> None:
    while True:
        event = await group.receive_batch()
        if isinstance(event, Batch):
            for payload in event.payloads:
                await handle(payload)


@pytest.mark.parametrize(
    "form",
    [in_a_loop, in_a_loop_that_is_left, one_by_one, many_at_a_time, in_batches, batch_by_batch, in_any_form],
    ids=lambda form: form.__name__.replace("_", " "),
)
@pytest.mark.parametrize("stamped", [False, True], ids=["barrier", "after"])
def test_a_barrier_and_a_stamp_wait_until_what_was_read_is_handled(
    form: Callable[[Group, Handle], Awaitable[None]], stamped: bool
) -> None:
    """It returned when the last message was handed to the reader, which was still at work on it."""

    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B")
        handled: list[bytes] = []

        async def handle(payload: bytes) -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            handled.append(payload)

        readers = [asyncio.ensure_future(form(b, handle)), asyncio.create_task(read(a, 1000))]
        sent = []
        for number in range(5):
            sent += [b"%d.%d" % (number, each) for each in range(4)]
            await a.send(sent[-4], order=TOTAL)
            await (await a.queue_many(sent[-3:]))
            await (b.after(str(a._node.order.ordering.position)) if stamped else b.barrier())
            assert sorted(handled) == sorted(sent)
        for reader in readers:
            reader.cancel()

    story()


@in_world
async def test_a_barrier_does_not_wait_for_its_own_task_nor_for_a_reader_that_has_ended(world: World) -> None:
    a, b = await world.open("A", "B")
    own = asyncio.create_task(read(a, 100))
    await a.send(b"1", order=TOTAL)
    while not isinstance(await b.receive(), Message):
        pass
    await b.barrier()  # What it read itself it has handled.
    await a.send(b"2", order=TOTAL)
    await asyncio.create_task(one_message(b))
    await b.barrier()
    reading = asyncio.create_task(one_and_wait(b))
    await a.send(b"3", order=TOTAL)
    with pytest.raises(WaitExpired, match="still handles what it was given at"):
        await b.barrier(timeout=0.2)
    waiting = asyncio.create_task(b.barrier())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    reading.cancel()
    await waiting
    own.cancel()


async def one_message(group: Group) -> bytes:
    while True:
        event = await group.receive()
        if isinstance(event, Message):
            return event.payload


async def one_and_wait(group: Group) -> None:
    await one_message(group)
    await asyncio.sleep(3600)


@in_world
async def test_a_barrier_inside_the_only_reading_loop_ends_or_says_why(world: World) -> None:
    a, b = await world.open("A", "B")
    own = asyncio.create_task(read(a, 100))
    await (await a.queue_many([b"1", b"2"]))
    async for event in b:
        if isinstance(event, Message) and event.payload == b"1":
            with pytest.raises(UsageError, match="this task itself that has to read on"):
                await b.barrier()
        elif isinstance(event, Message):
            await b.barrier()
            break
    own.cancel()


@in_world
async def test_a_stamp_carried_to_another_member_makes_it_wait_until_it_has_read_as_far(world: World) -> None:
    a, b = await world.open("A", "B")
    reader = asyncio.create_task(read(a, 1))
    await a.send(b"x", order=TOTAL)
    await reader
    stamp = a.stamp()
    assert stamp == "1.1"
    waiting = asyncio.create_task(b.after(stamp))
    await asyncio.sleep(0)
    assert not waiting.done()  # B has not read it.
    assert (await read(b, 1))[0].payload == b"x"
    await waiting
    await b.after("0.0")


@in_world
async def test_what_is_no_stamp_and_what_never_comes_are_told(world: World) -> None:
    (a,) = await world.open("A")
    with pytest.raises(UsageError, match="not a stamp: 'yesterday'"):
        await a.after("yesterday")
    with pytest.raises(WaitExpired, match=r"this member has read up to 1.0"):
        await a.after("1.7", timeout=0.01)


@in_world
async def test_a_group_of_one_orders_for_itself(world: World) -> None:
    (a,) = await world.open("A", **SMALL)
    reader = asyncio.create_task(read(a, 50))
    for number in range(50):
        await a.send(str(number).encode(), order=TOTAL)
    assert len(await reader) == 50


@in_world
async def test_too_much_in_flight_waits_or_raises_and_a_cancelled_queue_has_taken_nothing(world: World) -> None:
    a, b = await world.open("A", "B", **SMALL)
    world.transports["B"].block([world.transports["A"].local])
    for _ in range(10):
        await b.queue(b"x")
    with pytest.raises(WindowFull, match="10/10 ordered messages have no place yet"):
        await b.queue(b"y", when_full="raise")
    with pytest.raises(WaitExpired, match="the coordinator is A"):
        await b.send(b"y", order=TOTAL, timeout=0.01)
    waiting = asyncio.create_task(b.queue(b"never"))
    await until(lambda: any(wait.what == "send" for wait in b.waiting()))
    waiting.cancel()
    world.transports["B"].unblock()
    reader = asyncio.create_task(read(b, 11))
    drain = asyncio.create_task(read(a, 11))
    await b.send(b"z", order=TOTAL)
    assert [m.payload for m in await reader] == [b"x"] * 10 + [b"z"]
    await drain


@in_world
async def test_closing_ends_receipts_and_waits(world: World) -> None:
    _a, b = await world.open("A", "B", **SMALL)
    world.transports["B"].block([world.transports["A"].local])
    receipt = await b.queue(b"x")
    after = asyncio.create_task(b.after("1.9"))
    await asyncio.sleep(0)
    await b.close()
    with pytest.raises(GroupClosed):
        await receipt
    with pytest.raises(GroupClosed):
        await after


@in_world
async def test_strangers_and_oversize_are_refused_in_words(world: World) -> None:
    a, _b = await world.open("A", "B", **SMALL)
    with pytest.raises(UsageError, match="not in the view"):
        await a.send(b"x", to=[ringcast.Address("Z", 0, "mem:Z")], order=TOTAL)
    with pytest.raises(UsageError, match="needs"):
        await a.send(b"x" * 100_000, order=TOTAL)


@in_joining_world
async def test_the_order_goes_on_through_joins_and_leaves(world: JoiningWorld) -> None:
    (a,) = await world.enter("A", config=profile("test", found_after_ns=1_000_000))
    b, c = await world.enter("B", "C")
    logs: dict[str, list[bytes]] = {"A": [], "B": [], "C": []}

    async def reading(name: str, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                logs[name].append(event.payload)
            else:
                assert isinstance(event, ViewChange)

    readers = [asyncio.create_task(reading(n, g)) for n, g in (("A", a), ("B", b), ("C", c))]

    async def sending(name: str, group: Group) -> None:
        for number in range(100):
            await group.send(f"{name}{number}".encode(), order=TOTAL)
            await asyncio.sleep(0.001)

    senders = [asyncio.create_task(sending("B", b)), asyncio.create_task(sending("C", c))]
    (d,) = await world.enter("D")
    readers.append(asyncio.create_task(reading("D", d)))
    logs["D"] = []
    await a.leave()  # the coordinator
    await asyncio.gather(*senders)
    await asyncio.gather(b.barrier(), c.barrier(), d.barrier())
    assert logs["B"] == logs["C"] and len(logs["B"]) == 200
    assert logs["B"][-len(logs["D"]) :] == logs["D"]
    assert logs["B"][: len(logs["A"])] == logs["A"]
    for reader in readers:
        reader.cancel()
