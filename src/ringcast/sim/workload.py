"""What the applications of a simulated run do: they send, at a pace, to the group or to some of its members.

Each payload names its sender and its number, so that a reader's contents can be held against what was sent. A sender
is a user that awaits its sends: while too many wait for room it makes no new ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from ringcast.model import SECOND, Address
from ringcast.sim.cluster import Cluster
from ringcast.sim.member import Member

MOST_WAITING = 8


@dataclass(frozen=True, slots=True)
class Load:
    """How much each member sends: messages per second, sizes drawn from `sizes`, this share not to the whole group."""

    per_second: float = 20.0
    sizes: tuple[int, ...] = (10, 100)
    private_share: float = 0.2
    burst: int = 1  # messages that are sent together


def payload_of(sender: str, number: int, size: int) -> bytes:
    """Message `number` of a sender, as long as asked or as its own name needs."""
    head = f"{sender}:{number}:".encode()
    return head + bytes(range(256)) * (max(0, size - len(head)) // 256) + bytes(max(0, size - len(head)) % 256)


@dataclass(slots=True)
class Ledger:
    """Everything that was given to a member to be sent: to the group, and on each stream."""

    multicasts: dict[Address, list[bytes]] = field(default_factory=dict)
    private: dict[tuple[Address, Address], list[bytes]] = field(default_factory=dict)

    def note(self, sender: Address, to: tuple[Address, ...], payload: bytes) -> None:
        if not to:
            self.multicasts.setdefault(sender, []).append(payload)
        for peer in to:
            self.private.setdefault((sender, peer), []).append(payload)


class Workload:
    """Lets every member of a cluster send until a given moment."""

    def __init__(self, cluster: Cluster, load: Load, until_ns: int) -> None:
        self.ledger = Ledger()
        self._cluster = cluster
        self._load = load
        self.until_ns = until_ns
        self._numbers: dict[str, int] = {}

    def extend(self, more_ns: int, faster: int = 2) -> None:
        """Go on for longer and so many times as fast: the faults let little through, or few are left."""
        self.until_ns += more_ns
        self._load = replace(self._load, per_second=faster * self._load.per_second)

    def hurry(self, more_ns: int) -> None:
        """Four times faster still, and from now on: what was planned at the slow pace would come too late."""
        self.extend(more_ns, faster=4)
        for member in list(self._cluster.alive()):
            self._plan(member, self._cluster.random(member.name, f"workload/{member.address.incarnation}/hurry"))

    def begin(self, name: str) -> None:
        """This member's application starts to send."""
        random = self._cluster.random(name, f"workload/{self._cluster[name].address.incarnation}")
        self._plan(self._cluster[name], random)

    def _plan(self, member: Member, random: Random) -> None:
        pause_ns = int(random.expovariate(self._load.per_second / self._load.burst) * SECOND)
        self._cluster.clock.after(pause_ns, self._tick, member, random)

    def _tick(self, member: Member, random: Random) -> None:
        if member.is_over or self._cluster.clock.now_ns >= self.until_ns:
            return
        if len(member.application.outbox) < MOST_WAITING and not member.is_frozen:
            for _ in range(self._load.burst):
                self._send(member, random)
        self._plan(member, random)

    def _send(self, member: Member, random: Random) -> None:
        number = self._numbers[member.name] = self._numbers.get(member.name, 0) + 1
        size = min(random.choice(self._load.sizes), member.largest_message)
        payload = payload_of(member.name, number, size)
        to = self._some_peers(member, random) if random.random() < self._load.private_share else ()
        self.ledger.note(member.address, to, payload)
        member.send(payload, to)

    def _some_peers(self, member: Member, random: Random) -> tuple[Address, ...]:
        members = member.node.view.members if member.node.has_group else ()
        others = [address for address in members if address != member.address]
        if not others:
            return ()
        return tuple(random.sample(others, random.randint(1, min(3, len(others)))))
