"""The world of seeds and scenarios: processes that read and send what they are given, and what they read.

What a world is stands in `world.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random

from ringcast.errors import StateError
from ringcast.model import MS, Address, Config, Event, View, ViewId, profile
from ringcast.runtime import OnExclusion
from ringcast.sim.application import Application, Outbound
from ringcast.sim.keys import SimulatedKeys
from ringcast.sim.network import Link
from ringcast.sim.process import Partition, Process
from ringcast.sim.transport import endpoint_of
from ringcast.sim.world import SimulatedWorld, names_of

PAUSE_NS = 100 * MS  # until another process takes the place of one that could not get the state

MakeApplication = Callable[["Cluster", str], Application]


def _plain(cluster: Cluster, name: str) -> Application:
    return Application(cluster.random(name, f"reading/{cluster.started(name)}"))


class Cluster(SimulatedWorld):
    """Each process runs an `Application`."""

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
        partition: Partition = "all",
        observers: Sequence[str] = (),
        primary_mark: bool = False,
        quorum: int = 0,
        expect_again: int = 0,
        key_changes: tuple[int, int] | None = None,
    ) -> None:
        """`fixed`: everybody is in one view, for ever; otherwise members find each other, come and go.

        `make_app` makes the program of each process that starts. `observers` are names of members that join as
        observers; `primary_mark` gives each name a mark file. `expect_again`: how many a process that starts again is
        told to expect. `key_changes`: frames are sealed, and the key is changed so many times until so many ns have
        passed.
        """
        super().__init__(
            seed,
            config or profile("test"),
            link,
            group,
            multicasts=multicasts,
            on_exclusion=on_exclusion,
            partition=partition,
            observers=observers,
            primary_mark=primary_mark,
            quorum=quorum,
        )
        self._expect_again = expect_again
        self.refused: list[tuple[Process, StateError]] = []  # who got no state, and why
        self.on_start: Callable[[str], None] | None = None  # a process was started after the world began
        self._replaced: dict[Process, None] = {}  # an ordered set: another one will start in their place
        self._configs = dict(configs or {})
        self._make_app = make_app
        self._started: dict[str, int] = {}
        names = names_of(members) if isinstance(members, int) else list(members)
        if key_changes is not None:
            self.keys = SimulatedKeys(self, names, *key_changes)
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

    def random(self, name: str, purpose: str) -> Random:
        """A source of randomness of its own for each member and purpose, so that one never shifts another."""
        return Random(f"{self.seed}/{name}/{purpose}")

    def address(self, name: str) -> Address:
        return self[name].address

    def application(self, name: str) -> Application:
        app: Application = self[name].app
        return app

    def applications(self) -> Iterator[tuple[Process, Application]]:
        """Of all processes that there were."""
        return ((process, process.app) for process in self.everybody())

    # ---- what processes ask of their world

    def config_of(self, name: str) -> Config:
        return self._configs.get(name, self.config)

    def started(self, name: str) -> int:
        """How many processes of this name there were, this one included."""
        return self._started.get(name, 0)

    @property
    def starts(self) -> int:
        """How many processes there were."""
        return sum(self._started.values())

    def ended(self, process: Process, error: BaseException | None) -> None:
        """A process that could not get the state is replaced by another one, which asks again."""
        if isinstance(error, StateError):
            self.refused.append((process, error))
            self._replaced[process] = None
            self.clock.after(PAUSE_NS, self._replace, process)
        else:
            super().ended(process, error)

    def _replace(self, process: Process) -> None:
        del self._replaced[process]
        if not self.is_alive(process.name) and process.name not in self.faults.dead and not self.is_over:
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
        if not self.clock.is_passing:
            self.run_for(0)

    def run_for(self, duration_ns: int) -> None:
        self._passing.until(self.clock.now_ns + duration_ns)

    def run_to(self, t_ns: int) -> None:
        self._passing.until(max(t_ns, self.clock.now_ns))

    def start(self, name: str, expect: int = 0) -> Process:
        """A process at this name, the first or the one after it ended: it joins the group, or founds it."""
        process = self._begin(name, expect or self._expect_again, None)
        self._go_on()
        return process

    def _begin(self, name: str, expect: int, view: View | None) -> Process:
        self._started[name] = self.started(name) + 1
        process = self.begin(name, partial(self._make_app, self, name), expect, view)
        if self.on_start is not None:
            self.on_start(name)
        return process

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
        self[name].end()
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

    # ---- recordings

    def events(self, name: str) -> list[Event]:
        """Everything that the current process of this name has recorded."""
        return self.events_of(self.address(name))

    def events_of(self, process: Address) -> list[Event]:
        return next(recorder.events for recorder in reversed(self.recorders) if recorder.header.member == process)
