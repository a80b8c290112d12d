"""Trouble drawn from a seed: what goes wrong for a user's service, when, and for whom.

A list of acts with their moments; who acts is the world. Everything that begins here also ends here, except that the
world starts crashed processes again. Kinds and amounts are those that a service meets in real networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from ringcast.errors import UsageError
from ringcast.model import SECOND
from ringcast.sim import KIND_CUTS, LINK_CHANGES, MEMBER_FAULTS, PARTITIONS, Fault, Link, Paced

if TYPE_CHECKING:
    from ringcast.testing.world import World

Act = Callable[[], None]

AMOUNTS = {
    "loss": (0.1, 0.3, 0.9),
    "delay": (20.0, 200.0),
    "jitter": (5.0, 50.0),
    "duplicate": (0.2,),
    "reorder": (0.3,),
}
CUTS = ("split", "split", "isolate", "one-way", "deaf", "mute")
SHORTEST_NS = SECOND // 5


LIFE_ACTS = {"crash": "crash", "death": "crash", "leave": "leave"}  # faults that are methods of the world
NEEDS = {  # members to be named
    "one-way": 2,
    "deaf": 1,
    "mute": 1,
    "isolate": 1,
    "split": 1,
    "bridge": 2,
    "flap": 1,
    **dict.fromkeys(LIFE_ACTS, 1),
}
READING = ("stop-reading", "slow-reading")


def check_fault(kind: str, members: tuple[str, ...], amount: float, apps: Mapping[str, object]) -> None:
    """UsageError for a fault that nobody knows or that this world cannot do."""
    known = [*LINK_CHANGES, *PARTITIONS, *KIND_CUTS, *MEMBER_FAULTS, *LIFE_ACTS]
    if kind not in known:
        raise UsageError(f"a world cannot do the fault {kind!r}; it can do {', '.join(sorted(known))}")
    if len(members) < NEEDS.get(kind, 0):
        raise UsageError(f"the fault {kind!r} needs {NEEDS[kind]} members, {len(members)} were named")
    if (kind in LINK_CHANGES or kind in KIND_CUTS) and len(members) > 2:
        raise UsageError(f"the fault {kind!r} is for all links, those of one member, or one from a member to another")
    if kind in LIFE_ACTS and (len(members) > 1 or members[0] not in apps):
        raise UsageError(f"the fault {kind!r} is for one member that runs")
    if kind in LINK_CHANGES:
        try:
            LINK_CHANGES[kind](Link(), amount)
        except ValueError as error:
            raise UsageError(f"the fault {kind!r} cannot be of amount {amount:g}: {error}") from error
    if kind == "flap" and amount <= 0:
        raise UsageError("the fault 'flap' needs an amount: the milliseconds after which it opens and closes")
    if kind == "clock" and amount <= -1_000_000:
        raise UsageError(f"a clock that loses {-amount:g} parts per million would stand still or go back")
    for name, app in apps.items() if kind in READING else ():
        if (name in members or not members) and not isinstance(app, Paced):
            raise UsageError(
                f"the fault {kind!r} cannot be done to {name}: its application reads when it wants to. Let it wait in "
                "its own code, or give it read_every_ns and read_every(pause_ns)"
            )


def draw_trouble(world: World, seed: str, seconds: float, count: int, crashes: bool) -> Iterator[tuple[int, Act]]:
    """(when, what) of `count` faults within the next `seconds`."""
    random = Random(seed)
    kinds = [*AMOUNTS, *CUTS, "freeze", *(["crash", "crash"] if crashes else [])]
    now_ns, length_ns = world.clock.now_ns, max(2 * SHORTEST_NS, round(seconds * SECOND))
    for _ in range(count):
        at_ns = now_ns + random.randint(0, length_ns - SHORTEST_NS)
        until_ns = min(now_ns + length_ns, at_ns + random.randint(SHORTEST_NS, length_ns))
        yield from _acts(world, random, random.choice(kinds), at_ns, until_ns)


def _acts(world: World, random: Random, kind: str, at_ns: int, until_ns: int) -> Iterator[tuple[int, Act]]:
    names = random.sample(world.names, len(world.names))
    if kind == "crash":
        yield at_ns, partial(_crash, world, names[0])
        return
    if kind == "freeze":
        yield at_ns, partial(_if_alive, world, names[0], world.freeze)
        yield until_ns, partial(_if_alive, world, names[0], world.thaw)
        return
    fault = Fault(kind, at_ns, until_ns, _whom(random, kind, names), random.choice(AMOUNTS.get(kind, (0.0,))))
    yield at_ns, partial(world.faults.begin, fault)
    yield until_ns, partial(world.faults.end, fault)


def _if_alive(world: World, name: str, act: Callable[[str], None]) -> None:
    if world.is_alive(name):
        act(name)


def _crash(world: World, name: str) -> None:
    if world.is_alive(name) and not _forgets_primary(world, name):
        world.crash(name)


def _forgets_primary(world: World, name: str) -> bool:
    """Would a majority of the last primary view then have crashed, to come back without memory? G17 is not promised
    for that, unless there are mark files or a fixed quorum."""
    if world.partitioning != "primary" or world.marks is not None or world.quorum:
        return False
    groups = {process.name: process.group for process in world.running()}
    marks = [group.view.mark for group in groups.values() if group is not None and group.view.mark is not None]
    if not marks:
        return False
    mark = max(marks, key=lambda mark: mark.last.view)
    left = mark.votes_of(group.me for other, group in groups.items() if group is not None and other != name)
    gone = sum(voter not in left for voter in mark.last.voters)
    return 2 * gone > len(mark.last.voters)


def _whom(random: Random, kind: str, names: list[str]) -> tuple[str, ...]:
    if kind == "split":
        return tuple(names[: random.randint(1, max(1, len(names) // 2))])
    if kind == "one-way":
        return tuple(names[:2])
    return tuple(names[:1])
