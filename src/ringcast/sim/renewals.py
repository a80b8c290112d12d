"""Renewals: processes that crash and come back for the others' state, and trouble for those who are to give it.

A transfer is short against a run, so faults drawn anywhere hardly ever meet one. Here a joiner's faults come first and
somebody else's directly behind them: while it loads, others crash, leave, stand still or are cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from ringcast.model import MS, SECOND
from ringcast.sim.faults import Fault

_TROUBLE = ("crash", "crash", "leave", "freeze", "isolate")


def draw_renewals(seed: int | str, names: list[str], safety_ns: int) -> tuple[Fault, ...]:
    """Those that belong to a seed, by a source of their own."""
    random = Random(f"{seed}/renewals")
    return tuple(fault for _ in range(random.choice((2, 3))) for fault in _renewal(random, names, safety_ns))


def _renewal(random: Random, names: list[str], safety_ns: int) -> Iterator[Fault]:
    joiner, *others = random.sample(names, len(names))
    at_ns = random.randint(100 * MS, safety_ns - 4 * SECOND)
    again_ns = at_ns + random.choice((50, 300, 1000)) * MS
    yield Fault("crash", at_ns, again_ns, (joiner,))
    if random.random() < 0.5:
        yield Fault("slow-reading", again_ns, again_ns + 2 * SECOND, (joiner,), random.choice((5.0, 50.0)))
    for other in others[: random.choice((1, 2))]:
        trouble_ns = again_ns + random.randint(10, 800) * MS
        yield Fault(random.choice(_TROUBLE), trouble_ns, trouble_ns + random.choice((300, 1500)) * MS, (other,))
