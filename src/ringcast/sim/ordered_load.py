"""Ordered sends of a simulated run, beside the plain ones: TOTAL to the view, to random subsets, barriers.

How much, and to whom, follows from the seed through sources of its own, so that the plain workload of a seed stays what
it is. What applications read in the one order is held against what was queued for them, payload by payload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from ringcast.model import SECOND, Address
from ringcast.sim.application import Hook
from ringcast.sim.cluster import Cluster
from ringcast.sim.member import Member
from ringcast.sim.workload import MOST_WAITING, payload_of

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


@dataclass(slots=True)
class Queued:
    """What was given to members to be queued, in order, with its destinations (none: whoever is in the view)."""

    by_sender: dict[Address, list[tuple[bytes, tuple[Address, ...]]]] = field(default_factory=dict)

    def note(self, sender: Address, payload: bytes, to: tuple[Address, ...]) -> None:
        self.by_sender.setdefault(sender, []).append((payload, to))

    def for_member(self, sender: Address, member: Address) -> list[bytes]:
        return [payload for payload, to in self.by_sender.get(sender, []) if not to or member in to]


class OrderedWorkload:
    """Lets every member queue in the one order until a given moment."""

    def __init__(self, cluster: Cluster, load: OrderedLoad, until_ns: int) -> None:
        self.queued = Queued()
        self._cluster = cluster
        self._load = load
        self._until_ns = until_ns
        self._numbers: dict[str, int] = {}

    def beside(self, begin: Callable[[str], None]) -> Callable[[str], None]:
        """Begin another workload and this one together."""

        def both(name: str) -> None:
            begin(name)
            self.begin(name)

        return both

    def begin(self, name: str) -> None:
        if self._load.per_second:
            member = self._cluster[name]
            self._plan(member, self._cluster.random(name, f"ordered/{member.address.incarnation}"))
            if self._load.aside_share:
                member.application.on_message = self._aside(
                    self._cluster.random(name, f"aside/{member.address.incarnation}")
                )

    def _aside(self, random: Random) -> Hook:
        """A side channel: who has read an ordered message may tell another, which then queues one of its own."""

        def on_message(origin: Address, payload: bytes) -> None:
            if b"!:" in payload[:20] and random.random() < self._load.aside_share:
                told = self._cluster[random.choice(self._cluster.names)]
                self._cluster.clock.after(0, self._queue_if_possible, told, random)

        return on_message

    def _plan(self, member: Member, random: Random) -> None:
        pause_ns = int(random.expovariate(self._load.per_second) * SECOND)
        self._cluster.clock.after(pause_ns, self._tick, member, random)

    def _tick(self, member: Member, random: Random) -> None:
        if member.is_over or self._cluster.clock.now_ns >= self._until_ns:
            return
        self._queue_if_possible(member, random)
        self._plan(member, random)

    def _queue_if_possible(self, member: Member, random: Random) -> None:
        has_room = len(member.application.outbox) < MOST_WAITING
        if has_room and member.node.has_group and not (member.is_over or member.is_frozen):
            self._queue(member, random)

    def _queue(self, member: Member, random: Random) -> None:
        number = self._numbers[member.name] = self._numbers.get(member.name, 0) + 1
        size = self._load.large if random.random() < 0.05 else random.choice(SIZES)
        payload = payload_of(f"{member.name}!", number, min(size, member.largest_message - 100))
        draw = random.random()
        if draw < self._load.barrier_share:
            member.queue(b"", ())
            return
        view = member.node.view.members
        to = tuple(random.sample(view, random.randint(1, len(view)))) if draw < self._load.subset_share else None
        if to is None or set(to) == set(view):
            self.queued.note(member.address, payload, ())
        else:
            self.queued.note(member.address, payload, to)
        member.queue(payload, to)

    # ---- what was read

    def strange(self, is_complete: bool) -> Iterator[str]:
        """A sentence for each reader and sender whose ordered messages are not what was queued for it, in order."""
        for member in [*self._cluster.past, *self._cluster.members.values()]:
            for sender in self.queued.by_sender:
                read = [payload for origin, payload in member.application.ordered if origin == sender]
                sent = self.queued.for_member(sender, member.address)
                if is_complete and (sender != member.address or member.node.config.self_delivery) and read != sent:
                    yield f"{member.address} read {len(read)} of {len(sent)} ordered messages from {sender}"
                elif not _is_part(read, sent):
                    yield f"{member.address} read ordered messages of {sender} that were not queued for it, or not so"


def _is_part(read: list[bytes], sent: list[bytes]) -> bool:
    rest = iter(sent)
    return all(payload in rest for payload in read)
