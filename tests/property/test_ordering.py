"""The group's order under any interleaving of staging, acks, announcements, losses and crashes.

Real groups, of whose frames any are late or lost: the seed's three rules are judged by their checkers (G11, G12, G13),
and a dumb model that knows who queued what for whom looks at what was read. The two halves of the rule, at one
destination and at the coordinator, are also held against models of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringcast.core import Dequeue, Effect, Unicast
from ringcast.core.control import Staged
from ringcast.core.ordering.envelope import Announcement, open_envelope, pack_parcel, pack_stub, pack_whole
from ringcast.core.packets import Loose
from ringcast.model import MS, SECOND, profile
from ringcast.order import OrderQueue
from ringcast.sim import Cluster, FrameRule, drop, hold
from ringcast.sim.planted import known, plant
from simulation.judging import assert_held
from simulation.ordering import group, read
from unit.core.ordering.alone import TRIO, C, alone, announced

NAMES = "ABCD"
SUBSETS = [None, "A", "B", "AB", "BC", "CD", "ABD", "BCD", "ABCD"]
KINDS = ["data", "stream", "staged"]
SOON_NS = 15 * SECOND

# ---- groups

NAME = st.sampled_from(NAMES)
QUEUE = st.tuples(st.just("queue"), NAME, st.sampled_from(SUBSETS), st.integers(1, 3))
ACTIONS = st.one_of(
    QUEUE,
    QUEUE,
    st.tuples(st.sampled_from(["hold", "hold", "lose"]), st.sampled_from(KINDS), NAME, NAME),
    st.tuples(st.just("release")),
    st.tuples(st.just("pass"), st.integers(1, 30)),
)


class Story:
    """Who queued what for whom, and what the network does to it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.queued: dict[bytes, tuple[str, str]] = {}  # payload -> sender, destinations
        self.rules: deque[FrameRule] = deque()

    def do(self, action: tuple) -> None:
        match action:
            case ("queue", name, to, count):
                self.queue(name, to, count)
            case ("hold" | "lose" as what, kind, sender, to):
                act = hold if what == "hold" else drop
                self.rules.append(FrameRule(self.cluster.network, act, kind, sender, to))
            case ("release",) if self.rules:
                self.rules.popleft().end()
            case ("pass", ms):
                self.cluster.run_for(ms * MS)
            case ("crash" | "leave" as what, name) if len(list(self.cluster.alive())) > 2:
                if self.cluster.is_alive(name):
                    (self.cluster.crash if what == "crash" else self.cluster.leave)(name)

    def queue(self, name: str, to: str | None, count: int) -> None:
        if not self.cluster.is_alive(name):
            return
        to = to and "".join(peer for peer in to if self.cluster.is_alive(peer))
        if to == "":
            return
        for _ in range(count):
            payload = f"{name}{len(self.queued)}".encode()
            self.queued[payload] = (name, to or NAMES)
            self.cluster.queue(name, payload, to=to)

    def end(self) -> None:
        while self.rules:
            self.rules.popleft().end()
        cluster = self.cluster
        assert cluster.run_until(lambda: cluster.is_settled() and cluster.share_a_view(), SOON_NS)
        self.check()
        assert_held(self.cluster)

    # ---- what must hold

    def check(self) -> None:
        alive = [process.name for process in self.cluster.alive()]
        found = {name: read(self.cluster, name) for name in alive}
        for order in found.values():
            assert len(dict.fromkeys(order)) == len(order), order
        for a in alive:
            for b in alive:
                assert [p for p in found[a] if p in found[b]] == [p for p in found[b] if p in found[a]], (a, b, found)
        dropped: dict[str, bytes] = {}
        for payload, (sender, to) in self.queued.items():
            readers = [name for name in to if name in alive]
            times = [payload in found[name] for name in readers]
            assert len(set(times)) <= 1, (payload, dict(zip(readers, times, strict=True)))
            assert sum(payload in order for order in found.values()) == sum(times), (payload, found)
            if not all(times):
                assert sender not in alive, (payload, found)
                dropped.setdefault(sender, payload)
            elif readers:  # From the first of a crashed sender's messages that nobody holds on, all are dropped.
                assert sender not in dropped, (payload, dropped)


def run_in_one_view(actions: list[tuple]) -> None:
    story = Story(Cluster(NAMES, config=profile("test")))
    for action in actions:
        story.do(action)
    story.end()


HELD_UP = [
    *[("hold", "staged", name, "A") for name in "BCD"],
    *[("queue", name, None, 2) for name in "DABC"],
    ("pass", 10),
    ("release",),
]
WITHOUT_AN_ACK = [("hold", "data", "B", "C"), ("queue", "B", None, 1), ("pass", 5), ("queue", "C", "CD", 1)]


@settings(max_examples=150)
@given(st.lists(ACTIONS, max_size=30))
@example(HELD_UP)
@example(WITHOUT_AN_ACK)
def test_in_one_view_the_seeds_rules_hold_whatever_happens_when(actions: list[tuple]) -> None:
    run_in_one_view(actions)


LOSSES = st.tuples(st.just("lose"), st.sampled_from(KINDS), NAME, NAME)
ENDS = st.tuples(st.sampled_from(["crash", "crash", "leave", "none"]), NAME)
ROUNDS = st.lists(
    st.tuples(
        st.lists(LOSSES, max_size=6),
        st.lists(QUEUE, max_size=6),
        st.integers(0, 6),
        st.lists(ENDS, min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=2,
)


def run_rounds(rounds: list[tuple]) -> None:
    """Frames on some ways are lost from here on until some end; what they sent is half way then."""
    story = Story(group(NAMES))
    for losses, queued, ms, ends in rounds:
        for action in (*losses, *queued, ("pass", ms), *ends, *[("release",)] * len(losses)):
            story.do(action)
    story.end()


LOST_THEN_HELD = [
    (
        [("lose", "stream", "D", "B"), ("lose", "stream", "D", "C")],
        [("queue", "D", "BC", 1), ("queue", "D", None, 1)],
        5,
        [("crash", "D")],
    )
]
HELD_BY_ONE = [([("lose", "stream", "D", "B")], [("queue", "D", "BC", 1)], 5, [("crash", "D")])]
NOTHING_ANNOUNCED = [
    (
        [("lose", "staged", name, "A") for name in "BCD"],
        [("queue", name, None, 2) for name in "DCB"],
        5,
        [("crash", "A")],
    )
]


@settings(max_examples=60)
@given(ROUNDS)
@example(LOST_THEN_HELD)
@example(HELD_BY_ONE)
@example(NOTHING_ANNOUNCED)
def test_they_hold_when_members_end_with_messages_half_way(rounds: list[tuple]) -> None:
    run_rounds(rounds)


@pytest.mark.parametrize(
    ("bug", "run", "story"),
    [
        ("a tie is broken by the local id", run_rounds, NOTHING_ANNOUNCED),
        ("a message has its place before all have staged it", run_in_one_view, WITHOUT_AN_ACK),
        ("what is announced together is read from the last to the first", run_in_one_view, HELD_UP),
        ("a staged message of a dead sender is kept", run_rounds, LOST_THEN_HELD),
    ],
)
def test_a_mistake_in_the_order_is_caught(bug: str, run: Callable[[list[tuple]], None], story: list[tuple]) -> None:
    with plant(known(bug)), pytest.raises(AssertionError):
        run(story)


# ---- one destination, one coordinator

EVERYBODY = 0b111
MASKS = st.sampled_from([EVERYBODY, EVERYBODY, 0b000, 0b001, 0b010, 0b100, 0b011, 0b101, 0b110])
RANK = st.integers(0, 2)
SENT = st.tuples(st.just("send"), RANK, MASKS, st.integers(1, 2))


class Sent(NamedTuple):
    """One batch of a sender."""

    first: int
    last: int
    to: int
    payloads: list[bytes]


class OneMember:
    """An ordering by itself; what three senders sent, how far it has arrived here, and how much of it has its place."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.ordering, self.noted = alone(TRIO.members[rank])
        self.sent: list[list[Sent]] = [[], [], []]
        self.arrived = [0, 0, 0]  # batches or stubs
        self.parcels = [0, 0, 0]  # of those for this member
        self.placed = [0, 0, 0]

    def has(self, batch: Sent) -> bool:
        return bool(batch.to >> self.rank & 1)

    def do(self, action: tuple) -> None:
        match action:
            case ("send", rank, to, count):
                self.send(rank, to, count)
            case ("stub", rank) if rank != self.rank and self.arrived[rank] < len(self.sent[rank]):
                batch = self.sent[rank][self.arrived[rank]]
                self.arrived[rank] += 1
                whole, stub = (batch.first, batch.payloads), (batch.first, len(batch.payloads), batch.to)
                item = pack_whole(*whole, to_self=True) if batch.to == EVERYBODY else pack_stub(*stub)
                assert self.ordering.on_multicast(0, TRIO.members[rank], [item]) == []
            case ("parcel", rank) if rank != self.rank and self.parcels[rank] < len(self.apart(rank)):
                batch = self.apart(rank)[self.parcels[rank]]
                self.parcels[rank] += 1
                item = pack_parcel(batch.first, batch.payloads)
                assert self.ordering.on_parcels(0, TRIO.members[rank], [item]) == []

    def send(self, rank: int, to: int, count: int) -> None:
        first = self.sent[rank][-1].last + 1 if self.sent[rank] else 1
        payloads = [b"%d/%d" % (rank, number) for number in range(first, first + count)]
        self.sent[rank].append(Sent(first, first + count - 1, to, payloads))
        if rank == self.rank:
            peers = [TRIO.members[at] for at in range(3) if to >> at & 1]
            assert self.ordering.queue(0, payloads, None if to == EVERYBODY else peers)[0] == first

    def apart(self, rank: int) -> list[Sent]:
        return [batch for batch in self.sent[rank] if self.has(batch) and batch.to != EVERYBODY]

    def next_of(self, rank: int) -> Sent | None:
        return self.sent[rank][self.placed[rank]] if self.placed[rank] < len(self.sent[rank]) else None

    def staged(self, rank: int) -> int:
        """The highest number of this sender up to which everything is here."""
        if rank == self.rank:
            return self.sent[rank][-1].last if self.sent[rank] else 0
        lacking = self.apart(rank)[self.parcels[rank] :]
        here = takewhile(lambda batch: batch not in lacking, self.sent[rank][: self.arrived[rank]])
        return max((batch.last for batch in here), default=0)


AT_A_DESTINATION = st.one_of(SENT, st.tuples(st.sampled_from(["stub", "stub", "parcel", "announce", "announce"]), RANK))


@settings(max_examples=300)
@given(st.lists(AT_A_DESTINATION, max_size=60))
def test_reading_by_announcement_is_the_queue_rule_with_staged_instances_moved_behind_each_announcement(
    actions: list[tuple],
) -> None:
    """A destination's reads against `OrderQueue`: stage with the counter seen, rekey on news, commit, pop."""
    here = OneMember(TRIO.rank(C))
    queue: OrderQueue[int, list[bytes]] = OrderQueue()
    staged = [0, 0, 0]
    seen = 0

    def stage(rank: int, upto: int) -> None:
        for batch in here.sent[rank][here.placed[rank] :]:
            if staged[rank] < batch.last <= upto and here.has(batch):
                queue.stage(rank, batch.first, seen, batch.payloads)
        staged[rank] = upto

    def announce(rank: int) -> None:
        nonlocal seen
        batch = here.next_of(rank)
        if batch is None or (here.has(batch) and staged[rank] < batch.last):
            return
        seen += 1
        here.placed[rank] += 1
        effects = here.ordering.on_multicast(0, TRIO.members[0], announced(seen, (rank, batch.last, 1)))
        if here.has(batch):
            queue.commit(rank, batch.first, seen)
        for instance in queue.staged():
            queue.rekey(instance.sender, instance.number, seen)
        assert read_at_once(here, effects) == popped(queue)

    def do(action: tuple) -> None:
        here.do(action)
        if action[0] == "announce":
            announce(action[1])
        acks = acks_of(here.ordering.flush(0, True))
        assert acks == [(rank, here.staged(rank)) for rank in (0, 1) if here.staged(rank) > staged[rank]]
        for rank in range(3):
            stage(rank, here.staged(rank))
        here.ordering.check()

    for action in actions:
        do(action)
    for what in ("stub", "parcel", "announce"):
        for rank in range(3):
            for _ in here.sent[rank]:
                do((what, rank))
    assert here.placed == [len(batches) for batches in here.sent] and not len(queue)


def acks_of(effects: Iterable[Effect]) -> list[tuple[int, int]]:
    packets = [effect.packet for effect in effects if isinstance(effect, Unicast)]
    said = [packet.message for packet in packets if isinstance(packet, Loose)]
    return [pair for message in said if isinstance(message, Staged) for pair in message.upto]


def read_at_once(here: OneMember, effects: list[Effect]) -> list[list[bytes]]:
    deliveries = [effect for effect in effects if isinstance(effect, Dequeue)]
    for delivery in deliveries:
        here.ordering.on_read(delivery)
    return [delivery.payloads for delivery in deliveries]


def popped(queue: OrderQueue[int, list[bytes]]) -> list[list[bytes]]:
    found = []
    while (front := queue.pop()) is not None:
        found.append(front.item)
    return found


AT_THE_COORDINATOR = st.one_of(
    SENT,
    st.tuples(st.sampled_from(["stub", "stub", "parcel"]), RANK),
    st.tuples(st.just("ack"), st.integers(1, 2), RANK, st.integers(1, 12)),
    st.tuples(st.just("flush"), st.booleans()),
)


@settings(max_examples=300)
@given(st.lists(AT_THE_COORDINATOR, max_size=60))
def test_the_coordinator_announces_what_all_destinations_have_staged_and_nothing_else(actions: list[tuple]) -> None:
    """In each sender's order, each batch once, with the next counter value; and as soon as it may."""
    here = OneMember(0)
    told = [[0] * 3 for _ in range(3)]  # told[member][sender]
    seq = 0

    def may_be_placed(rank: int) -> bool:
        """A sender has its own copies; the coordinator must have heard of what it announces."""
        batch = here.next_of(rank)
        if batch is None or here.staged(rank) < batch.last:
            return False
        others = [member for member in (1, 2) if member != rank and batch.to >> member & 1]
        return all(told[member][rank] >= batch.last for member in others)

    def flush(may_announce: bool) -> None:
        nonlocal seq
        here.noted.multicasts.clear()
        read_at_once(here, here.ordering.flush(0, may_announce))
        for item in here.noted.multicasts:
            content = open_envelope(item)
            assert may_announce and isinstance(content, Announcement) and content.seq == seq + 1
            for run in content.runs:
                for _ in range(run.ticks):
                    assert may_be_placed(run.rank), (run, told)
                    here.placed[run.rank] += 1
                assert here.sent[run.rank][here.placed[run.rank] - 1].last == run.last
            seq += content.ticks
        assert not may_announce or not any(map(may_be_placed, range(3)))

    for action in actions:
        here.do(action)
        match action:
            case ("ack", member, rank, number) if here.sent[rank] and member != rank:
                upto = min(number, here.sent[rank][-1].last)
                told[member][rank] = max(told[member][rank], upto)
                assert here.ordering.on_staged(TRIO.members[member], Staged(TRIO.id, ((rank, upto),))) == []
            case ("flush", may_announce):
                flush(may_announce)
        here.ordering.check()
    flush(True)
