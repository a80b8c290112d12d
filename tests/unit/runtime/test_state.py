"""State transfer through `join`: cut at the view, in chunks, before any message; and what happens when it fails."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ringcast.errors import StateError
from ringcast.model import Address, Message, Rejoin, profile
from ringcast.order import TOTAL
from ringcast.runtime import Group
from ringcast.runtime.status import explain, status_of
from unit.runtime.test_join import World, events_until, exclude, is_message, until
from unit.runtime.virtual import in_virtual_world


class Ledger:
    """An application: it keeps every message, in the order of delivery, and gives and takes that as its state."""

    def __init__(self, chunk_bytes: int = 100) -> None:
        self.entries: list[bytes] = []
        self.loads = 0
        self.chunk_bytes = chunk_bytes
        self.reading: asyncio.Task[None] | None = None
        self.group: Group | None = None

    async def get_state(self) -> AsyncIterator[bytes]:
        state = b"\n".join(self.entries)
        for at in range(0, len(state), self.chunk_bytes):
            yield state[at : at + self.chunk_bytes]

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.loads += 1
        self.entries = b"".join([chunk async for chunk in chunks]).split(b"\n")
        self.entries = [entry for entry in self.entries if entry]

    async def enter(self, world: World, name: str, **options: Any) -> Group:
        hooks = {"get_state": self.get_state, "set_state": self.set_state} | options
        self.group = await world.stack.enter_async_context(world.joining(name, **hooks))
        self.reading = asyncio.create_task(self.read(self.group))
        return self.group

    async def read(self, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                self.entries.append(event.payload)
            elif isinstance(event, Rejoin):
                self.entries.clear()


@in_virtual_world
async def test_four_that_join_with_state_while_all_send_hold_the_identical_history(world: World) -> None:
    """T01: each sends as soon as it is in; all hold the same 4 x 1000 in the end, senders' orders kept."""
    ledgers = [Ledger() for _ in range(4)]

    async def send(ledger: Ledger, name: str) -> None:
        group = ledger.group or await ledger.enter(world, name)
        for number in range(1000):
            await group.send(f"{name} {number}".encode())

    await ledgers[0].enter(world, "A")
    await asyncio.gather(*(send(ledger, name) for ledger, name in zip(ledgers, "ABCD", strict=True)))
    await until(lambda: all(len(ledger.entries) >= 4000 for ledger in ledgers))
    for ledger in ledgers:
        for name in "ABCD":
            own = [entry for entry in ledger.entries if entry.startswith(name.encode())]
            assert own == [f"{name} {number}".encode() for number in range(1000)]


@in_virtual_world
async def test_the_first_member_has_nothing_to_load(world: World) -> None:
    """T04: alone, the state is what it is."""
    ledger = Ledger()
    await ledger.enter(world, "A")
    assert ledger.loads == 0


@in_virtual_world
async def test_the_state_is_cut_at_the_view_and_no_message_is_seen_before_it(world: World) -> None:
    a, b = Ledger(), Ledger()
    group = await a.enter(world, "A")
    await group.send_many([b"%d" % number for number in range(50)])
    joining = asyncio.create_task(b.enter(world, "B"))
    for number in range(50, 500):
        await group.send(b"%d" % number)
    await joining
    await until(lambda: len(b.entries) == 500)
    assert b.entries == a.entries == [b"%d" % number for number in range(500)]
    assert b.loads == 1


@pytest.mark.parametrize("state", [b"plain", [b"pl", b"ain"], iter([b"plain"])], ids=["bytes", "list", "iterator"])
def test_a_state_may_be_bytes_or_any_iterator_of_them(state: Any) -> None:
    @in_virtual_world
    async def story(world: World) -> None:
        a, b = Ledger(), Ledger()
        await a.enter(world, "A", get_state=lambda: state)
        await b.enter(world, "B")
        assert b.entries == [b"plain"]

    story()


@in_virtual_world
async def test_a_state_of_many_frames_flows_within_the_bounds_of_a_window(world: World) -> None:
    config = profile("test", window_bytes=16_384)
    drawn, read = 0, 0

    async def get_state() -> AsyncIterator[bytes]:
        nonlocal drawn
        for _ in range(500):
            drawn += 1
            yield bytes(1000)

    async def set_state(chunks: AsyncIterator[bytes]) -> None:
        nonlocal read
        async for chunk in chunks:
            read += len(chunk)
            assert drawn * 1000 - read < 100_000, "the provider runs ahead of the joiner"

    await Ledger().enter(world, "A", get_state=get_state, config=config)
    await Ledger().enter(world, "B", set_state=set_state, config=config)
    assert read == 500_000


@in_virtual_world
async def test_a_provider_whose_callback_fails_is_named_to_the_joiner_and_the_group_goes_on(world: World) -> None:
    def fail() -> bytes:
        raise RuntimeError("the disk is on fire")

    a = Ledger()
    group = await a.enter(world, "A", get_state=fail)
    with pytest.raises(StateError, match=r"the state could not be had from A#\w+: RuntimeError: the disk is on fire"):
        await Ledger().enter(world, "B")
    await until(lambda: len(group.members) == 1)
    await group.send(b"still here")
    await until(lambda: a.entries == [b"still here"])


@in_virtual_world
async def test_a_provider_that_fails_half_way_is_an_error_too(world: World) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"first"
        raise OSError("gone")

    await Ledger().enter(world, "A", get_state=half)
    with pytest.raises(StateError, match="OSError: gone"):
        await Ledger().enter(world, "B")


@in_virtual_world
async def test_a_joiner_whose_callback_fails_gets_its_own_error_and_the_group_goes_on(world: World) -> None:
    """T03: the requester throws."""

    async def refuse(chunks: AsyncIterator[bytes]) -> None:
        raise ValueError("not mine")

    a = Ledger()
    group = await a.enter(world, "A")
    with pytest.raises(
        StateError, match=r"the state of A#\w+ could not be loaded: set_state failed: ValueError: not mine"
    ):
        await Ledger().enter(world, "B", set_state=refuse)
    await until(lambda: len(group.members) == 1)
    c = Ledger()
    await c.enter(world, "C")
    await group.send(b"x")
    await until(lambda: c.entries == a.entries == [b"x"])


@in_virtual_world
async def test_a_join_that_is_given_up_ends_its_set_state(world: World) -> None:
    """Simulated seed 30611: it loaded on, and a later process of that name was taken for one that has a state."""
    await Ledger().enter(world, "A")
    begun, ended = asyncio.Event(), asyncio.Event()

    async def set_state(chunks: AsyncIterator[bytes]) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    joining = asyncio.ensure_future(Ledger().enter(world, "B", set_state=set_state))
    await begun.wait()
    joining.cancel()
    await asyncio.wait([joining])
    await until(ended.is_set)


@in_virtual_world
async def test_nobody_with_a_state_to_give_is_said_so(world: World) -> None:
    await world.enter("A")
    with pytest.raises(StateError, match=r"A#\w+ was not given a get_state"):
        await Ledger().enter(world, "B")


@in_virtual_world
async def test_when_the_provider_dies_another_one_begins_anew(world: World) -> None:
    a, b, c = Ledger(), Ledger(), Ledger()
    first = await a.enter(world, "A")
    begun = asyncio.Event()

    async def never_ends() -> AsyncIterator[bytes]:
        yield b"half a stat"
        begun.set()
        await asyncio.sleep(3600)

    provider = await b.enter(world, "B", get_state=never_ends)
    await first.send_many([b"1", b"2"])
    await until(lambda: len(b.entries) == 2)
    joining = asyncio.create_task(c.enter(world, "C"))
    await begun.wait()
    await first.send(b"3")
    await provider.close()  # Without a word, as a crash.
    await joining
    await first.send(b"4")
    await until(lambda: len(c.entries) == 4)
    assert c.entries == [b"1", b"2", b"3", b"4"] and c.loads == 2


@in_virtual_world
async def test_who_rejoins_gets_the_state_again_behind_what_it_had_not_read(world: World) -> None:
    a, b = Ledger(), Ledger()
    first = await a.enter(world, "A", on_exclusion="rejoin")
    second = await b.enter(world, "B", on_exclusion="rejoin")
    await first.send(b"1")
    was = second.me
    exclude(second)
    await until(lambda: second.me != was and second.me in first.members)
    await first.send(b"2")
    await until(lambda: b.entries[-1:] == [b"2"])
    assert b.entries == [b"1", b"2"] and b.loads == 2


@in_virtual_world
async def test_a_reader_that_is_cancelled_while_the_state_is_cut_loses_nothing(world: World) -> None:
    cutting, go_on = asyncio.Event(), asyncio.Event()

    async def get_state() -> AsyncIterator[bytes]:
        cutting.set()
        await go_on.wait()
        yield b"state"

    a = Ledger()
    group = await a.enter(world, "A", get_state=get_state)
    b = Ledger()
    joining = asyncio.create_task(b.enter(world, "B"))
    await cutting.wait()
    assert a.reading is not None
    a.reading.cancel()
    await asyncio.gather(a.reading, return_exceptions=True)
    go_on.set()
    await joining
    await group.send(b"after")
    assert is_message(b"after")((await events_until(group, is_message(b"after")))[-1])
    await until(lambda: b.entries == [b"state", b"after"])


@in_virtual_world
async def test_a_joiner_that_is_gone_while_the_state_is_cut_leaves_nothing_running(world: World) -> None:
    cutting, go_on = asyncio.Event(), asyncio.Event()

    async def get_state() -> AsyncIterator[bytes]:
        cutting.set()
        await go_on.wait()
        yield b"state"

    a = Ledger()
    group = await a.enter(world, "A", get_state=get_state)
    joining = asyncio.create_task(Ledger().enter(world, "B"))
    await cutting.wait()
    joining.cancel()
    await asyncio.gather(joining, return_exceptions=True)
    await until(lambda: len(group.members) == 1)
    go_on.set()
    await group.send(b"on")
    await until(lambda: a.entries == [b"on"])
    assert not [task for task in asyncio.all_tasks() if "_Gift" in str(task.get_coro())]


# ---- the joining spool


class SlowLoading(Ledger):
    """Its `set_state` returns when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        await super().set_state(chunks)
        self.has_begun.set()
        await self.may_end.wait()


NUMBERS = [b"%d" % number for number in range(2_000)]  # many times the capacity of a window


@pytest.mark.parametrize("spool_bytes", [1 << 20, 20_000], ids=["in memory", "on disk"])
def test_senders_do_not_wait_for_a_joiner_that_loads_its_state(spool_bytes: int) -> None:
    """Y16: `set_state` ends only when everything was sent, so a sender that waited for it would wait for ever."""

    @in_virtual_world
    async def story(world: World) -> None:
        config = profile("test", spool_bytes=spool_bytes)
        a, b = Ledger(), SlowLoading()
        group = await a.enter(world, "A", config=config)
        await group.send_many(NUMBERS[:10])
        joining = asyncio.create_task(b.enter(world, "B", config=config))
        await b.has_begun.wait()
        for number in NUMBERS[10:]:
            await group.send(number)
        await group.flush()
        b.may_end.set()
        await joining
        await until(lambda: len(b.entries) >= len(NUMBERS))
        assert b.entries == NUMBERS and b.loads == 1

    story()


@in_virtual_world
async def test_ordered_and_private_messages_go_through_the_spool_too(world: World) -> None:
    a, b = Ledger(), SlowLoading()
    group = await a.enter(world, "A")
    joining = asyncio.create_task(b.enter(world, "B", config=profile("test", spool_bytes=10_000)))
    await b.has_begun.wait()
    joiner = group.members[1]
    receipt = None
    for number in NUMBERS[:500]:
        receipt = await group.queue(number)
        await group.send(b"to you " + number, to=[joiner])
    assert receipt is not None
    stamp = await receipt
    b.may_end.set()
    await joining
    assert b.group is not None
    assert b.group.stamp() < stamp or len([e for e in b.entries if b" " not in e]) == 500  # not before it is read
    await b.group.after(stamp)
    await until(lambda: len(b.entries) == 1_000)
    assert [entry for entry in b.entries if b" " not in entry] == NUMBERS[:500]
    assert [entry.split()[2] for entry in b.entries if b" " in entry] == NUMBERS[:500]


@in_virtual_world
async def test_what_a_member_that_loads_again_orders_to_itself_and_others_it_reads_once(world: World) -> None:
    """Not as a private message to itself, which counts as read when it is spooled: then it would never have room."""
    a, b = Ledger(), SlowLoading()
    b.may_end.set()
    config = profile("test", capacity=1, capacity_floor=1)
    await a.enter(world, "A", config=config, on_exclusion="rejoin")
    await Ledger().enter(world, "C", config=config, on_exclusion="rejoin")  # to some is not to all
    second = await b.enter(world, "B", config=config, on_exclusion="rejoin")
    was = second.me
    b.has_begun.clear()
    b.may_end.clear()
    exclude(second)
    await b.has_begun.wait()
    assert second.me != was
    both = [member for member in second.members if member.name != "C"]
    await (await second.queue(b"while it loads", to=both))
    b.may_end.set()
    for number in NUMBERS[:10]:
        await (await second.queue(number, to=both))
    await until(lambda: len(a.entries) == len(b.entries) == 11)
    assert a.entries == b.entries == [b"while it loads", *NUMBERS[:10]]


@in_virtual_world
async def test_a_full_spool_holds_senders_back_and_says_so(world: World) -> None:
    a, b = Ledger(), SlowLoading()
    config = profile("test", spool_bytes=20_000, spool_disk_bytes=0)
    group = await a.enter(world, "A")
    place = world.joining("B", set_state=b.set_state, config=config)
    joining = asyncio.create_task(world.stack.enter_async_context(place))
    await b.has_begun.wait()
    sending = asyncio.create_task(group.send_many(NUMBERS))
    await until(lambda: any(wait.what == "send" for wait in group.waiting()))
    driver = place._place.entry.driver
    assert driver is not None
    await until(lambda: "it is full, so senders wait" in explain("g", driver, []))
    spool = status_of("g", driver, [])["spool"]
    assert 0 < spool["memory_bytes"] <= 20_000 == spool["memory_limit"] and spool["disk_bytes"] == 0
    b.may_end.set()
    b.reading = asyncio.create_task(b.read(await joining))
    await sending
    await until(lambda: len(b.entries) == len(NUMBERS))
    assert b.entries == NUMBERS


@in_virtual_world
async def test_what_was_spooled_before_another_provider_cut_its_state_is_in_that_state(world: World) -> None:
    a, b, c = Ledger(), Ledger(), Ledger()
    config = profile("test", spool_bytes=10_000)
    first = await a.enter(world, "A", config=config)
    begun = asyncio.Event()

    async def never_ends() -> AsyncIterator[bytes]:
        yield b"half a stat"
        begun.set()
        await asyncio.sleep(3600)

    provider = await b.enter(world, "B", get_state=never_ends, config=config)
    joining = asyncio.create_task(c.enter(world, "C", config=config))
    await begun.wait()
    for number in NUMBERS[:1_000]:
        await first.send(number)
    await provider.close()  # Without a word, as a crash.
    for number in NUMBERS[1_000:]:
        await first.send(number)
    await joining
    await until(lambda: len(c.entries) == len(NUMBERS))
    assert c.entries == NUMBERS and c.loads == 2


@in_virtual_world
async def test_a_private_message_that_was_spooled_is_in_no_state_and_is_read_behind_the_next(world: World) -> None:
    """The provider dies: what the joiner has taken goes with its state, except what came to the joiner alone (G16)."""
    a, b, c = Ledger(), Ledger(), Ledger()
    first = await a.enter(world, "A")
    begun = asyncio.Event()

    async def never_ends() -> AsyncIterator[bytes]:
        yield b"half a stat"
        begun.set()
        await asyncio.sleep(3600)

    provider = await b.enter(world, "B", get_state=never_ends)
    joining = asyncio.create_task(c.enter(world, "C"))
    await begun.wait()
    newcomer = next(member for member in first.members if member.name == "C")
    await first.send(b"to all")
    await first.send(b"to C alone", to=newcomer)
    await first.flush(5)
    await provider.close()  # Without a word, as a crash.
    await joining
    await until(lambda: len(c.entries) == 2)
    assert c.entries == [b"to all", b"to C alone"] and c.loads == 2


def never_ending(begun: asyncio.Event, whole_first: int = 0) -> Any:
    left = [None] * whole_first

    async def get_state() -> AsyncIterator[bytes]:
        if left:
            left.pop()
            return
        yield b"half a stat"
        begun.set()
        await asyncio.sleep(3600)

    return get_state


def named(group: Group, *names: str) -> list[Address]:
    return [member for member in group.members if member.name in names]


@pytest.mark.parametrize("spool_bytes", [1 << 20, 4_000, 0], ids=["in memory", "on disk", "in the windows"])
def test_an_ordered_message_to_some_is_read_behind_a_state_whose_provider_was_none_of_them(spool_bytes: int) -> None:
    """The provider dies: the next one's state has the ordered messages that went to it too, no others (G16, G18)."""

    @in_virtual_world
    async def story(world: World) -> None:
        config = profile("test", spool_bytes=spool_bytes, spool_disk_bytes=1 << 20 if spool_bytes else 0)
        a, x, b, c = (Ledger() for _ in range(4))
        first = await a.enter(world, "A", config=config)
        second = await x.enter(world, "X", config=config)
        begun = asyncio.Event()
        provider = await b.enter(world, "B", get_state=never_ending(begun), config=config)
        joining = asyncio.create_task(c.enter(world, "C", config=config))
        await begun.wait()
        sent = []
        for number in range(3):
            for names in ("ABXC", "XC", "AC", "BC"):
                sent.append(b"%d to %s" % (number, names.encode()))
                await first.send(sent[-1], to=named(first, *names), order=TOTAL)
        await provider.close()  # Without a word, as a crash.
        await joining
        await first.send(b"end", order=TOTAL)
        await until(lambda: c.entries[-1:] == [b"end"] and x.entries[-1:] == [b"end"])
        assert c.loads == 2 and second.stamp() == first.stamp()
        assert c.entries == [*(e for e in sent if b"X" in e), *(e for e in sent if b"X" not in e), b"end"]

    story()


@in_virtual_world
async def test_what_only_a_provider_that_died_had_is_read_behind_the_state_of_the_next(world: World) -> None:
    """The second provider's cut has it, the third's has not: it must not be thrown away with the second."""
    ledgers = [Ledger() for _ in range(4)]
    begun = [asyncio.Event(), asyncio.Event()]
    patient: Any = {"config": profile("test", state_patience_ns=60 * 10**9)}
    first = await ledgers[0].enter(world, "A", **patient)
    second = await ledgers[1].enter(world, "B", get_state=never_ending(begun[1], whole_first=1), **patient)
    third = await ledgers[2].enter(world, "C", get_state=never_ending(begun[0]), **patient)
    joining = asyncio.create_task(ledgers[3].enter(world, "D", **patient))
    await begun[0].wait()
    await first.send(b"to A and D", to=named(first, "A", "D"), order=TOTAL)
    await first.send(b"to B and D", to=named(first, "B", "D"), order=TOTAL)
    await third.close()
    await begun[1].wait()
    await first.send(b"later to B and D", to=named(first, "B", "D"), order=TOTAL)
    await second.close()
    await joining
    await first.send(b"end", order=TOTAL)
    await until(lambda: ledgers[3].entries[-1:] == [b"end"])
    assert ledgers[3].entries == [b"to A and D", b"to B and D", b"later to B and D", b"end"]


@in_virtual_world
async def test_a_state_includes_what_its_provider_had_from_the_state_that_it_loaded_itself(world: World) -> None:
    """D joined after the message, with the state of B, to which it went: read again by C it would count twice."""
    a, b, c, d = (Ledger() for _ in range(4))
    begun = asyncio.Event()

    async def first_never() -> AsyncIterator[bytes]:
        if not begun.is_set():
            yield b"half a stat"
            begun.set()
            await asyncio.sleep(3600)
        yield b"\n".join(b.entries)

    first = await a.enter(world, "A")
    provider = await b.enter(world, "B", get_state=first_never)
    joining = asyncio.create_task(c.enter(world, "C"))
    await begun.wait()
    await first.send(b"to B and C", to=named(first, "B", "C"), order=TOTAL)
    await first.send(b"to A and C", to=named(first, "A", "C"), order=TOTAL)
    await d.enter(world, "D")
    assert d.entries == [b"to B and C"]
    await provider.close()
    await joining
    await first.send(b"end", order=TOTAL)
    await until(lambda: c.entries[-1:] == [b"end"])
    assert c.entries == [b"to B and C", b"to A and C", b"end"]


@in_virtual_world
async def test_a_joiner_that_cannot_load_its_state_holds_nobody_back_on_its_way_out(world: World) -> None:
    a = Ledger()
    group = await a.enter(world, "A")
    begun, fail = asyncio.Event(), asyncio.Event()

    async def refuse(chunks: AsyncIterator[bytes]) -> None:
        begun.set()
        await fail.wait()
        raise ValueError("not mine")

    joining = asyncio.create_task(Ledger().enter(world, "B", set_state=refuse))
    await begun.wait()
    sending = asyncio.create_task(group.send_many(NUMBERS))
    await asyncio.sleep(0)
    fail.set()
    with pytest.raises(StateError, match="not mine"):
        await joining
    await sending
    await until(lambda: len(a.entries) == len(NUMBERS))


@in_virtual_world
async def test_a_join_whose_place_is_lost_while_it_loads_goes_on_with_the_next_incarnation(world: World) -> None:
    """Simulated seed 241697: `join` ended with CancelledError, although nobody had cancelled it."""
    a, b, is_asked = Ledger(), Ledger(), asyncio.Event()

    async def first_never() -> AsyncIterator[bytes]:
        if not is_asked.is_set():
            is_asked.set()
            yield b"half a st"
            await asyncio.sleep(3600)
        async for chunk in a.get_state():
            yield chunk

    group = await a.enter(world, "A", get_state=first_never)
    await group.send(b"before")
    joining = world.joining("B", get_state=b.get_state, set_state=b.set_state)
    entering = asyncio.create_task(world.stack.enter_async_context(joining))
    await is_asked.wait()
    driver = joining._place.entry.driver
    assert driver is not None
    driver.on_lost("a gap")
    b.group = await entering
    assert b.entries == [b"before"] and b.group.me != driver.node.me
    b.reading = asyncio.create_task(b.read(b.group))
    await group.send(b"after")
    await until(lambda: b.entries == [b"before", b"after"])


@in_virtual_world
async def test_place_lost_as_the_state_is_loaded(world: World) -> None:
    """Messages of the lost place were read on top of the next state, which has them: twice."""
    a, b = Ledger(), Ledger()

    async def set_state(chunks: AsyncIterator[bytes]) -> None:
        await b.set_state(chunks)
        if b.loads == 1:
            driver = joining._place.entry.driver
            assert driver is not None and driver.spool is not None
            spool = driver.spool
            await group.send(b"during")
            await until(lambda: spool.messages == 1)
            driver.on_lost("a gap")

    group = await a.enter(world, "A")
    await group.send(b"before")
    joining = world.joining("B", get_state=b.get_state, set_state=set_state)
    b.group = await world.stack.enter_async_context(joining)
    b.reading = asyncio.create_task(b.read(b.group))
    await group.send(b"after")
    await until(lambda: b.entries[-1:] == [b"after"])
    assert b.entries == [b"before", b"during", b"after"] and b.loads == 2


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("spool_bytes", [1 << 20, 4_000], ids=["in memory", "on disk"])
def test_messages_to_a_joiner_alone_at_places_that_it_lost_are_read_behind_the_next_state(
    spool_bytes: int, places: int
) -> None:
    """Acked ones vanished without a word: at first all of them, then those that lay on the disk."""

    @in_virtual_world
    async def story(world: World) -> None:
        a, b = Ledger(), Ledger()
        asked = [asyncio.Event() for _ in range(places)]
        waiting = list(asked)

        async def at_last() -> AsyncIterator[bytes]:
            if waiting:
                waiting.pop(0).set()
                yield b"half a st"
                await asyncio.sleep(3600)
            async for chunk in a.get_state():
                yield chunk

        config = profile("test", spool_bytes=spool_bytes)
        group = await a.enter(world, "A", get_state=at_last, config=config)
        await group.send(b"before")
        joining = world.joining("B", get_state=b.get_state, set_state=b.set_state, config=config)
        entering = asyncio.create_task(world.stack.enter_async_context(joining))
        sent = [b"before"]
        for place, event in enumerate(asked):
            await event.wait()
            await until(lambda: len(named(group, "B")) == 1)
            for number in range(30):
                sent.append(b"%d of %d to B alone " % (number, place) + bytes(200))
                await group.send(sent[-1], to=named(group, "B"))
            sent.append(b"%d in order to B alone" % place)
            await group.send(sent[-1], to=named(group, "B"), order=TOTAL)
            await group.flush(5)
            driver = joining._place.entry.driver
            assert driver is not None
            driver.on_lost("a gap")
        b.group = await entering
        b.reading = asyncio.create_task(b.read(b.group))
        await group.send(b"after")
        await until(lambda: b.entries[-1:] == [b"after"])
        assert b.entries == [*sent, b"after"]

    story()
