"""What no process does by itself: the faults of a world's network, and the record of everything that was done to it.

The place where `ringcast.sim.Faults` happen. Faults of processes (a crash, a freeze) are acts of the world and only
noted here. Not a member: its recording has no messages, only FAULT and HEAL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ringcast.errors import UsageError
from ringcast.model import Event, Kind
from ringcast.sim import HARNESS, Clock, Fault, Faults, Network, Process
from ringcast.trace import Header, MemoryRecorder


class Harness:
    def __init__(
        self,
        clock: Clock,
        network: Network,
        group: str,
        seed: int,
        names: Callable[[], list[str]],
        running: Callable[[], list[Process]],
    ) -> None:
        self.clock = clock
        self.network = network
        self.recorder = MemoryRecorder(Header.of(HARNESS, group, seed=seed))
        self._names = names
        self._running = running
        self.faults = Faults(self)

    @property
    def names(self) -> list[str]:
        return self._names()

    def note(self, what: str, *members: str, amount: float = 0.0) -> None:
        detail = {"what": what, "members": list(members), "amount": amount}
        self.recorder.append(Event(Kind.FAULT, self.clock.now_ns, detail=detail))

    def heal(self, bound_ns: int) -> None:
        """No fault of the network holds any more; from now on every wait must end within the bound (G14)."""
        for fault in list(self.faults.active):
            self.faults.end(fault)
        self.recorder.append(Event(Kind.HEAL, self.clock.now_ns, value=bound_ns, detail={"what": "all"}))

    # ---- what faults ask of their place

    def note_fault(self, fault: Fault) -> None:
        self.note(fault.kind, *fault.members, amount=fault.amount)

    def note_heal(self, fault: Fault | None, bound_ns: int = 0) -> None:
        """The end of one fault promises nothing yet: only that of all is recorded."""

    def alive(self) -> Iterator[Process]:
        return iter(self._running())

    def is_alive(self, name: str) -> bool:
        return True

    def crash(self, name: str) -> None:
        raise UsageError(f"crash {name} with world.crash({name!r})")

    def kill(self, name: str) -> None:
        self.crash(name)

    def leave(self, name: str) -> None:
        raise UsageError(f"let {name} leave with world.leave({name!r})")

    def start(self, name: str) -> Process:
        raise UsageError(f"start {name} with world.start({name!r})")
