"""The steps of the shared bus, explored exhaustively: every interleaving, and every value a load may see.

The strict memory gives all interleavings; the weak one also every stale value that the C memory model allows. Each rule
of the design is then broken alone, and the exploration must notice: a model that cannot fail proves nothing.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from integration.long import IS_LONG
from property.bus_model.bus import FAREWELL, Delivered, Inlet, Reading, Rules, Shape, consumer, producer, reaper
from property.bus_model.explore import Explorer, Program, Thread
from property.bus_model.memory import Memory, Order


class Bus:
    """One small bus: its programs, its first world, and what must hold in every world."""

    def __init__(self, shape: Shape, rules: Rules, is_strict: bool) -> None:
        self.shape = shape
        programs: list[Program] = [partial(producer, rules, shape, index) for index in range(shape.producers)]
        if shape.reaped is not None:
            programs.append(partial(reaper, rules, shape))
        self.first_consumer = len(programs)
        programs += [partial(consumer, rules, shape, index) for index in range(shape.consumers)]
        self.explorer = Explorer(programs, private="entry")
        self.memory = Memory.fresh(shape.initial(), len(programs), is_strict)
        reading = Thread((Reading((Inlet(),) * shape.producers),))
        self.threads = [Thread(())] * self.first_consumer + [reading] * shape.consumers

    def explore(self) -> int:
        worlds = self.explorer.run(self.memory, self.threads)
        for index in range(self.first_consumer, len(self.threads)):
            for thread in self.explorer.threads[index].values:
                check_order(thread.arguments[0].delivered)
            self.check_ends(index)
        return worlds

    def check_ends(self, index: int) -> None:
        """Wherever all but the consumers have ended, this consumer has, or will have, all that was committed."""
        others = range(self.first_consumer)
        ended = [
            {
                number
                for number, thread in enumerate(self.explorer.threads[i].values)
                if self.explorer.has_ended(i, thread)
            }
            for i in others
        ]
        ends = {
            (world[0], world[index + 1])
            for world in self.explorer.worlds
            if all(world[i + 1] in ended[i] for i in others)
        }
        assert ends
        for memory, thread in ends:
            self.check_nothing_is_lost(index, self.explorer.memories.values[memory], thread)

    def check_nothing_is_lost(self, index: int, memory: Memory, number: int) -> None:
        thread = self.explorer.threads[index].values[number]
        newest = memory.newest_only()
        passed: set[tuple[Memory, Thread]] = set()
        ahead = [(newest, thread)]
        while ahead and ahead[0] not in passed:
            passed.add(ahead[0])
            newest, thread = ahead[0]
            ahead = self.explorer.steps(index, newest, thread)
        assert list(thread.arguments[0].delivered) == self.committed(newest)

    def committed(self, memory: Memory) -> list[tuple[int, int, int]]:
        found = []
        for sender, messages in enumerate(self.shape.sends):
            for number in range(messages):
                word = memory.newest(f"word {sender} {number}")
                if isinstance(word, tuple) and word[1] > 0:
                    found.append((word[1], sender, number))
        if self.shape.reaped is not None:
            found.append((memory.newest("farewell"), self.shape.reaped, FAREWELL))
        return sorted(found)


def check_order(delivered: Delivered) -> None:
    """One order by seq, hence the same for every consumer; nothing of a producer behind its farewell."""
    assert list(delivered) == sorted(delivered), f"out of order: {delivered}"
    for place, (_, sender, number) in enumerate(delivered):
        if number == FAREWELL:
            assert all(later[1] != sender for later in delivered[place + 1 :]), f"after its farewell: {delivered}"


def explore(shape: Shape, is_strict: bool, **broken: Any) -> int:
    return Bus(shape, replace(Rules(), **broken), is_strict).explore()


PAIR = Shape(sends=(1, 1), consumers=1)
REAPED_PAIR = Shape(sends=(1, 1), consumers=1, reaped=0, is_helped=False)

INTERLEAVED = [
    Shape(sends=(1, 1), consumers=2),
    Shape(sends=(2, 2), consumers=1),
    Shape(sends=(1, 1, 1), consumers=1),
    Shape(sends=(1, 1), consumers=1, reaped=0),
    Shape(sends=(1, 1), consumers=2, reaped=0, is_helped=False),
]
STALE = [
    PAIR,
    Shape(sends=(2, 1), consumers=1),
    Shape(sends=(1,), consumers=1, reaped=0),
    Shape(sends=(0, 1), consumers=1, reaped=0),
]

# With RINGCAST_LONG=1 (`make bus-model`): one message or one party more.
if IS_LONG:
    INTERLEAVED += [
        Shape(sends=(2, 1), consumers=2),
        Shape(sends=(3, 2), consumers=1),
        Shape(sends=(2, 1), consumers=1, reaped=0),
    ]
    STALE += [Shape(sends=(2, 2), consumers=1)]


@pytest.mark.parametrize("shape", INTERLEAVED, ids=str)
def test_every_interleaving_delivers_all_that_was_committed_in_one_order(shape: Shape) -> None:
    assert explore(shape, is_strict=True) > 1_000


@pytest.mark.parametrize("shape", STALE, ids=str)
def test_so_does_every_stale_value_that_the_c_memory_model_allows(shape: Shape) -> None:
    assert explore(shape, is_strict=False) > 500


STRICT = [
    ("the second look sees only staged heads", {"second_look": "staged only"}),
    ("there is no second look", {"second_look": "none"}),
    ("entries are staged after the seq is taken", {"stage_before_tick": False}),
    ("the word is armed after publishing", {"arm_before_publish": False}),
]
WEAK = [
    ("tails are published relaxed", {"publish": Order.RELAXED}),
    ("the counter is taken relaxed", {"tick": Order.RELAXED}),
    ("the counter is taken with acquire only", {"tick": Order.ACQUIRE}),
    ("the counter is taken with release only", {"tick": Order.RELEASE}),
    ("the commit is relaxed", {"commit": Order.RELAXED}),
    ("tails are read relaxed", {"read_tail": Order.RELAXED}),
    ("words are read relaxed", {"read_word": Order.RELAXED}),
]
REAPED = [
    ("the farewell takes its seq before anybody can see the leaving", {"begin_before_tick": False}),
    ("the farewell comes before the fencing", {"fence_before_farewell": False}),
    ("nobody looks again behind the farewell", {"look_again_behind_farewell": False}),
]


@pytest.mark.parametrize(("words", "broken"), STRICT, ids=[words for words, _ in STRICT])
def test_a_broken_rule_is_caught_by_interleaving_alone(words: str, broken: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        explore(PAIR, is_strict=True, **broken)


@pytest.mark.parametrize(("words", "broken"), WEAK, ids=[words for words, _ in WEAK])
def test_an_ordering_that_is_too_weak_is_caught_by_stale_values_only(words: str, broken: dict[str, Any]) -> None:
    explore(PAIR, is_strict=True, **broken)  # A machine like x86 would never have shown it.
    with pytest.raises(AssertionError):
        explore(PAIR, is_strict=False, **broken)


@pytest.mark.parametrize(("words", "broken"), REAPED, ids=[words for words, _ in REAPED])
def test_a_broken_rule_of_reaping_is_caught(words: str, broken: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        explore(REAPED_PAIR, is_strict=True, **broken)
