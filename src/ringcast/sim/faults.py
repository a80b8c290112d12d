"""Faults as values: what goes wrong, for whom, from when until when; and the board that makes it so.

Several faults may hold at once, also on the same path. Whenever one begins or ends, the state of every path and every
member is computed again from the world as it was made and the faults that hold, so no end of one undoes another.
Each beginning and each end is recorded by the harness (FAULT, HEAL).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ringcast.model import MS, Event
from ringcast.sim.network import Link
from ringcast.sim.process import Process
from ringcast.sim.steps import STEP_CRASHES, step_of

if TYPE_CHECKING:
    from ringcast.sim.world import SimulatedWorld

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Fault:
    """`members`: for links none = all, one = all from and to it, two = from the first to the second; for cuts and
    members see the tables below. `amount`: a share, milliseconds, bytes per second or parts per million."""

    kind: str
    at_ns: int
    until_ns: int
    members: tuple[str, ...] = ()
    amount: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault {self.kind!r}; known are {', '.join(sorted(KINDS))}")
        if not 0 <= self.at_ns <= self.until_ns:
            raise ValueError(f"a fault from {self.at_ns} until {self.until_ns} ns")

    def __str__(self) -> str:
        amount = f" {self.amount:g}" if self.amount else ""
        return " ".join([self.kind + amount, *self.members])


LINK_CHANGES: Mapping[str, Callable[[Link, float], Link]] = {
    "loss": lambda link, share: replace(link, loss=share),
    "duplicate": lambda link, share: replace(link, duplicate=share),
    "reorder": lambda link, share: replace(link, reorder=share),
    "damage": lambda link, share: replace(link, damage=share),
    "delay": lambda link, ms: replace(link, delay_ns=link.delay_ns + int(ms * MS)),
    "jitter": lambda link, ms: replace(link, jitter_ns=link.jitter_ns + int(ms * MS)),
    "slow-link": lambda link, rate: replace(link, bytes_per_second=int(rate)),
}

# Which directions a partition closes, given everybody's names and the fault's members.
PARTITIONS: Mapping[str, Callable[[list[str], tuple[str, ...]], Pairs]] = {
    "one-way": lambda names, members: [(members[0], members[1])],
    "deaf": lambda names, members: [(other, members[0]) for other in names if other != members[0]],
    "mute": lambda names, members: [(members[0], other) for other in names if other != members[0]],
    "isolate": lambda names, members: _between(members[:1], [name for name in names if name != members[0]]),
    "split": lambda names, members: _between(members, [name for name in names if name not in members]),
    # The last one named is reached from both sides: A B C with C named hears A and D, but A does not hear D.
    "bridge": lambda names, members: _between(members[:-1], [name for name in names if name not in members]),
    # Everybody hears its two neighbours only, in the order of the names.
    "ring": lambda names, members: [pair for pair in _every(names) if not _are_neighbours(names, *pair)],
    # As a split, but it opens and closes: cut for `amount` milliseconds, whole for as long, and so on.
    "flap": lambda names, members: _between(members, [name for name in names if name not in members]),
}

# Packets of these kinds do not pass; members as for links.
KIND_CUTS: Mapping[str, tuple[str, ...]] = {
    "no-acks": ("ack",),
    "no-data": ("data", "stream", "state"),
    "no-requests": ("request",),
    "no-tails": ("highest",),
    "no-control": ("control",),
    "no-heartbeats": ("heartbeat", "areyouthere"),
}

# What members do wrong: frozen for a while, not reading, reading slowly (ms per delivery), a wrong clock (ppm).
MEMBER_FAULTS = ("freeze", "stop-reading", "slow-reading", "clock")

# Processes end; only where membership is at work. After a crash and a leave others begin in their place, under a new
# incarnation; after a death nobody does.
LIFE_FAULTS = ("crash", "leave", "death")

LASTING_KINDS = (*LINK_CHANGES, *PARTITIONS, *KIND_CUTS, *MEMBER_FAULTS)
KINDS = (*LASTING_KINDS, *LIFE_FAULTS, *STEP_CRASHES)


@runtime_checkable
class Paced(Protocol):
    """An application whose reading can be slowed down."""

    read_every_ns: int | None

    def read_every(self, pause_ns: int | None) -> None: ...


class Faults:
    """Which faults hold now."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self.active: list[Fault] = []
        self.dead: dict[str, None] = {}  # an ordered set: names at which nobody starts any more
        self._leaving: dict[Fault, Process] = {}  # leaves that were really asked for, and of whom
        self._armed: list[Fault] = []  # crashes that wait for their step
        self._crashed: dict[Fault, str] = {}  # whom such a crash met
        self._lulls: list[Fault] = []  # flapping cuts that are open just now
        self._before: dict[tuple[Process, str], Any] = {}  # what a fault changed at a process: as it was before
        self._is_over = False

    def plan(self, fault: Fault) -> None:
        """It will begin and end by itself."""
        self._world.clock.at(fault.at_ns, self.begin, fault)
        self._world.clock.at(fault.until_ns, self.end, fault)

    def begin(self, fault: Fault) -> None:
        if self._is_over:
            return
        if fault.kind == "death":
            self._die(fault)
            return
        if fault.kind in LIFE_FAULTS:
            self._end_process(fault)
            return
        if fault.kind in STEP_CRASHES:
            self._armed.append(fault)
            self.refresh()
            return
        self.active.append(fault)
        self._world.note_fault(fault)
        self.refresh()
        if fault.kind == "flap":
            self._world.clock.after(int(fault.amount * MS), self._flap, fault)

    def _flap(self, fault: Fault) -> None:
        if fault not in self.active:
            return
        if fault in self._lulls:
            self._lulls.remove(fault)
        else:
            self._lulls.append(fault)
        self.refresh()
        self._world.clock.after(int(fault.amount * MS), self._flap, fault)

    def _die(self, fault: Fault) -> None:
        """Also where the process is down already: then nobody takes its place."""
        name = fault.members[0]
        if name not in self.dead:
            self.dead[name] = None
            self._world.note_fault(fault)
            self._world.kill(name)

    def _end_process(self, fault: Fault) -> None:
        name = fault.members[0]
        if not self._world.is_alive(name):
            return
        if fault.kind == "crash":
            self._world.crash(name)
        else:
            self._world.note_fault(fault)
            self._leaving[fault] = self._world[name]
            self._world.leave(name)

    def end(self, fault: Fault) -> None:
        if fault.kind in LIFE_FAULTS:
            self._start_again(fault, fault.members[0])
        elif fault.kind in STEP_CRASHES:
            self._disarm(fault)
            if fault in self._crashed:
                self._start_again(fault, self._crashed.pop(fault))
        elif fault in self.active:
            self.active.remove(fault)
            self._lulls = [lull for lull in self._lulls if lull != fault]
            self._world.note_heal(fault)
            self.refresh()

    def _disarm(self, fault: Fault) -> None:
        if fault in self._armed:
            self._armed.remove(fault)
            self.refresh()

    def _on_event(self, process: Process, event: Event) -> None:
        """A process records this while crashes wait for their step."""
        step = step_of(event)
        for fault in self._armed if step is not None else ():
            if fault.kind == step and (not fault.members or process.name in fault.members):
                self._disarm(fault)
                self._crashed[fault] = process.name
                if fault.amount:
                    self._world.clock.at(self._world.clock.now_ns, self._crash_at, fault, process)
                else:
                    self._crash_at(fault, process)
                return

    def _crash_at(self, fault: Fault, process: Process) -> None:
        if not process.is_over:
            self._world.note_fault(replace(fault, members=(process.name,)))
            self._world.kill(process.name)

    def _start_again(self, fault: Fault, name: str) -> None:
        """In the place of a process that is gone; one that still leaves is waited for, also beyond the heal."""
        is_leaving = fault in self._leaving and self._leaving[fault] is self._world[name]
        if name in self.dead or self._world.is_over or (self._is_over and not is_leaving):
            return
        if not self._world.is_alive(name):
            self._world.start(name)
        elif is_leaving:
            self._world.clock.after(100 * MS, self._start_again, fault, name)

    def end_all(self, bound_ns: int = 0) -> None:
        """From now on nothing is wrong any more; what was planned for later does not happen.

        Who is still leaving was not down when the missing were started: somebody starts in its place when it is gone.
        """
        self.active.clear()
        self._armed.clear()
        self._is_over = True
        self._world.note_heal(None, bound_ns)
        self.refresh()
        for fault, process in self._leaving.items():
            if not process.is_over:
                self._start_again(fault, process.name)

    def refresh(self) -> None:
        """Make the world what the active faults say; also needed when a member is new."""
        self._refresh_paths()
        for member in list(self._world.alive()):
            self._refresh_member(member)

    def _refresh_paths(self) -> None:
        network, names = self._world.network, self._world.names
        network.mend_all()
        for fault in self.active:
            if fault in self._lulls:
                continue
            if fault.kind in PARTITIONS:
                network.cut(PARTITIONS[fault.kind](names, fault.members))
            elif fault.kind in KIND_CUTS:
                network.cut(_link_pairs(names, fault.members), KIND_CUTS[fault.kind])
            elif fault.kind in LINK_CHANGES:
                for sender, to in _link_pairs(names, fault.members):
                    path = network.path(sender, to)
                    path.link = LINK_CHANGES[fault.kind](path.link, fault.amount)

    def _refresh_member(self, member: Process) -> None:
        member.on_event = self._on_event if self._armed else None
        mine = {fault.kind: fault for fault in self.active if not fault.members or member.name in fault.members}
        rate = int(mine["clock"].amount) if "clock" in mine else 0
        self._change(member, "clock", "clock" in mine, member.clock_rate, rate, member.set_clock_rate)
        stand = {True: member.freeze, False: member.thaw}
        self._change(member, "freeze", "freeze" in mine, member.is_frozen, True, lambda still: stand[still]())
        if isinstance(member.app, Paced):
            pace = int(mine["slow-reading"].amount * MS) if "slow-reading" in mine else None
            pace = None if "stop-reading" in mine else pace
            is_paced = "slow-reading" in mine or "stop-reading" in mine
            self._change(member, "reading", is_paced, member.app.read_every_ns, pace, member.app.read_every)

    def _change(
        self, member: Process, what: str, holds: bool, now: Any, wanted: Any, change: Callable[[Any], None]
    ) -> None:
        """Make it so while a fault holds, and then as it was; what no fault changed is not touched."""
        if holds:
            self._before.setdefault((member, what), now)
            if now != wanted:
                change(wanted)
        elif (member, what) in self._before:
            before = self._before.pop((member, what))
            if now != before:
                change(before)


def _between(side: tuple[str, ...] | list[str], other: list[str]) -> Pairs:
    """Both directions between two sides."""
    return [pair for a in side for b in other for pair in ((a, b), (b, a))]


def _link_pairs(names: list[str], members: tuple[str, ...]) -> Pairs:
    if len(members) == 2:
        return [(members[0], members[1])]
    every = _every(names)
    return [pair for pair in every if members[0] in pair] if members else every


def _every(names: list[str]) -> Pairs:
    return [(a, b) for a in names for b in names if a != b]


def _are_neighbours(names: list[str], a: str, b: str) -> bool:
    return (names.index(a) - names.index(b)) % len(names) in (1, len(names) - 1)
