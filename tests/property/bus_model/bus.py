"""The steps of the shared bus as model programs: producers, a reaper, consumers; each access as in bus_*.h.

A transaction is named by its producer's index and number. A word is OLD (a former use, still readable as committed with
seq 0), UNSET, ("seq", n), ABORTED or FENCED. What a consumer delivers is a tuple of (seq, producer, number); number -1
is the producer's farewell.

`Rules` are the rules of DESIGN section 6. Each can be broken alone, to show that the exploration would notice.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from property.bus_model.explore import Again
from property.bus_model.memory import Access, Add, Cas, Change, Load, Order, Store, Value

OLD, UNSET, ABORTED, FENCED = ("seq", 0), "unset", "aborted", "fenced"
FAREWELL = -1
NOTHING = "nothing"
LEAVING = "leaving"

Delivered: TypeAlias = tuple[tuple[int, int, int], ...]
Steps: TypeAlias = Generator[Access | Again, Any, Any]


@dataclass(frozen=True, slots=True)
class Rules:
    publish: Order = Order.RELEASE
    tick: Order = Order.ACQ_REL
    commit: Order = Order.RELEASE
    read_tail: Order = Order.ACQUIRE
    read_word: Order = Order.ACQUIRE
    stage_before_tick: bool = True
    arm_before_publish: bool = True
    second_look: str = "all"  # or "staged only", "none"
    begin_before_tick: bool = True
    fence_before_farewell: bool = True
    look_again_behind_farewell: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """How many messages each producer sends, to all consumers."""

    sends: tuple[int, ...]
    consumers: int
    reaped: int | None = None  # the producer that a reaper gives up at any moment
    is_helped: bool = True  # consumers finish what a reaper began; else they wait for it

    @property
    def producers(self) -> int:
        return len(self.sends)

    def initial(self) -> dict[str, Value]:
        memory: dict[str, Value] = {"counter": 0}
        for producer, messages in enumerate(self.sends):
            memory |= {f"word {producer} {n}": OLD for n in range(messages)}
            for consumer in range(self.consumers):
                memory[f"tail {producer} {consumer}"] = 0
                memory |= {f"entry {producer} {consumer} {n}": None for n in range(messages)}
        if self.reaped is not None:
            memory |= {"leaving": False, "farewell": None}
        return memory


def producer(rules: Rules, shape: Shape, me: int) -> Steps:
    for n in range(shape.sends[me]):
        word = f"word {me} {n}"
        if rules.arm_before_publish and not (yield Cas(word, OLD, UNSET, Order.RELAXED)):
            return
        lower = yield Load("counter")
        seq = 0 if rules.stage_before_tick else (yield Add("counter", rules.tick)) + 1
        for consumer in range(shape.consumers):
            yield Store(f"entry {me} {consumer} {n}", lower)
            yield Store(f"tail {me} {consumer}", n + 1, rules.publish)
        if not rules.arm_before_publish and not (yield Cas(word, OLD, UNSET, Order.RELAXED)):
            return
        if rules.stage_before_tick:
            seq = (yield Add("counter", rules.tick)) + 1
        if not (yield Cas(word, UNSET, ("seq", seq), rules.commit)):
            return


def reaper(rules: Rules, shape: Shape) -> Steps:
    if rules.begin_before_tick:
        yield Store("leaving", True, Order.RELEASE)
    yield from finish_leaving(rules, shape)
    if not rules.begin_before_tick:
        yield Store("leaving", True, Order.RELEASE)


def finish_leaving(rules: Rules, shape: Shape) -> Steps:
    """By the reaper, and by every consumer that finds the producer leaving."""
    if rules.fence_before_farewell:
        yield from fence_words(shape)
    seq = (yield Add("counter", rules.tick)) + 1
    yield Cas("farewell", None, seq)
    if not rules.fence_before_farewell:
        yield from fence_words(shape)


def fence_words(shape: Shape) -> Steps:
    assert shape.reaped is not None
    for n in range(shape.sends[shape.reaped]):
        yield Change(f"word {shape.reaped} {n}", ((OLD, FENCED), (UNSET, ABORTED)))


@dataclass(frozen=True, slots=True)
class Inlet:
    """One ring as its consumer sees it."""

    position: int = 0
    head: str = NOTHING  # or "staged", "readable", "farewell"
    key: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a consumer stands: what it has delivered, and how far its present look at all rings has come."""

    inlets: tuple[Inlet, ...]
    delivered: Delivered = ()
    ring: int = 0
    candidate: int | None = None  # None: this is the first look
    is_helping: bool = False  # a producer was found leaving; its leaving is finished before anything else


def consumer(rules: Rules, shape: Shape, me: int, reading: Reading) -> Steps:
    if reading.is_helping:
        yield from finish_leaving(rules, shape)
        yield Again((replace(reading, is_helping=False),))
    inlet = yield from look(rules, shape, me, reading.ring, reading.inlets[reading.ring])
    if inlet == LEAVING:
        yield Again(
            (replace(reading, is_helping=True) if shape.is_helped else Reading(reading.inlets, reading.delivered),)
        )
    inlets = (*reading.inlets[: reading.ring], inlet, *reading.inlets[reading.ring + 1 :])
    looked = replace(reading, inlets=inlets, ring=(reading.ring + 1) % shape.producers)
    yield Again((decide(rules, looked) if looked.ring == 0 else looked,))


def decide(rules: Rules, reading: Reading) -> Reading:
    """After a look at all rings: deliver the candidate, look again with a new one, or read as empty."""
    inlets, least = reading.inlets, least_of(reading.inlets)
    if rules.second_look == "none":
        reading = replace(reading, candidate=least)
    if reading.candidate is not None and is_still_next(rules, inlets, reading.candidate, least):
        return deliver(reading, reading.candidate)
    if least is None or inlets[least].head == "staged":
        return replace(reading, candidate=None)
    return replace(reading, candidate=least)


def is_still_next(rules: Rules, inlets: tuple[Inlet, ...], candidate: int, least: int | None) -> bool:
    if inlets[candidate].head not in ("readable", "farewell"):
        return False
    if rules.second_look == "staged only":
        return not any(inlet.head == "staged" and inlet.key < inlets[candidate].key for inlet in inlets)
    return candidate == least


def deliver(reading: Reading, candidate: int) -> Reading:
    taken = reading.inlets[candidate]
    number = FAREWELL if taken.head == "farewell" else taken.position
    passed = Inlet(FAREWELL) if taken.head == "farewell" else Inlet(taken.position + 1)
    inlets = (*reading.inlets[:candidate], passed, *reading.inlets[candidate + 1 :])
    return Reading(inlets, (*reading.delivered, (taken.key // 2, candidate, number)))


def least_of(inlets: tuple[Inlet, ...]) -> int | None:
    there = [i for i, inlet in enumerate(inlets) if inlet.head != NOTHING]
    return min(there, key=lambda i: inlets[i].key, default=None)


def look(rules: Rules, shape: Shape, me: int, ring: int, inlet: Inlet) -> Steps:
    if inlet.head in ("readable", "farewell") or inlet.position == FAREWELL:
        return inlet
    position = inlet.position
    while (yield from has_entry(rules, shape, me, ring, position)):
        lower = yield Load(f"entry {ring} {me} {position}")
        assert lower is not None, "a published entry was read before it was written"
        word = yield Load(f"word {ring} {position}", rules.read_word)
        assert word not in (OLD, FENCED), "a published entry was read with the former use of its word"
        if word == UNSET:
            return Inlet(position, "staged", 2 * lower + 1)
        if word != ABORTED:
            return Inlet(position, "readable", 2 * word[1])
        position += 1
    farewell = None
    if ring == shape.reaped:
        farewell = yield from look_for_farewell(rules, shape)
    if farewell in (None, LEAVING):
        return Inlet(position) if farewell is None else LEAVING
    if rules.look_again_behind_farewell and (yield from has_entry(rules, shape, me, ring, position)):
        return (yield from look(rules, shape, me, ring, Inlet(position)))
    return Inlet(position, "farewell", 2 * farewell)


def has_entry(rules: Rules, shape: Shape, me: int, ring: int, position: int) -> Steps:
    return position < shape.sends[ring] and (yield Load(f"tail {ring} {me}", rules.read_tail)) > position


def look_for_farewell(rules: Rules, shape: Shape) -> Steps:
    if not (yield Load("leaving", Order.ACQUIRE)):
        return None
    farewell = yield Load("farewell", Order.ACQUIRE)
    return LEAVING if farewell is None else farewell
