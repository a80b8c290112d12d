"""A simulated process with a user's application in it: a real Group on a virtual loop and the simulated network.

The application object is made anew for each process, so one that starts again after a crash has no memory of before.
If it has `get_state`, `set_state` and `merge_state`, they are the state hooks of `ringcast.join`.
Not the world: who is cut off from whom, and how time passes, is decided there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from pathlib import Path
from random import Random
from typing import Any, Literal, Protocol

from ringcast.model import Address, Config, Mark
from ringcast.runtime import Done, Group, Joining, MarkStore, OnExclusion, Place
from ringcast.sim.clock import Clock
from ringcast.sim.loop import VirtualLoop
from ringcast.sim.network import Network
from ringcast.sim.transport import SimulatedTransport, WorldDiscovery
from ringcast.trace import Header, MemoryRecorder, Recorder, RecordingOptions

JOIN_SECONDS = 60.0
RECEIVE_BUFFER = 1 << 20
SYNC_SECONDS = 0.004  # until what is written outlives the process


class App(Protocol):
    """A user's service. When `run` returns, the process leaves the group and ends."""

    async def run(self, group: Group) -> None: ...


Partition = Literal["all", "primary"]
MakeApp = Callable[[], Any] | Callable[[Group], Awaitable[None]]


class Surroundings(Protocol):
    """What a process needs from its world."""

    group: str
    seed: int | str
    clock: Clock
    network: Network
    config: Config
    on_exclusion: OnExclusion
    partitioning: Partition
    observers: tuple[str, ...]
    quorum: int
    marks: dict[str, tuple[Address, Mark]] | None
    recorders: list[MemoryRecorder]

    @property
    def names(self) -> list[str]: ...

    def next_incarnation(self, name: str) -> int: ...

    def complain(self, who: str, error: BaseException | None, words: str) -> None: ...


class Process:
    """One process, from its start to its end. `app` is the user's object, `group` its Group once it is in."""

    beats_itself = True
    contains_faults = False

    def __init__(self, world: Surroundings, name: str, make_app: MakeApp, expect: int) -> None:
        self.name = name
        self.app: Any = _FunctionApp(make_app) if iscoroutinefunction(make_app) else make_app()  # type: ignore[call-arg]
        self.group: Group | None = None
        self.is_frozen = False
        self.is_over = False
        self.loop = VirtualLoop(world.clock, self._complain)  # type: ignore[abstract]  # without sockets on purpose
        self._world = world
        self._mine: list[MemoryRecorder] = []
        config = world.config
        transport = SimulatedTransport(world.network, name, config.frame_bytes, RECEIVE_BUFFER, self.check)
        self.transport = transport
        self.place = Place(
            world.group,
            name,
            transport,
            WorldDiscovery(lambda: world.names),
            config,
            expect,
            observer=name in world.observers,
            record=None,
            inspect=False,
            timeout=JOIN_SECONDS,
            on_exclusion=world.on_exclusion,
            get_state=getattr(self.app, "get_state", None),
            set_state=getattr(self.app, "set_state", None),
            merge_state=getattr(self.app, "merge_state", None),
            partition=world.partitioning,
            primary_mark=None if world.marks is None else Path(name),
            quorum=world.quorum,
            host=self,
        )
        self.main = self.loop.create_task(self._live(), name=name)
        self.main.add_done_callback(self._ended)

    async def _live(self) -> None:
        async with Joining(self.place) as group:
            self.group = group
            await self.app.run(group)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.is_over = True
        if not task.cancelled() and task.exception() is not None:
            self._world.complain(self.name, task.exception(), "its application ended with an error")

    def _complain(self, context: dict[str, Any]) -> None:
        self._world.complain(self.name, context.get("exception"), str(context.get("message")))

    # ---- what a Host gives

    def now_ns(self) -> int:
        return self._world.clock.now_ns

    def incarnation(self) -> int:
        return self._world.next_incarnation(self.name)

    def chance(self, me: Address) -> Random:
        return Random(f"{self._world.seed}/{me.name}/chance/{me.incarnation}")

    def recorder(self, me: Address, group: str, config: Config, to: RecordingOptions | None) -> Recorder:
        seed = self._world.seed
        header = Header.of(me, group, config, seed=seed if isinstance(seed, int) else None)
        recorder = MemoryRecorder(header, self.now_ns())
        self._mine.append(recorder)
        self._world.recorders.append(recorder)
        return recorder

    def marks(self, path: Path, group: str, name: str) -> MarkStore:
        assert self._world.marks is not None
        return _Marks(self._world.marks, name, self.loop)

    # ---- life

    @property
    def is_settled(self) -> bool:
        """It is in the group, nothing waits to be sent, acked or read, and no state to be given, loaded or merged."""
        driver, group = self.place.entry.driver, self.group
        if driver is None or group is None or not driver.node.has_group or driver.inbox or group.waiting():
            return False
        node = driver.node
        if group._desk.is_busy or (node.society is not None and node.society.custody.reunion.reunion is not None):
            return False
        return node.group.is_idle and node.peers.is_idle and node.order.is_idle

    def check(self) -> None:
        """The invariants of every machine in the node."""
        if self.place.entry.driver is not None:
            self.place.entry.driver.node.check()

    def crash(self) -> None:
        """Gone, with its memory: nothing of it runs any more, not even a `finally`."""
        self.is_over = True
        self.loop.die()
        self.transport.close()
        for recorder in self._mine:
            recorder.close(self.now_ns(), "crashed")

    def freeze(self) -> None:
        self.is_frozen = True
        self.loop.freeze()

    def thaw(self) -> None:
        self.is_frozen = False
        self.loop.thaw()

    def end(self) -> None:
        """The world is over: the group is closed where it stands, then everything that runs here is cancelled."""
        self.loop.bury()
        if self.group is not None:
            self.loop.create_task(self.group.close())
        self.loop.call_soon(self._cancel_all)

    def _cancel_all(self) -> None:
        current = asyncio.current_task(self.loop)
        for task in self.loop.unfinished():
            if task is not current:
                task.cancel()


class _FunctionApp:
    """A service that is one function."""

    def __init__(self, run: Any) -> None:
        self.run = run


class _Marks:
    """A mark file of the simulated world: what is being written when its process dies is lost."""

    def __init__(self, kept: dict[str, tuple[Address, Mark]], name: str, loop: VirtualLoop) -> None:
        self.known = kept.get(name)
        self._kept = kept
        self._name = name
        self._loop = loop

    def keep(self, me: Address, mark: Mark, done: Done) -> None:
        self._loop.call_later(SYNC_SECONDS, self._keep, me, mark, done)

    def _keep(self, me: Address, mark: Mark, done: Done) -> None:
        self._kept[self._name] = (me, mark)
        done(None)

    async def close(self) -> None:
        pass
