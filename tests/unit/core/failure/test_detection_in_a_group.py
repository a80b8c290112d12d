"""Many detectors together: a crash is known within 5 s, also of neighbours together; the cost does not grow with n."""

import heapq
from collections.abc import Callable
from typing import Any

import pytest

from ringcast.core import Beat, Heartbeat, Loose, Unicast
from ringcast.core.control import AreYouThere
from ringcast.core.failure import FailureDetector, watched
from ringcast.model import MS, SECOND, Address, View, ViewId, profile
from unit.core.calls import neighbour, with_calls_made

LATENCY_NS = 1 * MS


class Group:
    """Detectors on one clock; every packet takes a millisecond, none to or from the dead."""

    def __init__(self, size: int, place: str = "lan") -> None:
        self.config = profile(place)
        self.members = [Address(f"m{rank:03}", 0, f"m:{rank}") for rank in range(size)]
        self.view = View(ViewId(1, self.members[0]), tuple(self.members))
        made = (FailureDetector(m, self.config, neighbour(), beats=False) for m in self.members)
        self.detectors: dict[Address, Any] = {detector.me: with_calls_made(detector) for detector in made}
        self.beats_to: dict[Address, tuple[Address, ...]] = {}
        self.dead: dict[Address, int] = {}
        self.deaf: set[Address] = set()
        self.now_ns = 0
        self.packets = dict.fromkeys(self.members, 0)
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0
        for rank, member in enumerate(self.members):
            self.obey(member, self.detectors[member].on_view(0, self.view))
            # Heartbeats of different members do not fall together.
            self.at(rank * self.config.heartbeat_ns // size, lambda m=member: self.beat(m))  # type: ignore[misc]
            self.at(1, lambda m=member: self.turn(m))  # type: ignore[misc]

    def at(self, when_ns: int, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._agenda, (when_ns, self._number, action))

    def run(self, until_ns: int) -> None:
        while self._agenda and self._agenda[0][0] <= until_ns:
            self.now_ns, _, action = heapq.heappop(self._agenda)
            action()
        self.now_ns = until_ns

    def turn(self, member: Address) -> None:
        detector = self.detectors[member]
        if member in self.dead:
            return
        deadline = detector.timer.at_ns
        if deadline is not None and deadline <= self.now_ns:
            self.obey(member, detector.on_time(self.now_ns))
        deadline = detector.timer.at_ns
        later = self.now_ns + self.config.heartbeat_ns if deadline is None else deadline
        self.at(max(self.now_ns + 1 * MS, later), lambda: self.turn(member))

    def beat(self, member: Address) -> None:
        for peer in self.beats_to[member]:
            self.send(member, peer, lambda at, p=peer: self.detectors[p].on_heartbeat(at, member, at))  # type: ignore[misc]
        self.at(self.now_ns + self.config.heartbeat_ns, lambda: self.beat(member))

    def send(self, sender: Address, to: Address, arrive: Callable[[int], list[Any]]) -> None:
        if sender in self.dead or sender in self.deaf:
            return
        self.packets[sender] += 1

        def arrival() -> None:
            if to not in self.dead:
                self.obey(to, self.detectors[to].on_heard(self.now_ns, sender) + arrive(self.now_ns))

        self.at(self.now_ns + LATENCY_NS, arrival)

    def obey(self, member: Address, decisions: list[Any]) -> None:
        for decision in decisions:
            match decision:
                case Beat(peers):
                    self.beats_to[member] = peers
                case Unicast(peer, Loose(message=AreYouThere())):
                    self.send(member, peer, lambda at, p=peer: self.answer(p, member))  # type: ignore[misc]
                case Unicast(to, Loose(message=Heartbeat())):
                    self.answer(member, to)
                case "on_suspected", peer, _, tell:
                    for other in tell:
                        self.send(
                            member,
                            other,
                            lambda at, o=other, p=peer: self.detectors[o].on_told(at, member, [p]),  # type: ignore[misc]
                        )

    def answer(self, member: Address, asker: Address) -> list[Any]:
        self.send(member, asker, lambda at: self.detectors[asker].on_heartbeat(at, member, at))
        return []

    @property
    def living(self) -> list[Address]:
        return [m for m in self.members if m not in self.dead]

    def seconds_until_all_know(self, dead: list[Address]) -> float:
        """From the crash of these until every survivor suspects exactly them."""
        crashed_ns = self.now_ns
        self.dead.update(dict.fromkeys(dead, crashed_ns))
        while any(sorted(self.detectors[m].suspects) != sorted(dead) for m in self.living):
            assert self.now_ns < crashed_ns + 60 * SECOND, "never found"
            self.run(self.now_ns + 10 * MS)
        return (self.now_ns - crashed_ns) / SECOND


CRASHES: dict[str, Callable[[list[Address]], list[Address]]] = {
    "the coordinator": lambda members: members[:1],
    "the last": lambda members: members[-1:],
    "the first two": lambda members: members[:2],
    "the first half": lambda members: members[: len(members) // 2],
    "all watched by one, and it": lambda members: sorted([members[0], *watched(members, members[0], 6)]),
    "a stretch in the middle": lambda members: members[3 : 3 + len(members) // 3],
    "every second": lambda members: members[::2],
}


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("size", [8, 33, 64])
def test_every_survivor_knows_of_a_crash_within_5_seconds_on_a_lan(size: int, crash: str) -> None:
    group = Group(size)
    group.run(3 * SECOND)
    assert group.seconds_until_all_know(CRASHES[crash](group.members)) <= 5.0


def test_the_only_survivor_of_100_finds_out_in_doubling_steps() -> None:
    group = Group(100)
    group.run(3 * SECOND)
    assert group.seconds_until_all_know(group.members[1:]) <= 10.0


def test_the_cost_of_watching_does_not_grow_with_the_group() -> None:
    most = {}
    for size in (8, 32, 128):
        group = Group(size)
        group.run(10 * SECOND)
        assert all(group.detectors[m].suspects == () for m in group.members)
        most[size] = max(group.packets.values())
    assert most[128] <= most[32] <= most[8]


def test_false_suspicion_of_one_of_five_drains_v17() -> None:
    group = Group(5)
    group.run(3 * SECOND)
    mute = group.members[2]
    group.deaf.add(mute)  # Nothing it says arrives: it looks dead for a while.
    group.run(8 * SECOND)
    others = [m for m in group.members if m != mute]
    assert all(group.detectors[m].suspects == (mute,) for m in others)
    group.deaf.clear()
    group.run(12 * SECOND)
    assert all(group.detectors[m].suspects == () for m in group.members)
