"""`merge_state` of `join`: after a partition the applications' states become one, directly behind the MergeView."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ringcast.core import Deliver
from ringcast.errors import ConfigError, StateError
from ringcast.model import Message, StatesApart, ViewChange, profile
from ringcast.order import Order
from ringcast.runtime import Group, join
from ringcast.runtime.reunion import Sides
from unit.runtime.test_join import World, until
from unit.runtime.virtual import in_virtual_world


class Counter:
    """A replicated counter: each message adds one for its word; a merge adds up what each side counted while apart."""

    def __init__(self, chunk_bytes: int = 64) -> None:
        self.words: list[bytes] = []
        self.stream: list[str] = []  # what the application saw, in order
        self.apart: list[str] = []
        self.hooked: list[list[int]] = []
        self.chunk_bytes = chunk_bytes
        self.reading: asyncio.Task[None] | None = None

    async def get_state(self) -> AsyncIterator[bytes]:
        state = b"\n".join(self.words)
        for at in range(0, len(state), self.chunk_bytes):
            yield state[at : at + self.chunk_bytes]

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        state = b"".join([chunk async for chunk in chunks])
        self.words = state.split(b"\n") if state else []
        self.stream.append("state")

    def merge_state(self, states: Sides) -> bytes:
        self.hooked.append([len(side) for side in states])
        return b"\n".join(sorted({word for state in states.values() for word in state.split(b"\n") if word}))

    async def enter(self, world: World, name: str, **options: Any) -> Group:
        hooks = {"get_state": self.get_state, "set_state": self.set_state, "merge_state": self.merge_state} | options
        group = await world.stack.enter_async_context(world.joining(name, **hooks))
        self.reading = asyncio.create_task(self.read(group))
        return group

    async def read(self, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                self.words.append(event.payload)
                self.stream.append(event.payload.decode())
            elif isinstance(event, ViewChange):
                self.stream.append("merge" if event.view.is_merge else "view")
            elif isinstance(event, StatesApart):
                self.stream.append("apart")
                self.apart.append(event.why)


class Split:
    """Four members, A B | C D, with different counts on both sides."""

    def __init__(self, world: World, **options: Any) -> None:
        self.world = world
        self.options = options
        self.counters = {name: Counter() for name in "ABCD"}
        self.groups: dict[str, Group] = {}

    async def begin(self) -> None:
        for name, counter in self.counters.items():
            own = {key: value[name] if isinstance(value, dict) else value for key, value in self.options.items()}
            self.groups[name] = await counter.enter(self.world, name, **own)
        await self.groups["A"].send(b"both")
        await until(lambda: all(counter.words == [b"both"] for counter in self.counters.values()))
        self.cut(True)
        await until(lambda: all(len(group.members) == 2 for group in self.groups.values()))
        await self.groups["B"].send_many([b"left %d" % n for n in range(20)])
        await self.groups["D"].send_many([b"right %d" % n for n in range(20)])
        await until(lambda: all(len(counter.words) == 21 for counter in self.counters.values()))

    def cut(self, is_cut: bool) -> None:
        left = ("A", "B")
        for name, transport in self.world.transports.items():
            if is_cut:
                transport.block(self.world.transports[n].local for n in "ABCD" if (n in left) != (name in left))
            else:
                transport.unblock()

    async def merged(self, names: str = "ABCD") -> None:
        await until(lambda: all(len(self.groups[name].members) == len(names) for name in names))


@in_virtual_world
async def test_every_member_loads_the_merged_state_directly_behind_the_merge_view(world: World) -> None:
    split = Split(world)
    await split.begin()
    sending = asyncio.create_task(split.groups["C"].send_many([b"on %d" % n for n in range(300)]))
    split.cut(False)
    await split.merged()
    await sending
    await split.groups["A"].send(b"after")
    await until(lambda: all(len(counter.words) == 342 for counter in split.counters.values()))
    states = [sorted(counter.words) for counter in split.counters.values()]
    assert all(state == states[0] for state in states) and len(set(states[0])) == 342
    assert [counter.hooked for counter in split.counters.values()] == [[[2, 2]], [], [], []]
    for counter in split.counters.values():
        at = counter.stream.index("merge")
        assert counter.stream[at + 1] == "state" and counter.stream.count("merge") == 1


@in_virtual_world
async def test_a_hook_that_raises_is_told_to_all_and_everybody_keeps_its_own(world: World) -> None:
    def fail(states: Sides) -> bytes:
        raise ValueError("these cannot be one")

    split = Split(world, merge_state=fail)
    await split.begin()
    split.cut(False)
    await until(lambda: all(counter.apart for counter in split.counters.values()))
    for counter in split.counters.values():
        assert counter.apart == ["merge_state failed: ValueError: these cannot be one"]
        assert counter.stream[-2:] == ["merge", "apart"] and len(counter.words) == 21
    await split.groups["D"].send(b"on")
    await until(lambda: all(counter.words[-1] == b"on" for counter in split.counters.values()))


@in_virtual_world
async def test_the_hook_may_be_a_coroutine_and_states_have_a_limit(world: World) -> None:
    async def merge(states: Sides) -> bytes:
        await asyncio.sleep(0)
        return b"one"

    split = Split(world, merge_state=merge, config={n: profile("test", merge_state_bytes=4_000) for n in "ABCD"})
    await split.begin()
    split.cut(False)
    await until(lambda: all(counter.words == [b"one"] for counter in split.counters.values()))


@in_virtual_world
async def test_states_above_the_limit_stay_apart_and_it_is_said(world: World) -> None:
    split = Split(world, config={name: profile("test", merge_state_bytes=100) for name in "ABCD"})
    await split.begin()
    split.cut(False)
    await until(lambda: all(counter.apart for counter in split.counters.values()))
    assert "above merge_state_bytes" in split.counters["D"].apart[0]


@in_virtual_world
async def test_a_merger_that_dies_in_its_hook_is_followed_by_another(world: World) -> None:
    called = asyncio.Event()

    async def never(states: Sides) -> bytes:
        called.set()
        await asyncio.sleep(3600)
        return b""

    split = Split(world)
    split.options = {"merge_state": {n: never if n == "A" else split.counters[n].merge_state for n in "ABCD"}}
    await split.begin()
    split.cut(False)
    await called.wait()
    await split.groups["A"].close()  # Without a word, as a crash.
    await split.merged("BCD")
    await split.groups["C"].send(b"after")
    names = "BCD"
    await until(lambda: all(len(split.counters[name].words) == 42 for name in names))
    assert [split.counters[name].hooked for name in names] == [[[2, 2]], [], []]


@in_virtual_world
async def test_a_member_that_cannot_load_the_merged_state_is_out_and_the_others_go_on(world: World) -> None:
    async def refuse(chunks: AsyncIterator[bytes]) -> None:
        raise OSError("no room")

    split = Split(world)
    await split.begin()
    reunion = split.groups["D"]._state._reunion
    assert reunion is not None
    reunion._set_state = refuse
    split.cut(False)
    await until(lambda: split.groups["D"]._is_going)
    with pytest.raises(
        StateError, match=r"the merged state of A#\w+ could not be loaded: set_state failed: OSError: no room"
    ):
        await split.groups["D"].send(b"x")
    await split.merged("ABC")
    await split.groups["A"].send(b"on")
    await until(lambda: all(len(split.counters[name].words) == 42 for name in "ABC"))


@in_virtual_world
async def test_a_merged_state_that_counts_is_loaded_to_its_end_whatever_merge_comes_meanwhile(world: World) -> None:
    """Simulated seed 1 (state): the second merge cancelled `set_state` of the first, and the reader stood for ever."""
    split = Split(world)
    await split.begin()
    counter, reunion = split.counters["D"], split.groups["D"]._state._reunion
    assert reunion is not None
    begun, may_end = asyncio.Event(), asyncio.Event()
    cancelled: list[str] = []

    async def slowly(chunks: AsyncIterator[bytes]) -> None:
        begun.set()
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            cancelled.append("cancelled")
            raise
        await counter.set_state(chunks)

    reunion._set_state = slowly
    split.cut(False)
    await split.merged()
    await begun.wait()
    await until(lambda: all(split.counters[name].stream[-1] == "state" for name in "ABC"))
    split.cut(True)
    await until(lambda: all(len(group.members) == 2 for group in split.groups.values()))
    split.cut(False)
    await split.merged()
    may_end.set()
    await until(lambda: counter.stream.count("merge") == 2)
    await split.groups["A"].send(b"after")
    await until(lambda: all(each.words[-1:] == [b"after"] for each in split.counters.values()))
    assert not cancelled
    marks = [word for word in counter.stream if word in ("merge", "state", "apart")]
    assert marks[:3] == ["state", "merge", "state"], "that of its join, and that of the first merge"
    assert all(sorted(each.words) == sorted(counter.words) for each in split.counters.values())


@in_virtual_world
async def test_a_reader_that_is_cancelled_at_the_stop_loses_nothing(world: World) -> None:
    go_on, called = asyncio.Event(), asyncio.Event()

    async def slow(states: Sides) -> bytes:
        called.set()
        await go_on.wait()
        return b"one"

    split = Split(world, merge_state=slow)
    await split.begin()
    split.cut(False)
    await called.wait()
    b = split.counters["B"]
    assert b.reading is not None
    b.reading.cancel()
    await asyncio.gather(b.reading, return_exceptions=True)
    go_on.set()
    await split.groups["C"].send(b"after")
    b.reading = asyncio.create_task(b.read(split.groups["B"]))
    await until(lambda: all(counter.words == [b"one", b"after"] for counter in split.counters.values()))


class LateJoiner:
    """A | C and D, which joins with a state that C never ends giving: the merge comes before it."""

    def __init__(self, world: World, spool_bytes: int) -> None:
        self.world = world
        self.a, self.c, self.d = Counter(), Counter(), Counter()
        self.groups: dict[str, Group] = {}
        self.is_asked = asyncio.Event()
        self.config = profile("test", spool_bytes=spool_bytes)

    async def begin(self) -> None:
        """D has taken 3 x 100 messages into its spool, a third of them to itself alone, and has no state."""
        for name, counter in (("A", self.a), ("C", self.c)):
            own = {"get_state": self.first_never} if name == "C" else {}
            self.groups[name] = await counter.enter(self.world, name, **own)
        self.cut("AC")
        await until(lambda: all(len(group.members) == 1 for group in self.groups.values()))
        hooks = {"get_state": self.d.get_state, "set_state": self.d.set_state, "merge_state": self.d.merge_state}
        joining = self.world.joining("D", seeds=("mem:C",), config=self.config, **hooks)
        self.cut("ACD")
        self.joining = asyncio.create_task(self.world.stack.enter_async_context(joining))
        await self.is_asked.wait()
        c = self.groups["C"]
        newcomer = next(member for member in c.members if member.name == "D")
        for number in range(100):
            await c.send(b"all %d" % number)
            await c.send(b"alone %d" % number, to=newcomer)
            await c.send(b"ordered %d" % number, order=Order.TOTAL)
        await c.flush(10)

    async def first_never(self) -> AsyncIterator[bytes]:
        if not self.is_asked.is_set():
            yield b"half a stat"
            self.is_asked.set()
            await asyncio.sleep(3600)
        async for chunk in self.c.get_state():
            yield chunk

    def cut(self, names: str) -> None:
        transports = self.world.transports
        for name in names:
            others = [other for other in names if (name == "A") != (other == "A")]
            transports[name].block(transports[other].local for other in others)

    def heal(self) -> None:
        for transport in self.world.transports.values():
            transport.unblock()

    async def read(self) -> None:
        self.groups["D"] = await self.joining
        self.d.reading = asyncio.create_task(self.d.read(self.groups["D"]))


@pytest.mark.parametrize("spool_bytes", [1_000_000, 8_000], ids=["in memory", "on disk"])
def test_what_came_to_a_joiner_alone_is_read_behind_the_state_of_a_merge_that_came_first(spool_bytes: int) -> None:
    """Simulated seed 1 (rejoin, state): it was read before there was any state (G18); before that it was lost (G15)."""

    @in_virtual_world
    async def story(world: World) -> None:
        late = LateJoiner(world, spool_bytes)
        await late.begin()
        late.heal()
        d = await late.joining
        spool = d._reading._driver.spool
        assert spool is not None and spool.messages == 100 and (spool.disk_bytes > 0) == (spool_bytes < 10_000)
        await late.read()
        await until(lambda: "alone 99" in late.d.stream)
        await late.groups["A"].send(b"after")
        await until(lambda: "after" in late.d.stream)
        stream = [word for word in late.d.stream if word != "view"]
        assert stream == ["merge", "state", *(f"alone {number}" for number in range(100)), "after"]
        assert spool.is_empty and spool.disk_bytes == 0
        assert sorted(late.d.words) == sorted([*late.a.words, *(b"alone %d" % number for number in range(100))])

    story()


@pytest.mark.parametrize("is_reached", [True, False], ids=["at the stop", "before the stop"])
@pytest.mark.parametrize("spool_bytes", [1_000_000, 8_000], ids=["in memory", "on disk"])
def test_what_came_to_a_member_alone_stays_when_another_one_gives_the_merged_state(
    spool_bytes: int, is_reached: bool
) -> None:
    """The merger dies, and who has the merged state gives its own: what is private is not in that (G15, G16)."""

    @in_virtual_world
    async def story(world: World) -> None:
        split = Split(world)
        counters, groups, may_load = split.counters, split.groups, asyncio.Event()

        def merge_without_d(states: Sides) -> bytes:
            world.transports["A"].block([world.transports["D"].local])
            return counters["A"].merge_state(states)

        async def set_state(chunks: AsyncIterator[bytes]) -> None:
            await may_load.wait()
            await counters["D"].set_state(chunks)

        for name in "ABC":
            groups[name] = await counters[name].enter(world, name, merge_state=merge_without_d)
        hooks = {"get_state": counters["D"].get_state, "set_state": set_state, "merge_state": merge_without_d}
        config = profile("test", spool_bytes=spool_bytes)
        joining = world.stack.enter_async_context(world.joining("D", config=config, **hooks))
        entering = asyncio.create_task(joining)
        await until(lambda: len(groups["C"].members) == 4)
        for number in range(100):
            await groups["C"].send(b"all %d" % number)
            await groups["C"].send(b"alone %d" % number, to=groups["C"].members[-1])
        await groups["C"].flush(10)
        may_load.set()
        d = groups["D"] = await entering
        spool, reunion = d._reading._driver.spool, d._state._reunion
        assert spool is not None and (spool.disk_bytes > 0) == (spool_bytes < 10_000) and reunion is not None
        if is_reached:
            reading = asyncio.create_task(counters["D"].read(d))
        split.cut(True)
        await until(lambda: all(len(group.members) == 2 for group in groups.values()))
        split.cut(False)
        await until(lambda: counters["C"].stream.count("state") == 2)
        await groups["C"].send(b"in the state")
        await groups["C"].send(b"later, alone", to=d.me)
        await until(lambda: {b"in the state", b"later, alone"} <= _unread(d))
        assert reunion.is_open and reunion.is_busy == is_reached
        await groups["A"].close()  # Without a word, as a crash.
        await until(lambda: len(d.members) == 3)
        if not is_reached:
            reading = asyncio.create_task(counters["D"].read(d))
        await until(lambda: reading.done() or "later, alone" in counters["D"].stream)
        stream = [word for word in counters["D"].stream if word != "view" and not word.startswith("all")]
        alone = [f"alone {number}" for number in range(100)]
        assert stream == ["state", *alone, "merge", "state", "later, alone"]
        assert b"in the state" in counters["D"].words
        assert spool.is_empty and spool.disk_bytes == 0

    story()


@pytest.mark.parametrize("end", ["a new incarnation", "closed"])
@pytest.mark.parametrize("is_reached", [True, False], ids=["at the stop", "before the stop"])
def test_what_lies_behind_a_merged_state_that_never_came_is_handed_to_nobody(is_reached: bool, end: str) -> None:
    """A member lost its place while it waited, and read the messages of the merged view on top of its old state."""

    @in_virtual_world
    async def story(world: World) -> None:
        go_on, called = asyncio.Event(), asyncio.Event()

        async def slow(states: Sides) -> bytes:
            called.set()
            await go_on.wait()
            return b"one"

        split = Split(world, merge_state=slow)
        await split.begin()
        counter, d = split.counters["D"], split.groups["D"]
        assert counter.reading is not None
        if not is_reached:
            counter.reading.cancel()
            await asyncio.gather(counter.reading, return_exceptions=True)
        split.cut(False)
        await called.wait()
        await split.merged()
        await split.groups["B"].send(b"behind")
        await until(lambda: b"behind" in _unread(d))
        if end == "closed":
            await d.close()
        else:
            was, reunion = d.me, d._state._reunion
            assert reunion is not None
            reunion.lacks_state = True  # As of one that joined with state, and the merge came first.
            d._driver.on_lost("a gap")
            await until(lambda: d.me != was)
            assert not reunion.lacks_state, "the new one asks for a state of its own"
        if not is_reached:
            counter.reading = asyncio.create_task(counter.read(d))
        if end == "closed":
            await counter.reading
            assert counter.stream[-1] == "merge"
        go_on.set()
        if end != "closed":
            await until(lambda: counter.words == [b"one", b"behind"])
            assert counter.stream[counter.stream.index("merge") + 1] == "state"
            assert counter.stream.count("behind") == 0, "it is part of the state with which the new one begins"

    story()


def _unread(group: Group) -> set[bytes]:
    inbox = group._reading._driver.inbox
    return {payload for item in inbox if isinstance(item, Deliver) for payload in item.payloads}


def test_a_merge_hook_needs_the_other_two() -> None:
    with pytest.raises(ConfigError, match="merge_state needs get_state and set_state"):
        join("g", merge_state=lambda states: b"")
