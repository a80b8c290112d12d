"""What every simulated world is: processes with real Groups in them, the network between them, faults, recordings.

Everything that happens follows from the seed and from what is called here: two worlds made and driven alike have the
same recordings, byte for byte. The harness keeps a recording of its own for what no member does: faults and heals.
`Cluster` is the world of seeds and scenarios, `ringcast.testing.World` that of users' services; what runs in the
processes and when a world is at rest is theirs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ringcast.errors import UsageError
from ringcast.model import MS, SECOND, Address, Config, Event, Kind, Mark, View
from ringcast.runtime import OnExclusion
from ringcast.sim.clock import Clock
from ringcast.sim.faults import Fault, Faults
from ringcast.sim.keys import SimulatedKeys
from ringcast.sim.network import Link, Network
from ringcast.sim.passing import Passing
from ringcast.sim.process import MakeApp, Partition, Process
from ringcast.trace import FileRecorder, Header, MemoryRecorder, Recording, run_hash

HARNESS = Address("harness", 0, "sim:harness")
SILENCE_NS = 60 * SECOND  # what still runs when a world ends has so long to tidy up after itself


def names_of(count: int) -> list[str]:
    """A, B, … Z, A1, B1, …"""
    return [chr(ord("A") + n % 26) + (str(n // 26) if n >= 26 else "") for n in range(count)]


class SimulatedWorld(ABC):
    """Processes by name; a name's current process is `world["A"]`."""

    def __init__(
        self,
        seed: int | str,
        config: Config,
        link: Link | None,
        group: str,
        *,
        multicasts: bool = False,
        on_exclusion: OnExclusion = "merge",
        partition: Partition = "all",
        observers: Sequence[str] = (),
        primary_mark: bool = False,
        quorum: int = 0,
    ) -> None:
        self.seed = seed
        self.group = group
        self.config = config
        self.multicasts = multicasts
        self.on_exclusion: OnExclusion = on_exclusion
        self.partitioning: Partition = partition
        self.observers = tuple(observers)
        self.quorum = quorum
        self.marks: dict[str, tuple[Address, Mark]] | None = {} if primary_mark else None
        self.disks: dict[str, float] = {}  # how many seconds a mark takes to be stored, by name, if longer than usual
        self.keys: SimulatedKeys | None = None  # None: frames travel in clear
        self.clock = Clock()
        self.network = Network(self.clock, seed, link or Link(), group)
        self.faults = Faults(self)
        self.processes: dict[str, Process] = {}
        self.past: list[Process] = []
        labels = {"seed": str(seed)}
        number = seed if isinstance(seed, int) else None
        self._harness = MemoryRecorder(Header.of(HARNESS, group, None, seed=number, labels=labels))
        self.recorders: list[MemoryRecorder] = [self._harness]
        self._stopped: dict[str, int] = {}  # who does not run, since when
        self._incarnations: dict[str, int] = {}
        self._passing = Passing(self.clock)

    # ---- who is here

    def __getitem__(self, name: str) -> Process:
        try:
            return self.processes[name]
        except KeyError:
            raise UsageError(f"there is no {name!r} in this world of {', '.join(self.processes)}") from None

    @property
    def names(self) -> list[str]:
        return list(self.processes)

    def everybody(self) -> list[Process]:
        """Also the processes of before."""
        return [*self.past, *self.processes.values()]

    def alive(self) -> Iterator[Process]:
        return (process for process in self.processes.values() if not process.is_over)

    def is_alive(self, name: str) -> bool:
        return name in self.processes and not self.processes[name].is_over

    @property
    def is_over(self) -> bool:
        """The run has ended: nobody starts any more."""
        return self._passing.is_over

    # ---- what processes ask of their world

    def config_of(self, name: str) -> Config:
        return self.config

    def next_incarnation(self, name: str) -> int:
        self._incarnations[name] = self._incarnations.get(name, 0) + 1
        return self._incarnations[name]

    def complain(self, who: str, error: BaseException | None, words: str) -> None:
        self._passing.complain(who, error, words)

    def ended(self, process: Process, error: BaseException | None) -> None:
        """Its main task is over, by itself."""
        if error is not None:
            self.complain(process.name, error, "its application ended with an error")

    # ---- what happens

    def begin(self, name: str, make_app: MakeApp, expect: int, view: View | None = None) -> Process:
        """A process at this name, the first or the one after it ended. `view`: it is in this one, for ever."""
        if name in self.processes:
            assert self.processes[name].is_over, f"{name} still runs"
            self.past.append(self.processes[name])
        process = self.processes[name] = Process(self, name, make_app, expect, view)
        self.faults.refresh()
        return process

    @abstractmethod
    def start(self, name: str) -> Process:
        """A process at this name; it joins by itself while time passes."""

    def leave(self, name: str) -> None:
        """Ask to leave; the process ends when it is out."""
        self[name].leave()

    def crash(self, name: str) -> None:
        """The process is gone at once, with its memory."""
        process = self[name]
        self.note(Kind.FAULT, {"what": "crashed", "members": [name]})
        if not process.is_over:
            process.crash()

    def kill(self, name: str) -> None:
        """The same; the fault that did it is noted by whoever calls."""
        if self.is_alive(name):
            self[name].crash()

    def run_until(
        self, condition: Callable[[], bool], limit_ns: int = 60 * SECOND, look_every_ns: int = 1 * MS
    ) -> bool:
        """Let time pass until the condition holds, looking every so often; False if it did not within the limit."""
        end_ns = self.clock.now_ns + limit_ns
        while not condition():
            if self.clock.now_ns >= end_ns:
                return False
            self._passing.until(min(end_ns, self.clock.now_ns + look_every_ns))
        return True

    def end_all(self) -> None:
        """The run is over: every recording ends at this moment, and what still runs is cancelled."""
        if self._passing.is_over:
            return
        self._passing.is_over = True
        for process in self.alive():
            process.end()
        self._passing.until(self.clock.now_ns)
        self._harness.close(self.clock.now_ns)
        everybody = self.everybody()
        for process in everybody:
            process.end()
        silent_ns = self.clock.now_ns + SILENCE_NS
        self._passing.until(silent_ns, lambda: not any(process.loop.unfinished() for process in everybody))

    # ---- what there is to see

    def share_a_view(self, processes: Iterable[Process] | None = None) -> bool:
        """All who live, or these, are in one view, and nobody else is."""
        who = list(self.alive() if processes is None else processes)
        if not all(process.has_begun and process.node.has_group for process in who):
            return False
        views = {process.node.view.id for process in who}
        everybody = sorted(process.address for process in who)
        return len(views) == 1 and all(sorted(process.node.view.members) == everybody for process in who)

    # ---- recordings

    def note(self, kind: Kind, detail: dict[str, object], bound_ns: int = 0) -> None:
        """Something that no member does."""
        self._harness.append(Event(kind, self.clock.now_ns, value=bound_ns, detail=detail))

    def note_fault(self, fault: Fault) -> None:
        if fault.kind == "freeze":
            for name in fault.members or self.names:
                self._stopped.setdefault(name, self.clock.now_ns)
        self.note(Kind.FAULT, _detail(fault))

    def note_heal(self, fault: Fault | None, bound_ns: int = 0) -> None:
        """A fault ended; or all did, and from now on every wait must end within the bound (G14)."""
        self._note_who_runs_again()
        self.note(Kind.HEAL, {"what": "all"} if fault is None else _detail(fault), bound_ns)

    def _note_who_runs_again(self) -> None:
        """A process that was stopped could not end its waits; G14 is judged with that in mind (seed 916).

        Also one that crashed meanwhile, if its successor has not begun: the note names the last one that did.
        """
        frozen = [fault.members or self.names for fault in self.faults.active if fault.kind == "freeze"]
        for name in [name for name in self._stopped if not any(name in names for names in frozen)]:
            since_ns = self._stopped.pop(name)
            begun = [one for one in self.everybody() if one.name == name and one.has_begun]
            if begun:
                detail = {"what": "standstill", "members": [name], "amount": 0.0}
                event = Event(Kind.HEAL, self.clock.now_ns, peer=begun[-1].address, other=since_ns, detail=detail)
                self._harness.append(event)

    def recordings(self) -> list[Recording]:
        return [recorder.recording() for recorder in self.recorders]

    def trace_hash(self) -> str:
        """The same for every replay of this run."""
        return run_hash({recorder.header.member: recorder.events for recorder in self.recorders})

    def write_recordings(self, root: Path, run: str | None = None) -> None:
        """Write what was recorded; the run is named after the seed unless it is given."""
        for recorder in self.recorders:
            file = FileRecorder(root, replace(recorder.header, run=run or f"seed {self.seed}"))
            for event in recorder.events[1:]:
                if event.kind is Kind.CLOSED:
                    file.close(event.t_ns, str((event.detail or {}).get("how", "ended")))
                else:
                    file.append(event)
            file.close(self.clock.now_ns)


def _detail(fault: Fault) -> dict[str, object]:
    return {"what": fault.kind, "members": list(fault.members), "amount": fault.amount}
