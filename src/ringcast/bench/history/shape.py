"""What a history is made of, and one period of it once it is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.model import Address, Event


@dataclass(frozen=True, slots=True)
class Shape:
    """What a history is made of."""

    members: int = 8
    deliveries: int = 1_000_000  # in a period
    views: int = 10  # view changes in a period, the last of which is a merge; 0: one view, whatever the turns
    longest_run: int = 29  # FIFO runs have 1 to this many messages
    total_share: float = 0.25  # of the messages
    capacity: int = 4096
    name: str = "m"  # what members are called, before their number


@dataclass(slots=True)
class Period:
    """`sent`, `queued`, `delivered`, `dequeued`: by how much each number moves on from period to period."""

    shape: Shape
    addresses: list[Address]
    events: list[list[Event]]
    sent: list[int] = field(default_factory=list)
    queued: list[int] = field(default_factory=list)
    delivered: list[int] = field(default_factory=list)
    dequeued: list[int] = field(default_factory=list)
    duration_ns: int = 0
    waits: int = 1

    @property
    def deliveries(self) -> int:
        return sum(self.delivered) + sum(self.dequeued)
