"""Types of keys and values: what does not fit is refused where it is given, and harms nobody else."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Annotated, Any, Literal, Optional

import msgspec
import pytest

from ringcast import Order, StateError, UsageError
from ringcast.blocks import Locks, RemoteError, ReplicatedCounter, ReplicatedDict, ReplicatedSet, Rpc, SharedGroup
from ringcast.blocks.block import Block, words_of
from ringcast.blocks.calls import Call
from ringcast.testing import World
from simulation.blocks.kit import Service


class Anything(Service):
    """Blocks whose types say nothing."""

    def make(self) -> list[Block]:
        self.dict: ReplicatedDict[Any, Any] = ReplicatedDict("dict", Any, Any)
        self.counter: ReplicatedCounter[Any] = ReplicatedCounter("counter", Any)
        self.locks: Locks[Any] = Locks("locks", Any)
        return [self.dict, self.counter, self.locks]

    async def hold(self, key: Any) -> None:
        async with self.locks(key):
            pass


WRONG: dict[str, Callable[[Anything], Any]] = {
    "a list as a key": lambda app: app.dict.set([1], 1),
    "a tuple as a key, which arrives as a list": lambda app: app.dict.update({(1, 2): 1, "x": 1}),
    "a list as the key of a comparison": lambda app: app.dict.compare_and_set([1], 1, 2),
    "a list as a key that is replaced": lambda app: app.dict.replace({(1,): 1}),
    "a list that is counted": lambda app: app.counter.add([1]),
    "a list that is locked": lambda app: app.hold([1]),
    "an object": lambda app: app.dict.set("x", object()),
    "a number that is too large": lambda app: app.dict.set("x", 2**70),
    "a text that is none": lambda app: app.dict.set("x", "\ud800"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_travel_or_be_a_key_is_refused_and_everybody_goes_on(wrong: str) -> None:
    with World(Anything, members=2) as world:
        with pytest.raises(UsageError, match="does not take this"):
            world.do("A", WRONG[wrong](world.apps["A"]))
        world.do("B", world.apps["B"].dict.set("tea", 4))
        world.do("A", world.apps["A"].counter.add("tea"))
        world.settle()
        assert world.same(lambda app: (dict(app.dict), dict(app.counter))) == ({"tea": 4}, {"tea": 1})


def test_a_key_that_cannot_be_one_and_came_all_the_same_is_skipped_by_all() -> None:
    with World(Anything, members=2) as world:
        wrong = msgspec.msgpack.encode([0, [["x", 1], [[1], 2]], None])
        with pytest.raises(UsageError, match="cannot read this"):
            world.do("A", world.apps["A"].dict._do(wrong))
        world.settle()
        assert world.same(lambda app: (dict(app.dict), app.dict.malformed)) == ({}, 1)


NESTED = b"\x91" * 5000
SENT = [
    *(b"\x04dict" + bytes(8) + body for body in (b"\x93\x00\x91\x92\xa1k\x01\xc0", b"\x93\x01\xa1\x82\xc0", NESTED)),
    *(b"\x05locks" + bytes(8) + body for body in (b"\x94\x00\xa1k\x07\xc3", b"\x94\x00\xa1\x82\x01\xc3", NESTED)),
    *(b"\x07counter" + bytes(8) + body for body in (b"\x93\x00\xa1k\x01", b"\x93\x00\xa1\x82\x01", NESTED)),
    *(b"\x03rpc" + bytes([what]) + bytes(8) + b"\x92\xa1\x82\xa1b" for what in range(5)),
    *(
        b"\x00" + body
        for body in (b"\x93\x01\x81\xa1a\xa1b\x01", b"\x93\x01\x81\xa1a\xa1\x82\x01", b"\x93\x02\xa1x\x05")
    ),
]


@pytest.mark.parametrize("seed", range(3))
def test_what_a_member_sends_under_their_names_leaves_blocks_alike(seed: int) -> None:
    class Called(Anything):
        def make(self) -> list[Block]:
            return [*super().make(), Rpc("rpc")]

    random = Random(seed)
    with World(Called, members=2, seed=seed) as world:
        for _ in range(300):
            payload = bytearray(random.choice(SENT))
            for _ in range(random.choice([0, 0, 1, 3])):
                payload[random.randrange(min(40, len(payload)))] = random.randrange(256)
            order = random.choice([Order.FIFO, Order.TOTAL])
            world.do("A", world.apps["A"].shared.group.send(bytes(payload), order=order))
        for name, app in world.apps.items():
            world.do(name, app.dict.set(name, 1))
        world.start("C")
        world.settle(60)
        world.same(lambda app: (app.dict._entries, app.dict._graves, app.locks._lines, dict(app.counter)))


def test_an_error_of_a_handler_that_cannot_be_read_ends_the_call() -> None:
    with World(Anything, members=1) as world:
        rpc, me = Rpc("rpc"), world.apps["A"].shared.me
        call = rpc._calls[1] = Call(1, "add", [me], None, to_all=False)
        rpc._answered(me, 1, 2, b"\x92\xa1\x82\xa1b")
        answer = world.do("A", call.next())
        assert answer is not None and isinstance(answer.error, RemoteError) and rpc.malformed == 1


def test_a_count_stays_within_what_a_state_can_carry() -> None:
    with World(Anything, members=2) as world:
        counter = world.apps["A"].counter
        world.do("A", counter.add("tea", 2**63 - 1))
        with pytest.raises(UsageError, match="more than fits"):
            world.do("A", counter.add("tea", 1))
        assert world.do("B", world.apps["B"].counter.add("tea", 1)) == 2**63
        world.start("C")
        world.settle(60)
        assert world.same(lambda app: app.counter["tea"]) == 2**63


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda kind: ReplicatedDict("x", str, kind), "dict of str to int, merged by last"),
        (lambda kind: ReplicatedSet("x", kind), "set of int, merged by union"),
        (lambda kind: ReplicatedCounter("x", kind), "counter of int, folding"),
        (lambda kind: Locks("x", kind), "locks of int"),
    ],
)
def test_members_whose_types_differ_are_refused_with_a_sentence(make: Callable[[Any], Block], words: str) -> None:
    class One(Service):
        def make(self) -> list[Block]:
            return [make(int)]

    with World(One, members=1) as world:
        state = world.do("A", world.apps["A"].shared.get_state())

        async def load(other: SharedGroup) -> None:
            async def chunks():  # type: ignore[no-untyped-def]
                yield state

            await other.set_state(chunks())

        world.do("A", load(SharedGroup(make(int))))
        with pytest.raises(StateError, match=f"and {words} there"):
            world.do("A", load(SharedGroup(make(str))))


class Item(msgspec.Struct):
    pass


def test_types_are_compared_by_the_names_of_their_classes() -> None:
    assert words_of(dict[str, list[Item]]) == "dict[str, list[Item]]"
    assert words_of(int | None) == words_of(Optional[int]) == "NoneType | int"  # noqa: UP045
    assert words_of(Annotated[int, msgspec.Meta(ge=0)]) == "int" and words_of(Any) == "Any"
    assert words_of(Literal["a", 1]) == "Literal['a', 1]"
