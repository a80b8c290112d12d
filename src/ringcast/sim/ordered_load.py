"""Ordered sends of a simulated run, beside the plain ones: TOTAL to the view, to random subsets, barriers.

How much, and to whom, follows from the seed through sources of its own, so that the plain workload of a seed stays what
it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from ringcast.model import Address
from ringcast.sim.application import Outbound
from ringcast.sim.units import payload_of

SIZES = (0, 10, 100, 1000)


@dataclass(frozen=True, slots=True)
class OrderedLoad:
    per_second: float = 0.0  # messages of each member
    subset_share: float = 0.5
    barrier_share: float = 0.05
    large: int = 0  # the size of a message now and then, above any frame
    aside_share: float = 0.0  # of what is read, this share makes the reader tell another one, past the group (G13)


def draw_ordered(seed: int | str, members: int, *, always: bool = False) -> OrderedLoad:
    """The ordered load that belongs to a seed; a third of the seeds have none, unless it is always wanted."""
    random = Random(f"{seed}/ordered")
    pace = random.choice((1.0, 2.0) if always else (0.0, 1.0, 2.0))
    subset_share = random.choice((0.5, 1.0) if always else (0.0, 0.5, 1.0))
    large = random.choice((0, 0, 9_000))
    aside_share = random.choice((0.0, 0.3)) / members  # fewer than one follows from one
    return OrderedLoad(pace * max(1.0, 16.0 / members**2), subset_share, 0.05, large, aside_share)


def ordered_message(
    load: OrderedLoad, random: Random, name: str, number: int, view: tuple[Address, ...], most: int
) -> Outbound:
    """Message `number` of this name in the one order; now and then a barrier."""
    size = load.large if random.random() < 0.05 else random.choice(SIZES)
    payload = payload_of(f"{name}!", number, min(size, most))
    draw = random.random()
    if draw < load.barrier_share:
        return Outbound(b"", None, in_order=True, is_barrier=True)
    to = tuple(random.sample(view, random.randint(1, len(view)))) if draw < load.subset_share else None
    return Outbound(payload, to, in_order=True)
