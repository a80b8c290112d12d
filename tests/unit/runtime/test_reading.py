"""The reading place: whatever the reader does, every message is handed over once and in order (G15, Y01, Y02)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from ringcast.checkers import judge
from ringcast.core import Lost
from ringcast.errors import GroupClosed, StateError, UsageError, WaitExpired
from ringcast.model import TOTAL, Kind, Message, Order, Rejoin, ViewChange, profile
from ringcast.runtime import Group, OpenRun, forms, join
from ringcast.runtime.reading import Reading
from ringcast.trace import read_run
from ringcast.transport import MemoryHub, MemoryTransport
from unit.runtime.test_group import World, in_world, read, until
from unit.runtime.test_join import World as JoiningWorld
from unit.runtime.test_join import in_world as in_joining_world

HUNDRED = [b"%d" % number for number in range(100)]
WIDE: dict[str, Any] = {"capacity": 4096, "stream_capacity": 512, "self_delivery": False}  # nobody waits for the reader


@pytest.fixture(autouse=True, params=[pytest.param("native", marks=pytest.mark.needs("native")), "python"])
def simple_forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything here holds with the simple forms in C and without."""
    if request.param == "python":
        monkeypatch.setattr(forms, "native", None)


async def left_by_break(group: Group) -> list[bytes]:
    async for event in group:
        if isinstance(event, Message):
            return [event.payload]
    return []


async def left_by_exception(group: Group) -> list[bytes]:
    found: list[bytes] = []
    with suppress(ValueError):
        async for event in group:
            if isinstance(event, Message):
                found.append(event.payload)
                if len(found) == 10:
                    raise ValueError
    return found


async def left_by_timeout(group: Group) -> list[bytes]:
    found: list[bytes] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            async for event in group:
                if isinstance(event, Message):
                    found.append(event.payload)
                    if len(found) == 3:
                        await asyncio.Event().wait()
    return found


async def left_by_cancel(group: Group) -> list[bytes]:
    found: list[bytes] = []

    async def body() -> None:
        async for event in group:
            if isinstance(event, Message):
                found.append(event.payload)
                if len(found) % 5 == 0:
                    await asyncio.sleep(0)

    task = asyncio.create_task(body())
    await until(lambda: len(found) >= 5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return found


async def closed(group: Group) -> list[bytes]:
    async with aclosing(aiter(group)) as events:
        return [event.payload async for event in first(events, 4)]


async def first(events: object, count: int):  # type: ignore[no-untyped-def]
    async for event in events:  # type: ignore[attr-defined]
        if isinstance(event, Message):
            yield event
            count -= 1
            if not count:
                return


async def by_receive(group: Group) -> list[bytes]:
    event = await group.receive(timeout=5)
    return [event.payload] if isinstance(event, Message) else []


async def by_many(group: Group) -> list[bytes]:
    return [event.payload for event in await group.receive_many(9) if isinstance(event, Message)]


async def by_batch(group: Group) -> list[bytes]:
    async for event in group.batches():
        if not isinstance(event, ViewChange):
            return event.payloads
    return []


WAYS: list[Callable[[Group], Awaitable[list[bytes]]]] = [
    left_by_break,
    left_by_exception,
    left_by_timeout,
    left_by_cancel,
    closed,
    by_receive,
    by_many,
]


@pytest.mark.parametrize("way", [*WAYS, by_batch])
@pytest.mark.parametrize("kind", ["multicast", "ordered", "private", "large"])
def test_reading_goes_on_where_it_was_left(kind: str, way: Callable[[Group], Awaitable[list[bytes]]]) -> None:
    """Y01: leave by every way, again and again; every message is read once, in order, and all of them are acked."""

    @in_world
    async def body(world: World) -> None:
        a, b = await world.open("A", "B", frame_bytes=1400, **WIDE)
        payloads = [payload * 1000 for payload in HUNDRED] if kind == "large" else HUNDRED
        if kind == "ordered":
            await a.queue_many(payloads)
        elif kind == "private":
            for payload in payloads:
                await a.send(payload, to=[b.me])
        else:
            sending = asyncio.create_task(a.send_many(payloads))
        found: list[bytes] = []
        while len(found) < 100:
            found += await way(b)
        assert found == payloads
        if kind in ("multicast", "large"):
            await sending
        if kind != "ordered":
            await a.flush(timeout=20)

    body()


@in_world
async def test_all_ways_of_reading_may_be_mixed(world: World) -> None:
    """Y01."""
    a, b = await world.open("A", "B", **WIDE)
    await a.send_many(HUNDRED)
    found: list[bytes] = []
    few = [way for way in WAYS if way is not left_by_cancel]
    for way in [*few, *few, left_by_cancel]:
        found += await way(b)
    while len(found) < 100:
        found += await by_many(b)
    assert found == HUNDRED


@in_world
async def test_what_was_not_handed_over_is_not_acked(world: World) -> None:
    """Acks report what the application's code was given, message by message."""
    a, b = await world.open("A", "B", **WIDE)
    await a.send_many(HUNDRED)
    assert len(await read(b, 20)) == 20
    with pytest.raises(WaitExpired):
        await a.flush(timeout=0.3)
    acked = a._node.group.outgoing.acks.get(b.me)
    assert acked == 20
    assert len(await read(b, 80)) == 80
    await a.flush(timeout=20)


@in_world
async def test_ordered_messages_are_counted_one_by_one(world: World) -> None:
    """A stamp is reached with the last message of its batch."""
    a, b = await world.open("A", "B", **WIDE)
    stamp = await (await a.queue_many(HUNDRED))
    assert len(await read(b, 99)) == 99
    await asyncio.sleep(0)
    assert (b._node.order.ordering.unread, b.stamp() == stamp) == (1, False)
    assert len(await read(b, 1)) == 1
    await b.after(stamp, timeout=5)


@in_world
async def test_a_timed_out_read_takes_nothing_and_the_iterator_lives_on(world: World) -> None:
    """Y01: `anext` in a limit, `receive` with one, and with 0 as a question."""
    a, b = await world.open("A", "B", **WIDE)
    events = aiter(b)
    assert isinstance(await anext(events), ViewChange)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(events), 0.01)
    with pytest.raises(WaitExpired, match="nothing was delivered in group"):
        await b.receive(timeout=0.01)
    with pytest.raises(WaitExpired):
        await b.receive_many(3, timeout=0)
    with pytest.raises(UsageError, match="at least 1"):
        await b.receive_many(0)
    await a.send_many([b"x", b"y", b"z"])
    assert (await b.receive(timeout=5)) == Message(a.me, b"x")
    assert (await anext(events)) == Message(a.me, b"y")
    assert (await b.receive(timeout=0)) == Message(a.me, b"z")


@in_world
async def test_another_task_may_read_as_soon_as_the_first_was_cancelled(world: World) -> None:
    """The one that was cancelled has not run yet when the next one asks."""
    a, b = await world.open("A", "B", **WIDE)
    assert isinstance(await b.receive(), ViewChange)
    task = asyncio.create_task(b.receive())
    await asyncio.sleep(0)
    task.cancel()
    again = asyncio.create_task(b.receive())
    await a.send(b"x")
    assert await again == Message(a.me, b"x")


# ---- the end


@in_world
async def test_reading_ends_after_a_close_that_was_asked_for(world: World) -> None:
    """Y02: iteration ends, and `receive` says GroupClosed; after everything that was delivered."""
    a, b = await world.open("A", "B", **WIDE)
    await a.send_many(HUNDRED)
    await read(b, 20)
    await b.close()
    assert [event.payload async for event in b] == HUNDRED[20:]
    assert [event async for event in b.batches()] == []
    for reading in (b.receive(), b.receive_many(5), b.receive_batch()):
        with pytest.raises(GroupClosed):
            await reading


@in_world
async def test_reading_raises_the_error_that_ended_the_group(world: World) -> None:
    """Y02: the place is lost, and nobody comes back to it."""
    a, b = await world.open("A", "B", **WIDE)
    await a.send_many(HUNDRED)
    found = await read(b, 20)
    b._driver.execute([Lost("a gap that nobody can fill")])
    with pytest.raises(GroupClosed, match="a gap that nobody can fill"):
        async for event in b:
            found.append(event)
    assert [message.payload for message in found] == HUNDRED
    for reading in (b.receive(), b.receive_many(5), b.receive_batch(), anext(b.batches())):
        with pytest.raises(GroupClosed, match="a gap that nobody can fill"):
            await reading


@in_joining_world
async def test_a_reader_is_told_that_the_state_could_not_be_loaded(world: JoiningWorld) -> None:
    """Y02: the member comes back without its state; the loop ends with the reason, not normally."""
    loads = 0

    async def set_state(chunks: object) -> None:
        nonlocal loads
        loads += 1
        if loads > 1:
            raise ValueError("no room on the disk")

    (a,) = await world.enter("A", get_state=lambda: b"state")
    reading_a = asyncio.create_task(_read_all(a))
    (b,) = await world.enter("B", set_state=set_state)
    b._driver.execute([Lost("a gap")])
    with pytest.raises(StateError, match="no room on the disk"):
        async for _ in b:
            pass
    reading_a.cancel()


async def _read_all(group: Group) -> None:
    async for _ in group:
        pass


@in_joining_world
async def test_what_the_old_incarnation_left_half_read_stays_to_be_read(world: JoiningWorld) -> None:
    """Y01: the place is lost in the middle of a run; the rest of it comes, then the news."""
    a, b = await world.enter("A", "B", config=profile("test", **WIDE))
    await until(lambda: len(a.members) == 2)
    await a.send_many(HUNDRED)
    found: list[object] = []
    async for event in b:
        if isinstance(event, Message):
            found.append(event.payload)
            if len(found) == 30:
                break
    b._driver.execute([Lost("a gap")])
    await until(lambda: b.me.incarnation > 1 and len(b.members) == 2)
    async for event in b:
        if isinstance(event, Rejoin):
            break
        if isinstance(event, Message):
            found.append(event.payload)
    assert found == HUNDRED


# ---- what a message says


@in_world
async def test_a_message_says_order_stamp_recipients_and_view(world: World) -> None:
    a, b, c = await world.open("A", "B", "C", **WIDE)
    await a.send(b"to all")
    await a.send(b"to b", to=[b.me])
    (stamp,) = [await (await a.queue(b"to b and c", to=[b.me, c.me]))]
    await a.send(b"ordered", order=TOTAL)
    by_payload = {message.payload: message for message in await read(b, 4)}
    multicast, private = by_payload[b"to all"], by_payload[b"to b"]
    assert (multicast.order, multicast.stamp, multicast.private) == (Order.FIFO, None, False)
    assert (multicast.view, multicast.recipients) == (b.view, b.members)
    assert (private.order, private.private, private.recipients) == (Order.FIFO, True, (b.me,))
    some, ordered = by_payload[b"to b and c"], by_payload[b"ordered"]
    assert (some.order, some.stamp, some.private, some.recipients) == (Order.TOTAL, stamp, True, (b.me, c.me))
    assert (ordered.order, ordered.private, ordered.recipients) == (Order.TOTAL, False, b.members)
    assert ordered.stamp is not None and ordered.stamp > stamp
    await b.after(ordered.stamp)


def test_a_message_is_matched_by_position_and_compared_by_what_was_said() -> None:
    """The public patterns; a message that was made by hand has no view."""
    from ringcast.model import Address

    sender = Address("a", 1, "mem:a")
    message = Message(sender, b"x")
    match message:
        case Message(who, payload):
            assert (who, payload) == (sender, b"x")
    assert message == Message(sender, b"x") and hash(message) == hash(Message(sender, b"x"))
    assert message != Message(sender, b"y") and message != (sender, b"x", False)
    assert message.as_batch().payloads == [b"x"]
    with pytest.raises(AttributeError, match="made by hand"):
        _ = message.view


@in_world
async def test_reading_costs_no_more_calls_than_runs(world: World) -> None:
    """A run that is read without a pause is counted once, with its last message."""
    a, b = await world.open("A", "B", **WIDE)
    counted: list[int] = []
    on_taken = b._node.on_taken
    b._node.on_taken = lambda now, delivered: (counted.append(delivered.count), on_taken(now, delivered))[1]  # type: ignore[method-assign]
    await a.send_many(HUNDRED)
    await read(b, 100)
    await asyncio.sleep(0)
    assert sum(counted) == 100 and len(counted) <= 2, counted


# ---- the recording


async def half_read_run(directory: Path) -> None:
    """A sends a hundred, B reads ten and goes; everything is recorded."""
    hub = MemoryHub()
    config = profile("test", **WIDE)
    async with AsyncExitStack() as stack:
        groups = [
            await stack.enter_async_context(
                join(
                    "g",
                    name=name,
                    transport=MemoryTransport(hub, name),
                    seeds=("mem:A",),
                    config=config,
                    inspect=False,
                    record=directory,
                )
            )
            for name in "AB"
        ]
        a, b = groups
        await until(lambda: len(a.members) == 2)
        await a.send_many(HUNDRED)
        await a.queue_many(HUNDRED)
        found = [event async for event in first(b, 110)]
        assert len(found) == 110
        await asyncio.sleep(0.1)


def test_a_recording_says_what_was_handed_over_and_what_was_not(tmp_path: Path) -> None:
    """G15 is judged from what real members recorded: a hundred and ten of two hundred were read, the rest is named."""
    asyncio.run(asyncio.wait_for(half_read_run(tmp_path), 60))
    recordings = list(read_run([tmp_path]))
    finding = judge(recordings).findings["G15"]
    assert finding.verdict == "held" and finding.examined >= 110, finding  # an item of the order may stand behind
    (at_b,) = [recording for recording in recordings if recording.member.name == "B"]
    unread = [event for event in at_b.events if event.kind is Kind.UNREAD]
    assert sum(event.count for event in unread) == 90
    assert {(event.detail or {})["told"] for event in unread} == {"closed"}


def test_a_reading_place_that_counts_too_much_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault that this place mends: a whole run is counted as soon as it is opened."""

    def counts_at_once(self: Reading, run: OpenRun) -> None:
        if run.delivered is not None and not run.counted:
            self._driver.execute(self._driver.node.on_taken(0, run.delivered))
            run.counted = len(run.batch.payloads)
        self.messages = run.messages

    monkeypatch.setattr(Reading, "_go_on", counts_at_once)
    asyncio.run(asyncio.wait_for(half_read_run(tmp_path), 60))
    finding = judge(read_run([tmp_path])).findings["G15"]
    assert finding.verdict == "violated", finding
