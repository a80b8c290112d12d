"""A simulated group: members, the network between them, faults, and the recordings of all of them.

Everything that happens follows from the seed and from what is called here: two clusters made and driven alike have the
same recordings, byte for byte. The harness keeps a recording of its own for what no member does: faults and heals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from ringcast.model import MS, SECOND, Address, Config, Event, Kind, View, ViewId, profile
from ringcast.sim.clock import Clock
from ringcast.sim.faults import Fault, Faults
from ringcast.sim.member import Member
from ringcast.sim.network import Link, Network
from ringcast.sim.nodes import SCHEME, address_of, fixed_node, joining_node
from ringcast.sim.state_keeping import StateKeeping
from ringcast.sim.state_load import StateLoad
from ringcast.trace import FileRecorder, Header, MemoryRecorder, Recording, run_hash

HARNESS = Address("harness", 0, "sim:harness")


def names_of(count: int) -> list[str]:
    """A, B, … Z, A1, B1, …"""
    return [chr(ord("A") + n % 26) + (str(n // 26) if n >= 26 else "") for n in range(count)]


class Cluster:
    """Members by name; a name's current process is `cluster["A"]`."""

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
        state: StateLoad | None = None,
    ) -> None:
        """`fixed`: everybody is in one view, for ever; otherwise members find each other, come and go.

        `state`: their applications have one, and join with it.
        """
        self.seed = seed
        self.group = group
        self.multicasts = multicasts
        self._stopped: dict[str, int] = {}  # who does not run, since when
        self.clock = Clock()
        self.network = Network(self.clock, seed, link or Link())
        self.faults = Faults(self)
        self.config = config or profile("test")
        self.members: dict[str, Member] = {}
        self.past: list[Member] = []
        self.keeping = None if state is None else StateKeeping(self, state)
        self._configs = dict(configs or {})
        self._recorders: list[MemoryRecorder] = []
        self._harness = self._recorder(HARNESS)
        self.on_start: Callable[[str], None] | None = None  # a process was started after the world began
        self._incarnations: dict[str, int] = {}
        names = names_of(members) if isinstance(members, int) else list(members)
        if fixed:
            self._begin_fixed(names)
        else:
            for name in names:
                self.start(name, expect=len(names))

    def _begin_fixed(self, names: list[str]) -> None:
        """Everybody is in one view from the start; the smallest capacity is agreed, as with any view."""
        addresses = tuple(address_of(name) for name in names)
        configs = [self.config_of(name) for name in names]
        view = View(
            ViewId(1, addresses[0]),
            addresses,
            capacity=min(config.capacity for config in configs),
            window_bytes=min(config.window_bytes for config in configs),
        )
        for address in addresses:
            node = fixed_node(address, self.config_of(address.name), view, multicasts=self.multicasts)
            self.members[address.name] = Member(self, node, self._recorder(address))
        for member in self.members.values():
            member.begin()

    def _recorder(self, address: Address) -> MemoryRecorder:
        config = None if address is HARNESS else self.config_of(address.name)
        labels = {"seed": str(self.seed)}
        header = Header.of(address, self.group, config, seed=_as_number(self.seed), labels=labels)
        recorder = MemoryRecorder(header, self.clock.now_ns)
        self._recorders.append(recorder)
        return recorder

    # ---- members

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    @property
    def names(self) -> list[str]:
        return list(self.members)

    def alive(self) -> Iterator[Member]:
        return (member for member in self.members.values() if not member.is_over)

    def is_alive(self, name: str) -> bool:
        return name in self.members and not self.members[name].is_over

    def config_of(self, name: str) -> Config:
        return self._configs.get(name, self.config)

    def random(self, name: str, purpose: str) -> Random:
        """A source of randomness of its own for each member and purpose, so that one never shifts another."""
        return Random(f"{self.seed}/{name}/{purpose}")

    def address(self, name: str) -> Address:
        return self.members[name].address

    # ---- what happens

    def send(self, name: str, *payloads: bytes, to: Sequence[str] = ()) -> None:
        """Messages to the group, or to the members named."""
        peers = tuple(self.address(peer) for peer in to)
        for payload in payloads:
            self.members[name].send(payload, peers)

    def queue(self, name: str, *payloads: bytes, to: Sequence[str] | None = None) -> None:
        """Messages in the one order: to the view, or to the members named."""
        peers = None if to is None else tuple(self.address(peer) for peer in to)
        for payload in payloads:
            self.members[name].queue(payload, peers)

    def run_for(self, duration_ns: int) -> None:
        self.clock.run_until(self.clock.now_ns + duration_ns)

    def run_until(
        self, condition: Callable[[], bool], limit_ns: int = 60 * SECOND, look_every_ns: int = 1 * MS
    ) -> bool:
        """Let time pass until the condition holds, looking every so often; False if it did not within the limit."""
        end_ns = self.clock.now_ns + limit_ns
        while not condition():
            if self.clock.now_ns >= end_ns:
                return False
            self.clock.run_until(min(end_ns, self.clock.now_ns + look_every_ns))
        return True

    def start(self, name: str, expect: int = 0) -> Member:
        """A process at this name, the first or the one after it ended: it joins the group, or founds it."""
        if name in self.members:
            assert self.members[name].is_over, f"{name} still runs"
            self.past.append(self.members[name])
        incarnation = self._incarnations[name] = self._incarnations.get(name, 0) + 1
        address = address_of(name, incarnation)
        chance = self.random(name, f"chance/{incarnation}")
        config = self.config_of(name)
        with_state = self.keeping is not None
        node = joining_node(address, config, chance, multicasts=self.multicasts, expect=expect, with_state=with_state)
        member = self.members[name] = Member(self, node, self._recorder(address))
        if self.keeping is not None:
            self.keeping.equip(member)
        member.begin([SCHEME + other for other in self.members if other != name])
        self.faults.refresh()
        if self.on_start is not None:
            self.on_start(name)
        return member

    def leave(self, name: str) -> None:
        """Ask to leave; the process ends when it is out."""
        self.members[name].leave()

    def crash(self, name: str) -> None:
        self._harness.append(Event(Kind.FAULT, self.clock.now_ns, detail={"what": "crashed", "members": [name]}))
        self.kill(name)

    def kill(self, name: str) -> None:
        """Its process is gone with its memory; the fault that did it is noted by whoever calls."""
        self.members[name].end("crashed")

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
        self.members[name].end("ended")

    # ---- what was read

    def read(self, name: str, sender: str) -> list[bytes]:
        """The multicasts of `sender` that the application of `name` has read, in order."""
        return self.members[name].application.multicasts.get(self.address(sender), [])

    def read_private(self, name: str, sender: str) -> list[bytes]:
        return self.members[name].application.private.get(self.address(sender), [])

    def is_settled(self) -> bool:
        """Nothing waits to be sent, to be acked or to be read."""
        if self.keeping is not None and self.keeping.is_waiting:
            return False
        return all(_is_settled(member) for member in self.alive())

    def share_a_view(self) -> bool:
        """All who live are in one view, and nobody else is."""
        alive = list(self.alive())
        views = {member.node.view.id for member in alive if member.node.has_group}
        everybody = sorted(member.address for member in alive)
        return len(views) == 1 and all(
            member.node.has_group and sorted(member.node.view.members) == everybody for member in alive
        )

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
            since_ns, who = self._stopped.pop(name), self.address(name)
            detail = {"what": "standstill", "members": [name], "amount": 0.0}
            self._harness.append(Event(Kind.HEAL, self.clock.now_ns, peer=who, other=since_ns, detail=detail))

    def close_all(self) -> None:
        """The run is over: every recording ends in good order."""
        for member in self.members.values():
            member.end("ended")
        self._harness.close(self.clock.now_ns)

    def recordings(self) -> list[Recording]:
        return [recorder.recording() for recorder in self._recorders]

    def events(self, name: str) -> list[Event]:
        """Everything that the current process of this name has recorded."""
        address = self.address(name)
        return next(recorder.events for recorder in reversed(self._recorders) if recorder.header.member == address)

    def trace_hash(self) -> str:
        return run_hash({recorder.header.member: recorder.events for recorder in self._recorders})

    def write_recordings(self, root: Path, run: str | None = None) -> None:
        """Write what was recorded; the run is named after the seed unless it is given."""
        for recorder in self._recorders:
            file = FileRecorder(root, replace(recorder.header, run=run or f"seed {self.seed}"))
            for event in recorder.events[1:]:
                if event.kind is Kind.CLOSED:
                    file.close(event.t_ns, str((event.detail or {}).get("how", "ended")))
                else:
                    file.append(event)
            file.close(self.clock.now_ns)


def _is_settled(member: Member) -> bool:
    node, application = member.node, member.application
    if application.outbox or application.inbox or not node.has_group:
        return False
    return node.group.is_idle and node.peers.is_idle and node.order.is_idle


def _detail(fault: Fault) -> dict[str, object]:
    return {"what": fault.kind, "members": list(fault.members), "amount": fault.amount}


def _as_number(seed: int | str) -> int | None:
    return seed if isinstance(seed, int) else None
