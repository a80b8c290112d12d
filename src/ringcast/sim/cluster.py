"""A simulated group: members, the network between them, faults, and the recordings of all of them.

Everything that happens follows from the seed and from what is called here: two clusters made and driven alike have the
same recordings, byte for byte. The harness keeps a recording of its own for what no member does: faults and heals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from ringcast.model import MS, SECOND, Address, Config, Event, Kind, View, ViewId, profile
from ringcast.sim.clock import Clock
from ringcast.sim.faults import Fault, Faults
from ringcast.sim.member import Member
from ringcast.sim.network import Link, Network
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
        group: str = "sim",
    ) -> None:
        self.seed = seed
        self.group = group
        self.multicasts = multicasts
        self.clock = Clock()
        self.network = Network(self.clock, seed, link or Link())
        self.faults = Faults(self)
        self.config = config or profile("test")
        self.members: dict[str, Member] = {}
        self.past: list[Member] = []
        self._configs = dict(configs or {})
        self._recorders: list[MemoryRecorder] = []
        self._harness = self._recorder(HARNESS)
        self._begin_fixed(names_of(members) if isinstance(members, int) else list(members))

    def _begin_fixed(self, names: list[str]) -> None:
        """Everybody is in one view from the start; the smallest capacity is agreed, as with any view."""
        addresses = tuple(Address(name, 1, f"sim:{name}") for name in names)
        configs = [self.config_of(name) for name in names]
        view = View(
            ViewId(1, addresses[0]),
            addresses,
            capacity=min(config.capacity for config in configs),
            window_bytes=min(config.window_bytes for config in configs),
        )
        for address in addresses:
            recorder = self._recorder(address)
            self.members[address.name] = Member(self, address, self.config_of(address.name), recorder, view, {})
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

    def crash(self, name: str) -> None:
        self._end(name, "crashed")

    def close(self, name: str) -> None:
        self._end(name, "ended")

    def _end(self, name: str, how: str) -> None:
        member = self.members[name]
        if how == "crashed":
            self._harness.append(Event(Kind.FAULT, self.clock.now_ns, detail={"what": how, "members": [name]}))
        member.end(how)

    # ---- what was read

    def read(self, name: str, sender: str) -> list[bytes]:
        """The multicasts of `sender` that the application of `name` has read, in order."""
        return self.members[name].application.multicasts.get(self.address(sender), [])

    def read_private(self, name: str, sender: str) -> list[bytes]:
        return self.members[name].application.private.get(self.address(sender), [])

    def is_settled(self) -> bool:
        """Nothing waits to be sent, to be acked or to be read."""
        return all(
            not member.application.outbox and not member.application.inbox and member.node.deadline_ns() is None
            for member in self.alive()
        )

    # ---- recordings

    def note_fault(self, fault: Fault) -> None:
        self._harness.append(Event(Kind.FAULT, self.clock.now_ns, detail=_detail(fault)))

    def note_heal(self, fault: Fault | None) -> None:
        detail = {"what": "all"} if fault is None else _detail(fault)
        self._harness.append(Event(Kind.HEAL, self.clock.now_ns, detail=detail))

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

    def write_recordings(self, root: Path) -> None:
        for recorder in self._recorders:
            file = FileRecorder(root, recorder.header)
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
