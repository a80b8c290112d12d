"""How the applications of a simulated run hold their state: how large it is, and how often one fails to give it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class StateLoad:
    padding: int = 0  # bytes that are added to each state
    failing_share: float = 0.0  # of the orders to give a state this share ends half way, with an error
    until_ns: int = 0  # nobody fails from here on


def draw_state(seed: int | str, until_ns: int) -> StateLoad:
    """What belongs to a seed: states of one part or of up to a hundred, where a stream's window may hold only one."""
    random = Random(f"{seed}/state")
    return StateLoad(random.choice((0, 2_000, 20_000, 60_000)), random.choice((0.0, 0.0, 0.2)), until_ns)
