"""What a send's answer says is true: raised or cancelled is not sent, returned is sent, and nobody waits for others."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from ringcast import TOTAL
from ringcast.errors import GroupClosed, NotMember, PlaceLost, RingcastError, UsageError, WaitExpired, WindowFull
from ringcast.model import Batch, Kind, profile
from ringcast.runtime import Group, forms, open_fixed
from ringcast.sim import Link
from ringcast.testing import World as VirtualWorld
from ringcast.trace import read_run
from ringcast.transport import Endpoint, MemoryHub, MemoryTransport
from unit.runtime.test_group import SMALL, World, in_world, until
from unit.runtime.test_join import World as JoiningWorld
from unit.runtime.test_join import exclude, three
from unit.runtime.test_join import in_world as in_joining_world

LARGE = 12_000  # in frames of 2,000 bytes: eight packets


@pytest.fixture(autouse=True, params=[pytest.param("native", marks=pytest.mark.needs("native")), "python"])
def simple_forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything here holds with the simple forms in C and without."""
    if request.param == "python":
        monkeypatch.setattr(forms, "native", None)


@asynccontextmanager
async def reading(group: Group) -> AsyncIterator[list[bytes]]:
    """Everything that this member reads, as it comes."""
    got: list[bytes] = []

    async def read() -> None:
        async for event in group.batches():
            if isinstance(event, Batch):
                got.extend(event.payloads)

    task = asyncio.create_task(read())
    try:
        yield got
    finally:
        task.cancel()


async def waits_in_send(group: Group, count: int = 1) -> None:
    await until(lambda: [wait.what for wait in group.waiting()].count("send") == count)


# ---- cancelling


@pytest.mark.parametrize("seed", range(10))
def test_y03_a_fifo_send_that_was_cancelled_at_any_moment_was_not_sent(seed: int) -> None:
    """Small turns, small windows, large and private messages among them, a reader that stops now and then."""
    random = Random(seed)

    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B", **SMALL | {"capacity": 32}, frame_bytes=700, self_delivery=False)
        async with reading(b) as got:
            sent: list[bytes] = []
            for number in range(200):
                payload = b"%d " % number + b"." * random.choice([3, 100, 300, 2_000])
                to = random.choice([None, None, None, [b.me]])
                task = asyncio.create_task(a.send(payload, to=to))
                for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    await task
                except asyncio.CancelledError:
                    continue
                sent.append(payload)
            await a.flush()
            assert sorted(got) == sorted(sent) and 0 < len(sent) < 200

    story()


@in_world
async def test_y03_a_loop_of_sends_that_is_cancelled_while_its_turn_is_full_has_sent_what_returned(
    world: World,
) -> None:
    a, b = await world.open("A", "B", capacity=10_000, window_bytes=1 << 20, frame_bytes=700, self_delivery=False)
    returned = 0

    async def send() -> None:
        nonlocal returned
        while True:
            await a.send(b"%0100d" % returned)
            returned += 1

    async with reading(b) as got:
        for turns in range(100):
            task = asyncio.create_task(send())
            for _ in range(turns % 5):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        await a.flush()
        assert got == [b"%0100d" % number for number in range(returned)]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_y03_a_list_that_was_cancelled_or_expired_says_how_many_were_sent(seed: int, large: bool) -> None:
    random = Random(f"{seed} {large}")

    @in_world
    async def story(world: World) -> None:
        a, b = await world.open("A", "B", **SMALL | {"capacity": 32}, frame_bytes=700, self_delivery=False)
        wanted: list[bytes] = []
        async with reading(b) as got:
            for round_ in range(20):
                payloads = [b"%d.%d" % (round_, n) + b"." * (n % 3 * 900 if large else n % 7) for n in range(100)]
                task = asyncio.create_task(a.send_many(payloads))
                for _ in range(random.randrange(8)):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    await task
                    wanted += payloads
                except asyncio.CancelledError as error:
                    wanted += payloads[: getattr(error, "sent", 0)]
            await a.flush()
            assert got == wanted

    story()


@in_world
async def test_y03_a_list_that_reaches_its_limit_or_a_close_says_how_many_were_sent(world: World) -> None:
    a, _ = await world.open("A", "B", **SMALL, self_delivery=False)
    with pytest.raises(WaitExpired) as expired:
        await a.send_many([b"x"] * 25, timeout=0.01)
    assert expired.value.sent == 10
    waiting = asyncio.create_task(a.send_many([b"x"] * 25))
    await waits_in_send(a)
    await a.close()
    with pytest.raises(GroupClosed) as closed:
        await waiting
    assert closed.value.sent == 0


def test_y03_a_cancelled_ordered_send_is_not_sent_while_it_waits_for_room_and_sent_afterwards(tmp_path: Path) -> None:
    """And the recording shows which."""
    asyncio.run(asyncio.wait_for(_ordered_sends_that_end_early(tmp_path), 60))
    (recording,) = read_run([tmp_path])
    events = list(recording.events)
    ends = [event for event in events if event.kind is Kind.WAIT_END]
    starts = [event for event in events if event.kind is Kind.QUEUE_START]
    assert [end.detail for end in ends if end.detail != {"how": "done"}] == [
        {"how": "cancelled", "sent": True},
        {"how": "limit", "sent": True},
        {"how": "cancelled", "sent": False},
        {"how": "limit", "sent": False},
    ]
    assert sum(start.count for start in starts) == 10


async def _ordered_sends_that_end_early(record: Path) -> None:
    hub, members = MemoryHub(), {"A": "mem:A", "B": "mem:B"}
    transports = {name: MemoryTransport(hub, name) for name in members}
    config = profile("test", **SMALL)
    async with (
        await open_fixed("g", "A", members, transport=transports["A"], config=config) as a,
        await open_fixed("g", "B", members, transport=transports["B"], config=config, record=record) as b,
    ):
        transports["B"].block([Endpoint.in_memory("A")])
        accepted = asyncio.create_task(b.send(b"0", order=TOTAL))
        await waits_in_send(b)
        accepted.cancel()
        await asyncio.wait([accepted])
        with pytest.raises(WaitExpired, match="the message is sent") as expired:
            await b.send(b"1", order=TOTAL, timeout=0.01)
        assert expired.value.sent is True
        for number in range(2, 10):
            await b.queue(b"%d" % number)
        refused = asyncio.create_task(b.send(b"never", order=TOTAL))
        await waits_in_send(b)
        refused.cancel()
        await asyncio.wait([refused])
        with pytest.raises(WaitExpired) as expired:
            await b.send(b"never", order=TOTAL, timeout=0.01)
        assert expired.value.sent is False
        async with reading(a) as got, reading(b):
            transports["B"].unblock()
            await b.flush()
            assert got == [b"%d" % number for number in range(10)]


# ---- waking


def test_a_message_is_not_accepted_into_room_that_an_ordered_one_has_taken() -> None:
    """Simulated seed 400567: it was, stood in the outbox, and never left, for the side lost its majority."""

    async def story() -> None:
        hub, members = MemoryHub(), {"A": "mem:A", "B": "mem:B"}
        transports, config = {name: MemoryTransport(hub, name) for name in members}, profile("test", capacity=2)
        async with (
            await open_fixed("g", "A", members, transport=transports["A"], config=config) as a,
            await open_fixed("g", "B", members, transport=transports["B"], config=config) as b,
        ):
            transports["A"].block([Endpoint.in_memory("B")])
            await a.queue(b"ordered")
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # It has left, with the turn of the loop in which it was queued.
            await a.send(b"plain")
            waiting = asyncio.create_task(a.send(b"no room"))
            await waits_in_send(a)
            async with reading(a), reading(b):
                transports["A"].unblock()
                await waiting
                await a.flush()

    asyncio.run(story())


class Refusing(MemoryTransport):
    """A socket that is full until `room` is true."""

    room = False

    def cast(self, peers: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        return super().cast(peers, frames) if self.room else 0


def test_a_send_that_waits_for_the_socket_is_woken_when_it_is_writable() -> None:
    async def story() -> None:
        hub, members = MemoryHub(), {"A": "mem:A", "B": "mem:B"}
        socket = Refusing(hub, "A")
        async with (
            await open_fixed("g", "A", members, transport=socket, config=profile("test")) as a,
            await open_fixed("g", "B", members, transport=MemoryTransport(hub, "B"), config=profile("test")) as b,
        ):
            await a.send(b"refused")
            await asyncio.sleep(0)
            waiting = asyncio.create_task(a.send(b"waits"))
            await waits_in_send(a)
            socket.room = True
            assert socket.on_writable is not None
            socket.on_writable()
            await waiting
            async with reading(b) as got, reading(a):
                await a.flush()
                assert got == [b"refused", b"waits"]

    asyncio.run(story())


@in_world
async def test_y04_a_message_in_pieces_that_waits_for_own_unread_messages_is_sent_when_they_are_read(
    world: World,
) -> None:
    a, b = await world.open("A", "B", capacity=16)
    async with reading(b) as got:
        for _ in range(12):
            await a.send(b"x")
        large = asyncio.create_task(a.send(b"L" * LARGE))
        behind = [asyncio.create_task(a.send(b"behind")) for _ in range(20)]
        await waits_in_send(a, 21)
        await a.flush()
        assert "own messages are not read yet" in a.explain() and "needs 8 places at once" in a.explain()
        async with reading(a):
            await asyncio.gather(large, *behind)
            await a.flush()
        assert got == [b"x"] * 12 + [b"L" * LARGE] + [b"behind"] * 20


@in_world
async def test_y04_an_ordered_message_in_pieces_is_woken_too(world: World) -> None:
    a, b = await world.open("A", "B", capacity=16)
    async with reading(b) as got:
        for _ in range(12):
            await a.send(b"x")
        large = asyncio.create_task(a.send(b"L" * LARGE, order=TOTAL))
        await waits_in_send(a)
        await a.flush()
        async with reading(a):
            await large
        await until(lambda: len(got) == 13)


@pytest.mark.parametrize("order", ["fifo", "total"])
@pytest.mark.parametrize("capacity", [4, 10])
def test_y05_a_large_send_that_waits_when_the_window_shrinks_is_sent_in_it_or_raises(capacity: int, order: str) -> None:
    """Eight packets do not fit a window of four; in one of ten they do. Nothing behind it is stranded."""

    @in_joining_world
    async def story(world: JoiningWorld) -> None:
        a, b = await world.enter("A", "B", config=profile("test", self_delivery=False))
        options = {"order": TOTAL} if order == "total" else {}
        for _ in range(a._config.capacity - 4):
            await a.send(b"x")
        large = asyncio.create_task(a.send(b"L" * LARGE, **options))  # type: ignore[arg-type]
        behind = asyncio.create_task(a.send(b"behind", **options))  # type: ignore[arg-type]
        await waits_in_send(a, 2)
        (c,) = await world.enter("C", config=profile("test", self_delivery=False, capacity=capacity))
        await until(lambda: a._node.group.capacity == capacity)
        if capacity < 8:
            with pytest.raises(UsageError, match=rf"needs .*packets.* {capacity}.* in view .*nothing was sent"):
                await large
        async with reading(b) as got, reading(c):
            await behind
            await asyncio.wait([large])
            await a.flush()
            await until(lambda: got[-1:] == [b"behind"])
            assert got == [b"x"] * (a._config.capacity - 4) + [b"L" * LARGE] * (capacity > 8) + [b"behind"]

    story()


@in_world
async def test_senders_that_wait_go_on_together_and_share_packets(world: World) -> None:
    """A thousand tasks with a message each: the turns of the loop are full, the packets too, the order stays."""
    a, b = await world.open("A", "B", capacity=2_000, window_bytes=1 << 20, frame_bytes=2_000, self_delivery=False)
    async with reading(b) as got:
        await asyncio.gather(*(a.send(b"%0100d" % number) for number in range(1_000)))
        assert world.transports["A"].counters.frames_out <= 1_000 * 102 // 1_700 + 20
        await a.flush()
        assert got == [b"%0100d" % number for number in range(1_000)]


@in_world
async def test_a_turn_of_the_loop_is_no_wait_and_no_reason_to_raise(world: World) -> None:
    a, _ = await world.open("A", "B", capacity=1_000, window_bytes=1 << 20, frame_bytes=700, self_delivery=False)
    await asyncio.gather(*(a.send(b"%0100d" % number, when_full="raise", timeout=0) for number in range(900)))
    assert a._node.group.outgoing.window.high == 900


@in_world
async def test_a_list_behind_a_full_turn_waits_for_one_turn_of_the_loop(world: World) -> None:
    a, b = await world.open("A", "B", self_delivery=False)
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(count)

    async with reading(b) as got:
        await a.send_many([b"first"])
        count()
        for _ in range(5):
            before = turns
            await a.send_many([b"one", b"two"])
            assert turns == before + 1
        await until(lambda: len(got) == 11)


# ---- a line for each destination


@in_world
async def test_y06_a_peer_that_does_not_read_delays_only_what_is_for_it_and_is_named(world: World) -> None:
    a, b, c, d = await world.open("A", "B", "C", "D", self_delivery=False)
    async with reading(c) as got, reading(d):
        for _ in range(a._config.stream_capacity):
            await a.send(b"to B", to=[b.me])
        stuck = [asyncio.create_task(a.send(b"%d" % n, to=to)) for n, to in enumerate([[b.me], [b.me, d.me]])]
        await waits_in_send(a, 2)
        for _ in range(3 * a._config.stream_capacity):
            await a.send(b"to C", to=[c.me])
        await a.send(b"to all")
        await a.send(b"large " * 1_000)
        await a.send(b"in order", to=[c.me], order=TOTAL)
        await until(lambda: len(got) == 3 * a._config.stream_capacity + 3)
        first, second = a.waiting()
        assert "the stream to B#0 holds 32/32 messages" in first.because and "B#0 has" not in second.because
        assert "application of B#0 reads on" in first.freed_by and "B#0" in second.because
        async with reading(b) as late:
            await asyncio.gather(*stuck)
            await until(lambda: len(late) == a._config.stream_capacity + 4)
    assert [payload for payload in late if payload in (b"0", b"1")] == [b"0", b"1"]


@in_world
async def test_y06_an_ordered_send_to_some_names_the_peer_whose_stream_is_full(world: World) -> None:
    a, b, c = await world.open("A", "B", "C", self_delivery=False)
    for _ in range(a._config.stream_capacity):
        await a.send(b"x", to=[b.me])
    ordered = asyncio.create_task(a.queue(b"y", to=[b.me, c.me]))
    await waits_in_send(a)
    assert "the stream to B holds 32/32 messages" in a.explain() and "stream to C" not in a.explain()
    async with reading(b), reading(c):
        await (await ordered)


@in_world
async def test_private_messages_to_oneself_wait_in_a_line_of_their_own(world: World) -> None:
    a, b = await world.open("A", "B")
    for _ in range(a._config.stream_capacity):
        await a.send(b"note", to=[a.me])
    one_more = asyncio.create_task(a.send(b"note", to=[a.me]))
    await waits_in_send(a)
    assert "32 private messages of this member to itself are not read yet" in a.explain()
    await a.send(b"to B", to=[b.me])
    await a.send(b"to all")
    async with reading(a):
        await one_more


@in_joining_world
async def test_whoever_waits_for_somebody_who_left_is_told_although_others_wait_before_it(world: JoiningWorld) -> None:
    a, b, c = await three(world)
    for _ in range(a._config.stream_capacity):
        await a.send(b"x", to=[b.me])
    before = asyncio.create_task(a.send(b"x", to=[b.me]))
    behind = asyncio.create_task(a.send(b"x", to=[b.me, c.me]))
    await waits_in_send(a, 2)
    await c.leave()
    with pytest.raises(NotMember, match=r"C#.* not in the view"):
        await behind
    assert not before.done()
    async with reading(b):
        await before


@in_world
async def test_the_raise_policy_asks_for_the_destination_only(world: World) -> None:
    a, b, c = await world.open("A", "B", "C", self_delivery=False)
    for _ in range(a._config.stream_capacity):
        await a.send(b"x", to=[b.me])
    waiting = asyncio.create_task(a.send(b"x", to=[b.me]))
    await waits_in_send(a)
    with pytest.raises(WindowFull, match="the stream to B") as full:
        await a.send(b"x", to=[b.me, c.me], when_full="raise")
    assert full.value.sent is False
    await a.send(b"x", to=[c.me], when_full="raise")
    await a.send(b"x", when_full="raise")
    waiting.cancel()


# ---- one budget of time for a call


class Silent:
    """Joins and reads nothing unless it is told to."""

    async def run(self, group: Group) -> None:
        self.group = group
        await asyncio.Event().wait()


SLOW = Link(delay_ns=300_000_000)
FAR = profile(
    "test",
    **{name: getattr(profile("wan"), name) for name in ("suspect_after_ns", "verify_ns", "resumer_ns", "merge_ns")},
    **{name: getattr(profile("wan"), name) for name in ("fill_ns", "roll_call_ns", "merge_ask_ns", "stall_limit_ns")},
    capacity=2,
)


def test_a_limit_is_for_the_whole_call_of_an_ordered_send_and_of_a_barrier() -> None:
    """Three ways of 0.3 s for a place in the order, and only two messages may be in flight."""
    with VirtualWorld(Silent, 2, link=SLOW, config=FAR, bound=60) as world:
        b = world.apps["B"].group

        async def taken(call: object) -> tuple[float, RingcastError]:
            began = asyncio.get_running_loop().time()
            with pytest.raises(WaitExpired) as expired:
                await call  # type: ignore[misc]
            return asyncio.get_running_loop().time() - began, expired.value

        async def story() -> None:
            async with reading(b):
                before = [await b.queue(b"x") for _ in range(2)]
                seconds, error = await taken(b.send(b"third", order=TOTAL, timeout=1.0))
                assert seconds == pytest.approx(1.0, abs=0.001) and error.sent is True
                assert all([await receipt for receipt in before])
                await b.barrier()
            await b.send(b"unread", order=TOTAL)
            seconds, error = await taken(b.barrier(timeout=1.0))
            assert seconds == pytest.approx(1.0, abs=0.001) and "has read up to" in str(error)

        async def read_on(group: Group) -> None:
            async for _ in group.batches():
                pass

        world.spawn("A", read_on(world.apps["A"].group))
        world.do("B", story())
        world.spawn("B", read_on(b))


@in_world
async def test_a_send_behind_a_full_turn_that_finds_no_room_is_a_wait_with_its_limit(world: World) -> None:
    """The list takes the turn and the whole window: who comes then waits for a turn of the loop first."""
    a, _ = await world.open("A", "B", **SMALL, self_delivery=False)
    list_ = asyncio.create_task(a.send_many([b"x"] * 10))
    single = [asyncio.create_task(a.send(b"y", timeout=0.25)) for _ in range(3)]
    rest = asyncio.create_task(a.send_many([b"z"] * 10))
    await list_
    await waits_in_send(a, 4)
    for task in single:
        with pytest.raises(WaitExpired):
            await task
    rest.cancel()


# ---- losing one's place


async def comes_back(group: Group, other: Group) -> None:
    """This member loses its place and has another one."""
    was = group.me
    exclude(group)
    await until(lambda: group.me != was and group.me in other.members)


@in_joining_world
async def test_what_was_accepted_and_had_not_left_is_never_sent_by_the_next_incarnation_and_flush_says_so(
    world: JoiningWorld,
) -> None:
    a, b, c = await three(world, on_exclusion="rejoin")
    async with reading(a) as got, reading(b), reading(c):
        await c.send(b"left at once")
        await c.send(b"stuck")
        c._node.order.hold(())  # A roll call begins in this turn of the loop; nothing is sent until a view comes.
        receipt = await c.queue(b"stuck in order")
        await asyncio.sleep(0)
        await comes_back(c, a)
        with pytest.raises(PlaceLost, match="was not sent") as lost:
            await receipt
        assert lost.value.sent is False
        with pytest.raises(PlaceLost, match="cannot be known") as lost:
            await c.flush()
        assert lost.value.sent is None
        await c.send(b"new")
        await c.send(b"new in order", order=TOTAL)
        await c.flush()
        await until(lambda: b"new in order" in got)
        assert got == [b"left at once", b"new", b"new in order"]


@in_joining_world
async def test_of_what_all_had_acked_before_the_place_was_lost_flush_has_nothing_to_say(world: JoiningWorld) -> None:
    a, b, c = await three(world, on_exclusion="rejoin")
    async with reading(a), reading(b), reading(c):
        await c.send(b"x")
        await c.send(b"y", to=[a.me])
        await c.flush()
        await comes_back(c, a)
        await c.flush()


@in_joining_world
async def test_whoever_waits_when_the_place_is_lost_is_told_whether_its_message_was_sent(world: JoiningWorld) -> None:
    """In every line, in the turn of the loop, in a list and in the order; nothing of it is sent later."""
    config = profile("test", capacity=16, stream_capacity=4, frame_bytes=700, self_delivery=False)
    a, b, c = await three(world, on_exclusion="rejoin", config=config)
    world.transports["C"].block([Endpoint.in_memory("A"), Endpoint.in_memory("B")])
    in_flight = await c.queue(b"in flight")
    await asyncio.sleep(0)
    for _ in range(4):
        await c.send(b"never acked", to=[a.me])
    waiting = {
        "private": asyncio.create_task(c.send(b"private", to=[a.me])),
        "some": asyncio.create_task(c.send(b"some", to=[b.me, a.me])),
        "list": asyncio.create_task(c.send_many([b"%d" % number for number in range(40)])),
        "group": asyncio.create_task(c.send(b"group")),
        "large": asyncio.create_task(c.send(b"large" * 1_000)),
        "order": asyncio.create_task(c.send(b"order", order=TOTAL)),
        "flush": asyncio.create_task(c.flush()),
    }
    await until(lambda: len(c.waiting()) == len(waiting))
    async with reading(a) as got, reading(b):
        exclude(c)
        sent = {}
        for name, task in waiting.items():
            with pytest.raises(PlaceLost, match="lost its place") as lost:
                await task
            sent[name] = lost.value.sent
        with pytest.raises(PlaceLost, match="cannot be known") as lost:
            await in_flight
        assert lost.value.sent is None
        assert sent == dict.fromkeys(waiting, False) | {"list": 15, "flush": None}
        world.transports["C"].unblock()
        await c.send(b"new")
        await c.flush()
        assert got == [b"new"]


@in_joining_world
async def test_a_send_that_lets_the_loop_turn_when_the_place_is_lost_was_not_sent(world: JoiningWorld) -> None:
    config = profile("test", capacity=1_000, frame_bytes=700, self_delivery=False)
    a, b, c = await three(world, on_exclusion="rejoin", config=config)
    async with reading(a) as got, reading(b):
        exclude(c)  # It takes effect at the next turn of the loop.
        returned = 0
        with pytest.raises(PlaceLost, match="nothing was sent"):
            while True:
                await c.send(b"%0100d" % returned)
                returned += 1
        await c.send(b"new")
        await c.queue_many([b"order"] * 10)
        await until(lambda: got[-1:] == [b"order"])
        assert got == [b"%0100d" % number for number in range(returned)] + [b"new"] + [b"order"] * 10


@in_world
async def test_closing_says_of_ordered_messages_whether_they_were_sent(world: World) -> None:
    _, b = await world.open("A", "B", **SMALL)
    world.transports["B"].block([world.transports["A"].local])
    in_flight = [await b.queue(b"x") for _ in range(10)]
    await asyncio.sleep(0)
    waiting = asyncio.create_task(b.queue(b"waits"))
    await waits_in_send(b)
    await b.close()
    with pytest.raises(GroupClosed, match="nothing was sent") as closed:
        await waiting
    assert closed.value.sent is False
    for receipt in in_flight:
        with pytest.raises(GroupClosed, match="cannot be known") as closed:
            await receipt
        assert closed.value.sent is None


# ---- a member that is no destination


@in_world
async def test_who_is_no_destination_and_reads_nothing_does_not_hold_up_what_is_ordered_for_others(
    world: World,
) -> None:
    """A stub on the multicast counts as taken as soon as it came: there is nothing in it to read."""
    a, b, c = await world.open("A", "B", "C", **SMALL)
    async with reading(a), reading(b) as got:
        for number in range(5 * a._config.capacity):
            await a.send(b"%d" % number, to=[b.me], order=TOTAL, timeout=30)
        await until(lambda: len(got) == 5 * a._config.capacity)
    assert c._node.group.incoming[a.me].window.taken > 0


@in_world
async def test_a_stub_behind_a_plain_message_that_is_not_read_waits_for_it_as_any_multicast_does(world: World) -> None:
    """Acks are cumulative: a window of stubs fits behind it, then the sender waits, and is told for whom."""
    a, b, c = await world.open("A", "B", "C", **SMALL, self_delivery=False)
    async with reading(b) as got:
        await a.send(b"plain")
        while a._node.space().slots:
            await a.queue(b"x", to=[b.me])
            await asyncio.sleep(0)
        waiting = asyncio.create_task(a.queue(b"one more", to=[b.me]))
        await waits_in_send(a)
        assert "C has acked up to 0 of 10" in a.explain() and "application of C reads on" in a.explain()
        async with reading(c):
            await (await waiting)
        await until(lambda: got[-1:] == [b"one more"])


@in_world
async def test_small_messages_of_a_list_share_packets_although_a_large_one_stands_among_them(world: World) -> None:
    a, b = await world.open("A", "B", frame_bytes=2_000, capacity=512, self_delivery=False)
    payloads = [b"%03d" % number for number in range(200)]
    payloads[50] = payloads[120] = bytes(LARGE)
    async with reading(b) as got:
        frames = world.transports["A"].counters.frames_out
        await a.send_many(payloads)
        await a.flush(timeout=20)
        await until(lambda: len(got) == 200)
        assert got == payloads
        assert world.transports["A"].counters.frames_out - frames < 60


@in_world
async def test_a_list_in_which_one_message_is_above_the_limit_is_sent_up_to_there(world: World) -> None:
    a, b = await world.open("A", "B", frame_bytes=2_000, capacity=512, max_message_bytes=20_000, self_delivery=False)
    payloads = [b"1", bytes(LARGE), b"3", b"4", bytes(20_001), b"6"]
    async with reading(b) as got:
        with pytest.raises(UsageError, match="max_message_bytes") as raised:
            await a.send_many(payloads)
        assert raised.value.sent == 4  # type: ignore[attr-defined]
        await a.flush(timeout=20)
        assert got == payloads[:4]
