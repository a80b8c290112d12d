"""Channels on one group: each has its own messages, all have the views; state, flow control, names nobody has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from ringcast import TOTAL, Address, Batch, Message, RingcastError, StatesApart, UsageError, View, ViewChange, ViewId
from ringcast.blocks import Channel, SharedGroup
from ringcast.blocks.block import Block, Sides
from ringcast.testing import World
from simulation.blocks.kit import FIRST_SEED, ODD, SEEDS, Service, cut_and_crash, finish, is_caught, service, settle


async def read(channel: Channel, count: int) -> list[bytes]:
    """So many messages; views between them are skipped."""
    found: list[bytes] = []
    while len(found) < count:
        event = await channel.receive(timeout=20)
        if isinstance(event, Message):
            found.append(event.payload)
    return found


def shared_of(world: World) -> dict[str, SharedGroup]:
    return {name: app.shared for name, app in world.apps.items()}


def test_a_channel_that_nobody_reads_keeps_the_newest_of_many_views() -> None:
    channel, me = Channel("sends only", unread=3), Address("A", 1, "mem:A")
    for number in range(1, 100):
        channel._on_notice(ViewChange(View(ViewId(number, me), (me,))))
    waiting = [notice.view.id.number for notice in channel._waiting if isinstance(notice, ViewChange)]
    assert waiting == [1, 2, 99]


def test_two_channels_share_a_group_and_each_reads_its_own() -> None:
    with World(service(list), members=3) as world:
        shared = shared_of(world)
        red = {name: one.channel("red") for name, one in shared.items()}
        blue = {name: one.channel("blue") for name, one in shared.items()}
        world.do("A", red["A"].send(b"r1"))
        world.do("A", blue["A"].send(b"b1", order=TOTAL))
        world.do("B", red["B"].send(b"r2", to=shared["C"].me))
        world.do("A", red["A"].send_many([b"r3", b"r4"]))
        assert world.do("C", read(blue["C"], 1)) == [b"b1"]
        assert sorted(world.do("C", read(red["C"], 4))) == [b"r1", b"r2", b"r3", b"r4"]
        assert world.do("B", read(red["B"], 3)) == [b"r1", b"r3", b"r4"]


def test_every_channel_sees_the_views_and_its_messages_keep_order_stamp_and_view() -> None:
    with World(service(list), members=3) as world:
        shared = shared_of(world)
        red = {name: one.channel("red") for name, one in shared.items()}
        world.crash("C")
        world.agree()
        world.do("A", red["A"].send(b"x", order=TOTAL))

        async def all_events() -> list[object]:
            return [await red["B"].receive(timeout=5) for _ in range(2)]

        change, message = world.do("B", all_events())
        assert isinstance(change, ViewChange) and len(change.view.members) == 2
        assert isinstance(message, Message) and message.order is TOTAL and message.stamp
        assert message.view == change.view and message.recipients == change.view.members


def test_messages_under_an_unknown_name_are_counted_and_said() -> None:
    with World(service(list), members=2) as world:
        shared = shared_of(world)
        only_a = shared["A"].channel("mine")
        world.do("A", only_a.send_many([b"1", b"2", b"3"]))
        world.do("A", shared["A"].group.send(b""))
        world.settle()
        assert shared["B"].unknown == {"mine": 3, "": 1}
        assert "3 messages came under the name 'mine'" in shared["B"].explain()
        assert world.do("A", read(only_a, 3)) == [b"1", b"2", b"3"]


def test_what_is_shorter_than_a_name_takes_nothing_with_it() -> None:
    with World(service(list), members=2) as world:
        shared = shared_of(world)
        orders = {name: one.channel("orders") for name, one in shared.items()}
        world.do("A", shared["A"].group.send_many([b"\x06", b"\x06orderstea", b"\x06ord", b"\x06ordersmilk"]))
        assert world.do("B", read(orders["B"], 2)) == [b"tea", b"milk"]
        assert shared["B"].unknown == {"": 1, "ord": 1}


def test_a_channel_that_nobody_reads_holds_the_group_and_explain_names_it_on_both_sides() -> None:
    with World(service(list), members=2) as world:
        shared = shared_of(world)
        slow = {name: one.channel("slow", unread=10) for name, one in shared.items()}
        fast = {name: one.channel("fast") for name, one in shared.items()}
        reader = world.spawn("A", read(slow["A"], 40))
        world.do("A", slow["A"].send_many([b"%d" % number for number in range(40)]))
        world.do("A", fast["A"].send(b"behind"))
        world.advance(3)
        assert "channel 'slow' holds the whole group back here" in shared["B"].explain()
        assert "its channel 'slow' has" in shared["A"].explain()
        assert not slow["B"]._unread > 40
        assert world.do("B", read(slow["B"], 40)) == [b"%d" % number for number in range(40)]
        assert world.do("B", read(fast["B"], 1)) == [b"behind"]
        world.settle()
        world.advance(1)
        assert "slow" not in shared["B"].explain() + shared["A"].explain()
        assert reader.done()


def test_a_cancelled_read_loses_nothing_and_a_second_reader_is_refused() -> None:
    with World(service(list), members=1) as world:
        red = shared_of(world)["A"].channel("red")
        waiting = world.spawn("A", red.receive())
        world.advance(0.1)
        with pytest.raises(UsageError, match="another task is reading"):
            world.do("A", red.receive())
        waiting.cancel()
        world.advance(0.1)
        world.do("A", red.send(b"x"))
        assert world.do("A", read(red, 1)) == [b"x"]


def test_names_are_checked_and_taken_once() -> None:
    with pytest.raises(UsageError, match="printable"):
        Channel("")
    with pytest.raises(UsageError, match="printable"):
        Channel("x" * 65)
    with pytest.raises(UsageError, match="already"):
        SharedGroup(Channel("a"), Channel("a"))
    with pytest.raises(UsageError, match="together"):
        Channel("a", get_state=lambda: b"")


# ---- two channels under faults, judged by what their messages say of themselves


class Two(Service):
    """Two channels, one with state. Each message says its channel, its process and its number; both readers note what
    is wrong. The state is the last number of each process: behind it the next one comes, and nothing of before.
    Only who merges with the others and goes before they have its state is heard without it."""

    def __init__(self, who: int) -> None:
        self.who = f"process {who}"
        super().__init__()

    def make(self) -> list[Block]:
        self.last: dict[str, tuple[str, int]] = {}  # process -> the incarnation that sent, the number
        self.wrong: list[str] = []
        self.gaps: list[tuple[str, str]] = []  # of whom, what: right if the next view is without it
        self.is_done = False
        self.random = Random(self.who)
        self.red = Channel("red", get_state=self.give, set_state=self.take, merge_state=self.merge, unread=8)
        self.blue = Channel("blue", unread=8)
        return [self.red, self.blue]

    def give(self) -> bytes:
        return repr(self.last).encode()

    def take(self, state: bytes) -> None:
        self.last = dict(eval(state))

    def merge(self, sides: Sides) -> bytes:
        merged: dict[str, tuple[str, int]] = {}
        for state in sides.values():
            for who, last in eval(state).items():
                merged[who] = max(last, merged.get(who, last), key=lambda one: one[1])
        return repr(merged).encode()

    async def live(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read(self.red, self.last_of_red))
            seen: dict[str, tuple[str, int]] = {}
            tasks.create_task(self._read(self.blue, lambda: seen))
            await self._send()
            self.is_done = True
            await asyncio.Event().wait()

    def last_of_red(self) -> dict[str, tuple[str, int]]:
        return self.last

    async def _send(self) -> None:
        """In bursts, so that runs hold both channels and readers fall behind."""
        numbers = {"red": 0, "blue": 0}
        for _ in range(40):
            await asyncio.sleep(self.random.random() / 3)
            if self.is_enough:
                break
            try:
                for _ in range(self.random.randint(1, 24)):
                    channel = self.random.choice([self.red, self.red, self.blue])
                    await channel.send(f"{channel.name}|{self.who}|{numbers[channel.name] + 1}".encode())
                    numbers[channel.name] += 1
            except RingcastError:
                await asyncio.sleep(0.1)  # It was not sent.

    async def _read(self, channel: Channel, last: Callable[[], dict[str, tuple[str, int]]]) -> None:
        async for event in channel:
            if isinstance(event, Message):
                await asyncio.sleep(self.random.choice([0, 0.003, 0.01]))
                name, who, text = event.payload.decode().split("|")
                self._note(channel, name, who, str(event.sender), int(text), last())
            elif isinstance(event, ViewChange) and channel is self.red:
                members = list(map(str, event.view.members))
                self.wrong += [words for sender, words in self.gaps if sender in members]
                self.gaps = []

    def _note(
        self, channel: Channel, name: str, who: str, sender: str, number: int, last: dict[str, tuple[str, int]]
    ) -> None:
        incarnation, before = last.get(who, (sender, 0))
        is_next = number == before + 1 or (channel is self.blue and who not in last)
        is_later = number > before and (incarnation != sender or channel is self.blue)
        words = f"{self.who} on {channel.name}: {name} {number} of {who} behind {before}"
        if name == channel.name and number > before + 1 and not is_later:
            self.gaps.append((sender, words))
        elif name != channel.name or not (is_next or is_later):
            self.wrong.append(words)
        last[who] = (sender, number)


def trouble(world: World) -> None:
    for _ in range(2):
        world.trouble(4, faults=3)
        settle(world)


def troubled(seed: int, story: Callable[[World], None] = trouble) -> list[str]:
    made: list[Two] = []

    def make() -> Two:
        made.append(Two(len(made)))
        return made[-1]

    with World(make, members=3 + seed % 2, seed=seed) as world:
        story(world)
        finish(world, lambda: all(app.is_done for app in world.apps.values()), 12)
        world.advance(0.5)
        found = [sentence for app in made for sentence in app.wrong]
        found += [words for app in world.apps.values() for _, words in app.gaps]
        world.same(lambda app: app.last)
        found += [f"{app.who} has counted as unknown {app.shared.unknown}" for app in made if app.shared.unknown]
        return found


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whatever_goes_wrong_each_channel_has_its_own_messages_and_its_state_is_cut_where_its_reader_stands(
    seed: int,
) -> None:
    assert troubled(seed) == []


def test_a_member_without_the_same_blocks_is_refused_with_a_sentence() -> None:
    with World(partial(Two, 0), members=2) as world:
        lonely = SharedGroup(Channel("other"))
        state = world.do("A", world.apps["A"].shared.get_state())

        async def load() -> None:
            async def chunks():  # type: ignore[no-untyped-def]
                yield state

            await lonely.set_state(chunks())

        with pytest.raises(Exception, match="'red' is None here and channel there"):
            world.do("A", load())


class Refusing(Service):
    """A channel whose states never become one."""

    def make(self) -> list[Block]:
        self.apart: list[str] = []
        self.log = Channel("log", get_state=lambda: b"", set_state=lambda _: None, merge_state=self.refuse)
        return [self.log]

    def refuse(self, sides: Sides) -> bytes:
        raise ValueError("these do not fit")

    async def live(self) -> None:
        async for event in self.log:
            if isinstance(event, StatesApart):
                self.apart.append(event.why)


def test_a_channel_whose_states_cannot_become_one_is_told_and_the_others_merge() -> None:
    with World(Refusing, members=2) as world:
        world.partition("A")
        world.advance(8)
        world.do("A", world.apps["A"].shared.tag(role="web"))
        world.heal()
        world.settle(60)
        world.advance(1)
        assert world.same(lambda app: set(app.apart)) == {"these do not fit"}
        assert len(world.same(lambda app: app.shared.tagged(role="web"))) == 1


@pytest.mark.parametrize("wrong", [None, "text", 5])
def test_a_state_of_a_channel_that_is_not_bytes_is_refused_where_it_is_made(wrong: Any) -> None:
    class Wrong(Refusing):
        def refuse(self, sides: Sides) -> bytes:
            return wrong  # type: ignore[no-any-return]

    with World(Wrong, members=2) as world:
        world.partition("A")
        world.advance(8)
        world.heal()
        world.settle(60)
        world.advance(1)
        assert "merge_state of channel 'log' must give bytes" in world.same(lambda app: app.apart[0])
        giver = Channel("log", get_state=lambda: wrong, set_state=lambda _: None, merge_state=lambda _: b"")

        async def cut() -> bytes:
            giver._put = lambda stop: stop.done.set_result(stop.act())  # type: ignore[method-assign, union-attr]
            return await giver._cut()

        with pytest.raises(UsageError, match="get_state of channel 'log' must give bytes"):
            world.do("A", cut())


def _at_once(self: Channel, act: Callable[[], bytes]) -> asyncio.Future[bytes]:
    done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    done.set_result(act())
    return done


def _run_to_the_first(self: SharedGroup, batch: Batch) -> list[Block]:
    length = 1 + batch.payloads[0][0]
    block = self._by_prefix[batch.payloads[0][:length]]
    block._on_batch(batch.with_payloads([payload[1 + payload[0] :] for payload in batch.payloads]))
    return [block]


async def _loads_nothing(self: Channel, state: bytes) -> None:
    pass


def _drops_when_full(self: Channel, batch: Batch) -> None:
    if not self._is_full:
        right_on_batch(self, batch)


def _last_first(self: Channel, batch: Batch) -> None:
    right_on_batch(self, batch)
    self._waiting.rotate()


right_on_batch: Callable[..., None] = Channel._on_batch
PLANTED: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "a state does not wait for its reader": (Channel, "_at_the_reader", _at_once),
    "a run goes to the channel of its first message": (SharedGroup, "_hand_on", _run_to_the_first),
    "a state is not loaded": (Channel, "_load", _loads_nothing),
    "a full channel drops": (Channel, "_on_batch", _drops_when_full),
    "what comes last is read first": (Channel, "_on_batch", _last_first),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PLANTED[mistake])
    assert any(is_caught(partial(troubled, seed, cut_and_crash)) for seed in ODD)
