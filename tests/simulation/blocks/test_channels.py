"""Channels on one group: each has its own messages, all have the views; state, flow control, names nobody has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from ringcast import TOTAL, Message, StatesApart, UsageError, ViewChange
from ringcast.blocks import Channel, SharedGroup
from ringcast.blocks.block import Block, Sides
from ringcast.testing import Diverged, World
from simulation.blocks.kit import FIRST_SEED, SEEDS, Service, service


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


class Ledger(Service):
    """A channel whose application counts what each member said, slowly; its state is the counts."""

    def make(self) -> list[Block]:
        self.counts: dict[str, int] = {}
        self.log = Channel("log", get_state=self.give, set_state=self.take, merge_state=self.merge, unread=8)
        self.random = Random(0)
        return [self.log]

    def give(self) -> bytes:
        return repr(self.counts).encode()

    def take(self, state: bytes) -> None:
        self.counts = dict(eval(state))

    def merge(self, sides: Sides) -> bytes:
        merged: dict[str, int] = {}
        for state in sides.values():
            for name, count in eval(state).items():
                merged[name] = max(count, merged.get(name, 0))
        return repr(merged).encode()

    async def live(self) -> None:
        async for event in self.log:
            if isinstance(event, Message):
                await asyncio.sleep(self.random.choice([0, 0, 0.003]))
                who = f"{event.sender.name}{event.sender.incarnation}"
                self.counts[who] = self.counts.get(who, 0) + 1


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_a_channels_state_is_cut_where_its_own_reader_stands_through_any_trouble(seed: int) -> None:
    with World(Ledger, members=3, seed=seed) as world:
        sent = 0
        for _ in range(3):
            for name, app in world.apps.items():
                world.spawn(name, app.log.send_many([b"x"] * 20))
                sent += 20
            world.trouble(4, faults=3)
            world.settle(60)
            world.advance(0.5)
        found = world.same(lambda app: app.counts)
        assert found and sum(found.values()) <= sent


def test_a_member_without_the_same_blocks_is_refused_with_a_sentence() -> None:
    with World(Ledger, members=2) as world:
        lonely = SharedGroup(Channel("other"))
        state = world.do("A", world.apps["A"].shared.get_state())

        async def load() -> None:
            async def chunks():  # type: ignore[no-untyped-def]
                yield state

            await lonely.set_state(chunks())

        with pytest.raises(Exception, match="'log' is None here and channel there"):
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


def _at_once(self: Channel, act: Callable[[], bytes]) -> asyncio.Future[bytes]:
    done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    done.set_result(act())
    return done


def test_a_state_that_does_not_wait_for_its_reader_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Channel, "_at_the_reader", _at_once)
    with World(Ledger, members=2) as world:
        world.do("A", world.apps["A"].log.send_many([b"x"] * 8))
        world.start("C")
        for _ in range(30):
            world.do("A", world.apps["A"].log.send_many([b"x"] * 8))
        world.settle()
        world.advance(1)
        with pytest.raises(Diverged):
            world.same(lambda app: app.counts)
        world.abandon()
