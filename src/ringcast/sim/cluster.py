"""A simulated group: processes with real Groups in them, the network between them, faults, and all recordings.

Everything that happens follows from the seed and from what is called here: two clusters made and driven alike have the
same recordings, byte for byte. The harness keeps a recording of its own for what no member does: faults and heals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

from ringcast.errors import StateError
from ringcast.model import MS, SECOND, Address, Config, Event, Kind, Mark, View, ViewId, profile
from ringcast.runtime import OnExclusion
from ringcast.sim.application import Application, Outbound
from ringcast.sim.clock import Clock
from ringcast.sim.faults import Fault, Faults
from ringcast.sim.network import Link, Network
from ringcast.sim.passing import Passing
from ringcast.sim.process import Partition, Process
from ringcast.sim.transport import endpoint_of
from ringcast.trace import FileRecorder, Header, MemoryRecorder, Recording, run_hash

HARNESS = Address("harness", 0, "sim:harness")
PAUSE_NS = 100 * MS  # until another process takes the place of one that could not get the state

MakeApplication = Callable[["Cluster", str], Application]


def names_of(count: int) -> list[str]:
    """A, B, … Z, A1, B1, …"""
    return [chr(ord("A") + n % 26) + (str(n // 26) if n >= 26 else "") for n in range(count)]


def _plain(cluster: Cluster, name: str) -> Application:
    return Application(cluster.random(name, f"reading/{cluster.started(name)}"))


class Cluster:
    """Processes by name; a name's current process is `cluster["A"]`."""

    def __init__(
        self,
        members: int | Sequence[str] = 3,
        *,
        seed: int | str = 0,
        config: Config | None = None,
        configs: Mapping[str, Config] | None = None,
        link: Link | None = None,
        multicasts: bool = False,
        fixed: bool = True,
        group: str = "sim",
        make_app: MakeApplication = _plain,
        on_exclusion: OnExclusion = "merge",
    ) -> None:
        """`fixed`: everybody is in one view, for ever; otherwise members find each other, come and go.

        `make_app` makes the program of each process that starts.
        """
        self.seed = seed
        self.group = group
        self.multicasts = multicasts
        self.on_exclusion: OnExclusion = on_exclusion
        self.partitioning: Partition = "all"
        self.observers: tuple[str, ...] = ()
        self.quorum = 0
        self.marks: dict[str, tuple[Address, Mark]] | None = None
        self.clock = Clock()
        self.network = Network(self.clock, seed, link or Link(), group)
        self.faults = Faults(self)
        self.config = config or profile("test")
        self.members: dict[str, Process] = {}
        self.past: list[Process] = []
        self.refused: list[tuple[Process, StateError, int]] = []  # who got no state, why, and when
        self.recorders: list[MemoryRecorder] = []
        self.on_start: Callable[[str], None] | None = None  # a process was started after the world began
        self._stopped: dict[str, int] = {}  # who does not run, since when
        self._replaced: dict[Process, None] = {}  # an ordered set: another one will start in their place
        self._configs = dict(configs or {})
        self._make_app = make_app
        self._incarnations: dict[str, int] = {}
        self._started: dict[str, int] = {}
        self._passing = Passing(self.clock)
        labels = {"seed": str(seed)}
        self._harness = MemoryRecorder(Header.of(HARNESS, group, None, seed=_as_number(seed), labels=labels))
        self.recorders.append(self._harness)
        names = names_of(members) if isinstance(members, int) else list(members)
        if fixed:
            self._begin_fixed(names)
        else:
            for name in names:
                self.start(name, expect=len(names))

    def _begin_fixed(self, names: list[str]) -> None:
        """Everybody is in one view from the start; the smallest capacity is agreed, as with any view."""
        addresses = tuple(Address(name, 1, str(endpoint_of(name))) for name in names)
        configs = [self.config_of(name) for name in names]
        view = View(
            ViewId(1, addresses[0]),
            addresses,
            capacity=min(config.capacity for config in configs),
            window_bytes=min(config.window_bytes for config in configs),
        )
        for name in names:
            self._begin(name, 0, view)
        self.run_for(0)

    # ---- members

    def __getitem__(self, name: str) -> Process:
        return self.members[name]

    @property
    def names(self) -> list[str]:
        return list(self.members)

    def alive(self) -> Iterator[Process]:
        return (process for process in self.members.values() if not process.is_over)

    def is_alive(self, name: str) -> bool:
        return name in self.members and not self.members[name].is_over

    def random(self, name: str, purpose: str) -> Random:
        """A source of randomness of its own for each member and purpose, so that one never shifts another."""
        return Random(f"{self.seed}/{name}/{purpose}")

    def address(self, name: str) -> Address:
        return self.members[name].address

    def application(self, name: str) -> Application:
        app: Application = self.members[name].app
        return app

    def applications(self) -> Iterator[tuple[Process, Application]]:
        """Of all processes that there were."""
        return ((process, process.app) for process in [*self.past, *self.members.values()])

    # ---- what processes ask of their world

    def config_of(self, name: str) -> Config:
        return self._configs.get(name, self.config)

    def next_incarnation(self, name: str) -> int:
        self._incarnations[name] = self._incarnations.get(name, 0) + 1
        return self._incarnations[name]

    def started(self, name: str) -> int:
        """How many processes of this name there were, this one included."""
        return self._started.get(name, 0)

    def complain(self, who: str, error: BaseException | None, words: str) -> None:
        self._passing.complain(who, error, words)

    def ended(self, process: Process, error: BaseException | None) -> None:
        """A process that could not get the state is replaced by another one, which asks again."""
        if isinstance(error, StateError):
            self.refused.append((process, error, self.clock.now_ns))
            self._replaced[process] = None
            self.clock.after(PAUSE_NS, self._replace, process)
        elif error is not None:
            self.complain(process.name, error, "its application ended with an error")

    def _replace(self, process: Process) -> None:
        del self._replaced[process]
        if not self.is_alive(process.name) and process.name not in self.faults.dead and not self._passing.is_over:
            self.start(process.name)

    # ---- what happens

    def send(self, name: str, *payloads: bytes, to: Sequence[str] = ()) -> None:
        """Messages to the group, or to the members named."""
        peers = tuple(self.address(peer) for peer in to)
        for payload in payloads:
            self.application(name).put(Outbound(payload, peers))
        self._go_on()

    def queue(self, name: str, *payloads: bytes, to: Sequence[str] | None = None) -> None:
        """Messages in the one order: to the view, or to the members named."""
        peers = None if to is None else tuple(self.address(peer) for peer in to)
        for payload in payloads:
            self.application(name).put(Outbound(payload, peers, in_order=True))
        self._go_on()

    def read_every(self, name: str, pause_ns: int | None) -> None:
        """The pace at which an application reads: 0 = at once, None = not at all."""
        self.application(name).read_every(pause_ns)
        self._go_on()

    def _go_on(self) -> None:
        """Whoever asks from outside sees at once what comes of it at this moment."""
        if not self._passing.is_passing:
            self.run_for(0)

    def run_for(self, duration_ns: int) -> None:
        self._passing.until(self.clock.now_ns + duration_ns)

    def run_to(self, t_ns: int) -> None:
        self._passing.until(max(t_ns, self.clock.now_ns))

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

    def start(self, name: str, expect: int = 0) -> Process:
        """A process at this name, the first or the one after it ended: it joins the group, or founds it."""
        if name in self.members:
            assert self.members[name].is_over, f"{name} still runs"
            self.past.append(self.members[name])
        process = self._begin(name, expect, None)
        self._go_on()
        return process

    def _begin(self, name: str, expect: int, view: View | None) -> Process:
        self._started[name] = self.started(name) + 1
        process = self.members[name] = Process(self, name, partial(self._make_app, self, name), expect, view)
        self.faults.refresh()
        if self.on_start is not None:
            self.on_start(name)
        return process

    def leave(self, name: str) -> None:
        """Ask to leave; the process ends when it is out."""
        self.members[name].leave()

    def crash(self, name: str) -> None:
        self._harness.append(Event(Kind.FAULT, self.clock.now_ns, detail={"what": "crashed", "members": [name]}))
        self.kill(name)

    def kill(self, name: str) -> None:
        """Its process is gone with its memory; the fault that did it is noted by whoever calls."""
        if self.is_alive(name):
            self.members[name].crash()

    def start_missing(self) -> None:
        """In every place that is empty, but where nobody may start any more."""
        for name in self.names:
            if not self.is_alive(name) and name not in self.faults.dead:
                self.start(name)

    def heal(self, bound_ns: int = 0) -> None:
        """Nothing is wrong any more: no fault, no loss, nobody crashes. Links keep their delay."""
        self.network.link = replace(self.network.link, loss=0.0, damage=0.0)
        self.faults.end_all(bound_ns)

    def close(self, name: str) -> None:
        """Its group is closed where it stands, and the process ends."""
        self.members[name].end()
        self._go_on()

    # ---- what was read

    def read(self, name: str, sender: str) -> list[bytes]:
        """The multicasts of `sender` that the application of `name` has read, in order."""
        return self.application(name).multicasts.get(self.address(sender), [])

    def read_private(self, name: str, sender: str) -> list[bytes]:
        return self.application(name).private.get(self.address(sender), [])

    def is_settled(self) -> bool:
        """Nothing waits to be sent, to be acked or to be read, and nobody to be replaced."""
        return not self._replaced and all(process.is_settled and process.app.is_idle for process in self.alive())

    def share_a_view(self) -> bool:
        """All who live are in one view, and nobody else is."""
        alive = list(self.alive())
        if not all(process.has_begun and process.node.has_group for process in alive):
            return False
        views = {process.node.view.id for process in alive}
        everybody = sorted(process.address for process in alive)
        return len(views) == 1 and all(sorted(process.node.view.members) == everybody for process in alive)

    # ---- recordings

    def note_fault(self, fault: Fault) -> None:
        if fault.kind == "freeze":
            for name in fault.members or self.names:
                self._stopped.setdefault(name, self.clock.now_ns)
        self._harness.append(Event(Kind.FAULT, self.clock.now_ns, detail=_detail(fault)))

    def note_heal(self, fault: Fault | None, bound_ns: int = 0) -> None:
        """A fault ended; or all did, and from now on every wait must end within the bound (G14)."""
        detail = {"what": "all"} if fault is None else _detail(fault)
        self._note_who_runs_again()
        self._harness.append(Event(Kind.HEAL, self.clock.now_ns, value=bound_ns, detail=detail))

    def _note_who_runs_again(self) -> None:
        """A process that was stopped could not end its waits; G14 is judged with that in mind (seed 916)."""
        frozen = [fault.members or self.names for fault in self.faults.active if fault.kind == "freeze"]
        for name in [name for name in self._stopped if not any(name in names for names in frozen)]:
            since_ns, process = self._stopped.pop(name), self.members[name]
            if not process.has_begun:
                continue
            detail = {"what": "standstill", "members": [name], "amount": 0.0}
            event = Event(Kind.HEAL, self.clock.now_ns, peer=process.address, other=since_ns, detail=detail)
            self._harness.append(event)

    def close_all(self) -> None:
        """The run is over: every recording ends in good order, and whatever still runs ends."""
        if self._passing.is_over:
            return
        self._passing.is_over = True
        for process in self.alive():
            process.end()
        self._passing.until(self.clock.now_ns)
        self._harness.close(self.clock.now_ns)
        everybody = [*self.past, *self.members.values()]
        for process in everybody:
            process.end()
        at_ns = self.clock.now_ns
        self._passing.until(at_ns + SECOND, lambda: not any(process.loop.unfinished() for process in everybody))

    def recordings(self) -> list[Recording]:
        return [recorder.recording() for recorder in self.recorders]

    def events(self, name: str) -> list[Event]:
        """Everything that the current process of this name has recorded."""
        address = self.address(name)
        return next(recorder.events for recorder in reversed(self.recorders) if recorder.header.member == address)

    def trace_hash(self) -> str:
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


def _as_number(seed: int | str) -> int | None:
    return seed if isinstance(seed, int) else None
