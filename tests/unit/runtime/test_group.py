"""The Group on an in-memory transport: waiting, cancelling, closing, order, and the words for it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from ringcast.core import Channel, Install, Reset, Unicast
from ringcast.errors import ConfigError, GroupClosed, TransportError, UsageError, WaitExpired, WindowFull
from ringcast.model import Batch, Message, ViewChange, profile
from ringcast.runtime import Group, open_fixed
from ringcast.transport import Endpoint, MemoryHub, MemoryTransport

SMALL = {"capacity": 10, "xmit_interval_ns": 2_000_000}


class World:
    """Members A, B, … of one group in this process, on one in-memory hub."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.hub = MemoryHub()
        self.stack = stack
        self.transports: dict[str, MemoryTransport] = {}

    async def open(self, *names: str, **config: Any) -> list[Group]:
        members = {name: f"mem:{name}" for name in names}
        groups = []
        for name in names:
            self.transports[name] = MemoryTransport(self.hub, name)
            group = await open_fixed(
                "g", name, members, transport=self.transports[name], config=profile("test", **config)
            )
            groups.append(await self.stack.enter_async_context(group))
        return groups


def in_world(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    """Run an async test in its own loop; the limit only turns a hang into a failure."""

    async def body() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            await test(World(stack))

    def run() -> None:
        asyncio.run(body())

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


async def read(group: Group, count: int) -> list[Message]:
    """The next `count` messages, without the view events."""
    found: list[Message] = []
    async for event in group:
        if isinstance(event, Message):
            found.append(event)
            if len(found) == count:
                break
    return found


async def until(true: Callable[[], bool]) -> None:
    """Let the loop turn until something has become true; the world's limit ends a wait in vain."""
    while not true():
        await asyncio.sleep(0.001)


@in_world
async def test_every_member_delivers_every_message_once_in_the_senders_order(world: World) -> None:
    """P01: three members, two senders of a thousand messages each."""
    groups = await world.open("A", "B", "C")

    async def send(group: Group) -> None:
        for number in range(1000):
            await group.send(b"%s %d" % (group.me.name.encode(), number))

    readers = [asyncio.create_task(read(group, 2000)) for group in groups]
    await asyncio.gather(send(groups[0]), send(groups[1]))
    for reader in readers:
        messages = await reader
        for sender in groups[:2]:
            numbers = [int(m.payload.split()[1]) for m in messages if m.sender == sender.me]
            assert numbers == list(range(1000))


@in_world
async def test_the_first_event_is_the_view(world: World) -> None:
    a, b = await world.open("A", "B")
    first = await anext(aiter(a))
    assert isinstance(first, ViewChange)
    assert first.view.members == (a.me, b.me) == a.members
    assert a.coordinator == a.me


@in_world
async def test_a_full_window_makes_send_wait_until_one_message_is_read(world: World) -> None:
    """W07: ten fit, the eleventh waits; one message read by the others lets it go on."""
    a, b = await world.open("A", "B", **SMALL, self_delivery=False)
    for number in range(10):
        await a.send(b"%d" % number)
    eleventh = asyncio.create_task(a.send(b"10"))
    await asyncio.sleep(0)
    assert not eleventh.done()
    assert [m.payload for m in await read(b, 10)] == [b"%d" % n for n in range(10)]
    await eleventh
    assert [m.payload for m in await read(b, 1)] == [b"10"]


@in_world
async def test_closing_ends_a_waiting_send_with_the_closing_error(world: World) -> None:
    """W08, P13: nobody reads, the send waits; close ends it at once, and nothing more is taken."""
    a, _, _ = await world.open("A", "B", "C", **SMALL, self_delivery=False)
    for _ in range(10):
        await a.send(b"x")
    waiting = asyncio.create_task(a.send(b"x"))
    await asyncio.sleep(0)
    await a.close()
    with pytest.raises(GroupClosed, match="'g' was closed"):
        await waiting
    with pytest.raises(GroupClosed):
        await a.send(b"x")


@in_world
async def test_a_cancelled_send_has_taken_no_seqno(world: World) -> None:
    """X3: cancel a blocked send; the next ones go out without a hole, and nobody is locked out."""
    a, b = await world.open("A", "B", **SMALL, self_delivery=False)
    for number in range(10):
        await a.send(b"%d" % number)
    cancelled = asyncio.create_task(a.send(b"never"))
    behind = asyncio.create_task(a.send(b"10"))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    payloads = [m.payload for m in await read(b, 11)]
    await behind
    assert payloads == [b"%d" % n for n in range(11)]


@in_world
async def test_waiting_senders_are_served_in_the_order_in_which_they_came(world: World) -> None:
    """W25: a hundred concurrent senders, a window of ten, one reader."""
    a, b = await world.open("A", "B", **SMALL, self_delivery=False)
    senders = [asyncio.create_task(a.send(b"%d" % number)) for number in range(100)]
    payloads = [m.payload for m in await read(b, 100)]
    await asyncio.gather(*senders)
    assert payloads == [b"%d" % number for number in range(100)]


@in_world
async def test_the_raise_policy_raises_instead_of_waiting_and_takes_nothing(world: World) -> None:
    a, b = await world.open("A", "B", **SMALL, self_delivery=False, when_full="raise")
    for number in range(10):
        await a.send(b"%d" % number)
    with pytest.raises(WindowFull, match=r"window 10/10 messages.*B#0 has acked up to 0 of 10"):
        await a.send(b"no")
    await read(b, 10)
    await a.flush()
    await a.send(b"10")
    assert [m.payload for m in await read(b, 1)] == [b"10"]


@in_world
async def test_a_send_with_a_limit_says_why_it_gave_up(world: World) -> None:
    a, _ = await world.open("A", "B", **SMALL, self_delivery=False)
    for _ in range(10):
        await a.send(b"x")
    with pytest.raises(WaitExpired, match=r"send waited 0.01 s: window 10/10"):
        await a.send(b"x", timeout=0.01)


@in_world
async def test_explain_names_who_holds_the_window_back(world: World) -> None:
    a, b, c = await world.open("A", "B", "C", **SMALL, self_delivery=False)
    for _ in range(10):
        await a.send(b"x")
    await read(b, 10)
    waiting = asyncio.create_task(a.send(b"x"))
    await until(lambda: a._node.group.outgoing.acks.get(b.me) == 10)
    text = a.explain()
    assert "send waits" in text and "C has acked up to 0 of 10" in text and "B has acked" not in text
    assert a.waiting()[0].what == "send"
    await read(c, 10)
    await waiting


@in_world
async def test_a_group_of_one_never_waits_for_itself(world: World) -> None:
    """X9, P19: ten capacities sent, without self-delivery and while reading."""
    (alone,) = await world.open("A", **SMALL, self_delivery=False)
    for _ in range(100):
        await alone.send(b"x", when_full="raise")
    (reading,) = await world.open("B", **SMALL)
    reader = asyncio.create_task(read(reading, 1000))
    for number in range(1000):
        await reading.send(b"%d" % number)
    assert [m.payload for m in await reader] == [b"%d" % n for n in range(1000)]


@in_world
async def test_own_messages_that_nobody_reads_are_bounded_and_explained(world: World) -> None:
    (alone,) = await world.open("A", **SMALL)
    for _ in range(10):
        await alone.send(b"x")
    with pytest.raises(WindowFull, match="own messages are not read yet"):
        await alone.send(b"x", when_full="raise")


@in_world
async def test_without_self_delivery_the_sender_gets_nothing_and_the_peer_everything(world: World) -> None:
    """P10: capacity 128, 200 messages not to self."""
    a, b = await world.open("A", "B", capacity=128, self_delivery=False)
    reader = asyncio.create_task(read(b, 200))
    for number in range(1, 201):
        await a.send(b"%d" % number)
    assert [int(m.payload) for m in await reader] == list(range(1, 201))
    assert [type(item) for item in a._driver.inbox] == [Install]


@in_world
async def test_flush_returns_only_after_all_have_it_and_close_ends_it_at_once(world: World) -> None:
    """P26: the first transmission is dropped; flush returns after the repair; closing ends a flush with its error."""
    a, b = await world.open("A", "B", **SMALL, self_delivery=False)
    world.transports["A"].block([Endpoint.in_memory("B")])
    await a.send(b"lost at first")
    flushing = asyncio.create_task(a.flush())
    await asyncio.sleep(0.01)
    assert not flushing.done()
    world.transports["A"].unblock()
    assert (await read(b, 1))[0].payload == b"lost at first"
    await flushing
    world.transports["A"].block([Endpoint.in_memory("B")])
    await a.send(b"never arrives")
    flushing = asyncio.create_task(a.flush(timeout=50))
    await asyncio.sleep(0)
    await a.close()
    with pytest.raises(GroupClosed):
        await flushing


@in_world
async def test_messages_above_the_frame_size_arrive_whole_and_in_order(world: World) -> None:
    """P23 and its neighbours: 5000 B in frames of 2000 B, among small ones."""
    a, b = await world.open("A", "B", capacity=64, self_delivery=False)
    wanted = [bytes([n]) * (5000 if n % 2 else 5) for n in range(20)]
    reader = asyncio.create_task(read(b, 20))
    for payload in wanted:
        await a.send(payload)
    assert [m.payload for m in await reader] == wanted
    await a.flush()
    window = a._node.group.outgoing.window
    assert window.low == window.high


@in_world
async def test_a_message_larger_than_the_window_in_bytes_waits_for_an_empty_window(world: World) -> None:
    a, b = await world.open("A", "B", capacity=64, window_bytes=4096, self_delivery=False)
    reader = asyncio.create_task(read(b, 2))
    await a.send(b"small")
    await a.send(b"L" * 20_000)
    assert [len(m.payload) for m in await reader] == [5, 20_000]


@in_world
async def test_send_many_keeps_its_order_with_single_sends_around_it(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    reader = asyncio.create_task(read(b, 1002))
    await a.send(b"first")
    await a.send_many([b"%d" % n for n in range(1000)])
    await a.send(b"last")
    payloads = [m.payload for m in await reader]
    assert payloads == [b"first", *(b"%d" % n for n in range(1000)), b"last"]


@in_world
async def test_a_list_that_a_close_interrupts_ends_with_the_closing_error(world: World) -> None:
    """What had room has filled the turn, so that the close comes just before the others."""
    a, _ = await world.open("A", "B", capacity=1_024, self_delivery=False)
    await a.send(b"first")
    await asyncio.sleep(0)
    closing = asyncio.create_task(a.close())
    half, large = bytes(a._node.largest_whole * 2 // 3), bytes(5_000)
    with pytest.raises(GroupClosed):
        await a.send_many([half, half, *[large] * 600])
    await closing


@in_world
async def test_a_list_of_large_and_small_messages_arrives_in_order_and_lets_others_have_their_turn(
    world: World,
) -> None:
    a, b = await world.open("A", "B", capacity=100, window_bytes=1 << 20, self_delivery=False)
    payloads = [b"%d." % number * (1 if number % 7 == 0 else 2_000) for number in range(60)]
    sending = asyncio.create_task(a.send_many([*payloads, bytearray(b"last")]))  # type: ignore[list-item]
    assert [message.payload for message in await read(b, 61)] == [*payloads, b"last"]
    await sending


@in_world
async def test_a_loop_of_sends_fills_its_packets_and_the_last_message_leaves_by_itself(world: World) -> None:
    """Only the first message of all leaves alone; behind a full turn the next one collects from the beginning."""
    a, b = await world.open("A", "B", capacity=10_000, window_bytes=1 << 20, frame_bytes=2_000)
    for number in range(1_000):
        await a.send(b"%0100d" % number)
    full = 1_000 * 102 // (2_000 - 300)  # a frame leaves some room for its head
    assert world.transports["A"].counters.frames_out <= full + 3
    assert [message.payload for message in await read(b, 1_000)] == [b"%0100d" % number for number in range(1_000)]


@in_world
async def test_behind_full_turns_a_single_message_leaves_at_once_again(world: World) -> None:
    a, _ = await world.open("A", "B", capacity=10_000, window_bytes=1 << 20, frame_bytes=2_000)
    for _ in range(100):
        await a.send(bytes(100))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    before = world.transports["A"].counters.frames_out
    await a.send(b"alone")
    assert world.transports["A"].counters.frames_out == before + 1


@in_world
async def test_what_was_accepted_waits_if_the_room_is_gone_at_the_end_of_the_turn(world: World) -> None:
    """A roll call may begin between `send` and the end of its turn of the loop: nothing goes out behind the cut."""
    a, b = await world.open("A", "B", **SMALL, self_delivery=False)
    for number in range(5):
        await a.send(b"%d" % number)  # the first leaves at once, the others at the end of the turn
    taken = a._node.space().slots
    a._driver.execute(a._node.send(a._driver.now_ns(), [b"x"] * taken, [1] * taken))
    reading = asyncio.create_task(read(b, 6 + taken))
    await a.send(b"5")
    assert [m.payload for m in await reading] == [b"0", *[b"x"] * taken, b"1", b"2", b"3", b"4", b"5"]
    await a.flush()


@in_world
async def test_a_message_to_a_subset_reaches_only_its_members_in_order(world: World) -> None:
    """O11 (group form): a peer named twice gets one message; the sender may be among the receivers."""
    a, b, c = await world.open("A", "B", "C")
    numbers = [b"%d" % number for number in range(50)]
    reading = [asyncio.create_task(read(group, count)) for group, count in ((a, 51), (b, 51), (c, 1))]
    for number in numbers:
        await a.send(number, to=[b.me, b.me, a.me])
    await a.send(b"for all")
    at_a, at_b, at_c = await asyncio.gather(*reading)
    assert [m.payload for m in at_b if m.private] == [m.payload for m in at_a if m.private] == numbers
    assert [m.payload for m in (*at_a, *at_b, *at_c) if not m.private] == [b"for all"] * 3
    await a.flush()


@in_world
async def test_private_messages_that_nobody_reads_make_their_sender_wait(world: World) -> None:
    a, b = await world.open("A", "B", stream_capacity=5)
    for receiver in (a, b):
        for _ in range(5):
            await a.send(b"x", to=[receiver.me])
        with pytest.raises(WindowFull):
            await a.send(b"x", to=[receiver.me], when_full="raise")


@in_world
async def test_a_private_message_that_no_stream_can_hold_is_refused(world: World) -> None:
    a, b = await world.open("A", "B", stream_capacity=3)
    nbytes = 4 * a._node.largest_whole
    with pytest.raises(UsageError, match=rf"{nbytes} bytes needs 4 packets, stream_capacity is 3"):
        await a.send(b"x" * nbytes, to=[b.me])
    await a.send(b"x" * nbytes)  # to everybody there is room


@in_world
async def test_batches_carry_runs_of_one_sender(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    await a.send_many([b"x"] * 40)
    seen = 0
    async for event in b.batches():
        if isinstance(event, Batch):
            assert event.sender == a.me
            seen += len(event.payloads)
            if seen == 40:
                break


@in_world
async def test_mistakes_of_the_caller_are_named_and_touch_nothing(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    with pytest.raises(UsageError, match="payload must be bytes, got str"):
        await a.send("text")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="above max_message_bytes"):
        await a.send(b"x" * (a._config.max_message_bytes + 1))
    with pytest.raises(UsageError, match="not in the view"):
        await a.send(b"x", to=[b.me._replace(name="Z")])
    reader = asyncio.create_task(read(a, 1))
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="another task is reading"):
        async for _ in a.batches():
            pass
    reader.cancel()
    await a.send(bytearray(b"fine"))  # type: ignore[arg-type]
    assert [m.payload for m in await read(b, 1)] == [b"fine"]


@in_world
async def test_a_peer_whose_address_points_nowhere_is_dropped_and_counted(world: World) -> None:
    a, _ = await world.open("A", "B")
    stranger = a.me._replace(name="Z", endpoint="nonsense")
    a._driver.execute([Unicast(stranger, Reset(Channel.PEER, 1))])
    assert a.drops["an address without a usable endpoint"] == 1


@in_world
async def test_a_bad_member_list_is_refused_with_a_sentence(world: World) -> None:
    with pytest.raises(ConfigError, match="member 'Z' is not among A, B"):
        await open_fixed("g", "Z", {"A": "mem:A", "B": "mem:B"}, transport=MemoryTransport(world.hub, "Z"))
    with pytest.raises(ConfigError, match="without spaces"):
        await open_fixed("my group", "A", {"A": "mem:A"}, transport=MemoryTransport(world.hub, "A"))
    with pytest.raises(TransportError, match="unknown host"):
        await open_fixed("g", "A", {"A": "no.such.host.invalid:1"}, transport=MemoryTransport(world.hub, "A"))


@in_world
async def test_what_was_delivered_before_the_close_can_still_be_read(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    await a.send(b"before")
    await until(lambda: len(b._driver.inbox) == 2)
    await b.close()
    assert [e.payload async for e in b if isinstance(e, Message)] == [b"before"]


class Narrow(MemoryTransport):
    """A kernel that gives less than it is asked for."""

    @property
    def receive_buffer(self) -> int:
        return 20_000


@pytest.mark.parametrize("kind", [MemoryTransport, Narrow])
def test_who_waits_for_bytes_is_told_that_the_kernel_gave_a_small_buffer_and_how_to_raise_it(
    kind: type[MemoryTransport],
) -> None:
    @in_world
    async def story(world: World) -> None:
        places = {name: f"mem:{name}" for name in "AB"}
        config = profile("test", capacity=4096, window_bytes=20_000, receive_buffer_bytes=1 << 20, self_delivery=False)
        for name in "BA":
            opened = await open_fixed("g", name, places, transport=kind(world.hub, name), config=config)
            a = await world.stack.enter_async_context(opened)
        waiting = asyncio.create_task(a.send_many([bytes(1_000)] * 200))
        await until(lambda: bool(a.waiting()))
        said = "the kernel gave this member 20000 of 1048576 bytes (sysctl net.core.rmem_max=1048576" in a.explain()
        assert said is (kind is Narrow)
        waiting.cancel()

    story()
