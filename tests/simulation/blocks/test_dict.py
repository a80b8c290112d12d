"""The replicated dictionary in the simulated world: one order, local reads, comparison, state, merge rules, feeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from ringcast import Address, RingcastError, StateError, UsageError, View
from ringcast.blocks import ABSENT, Apart, Change, ReplicatedCounter, ReplicatedDict, ReplicatedSet, StaleToken, Token
from ringcast.blocks.block import Block
from ringcast.blocks.changes import Changes
from ringcast.blocks.table import Table
from ringcast.testing import World
from simulation.blocks.dict_history import Asked, Process, Seen, judge, lost
from simulation.blocks.kit import FIRST_SEED, ODD, SEEDS, Service, cut_and_crash, finish, is_caught


class Prices(Service):
    merge: Any = "last"

    def make(self) -> list[Block]:
        self.dict = ReplicatedDict("prices", str, int, merge=self.merge)
        self.set = ReplicatedSet("names", str)
        self.counter = ReplicatedCounter("votes", str)
        return [self.dict, self.set, self.counter]


def with_rule(rule: Any) -> type[Prices]:
    return type("Ruled", (Prices,), {"merge": staticmethod(rule) if callable(rule) else rule})


def test_a_write_is_read_here_when_it_returns_and_soon_everywhere() -> None:
    with World(Prices, members=3) as world:
        a = world.apps["A"].dict
        world.do("A", a.set("tea", 4))
        assert a["tea"] == 4 and dict(a) == {"tea": 4} and "tea" in a and len(a) == 1
        world.do("B", world.apps["B"].dict.update({"milk": 1, "tea": 5}))
        assert world.do("C", world.apps["C"].dict.delete("milk")) is True
        assert world.do("C", world.apps["C"].dict.delete("milk")) is False
        world.settle()
        assert world.same(lambda app: dict(app.dict)) == {"tea": 5}


def test_of_many_who_compare_and_set_one_succeeds() -> None:
    with World(Prices, members=4) as world:
        tries = [
            world.spawn(name, app.dict.compare_and_set("job", ABSENT, number))
            for number, (name, app) in enumerate(world.apps.items())
        ]
        world.settle()
        assert sorted(task.result() for task in tries) == [False, False, False, True]
        winner = [task.result() for task in tries].index(True)
        assert world.same(lambda app: app.dict["job"]) == winner
        a = world.apps["A"].dict
        assert world.do("A", a.compare_and_set("job", winner, ABSENT)) and "job" not in a
        assert not world.do("A", a.compare_and_set("job", 7, 8))


def test_who_joins_later_has_everything_and_goes_on_with_it() -> None:
    with World(Prices, members=2) as world:
        world.do("A", world.apps["A"].dict.update({f"k{number}": number for number in range(500)}))
        world.do("A", world.apps["A"].set.add("x"))
        world.do("A", world.apps["A"].counter.add("x", 3))
        world.start("C")
        world.settle()
        world.do("C", world.apps["C"].dict.set("k1", -1))
        world.settle()
        assert world.same(lambda app: dict(app.dict))["k1"] == -1
        assert world.same(lambda app: (sorted(app.set), dict(app.counter))) == (["x"], {"x": 3})


def apart(rule: Any) -> tuple[World, Any, Any]:
    """Two sides, A and B; before that `both` and `kept` were written."""
    world = World(with_rule(rule), members=2)
    a, b = world.apps["A"].dict, world.apps["B"].dict
    world.do("A", a.update({"both": 1, "kept": 1, "cut": 1}))
    world.settle()
    world.partition("A")
    world.advance(8)
    return world, a, b


def healed(world: World) -> dict[str, int]:
    world.heal()
    world.settle(60)
    return world.same(lambda app: dict(app.dict))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("last", {"both": 30, "kept": 1, "left": 7, "right": 8}),
        ("union", {"both": 30, "kept": 1, "cut": 1, "left": 7, "right": 8}),
        ("sum", {"both": 50, "kept": 1, "cut": 1, "left": 7, "right": 8}),
        (lambda key, values: min(values), {"both": 20, "kept": 1, "left": 7, "right": 8}),
    ],
)
def test_two_sides_become_one_by_the_rule(rule: Any, expected: dict[str, int]) -> None:
    world, a, b = apart(rule)
    with world:
        world.do("A", a.set("both", 20))
        world.do("A", a.set("left", 7))
        world.do("B", b.delete("cut"))
        world.do("B", b.set("right", 8))
        world.do("B", b.set("both", 30))  # The third operation of its side: a later version.
        assert healed(world) == expected
        world.do("A", a.set("both", 0))
        world.settle()
        assert world.same(lambda app: app.dict["both"]) == 0


@pytest.mark.parametrize("rule", ["sum", lambda key, values: sum(values)])
def test_equal_writes_of_two_sides_are_two_though_their_versions_are_equal(rule: Any) -> None:
    """Both sides have a view of the same number, and this is the first operation in it."""
    world, a, b = apart(rule)
    with world:
        world.do("A", a.set("both", 20))
        world.do("B", b.set("both", 20))
        assert a._entries["both"][:2] == b._entries["both"][:2]
        assert healed(world) == {"both": 40, "kept": 1, "cut": 1}


def test_a_rule_that_refuses_leaves_both_sides_readable_and_refuses_writes_until_replaced() -> None:
    world, a, b = apart("refuse")
    with world:
        world.do("A", a.set("both", 20))
        world.heal()
        world.settle(60)
        world.do("A", world.apps["A"].counter.add("x"))  # The other blocks have merged.
        for name, app in world.apps.items():
            with pytest.raises(Apart, match="the sides differ"):
                world.do(name, app.dict.set("x", 1))
            assert "stays apart" in app.shared.explain()
        assert (a["both"], b["both"]) == (20, 1)
        world.start("C")
        world.settle(60)
        with pytest.raises(Apart):
            world.do("C", world.apps["C"].dict.set("x", 1))
        world.do("B", b.replace({"both": 5}))
        world.do("A", a.set("x", 1))
        world.settle()
        assert world.same(lambda app: dict(app.dict)) == {"both": 5, "x": 1}
        assert "stays apart" not in world.apps["A"].shared.explain()


def test_a_rule_that_refuses_does_not_mind_sides_that_are_equal() -> None:
    world, _, _ = apart("refuse")
    with world:
        assert healed(world) == {"both": 1, "kept": 1, "cut": 1}
        world.do("A", world.apps["A"].dict.set("x", 1))


def test_a_set_keeps_what_any_side_added_and_a_counter_adds_up_what_each_counted() -> None:
    world, _, _ = apart("last")
    with world:
        a, b = world.apps["A"], world.apps["B"]
        assert world.do("A", a.set.add("x")) and not world.do("A", a.set.add("x"))
        world.do("B", b.set.update(["y", "z"]))
        assert world.do("B", b.set.discard("z"))
        assert world.do("A", a.counter.add("tea", 5)) == 5
        assert world.do("B", b.counter.add("tea", -2)) == -2
        healed(world)
        assert world.same(lambda app: sorted(app.set)) == ["x", "y"]
        assert world.same(lambda app: app.counter["tea"]) == 3 and a.counter["never"] == 0
        world.do("B", b.counter.reset())
        assert world.do("A", a.counter.add("tea")) == 1


def test_a_feed_tells_each_change_and_a_slow_reader_the_last_of_each_key() -> None:
    with World(Prices, members=2) as world:
        a, b = world.apps["A"].dict, world.apps["B"].dict
        feed = b.changes()
        me = world.apps["A"].shared.me
        world.do("A", a.set("tea", 4))
        world.settle()
        assert world.do("B", anext(feed)) == Change("tea", None, 4, me)
        for value in (5, 6, 7):
            world.do("A", a.set("tea", value))
        world.do("A", a.set("milk", 1))
        world.do("A", a.delete("tea"))
        world.settle()
        assert world.do("B", anext(feed)) == Change("tea", 4, None, me)
        assert world.do("B", anext(feed)) == Change("milk", None, 1, me)
        waiting = world.spawn("B", anext(feed))
        world.advance(0.1)
        with pytest.raises(UsageError, match="another task is reading"):
            world.do("B", anext(feed))
        waiting.cancel()
        feed.close()
        assert world.do("B", _rest(feed)) == []


def test_a_feed_of_a_group_that_has_ended_ends() -> None:
    with World(Prices, members=1) as world:
        app = world.apps["A"]
        app.shared._end(RingcastError("the end"))
        assert world.do("A", _rest(app.dict.changes())) == []


async def _rest(feed: Changes[str, int]) -> list[Change[str, int]]:
    return [change async for change in feed]


def test_a_write_with_an_older_token_is_refused_everywhere() -> None:
    with World(Prices, members=2) as world:
        a, b = world.apps["A"].dict, world.apps["B"].dict
        world.do("A", a.set("job", 1, token=Token(3, 1)))
        with pytest.raises(StaleToken, match=r"token 3\.1, this one has 2\.9"):
            world.do("B", b.set("job", 2, token=Token(2, 9)))
        world.do("B", b.delete("job", token=Token(3, 2)))
        with pytest.raises(StaleToken):
            world.do("A", a.set("job", 2, token=Token(3, 1)))
        world.do("A", a.set("job", 3))
        world.settle()
        assert world.same(lambda app: app.dict["job"]) == 3


def test_a_token_counts_though_it_came_with_what_changed_nothing() -> None:
    """A former holder comes late: its successor has compared in vain, or deleted what was not there."""
    with World(Prices, members=2) as world:
        a, b = world.apps["A"].dict, world.apps["B"].dict
        world.do("A", a.set("job", 1))
        assert not world.do("A", a.compare_and_set("job", 5, 6, token=Token(3, 1)))
        assert not world.do("A", a.delete("gone", token=Token(3, 1)))
        assert not world.do("A", a.compare_and_set("never", 5, 6, token=Token(3, 1)))
        for key in ("job", "gone", "never"):
            with pytest.raises(StaleToken):
                world.do("B", b.set(key, 2, token=Token(2, 9)))
        world.settle()
        assert world.same(lambda app: dict(app.dict)) == {"job": 1}


def test_a_token_alone_is_no_difference_for_a_rule_that_refuses() -> None:
    world, a, _ = apart("refuse")
    with world:
        assert not world.do("A", a.delete("never", token=Token(3, 1)))
        assert healed(world) == {"both": 1, "kept": 1, "cut": 1}
        world.do("A", a.set("x", 1))


def test_behind_a_replacement_that_ends_being_apart_all_refuse_alike() -> None:
    """A had deleted a key and fenced others alone: B, which replaces everything, knows of one token only."""
    world, a, b = apart("refuse")
    with world:
        world.do("A", a.set("both", 20, token=Token(9, 1)))
        world.do("A", a.delete("cut", token=Token(9, 1)))
        world.do("B", b.set("kept", 2, token=Token(7, 1)))
        world.heal()
        world.settle(60)
        world.do("B", b.replace({"both": 5, "kept": 6}))
        world.do("A", a.set("both", 7, token=Token(8, 1)))
        with pytest.raises(StaleToken):
            world.do("A", a.set("kept", 7, token=Token(6, 9)))
        world.settle()
        assert world.same(lambda app: (app.dict._entries, app.dict._graves))
        assert dict(a) == {"both": 7, "kept": 6}
        world.partition("A")
        world.advance(8)
        assert healed(world) == {"both": 7, "kept": 6}
        world.do("B", b.set("x", 1))  # The sides were equal: nothing stays apart.


def test_a_rule_whose_value_is_of_another_type_leaves_the_sides_apart() -> None:
    world, a, b = apart(lambda key, values: "many")
    with world:
        world.do("A", a.set("both", 20))
        world.do("B", b.set("both", 30))
        world.heal()
        world.settle(60)
        with pytest.raises(Apart, match="Expected `int`"):
            world.do("A", a.set("x", 1))
        world.do("A", a.replace({"both": 5}))
        world.settle()
        assert world.same(lambda app: dict(app.dict)) == {"both": 5}


def test_of_the_graves_the_oldest_is_forgotten_first_behind_a_merge_too() -> None:
    class Few(Prices):
        def make(self) -> list[Block]:
            blocks = super().make()
            self.dict._most_graves = 3
            return blocks

    with World(Few, members=2) as world:
        a, b = world.apps["A"].dict, world.apps["B"].dict
        world.do("A", a.update(dict.fromkeys("pqrst", 1)))
        world.settle()
        world.partition("A")
        world.advance(8)
        for key in "pq":
            world.do("A", a.delete(key))
        for key in "rst":
            world.do("B", b.delete(key))
        world.heal()
        world.settle(60)
        graves = world.same(lambda app: [grave.version for grave in app.dict._graves.values()])
        assert graves == sorted(graves) and len(graves) == 3 and "t" in a._graves


def test_a_write_that_a_later_state_holds_ends_and_its_outcome_is_unknown() -> None:
    """C waits for the merged state, of which nothing comes; its merger dies, and B's state is cut in the next view."""
    with World(Prices, members=3) as world:
        b, c = world.apps["B"].dict, world.apps["C"].dict
        world.partition("A")
        world.advance(8)
        world.heal()
        world.drop("state", "A", "C")
        assert world.run_until(lambda: len(world.apps["B"].shared.view.members) == 3)
        world.advance(0.2)
        write = world.spawn("C", c.set("x", 1))
        tags = world.spawn("C", world.apps["C"].shared.tag(role="writer"))
        world.advance(0.2)
        world.crash("A")
        world.settle(60)
        with pytest.raises(StateError, match="took the place of what was sent in view") as raised:
            write.result()
        assert raised.value.sent is None and b["x"] == c["x"] == 1
        tags.result()


def test_what_is_not_of_the_type_is_refused_before_it_is_sent() -> None:
    with World(Prices, members=1) as world:
        with pytest.raises(UsageError, match="Expected `int`"):
            world.do("A", world.apps["A"].dict.set("tea", "four"))
        with pytest.raises(UsageError, match="on no group yet"):
            world.do("A", ReplicatedDict("x", str, int).set("a", 1))
    with pytest.raises(UsageError, match="merge must be"):
        ReplicatedDict("x", str, int, merge="guess")  # type: ignore[arg-type]


# ---- random work under faults, judged from outside


class Watched(ReplicatedDict[str, str]):
    """Notes what this process sees, with the time; a feed that misses nothing."""

    process: Process

    def _on_view(self, view: View) -> None:
        super()._on_view(view)
        self.process.views.append((len(self.process.seen), view.id))
        self.view = view.id

    def put(self, change: Change[str, str]) -> None:
        by = None if change.by is None else str(change.by)
        at = asyncio.get_running_loop().time()
        self.process.seen.append(Seen(at, self.view, change.key, change.old, change.new, by))

    def end(self) -> None:
        pass


class Client(Service):
    def __init__(self, processes: list[Process]) -> None:
        self.processes = processes
        super().__init__()

    def make(self) -> list[Block]:
        self.dict = Watched("d", str, str)
        self.dict.process = Process("")
        self.dict.view = None  # type: ignore[assignment]
        self.dict._feeds.append(self.dict)  # type: ignore[arg-type]
        self.counter = ReplicatedCounter("c", str)
        self.counted = 0
        self.is_done = False
        self.processes.append(self.dict.process)
        return [self.dict, self.counter]

    def on_loaded(self, view: int) -> None:
        self.dict.process.views.append((len(self.dict.process.seen), view))

    async def live(self) -> None:
        process, me = self.dict.process, str(self.shared.me)
        process.who = me
        random = Random(me)
        for number in range(35):
            await asyncio.sleep(random.random() / 8)
            if self.is_enough:
                break
            asked = self._draw(random, f"{me}/{number}")
            process.asked.append(asked)
            try:
                asked.result = await self._ask(asked)
                asked.ended = asyncio.get_running_loop().time()
                await self.counter.add("n")
                self.counted += 1
            except RingcastError as error:
                asked.sent = error.sent if asked.ended is None else True
                await asyncio.sleep(0.2)
        self.is_done = True
        await asyncio.Event().wait()

    def _draw(self, random: Random, value: str) -> Asked:
        what, key = random.choice(["set", "set", "swap", "swap", "delete", "insert"]), random.choice("xyz")
        expected = self.dict.get(key) if random.random() < 0.8 else "what nobody wrote"
        if what == "insert":
            key = value
        began = asyncio.get_running_loop().time()
        return Asked(what, key, None if what == "delete" else value, expected, began)

    async def _ask(self, asked: Asked) -> object:
        if asked.what == "delete":
            return await self.dict.delete(asked.key)
        assert asked.value is not None
        if asked.what == "swap":
            expected = ABSENT if asked.expected is None else asked.expected
            return await self.dict.compare_and_set(asked.key, expected, asked.value)
        return await self.dict.set(asked.key, asked.value)


def trouble(world: World) -> None:
    world.trouble(6, faults=4)


def troubled(seed: int, partition: Any = "all", story: Callable[[World], None] = trouble) -> list[str]:
    processes: list[Process] = []
    with World(lambda: Client(processes), members=3 + seed % 2, seed=seed, partition=partition) as world:
        story(world)
        finish(world, lambda: all(app.is_done for app in world.apps.values()), 12)
        found = judge(processes)
        final = world.same(lambda app: dict(app.dict))
        counted = world.same(lambda app: app.counter["n"])
        if partition == "all":
            found += lost(processes, [app.dict.process.who for app in world.apps.values()], final)
            least = sum(app.counted for app in world.apps.values())
            most = sum(len(process.asked) for process in processes)
            if not least <= counted <= most:
                found.append(f"counted {counted}, of {least} that are sure and {most} at most")
        return found


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whatever_goes_wrong_the_dictionary_keeps_its_promise(seed: int) -> None:
    assert troubled(seed) == []


@pytest.mark.parametrize("seed", [1022, 1208, 1225, *range(FIRST_SEED, FIRST_SEED + SEEDS)])
def test_the_same_with_one_primary_side(seed: int) -> None:
    assert troubled(seed, "primary") == []


def _applies_where_it_is_sent(self: Any, raw: bytes, timeout: float | None = None) -> Any:
    self._apply(self._ops.decode(raw), self._port.group.me, self._version)
    return right_do(self, raw, timeout)


def _compares_here(self: Any, op: Any, sender: Address, version: Token) -> object:
    result = right_apply(self, op, sender, version)
    return True if result is False else result


def _forgets_graves_and_versions(self: Any, sides: Any) -> bytes:
    return next(iter(sides.values()))  # type: ignore[no-any-return]


async def _returns_when_it_is_sent(self: Any, raw: bytes, timeout: float | None = None) -> None:
    await self._queue(0, raw)


async def _cut_without_one(self: Any) -> bytes:
    entries = dict(self._entries)
    lacking = next((key for key in entries if "/" in key), None)
    self._entries = {key: entry for key, entry in entries.items() if key != lacking}
    try:
        return await right_cut(self)
    finally:
        self._entries = entries


right_do: Callable[..., Any] = Table._do
right_apply: Callable[..., Any] = Table._apply
right_cut: Callable[..., Any] = Table._cut
PLANTED: dict[str, tuple[str, Callable[..., Any]]] = {
    "a write is applied here before it is sent": ("_do", _applies_where_it_is_sent),
    "a comparison always says yes": ("_apply", _compares_here),
    "one side wins the merge": ("_merge", _forgets_graves_and_versions),
    "a write returns before it was applied": ("_do", _returns_when_it_is_sent),
    "the state lacks an entry": ("_cut", _cut_without_one),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = PLANTED[mistake]
    monkeypatch.setattr(Table, name, wrong)
    assert any(is_caught(partial(troubled, seed, story=cut_and_crash)) for seed in ODD)
