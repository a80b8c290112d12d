"""What a simulated process needs from the world it lives in."""

from __future__ import annotations

from typing import Protocol

from ringcast.sim.clock import Clock
from ringcast.sim.network import Network


class World(Protocol):
    group: str
    clock: Clock
    network: Network
