"""Simulated processes with state: each gets a desk when it starts, and one that cannot have the state is replaced.

A process that learns why it will have no state leaves, as a real one does; somebody starts another in its place, which
asks again. So in the end whoever lives has a state, and `is_waiting` says whether it has come to that.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Protocol

from ringcast.model import MS
from ringcast.sim.clock import Clock
from ringcast.sim.faults import Faults
from ringcast.sim.member import Member
from ringcast.sim.state_desk import StateDesk
from ringcast.sim.state_load import StateLoad
from ringcast.sim.succession import Succession

PAUSE_NS = 100 * MS


class Place(Protocol):
    """Where processes live."""

    clock: Clock
    faults: Faults

    def alive(self) -> Iterator[Member]: ...

    def is_alive(self, name: str) -> bool: ...

    def random(self, name: str, purpose: str) -> Random: ...

    def start(self, name: str) -> Member: ...


class StateKeeping:
    """The states of one simulated group."""

    def __init__(self, place: Place, load: StateLoad) -> None:
        self.succession = Succession()
        self._place = place
        self._load = load
        self._going: dict[Member, None] = {}  # an ordered set: they have no state, and are not replaced yet

    def equip(self, member: Member) -> None:
        """Before it begins."""
        random = self._place.random(member.name, f"state/{member.address.incarnation}")
        clock = self._place.clock

        def on_failed() -> None:
            self._going[member] = None
            clock.after(0, self._give_way, member)

        member.hold(StateDesk(member, clock, self._load, random, self.succession, on_failed))

    def _give_way(self, member: Member) -> None:
        member.leave()
        self._replace(member)

    def _replace(self, member: Member) -> None:
        if not member.is_over:
            self._place.clock.after(PAUSE_NS, self._replace, member)
            return
        del self._going[member]
        if not self._place.is_alive(member.name) and member.name not in self._place.faults.dead:
            self._place.start(member.name)

    @property
    def is_waiting(self) -> bool:
        """Does anybody have no state, or not all of it?"""
        return bool(self._going) or any(map(_is_unsettled, self._place.alive()))

    def strange(self, heal_ns: int) -> Iterator[str]:
        """At the end: what is wrong with the states, and with having none."""
        yield from self.succession.strange(heal_ns)
        for member in filter(_is_unsettled, self._place.alive()):
            yield f"{member.address} has neither a state nor a reason for having none, or somebody waits for its"


def _is_unsettled(member: Member) -> bool:
    return member.desk is not None and not member.desk.is_idle
