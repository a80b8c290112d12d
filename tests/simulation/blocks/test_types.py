"""Types of keys and values: what does not fit is refused where it is given, and harms nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import msgspec
import pytest

from ringcast import StateError, UsageError
from ringcast.blocks import Locks, ReplicatedCounter, ReplicatedDict, ReplicatedSet, SharedGroup
from ringcast.blocks.block import Block, words_of
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
        (lambda kind: ReplicatedCounter("x", kind), "counter of int"),
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
