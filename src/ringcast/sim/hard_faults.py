"""Faults that ordinary ones hardly ever are: longer than every limit, and crashes at a named step.

Long runs and large groups cost many times what others do, so each twentieth seed has one of them and no other seed has.
Both are drawn by sources of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from ringcast.model import MS, SECOND
from ringcast.sim.faults import LASTING_KINDS
from ringcast.sim.steps import STATE_STEPS, STEP_CRASHES

LARGE_EVERY = 20
ORDINARY_MEMBERS = (2, 7)
LONG_NS = 10 * SECOND  # a fault above this is a long one
_LONG_SECONDS = (12, 20, 35, 60)
# One bad direction, one bad link, a pause, a cut: what lasts in real networks; and now and then anything else.
_LONG_KINDS = ("one-way", "one-way", "loss", "loss", "freeze", "freeze", "isolate", "split", "clock")


def draw_members(seed: int) -> tuple[int, int]:
    """From how many to how many members a seed may have."""
    if seed % LARGE_EVERY != LARGE_EVERY - 1:
        return ORDINARY_MEMBERS
    random = Random(f"{seed}/large")
    if random.random() < 0.5:
        return ORDINARY_MEMBERS  # its fault is long instead
    return (16, 40) if random.random() < 0.1 else (8, 15)


def draw_long(seed: int, members: int) -> tuple[str, int, int] | None:
    """Kind, from and until of the long fault that belongs to a seed of ordinary size."""
    if seed % LARGE_EVERY != LARGE_EVERY - 1 or members > ORDINARY_MEMBERS[1]:
        return None
    random = Random(f"{seed}/long")
    kind = random.choice((*_LONG_KINDS, random.choice(LASTING_KINDS)))
    at_ns = random.randint(500, 2000) * MS
    return kind, at_ns, at_ns + random.choice(_LONG_SECONDS) * SECOND


def draw_step_crashes(seed: int, has_state: bool, safety_ns: int) -> Iterator[tuple[str, int, int, float]]:
    """Kind, from, until and amount of the crashes at a step that belong to a seed; half of the seeds have none.

    Those of states come on top of the others.
    """
    others = [kind for kind in STEP_CRASHES if kind not in STATE_STEPS]
    yield from _step_crashes(Random(f"{seed}/steps"), others, safety_ns)
    if has_state:
        yield from _step_crashes(Random(f"{seed}/state/steps"), list(STATE_STEPS), safety_ns)


def _step_crashes(random: Random, kinds: list[str], safety_ns: int) -> Iterator[tuple[str, int, int, float]]:
    for _ in range(random.choice((0, 0, 1, 2))):
        at_ns = random.randint(500 * MS, safety_ns - 2 * SECOND)
        until_ns = min(safety_ns, at_ns + random.choice((2, 4)) * SECOND)
        yield random.choice(kinds), at_ns, until_ns, random.choice((0.0, 1.0))
