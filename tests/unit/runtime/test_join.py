"""`ringcast.join` in one process, on an in-memory transport: joining, leaving, and coming back after a lost place."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

import ringcast
from ringcast.core import Excluded, Lost
from ringcast.errors import ConfigError, GroupClosed, NotMember, PlaceLost, WaitExpired
from ringcast.model import Batch, Message, Rejoin, Undelivered, ViewChange, ViewId, profile
from ringcast.runtime import Group, join
from ringcast.runtime.discovery import NoAnswerYet
from ringcast.runtime.host import Host
from ringcast.transport import Endpoint, MemoryHub, MemoryTransport


class World:
    """Members of one group in this process, on one in-memory hub; the first one is everybody's seed."""

    def __init__(self, stack: AsyncExitStack, host: Host | None = None) -> None:
        self.hub = MemoryHub()
        self.stack = stack
        self.host = host
        self.transports: dict[str, MemoryTransport] = {}

    def joining(self, name: str, *, seeds: tuple[str, ...] = ("mem:A",), **options: Any) -> ringcast.Joining:
        self.transports[name] = MemoryTransport(self.hub, name)
        config = options.pop("config", profile("test"))
        joining = join(
            "g", name=name, transport=self.transports[name], seeds=seeds, config=config, inspect=False, **options
        )
        if self.host is not None:
            joining._place.host = self.host
        return joining

    async def enter(self, *names: str, **options: Any) -> list[Group]:
        return [await self.stack.enter_async_context(self.joining(name, **options)) for name in names]


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


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.001)


async def events_until(group: Group, last: Callable[[object], bool]) -> list[object]:
    """What the application reads, up to and with the first event for which `last` holds."""
    found: list[object] = []
    async for event in group:
        found.append(event)
        if last(event):
            break
    return found


def is_view_of(*names: str) -> Callable[[object], bool]:
    return lambda event: isinstance(event, ViewChange) and sorted(m.name for m in event.view.members) == sorted(names)


def is_message(payload: bytes) -> Callable[[object], bool]:
    return lambda event: isinstance(event, Message) and event.payload == payload


# ---- private messages to somebody who leaves (G16)


@in_world
async def test_who_leaves_before_it_acked_private_messages_is_named_behind_the_view_without_it(world: World) -> None:
    a, b = await world.enter("A", "B")
    reading = asyncio.create_task(events_until(b, is_message(b"2")))
    await a.send(b"1", to=[b.me])
    await a.send(b"2", to=[b.me])
    await reading
    await a.flush()
    for number in range(3, 6):
        await a.send(b"%d" % number * 3_000, to=[b.me])  # in pieces; nobody reads them
    await a.send(b"to all")
    await b.close()  # Without a word, as a crash.
    seen = await events_until(a, lambda event: isinstance(event, Undelivered))
    assert seen[-1] == Undelivered(b.me, 3, 3)
    assert is_view_of("A")(seen[-2])
    await a.flush()  # Nobody is left to wait for.


@in_world
async def test_who_leaves_with_everything_acked_is_not_named(world: World) -> None:
    a, b = await world.enter("A", "B")
    reading = asyncio.create_task(events_until(b, is_message(b"1")))
    await a.send(b"1", to=[b.me])
    await reading
    await a.flush()
    await b.leave()
    await a.send(b"done")
    seen = await events_until(a, is_message(b"done"))
    assert not [event for event in seen if isinstance(event, Undelivered)]


# ---- coming and going


@in_world
async def test_the_first_founds_the_group_and_the_next_find_it(world: World) -> None:
    a, b, c = await world.enter("A", "B", "C")
    await until(lambda: len(a.members) == len(b.members) == 3)
    assert a.view == b.view == c.view
    assert a.coordinator == a.me


class LateDiscovery:
    """Has no answer for the first look-ups."""

    def __init__(self, silent: int) -> None:
        self.silent = silent

    async def open(self, group: str, me: Endpoint) -> None:
        pass

    async def find(self) -> list[Endpoint]:
        self.silent -= 1
        if self.silent >= 0:
            raise NoAnswerYet("no SRV record of '_g._udp.example.org'")
        return [Endpoint.in_memory("A")]

    async def close(self) -> None:
        pass


@in_world
async def test_a_joiner_waits_for_discovery_to_answer_and_founds_no_group_meanwhile(world: World) -> None:
    """Y20: ten look-ups without an answer take much longer than `found_after_ns`."""
    (a,) = await world.enter("A")
    (b,) = await world.enter("B", discovery=LateDiscovery(10))
    assert b.view.members == (a.me, b.me) and not b.view.is_merge


@in_world
async def test_a_join_that_ends_without_an_answer_of_discovery_says_so(world: World) -> None:
    with pytest.raises(WaitExpired, match=r"no SRV record of '_g\._udp"):
        await world.enter("B", discovery=LateDiscovery(1_000_000), timeout=1.0)


@in_world
async def test_a_concurrent_start_of_ten_makes_one_group(world: World) -> None:
    """V13: ten start at once and expect ten."""
    names = [f"M{number}" for number in range(10)]
    seeds = ("mem:M0", "mem:M5", "mem:M9")
    joins = [world.joining(name, seeds=seeds, expect=10) for name in names]
    groups = await asyncio.gather(*(world.stack.enter_async_context(joining) for joining in joins))
    await until(lambda: all(len(group.members) == 10 for group in groups))
    assert len({group.view.id for group in groups}) == 1


@in_world
async def test_views_stand_in_one_stream_with_the_messages(world: World) -> None:
    (a,) = await world.enter("A")
    await a.send(b"alone")
    (b,) = await world.enter("B")
    await a.send(b"together")
    at_a = await events_until(a, is_message(b"together"))
    assert [e.payload if isinstance(e, Message) else len(e.view.members) for e in at_a] == [1, b"alone", 2, b"together"]
    at_b = await events_until(b, is_message(b"together"))
    assert [type(event) for event in at_b] == [ViewChange, Message]


@in_world
async def test_a_member_that_leaves_loses_nothing_that_it_sent(world: World) -> None:
    (a,) = await world.enter("A")
    async with world.joining("B") as b:
        await until(lambda: len(a.members) == 2)
        await b.send_many([b"%d" % number for number in range(50)])
    events = await events_until(a, lambda e: is_view_of("A")(e) and e.view.id.number > 2)  # type: ignore[attr-defined]
    assert [e.payload for e in events if isinstance(e, Message)] == [b"%d" % number for number in range(50)]


@in_world
async def test_two_that_leave_together_are_both_let_go(world: World) -> None:
    """V10: the only two members leave at once."""
    a, b = await world.enter("A", "B")
    await until(lambda: len(a.members) == 2)
    await asyncio.gather(a.leave(), b.leave())
    with pytest.raises(GroupClosed):
        await a.send(b"x")


@in_world
async def test_a_cancelled_block_leaves(world: World) -> None:
    (a,) = await world.enter("A")
    entered = asyncio.Event()

    async def hold() -> None:
        async with world.joining("B"):
            entered.set()
            await asyncio.sleep(3600)

    holding = asyncio.create_task(hold())
    await entered.wait()
    await until(lambda: len(a.members) == 2)
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    await until(lambda: len(a.members) == 1)
    assert Endpoint.in_memory("B") not in world.hub.open


@in_world
async def test_a_join_that_is_cancelled_or_expires_leaves_nothing_behind(world: World) -> None:
    patient = profile("test", expect_ns=50_000_000_000)
    with pytest.raises(WaitExpired, match=r"no view of group 'g' within 0\.05 s"):
        await world.joining("A", config=patient, expect=2, timeout=0.05)
    joining = asyncio.create_task(world.stack.enter_async_context(world.joining("A", config=patient, expect=2)))
    await asyncio.sleep(0.01)
    joining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await joining
    assert world.hub.open == {}


@in_world
async def test_a_restart_at_the_same_address_is_a_new_incarnation(world: World) -> None:
    """P16 (its first half): the old process is out before the new one is in."""
    (a,) = await world.enter("A")
    before = await world.joining("B")
    await until(lambda: len(a.members) == 2)
    await before.close()  # Without a word, as a crash.
    (after,) = await world.enter("B")
    await until(lambda: after.me in a.members)
    assert before.me not in a.members and after.me.is_successor_of(before.me)


@in_world
async def test_who_leaves_and_joins_again_misses_and_repeats_nothing_but_what_was_said_meanwhile(world: World) -> None:
    """P16: A says 1-10, leaves, returns, says 11-20; leaves, B says 21-30, A returns, B says 31-40: A gets 31-40."""
    b, c = await world.enter("B", "C", seeds=("mem:B",))
    heard: dict[str, list[int]] = {"B": [], "C": []}

    async def read(name: str, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                heard[name].append(int(event.payload))

    readers = [asyncio.create_task(read("B", b)), asyncio.create_task(read("C", c))]
    for first in (1, 11):
        async with world.joining("A", seeds=("mem:B",)) as a:
            for number in range(first, first + 10):
                await a.send(b"%d" % number)
    for number in range(21, 31):
        await b.send(b"%d" % number)
    async with world.joining("A", seeds=("mem:B",)) as a:
        for number in range(31, 41):
            await b.send(b"%d" % number)
        events = await events_until(a, is_message(b"40"))
    assert [int(event.payload) for event in events if isinstance(event, Message)] == list(range(31, 41))
    await until(lambda: all(len(numbers) == 40 for numbers in heard.values()))
    assert heard["B"] == heard["C"] == list(range(1, 41))
    for reader in readers:
        reader.cancel()


@in_world
async def test_a_reply_to_the_first_message_goes_out_although_the_group_was_just_joined(world: World) -> None:
    """P21: what is delivered with the first view may be answered at once."""
    (a,) = await world.enter("A", config=profile("test", self_delivery=False))
    talking = asyncio.create_task(talk(a))
    (b,) = await world.enter("B")
    async for event in b:
        if isinstance(event, Message):
            await b.send(b"reply to " + event.payload)
            break
    talking.cancel()
    events = await events_until(a, lambda event: isinstance(event, Message) and event.payload.startswith(b"reply"))
    assert events


async def talk(group: Group) -> None:
    while True:
        await group.send(b"anybody?", timeout=30)
        await asyncio.sleep(0.001)


@in_world
async def test_mistakes_are_named(world: World) -> None:
    with pytest.raises(ConfigError, match="on_exclusion must be 'merge' or 'rejoin', got 'hope'"):
        world.joining("A", on_exclusion="hope")
    with pytest.raises(ConfigError, match="transport must be 'udp', 'tcp' or a Transport, got 'pigeon'"):
        join("g", transport="pigeon")
    with pytest.raises(ConfigError, match="without spaces"):
        join("my group")


# ---- losing the place


async def three(world: World, **options: Any) -> list[Group]:
    groups = await world.enter("A", "B", "C", **options)
    await until(lambda: all(len(group.members) == 3 for group in groups))
    return groups


def exclude(group: Group) -> None:
    """As the core says it when the others went on in a later view."""
    group._driver.execute([Excluded(ViewId(99, group.coordinator or group.me))])


@in_world
async def test_with_rejoin_an_excluded_member_comes_back_as_a_new_incarnation(world: World) -> None:
    a, _, c = await three(world, on_exclusion="rejoin")
    was = c.me
    await a.send(b"before")
    await until(lambda: any(getattr(item, "payloads", None) == [b"before"] for item in c._driver.inbox))
    exclude(c)
    await until(lambda: c.me != was and c.me in a.members)
    await a.send(b"after")
    events = await events_until(c, is_message(b"after"))
    kinds = [type(event) for event in events]
    at = kinds.index(Rejoin)
    assert is_message(b"before")(events[at - 1]), "what was delivered before can still be read"
    assert events[at] == Rejoin(was, f"the others went on without it, in view {a.coordinator}|99")
    assert kinds[at + 1] is ViewChange and events[at + 1].view.members[-1] == c.me  # type: ignore[attr-defined]
    assert was not in a.members and c.me.is_successor_of(was)


@in_world
async def test_whoever_waits_when_the_place_is_lost_is_told_and_later_sends_wait_for_the_new_view(world: World) -> None:
    a, b, c = await three(world, on_exclusion="rejoin")
    reading = [asyncio.create_task(events_until(group, is_message(b"late"))) for group in (a, b)]
    world.transports["C"].block([Endpoint.in_memory("A"), Endpoint.in_memory("B")])
    capacity = c._node.group.capacity
    for _ in range(capacity):
        await c.send(b"x")
    waiting = [asyncio.create_task(c.send(b"y")), asyncio.create_task(c.flush())]
    await until(lambda: len(c.waiting()) == 2)
    exclude(c)
    for task in waiting:
        with pytest.raises(PlaceLost, match=r"C#\w+ lost its place in group 'g'"):
            await task
    late = asyncio.create_task(c.send(b"late"))
    await asyncio.sleep(0)
    assert "is in no view yet" in c.explain() and c.status()["view"] is None
    assert len(c.members) == 3, "the old view is shown until there is a new one"
    world.transports["C"].unblock()
    await late
    await asyncio.gather(*reading)


@in_world
async def test_a_list_that_is_being_sent_is_not_continued_by_the_next_incarnation(world: World) -> None:
    _, _, c = await three(world, on_exclusion="rejoin", config=profile("test", self_delivery=False, capacity=8))
    sending = asyncio.create_task(c.send_many([b"x"] * 1000))
    await asyncio.sleep(0)
    exclude(c)
    with pytest.raises(PlaceLost):
        await sending


@in_world
async def test_with_merge_an_excluded_member_keeps_its_incarnation(world: World) -> None:
    _, _, c = await three(world)
    was = c.me
    exclude(c)
    await asyncio.sleep(0.05)
    assert c.me == was


@in_world
async def test_a_member_that_cannot_go_on_without_a_gap_rejoins_whatever_its_policy(world: World) -> None:
    """X8: a broken promise is reported, and the member begins anew."""
    a, _, c = await three(world)
    was = c.me
    c._driver.execute([Lost("B no longer has 17")])
    await until(lambda: c.me != was and c.me in a.members)
    events = await events_until(c, lambda event: isinstance(event, Rejoin))
    assert events[-1] == Rejoin(was, "B no longer has 17")


@in_world
async def test_a_member_on_its_way_out_does_not_come_back(world: World) -> None:
    a, _, c = await three(world, on_exclusion="rejoin")
    world.transports["C"].block([Endpoint.in_memory("A"), Endpoint.in_memory("B")])
    leaving = asyncio.create_task(c.leave())
    await asyncio.sleep(0)
    exclude(c)
    await leaving
    assert Endpoint.in_memory("C") not in world.hub.open
    await until(lambda: len(a.members) == 2)


@in_world
async def test_receive_batch_takes_nothing_when_it_is_cancelled(world: World) -> None:
    (a,) = await world.enter("A")
    assert isinstance(await a.receive_batch(), ViewChange)
    reading = asyncio.create_task(a.receive_batch())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await a.send(b"x")
    assert await a.receive_batch() == Batch(a.me, [b"x"])
    await a.close()
    with pytest.raises(GroupClosed):
        await a.receive_batch()


@pytest.mark.parametrize("how", ["leaves", "crashes"])
def test_a_private_send_that_waits_for_somebody_who_goes_ends_with_an_error(how: str) -> None:
    """Seed 210: whoever left will never make room; nothing was taken, and the next send is not held up."""

    async def story(world: World) -> None:
        config = profile("test", stream_capacity=4)
        a, b = await world.enter("A", "B", config=config)
        await events_until(a, is_view_of("A", "B"))
        for _ in range(4):
            await a.send(b"unread", to=[b.me])  # B does not read
        waiting = [asyncio.create_task(a.send(b"waits", to=[b.me])) for _ in range(3)]
        await until(lambda: len(a.waiting()) == 3)
        await (b.leave() if how == "leaves" else b.close())
        for error in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(error, NotMember) and "nothing was sent" in str(error)
        await a.send(b"to myself", to=[a.me])
        await events_until(a, is_message(b"to myself"))

    in_world(story)()


def test_two_members_of_one_name_are_warned_of_at_both(caplog: pytest.LogCaptureFixture) -> None:
    @in_world
    async def story(world: World) -> None:
        (a,) = await world.enter("A")
        assert not caplog.records
        world.transports["B"] = MemoryTransport(world.hub, "B")
        other = join(
            "g",
            name="A",
            transport=world.transports["B"],
            seeds=("mem:A",),
            config=profile("test"),
            inspect=False,
        )
        b = await world.stack.enter_async_context(other)
        await until(lambda: len(a.members) == len(b.members) == 2)
        said = [record.getMessage() for record in caplog.records]
        assert sum("two members are called 'A'" in sentence for sentence in said) == 2

    story()
