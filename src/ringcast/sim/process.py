"""A simulated process with an application in it: a real Group on a virtual loop and the simulated network.

It joins with `ringcast.join`'s own way in, or has its place in a fixed view. After every fact that goes into its node
the invariants are checked (invariants.py). The application object is made anew for each process, so one that starts
again after a crash has no memory of before. If it has `get_state`, `set_state` and `merge_state`, they are the state
hooks of `ringcast.join`.
Not the world: who is cut off from whom, and how time passes, is decided there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ringcast.core import Node
from ringcast.errors import PlaceLost
from ringcast.model import Address, Config, Event, Kind, Mark, View
from ringcast.runtime import (
    Done,
    Driver,
    Entry,
    Group,
    Joining,
    MarkStore,
    Place,
    enter_fixed,
)
from ringcast.sim.clock import Clock
from ringcast.sim.invariants import watch
from ringcast.sim.loop import VirtualLoop
from ringcast.sim.transport import SimulatedTransport, WorldDiscovery
from ringcast.trace import Header, MemoryRecorder, Recorder, RecordingOptions

if TYPE_CHECKING:
    from ringcast.sim.world import SimulatedWorld

JOIN_SECONDS = 120.0  # longer than any fault: one that stands still for a minute while it joins goes on (seed 30659)
SYNC_SECONDS = 0.004  # until what is written outlives the process, on a disk of which the world says nothing


class App(Protocol):
    """A user's service. When `run` returns, the process leaves the group and ends."""

    async def run(self, group: Group) -> None: ...


Partition = Literal["all", "primary"]
MakeApp = Callable[[], Any] | Callable[[Group], Awaitable[None]]


class Process:
    """One process, from its start to its end. `app` is the user's object, `group` its Group once it is in."""

    beats_itself = True
    hands_over = False  # the world's loop orders all steps
    contains_faults = False

    def __init__(
        self, world: SimulatedWorld, name: str, make_app: MakeApp, expect: int, fixed: View | None = None
    ) -> None:
        """`fixed`: its place is in this view, which nobody changes."""
        self.name = name
        self.app: Any = _FunctionApp(make_app) if iscoroutinefunction(make_app) else make_app()  # type: ignore[call-arg]
        self.group: Group | None = None
        self.is_frozen = False
        self.clock_rate = 0  # parts per million that its clock gains or loses
        self.is_over = False
        self.on_event: Callable[[Process, Event], None] | None = None  # whoever wants to know what it records
        self.loop = VirtualLoop(world.clock, self._complain)  # type: ignore[abstract]  # without sockets on purpose
        self.now_ns = self.loop.now_ns
        self._world = world
        self._fixed = fixed
        self._mine: list[_TrueTime] = []
        config = world.config_of(name)
        self.keys = None if world.keys is None else world.keys.for_process(name)
        transport = SimulatedTransport(
            world.network,
            name,
            config.frame_bytes + (0 if self.keys is None else self.keys.seal.overhead),
            config.receive_buffer_bytes,
            partial(world.clock.at_once, self.loop.woken),
            multicasts=world.multicasts,
            has_checksum=self.keys is None,
        )
        self.transport = transport
        self.place = Place(
            world.group,
            name,
            transport if self.keys is None else self.keys.over(transport),
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
            entry=_Watched(),
            keys=self.keys,
        )
        self.main = self.loop.create_task(self._live(), name=name)
        self.main.add_done_callback(self._ended)

    async def _live(self) -> None:
        group = self.group = await (Joining(self.place) if self._fixed is None else self._enter_fixed(self._fixed))
        try:
            await self.app.run(group)
        except GeneratorExit:  # Nobody holds this world any more; there is no loop on which it could leave.
            raise
        except BaseException:
            await group.leave()
            raise
        await group.leave()

    async def _enter_fixed(self, view: View) -> Group:
        place = self.place
        me = next(member for member in view.members if member.name == self.name)
        return await enter_fixed(place.group, me, view, place.transport, place.config, None, self, place.entry)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.is_over = True
        self._world.ended(self, None if task.cancelled() else task.exception())

    def _complain(self, context: dict[str, Any]) -> None:
        self._world.complain(self.name, context.get("exception"), str(context.get("message")))

    # ---- what a Host gives

    def incarnation(self) -> int:
        return self._world.next_incarnation(self.name)

    def random(self, me: Address) -> Random:
        return Random(f"{self._world.seed}/{me.name}/chance/{me.incarnation}")

    def recorder(self, me: Address, group: str, config: Config, to: RecordingOptions | None) -> Recorder:
        seed = self._world.seed
        header = Header.of(me, group, config, seed=seed if isinstance(seed, int) else None)
        recorder = _TrueTime(header, self, self._world.clock)
        self._mine.append(recorder)
        self._world.recorders.append(recorder)
        return recorder

    def marks(self, path: Path, group: str, name: str) -> MarkStore:
        assert self._world.marks is not None
        return _Marks(self._world.marks, name, self.loop, self._world.disks)

    # ---- who it is

    @property
    def driver(self) -> Driver:
        """Of the current incarnation."""
        driver = self.place.entry.driver
        assert driver is not None, f"{self.name} has not begun"
        return driver

    @property
    def addresses(self) -> list[Address]:
        """Of all its incarnations."""
        return [recorder.header.member for recorder in self._mine]

    @property
    def has_begun(self) -> bool:
        return self.place.entry.driver is not None

    @property
    def node(self) -> Node:
        return self.driver.node

    @property
    def address(self) -> Address:
        return self.node.me

    # ---- life

    @property
    def is_settled(self) -> bool:
        """It is in the group, nothing waits to be sent, acked or read, and no state to be given, loaded or merged."""
        driver, group = self.place.entry.driver, self.group
        if driver is None or group is None or not driver.node.has_group or driver.inbox or group.waiting():
            return False
        node = driver.node
        others = node.coordination
        if group._state.is_busy or (others is not None and others.exchange.reunion.reunion is not None):
            return False
        return node.group.is_idle and node.peers.is_idle and node.order.ordering.is_idle

    def leave(self) -> None:
        """Go in good order; the process ends when it is out. One that is in no group yet gives its join up."""
        if self.group is None:
            self.main.cancel()
        else:
            self.loop.create_task(self._leave(self.group))

    async def _leave(self, group: Group) -> None:
        with suppress(PlaceLost):  # meanwhile: then the group is closed, too
            await group.leave()
        self.main.cancel()

    def crash(self) -> None:
        """Gone, with its memory: nothing of it runs any more, not even a `finally`."""
        self.is_over = True
        self.loop.die()
        self.transport.close()
        for recorder in self._mine:
            recorder.close(self._world.clock.now_ns, "crashed")

    def set_clock_rate(self, parts_per_million: int) -> None:
        """Its clock gains, or below zero loses, so many microseconds per second."""
        self.clock_rate = parts_per_million
        self.loop.set_rate(parts_per_million)
        for recorder in self._mine:
            recorder.on_rate()

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


class _Watched(Entry):
    """Every incarnation's node is checked after whatever goes into it."""

    def hold(self, driver: Driver) -> None:
        watch(driver.node)
        super().hold(driver)


# What tells when it ends at the latest (`other`), and what ends it.
_MOMENTS_AHEAD = {Kind.SUSPEND: Kind.RESUME, Kind.WAIT_START: Kind.WAIT_END}
_ENDS_OF = {end: begin for begin, end in _MOMENTS_AHEAD.items()}


class _TrueTime(MemoryRecorder):
    """Recordings are in the time of the world, also where the clock of the process is wrong.

    So are the moments ahead that events tell. They come by that clock: those still open are told anew when its rate
    changes.
    """

    def __init__(self, header: Header, process: Process, clock: Clock) -> None:
        super().__init__(header, clock.now_ns)
        self._process = process
        self._clock = clock
        self._local = process.loop.local
        self._told: dict[tuple[Kind, int], int] = {}  # by the clock of the process, where it was not the world's
        self._keep = self.events.append
        self.append = self._append

    def _append(self, event: Event) -> None:
        self._keep(event if self._local.is_true else self._in_true_time(event))
        if self._process.on_event is not None:
            self._process.on_event(self._process, event)

    def _in_true_time(self, event: Event) -> Event:
        other = event.other
        if event.kind in _MOMENTS_AHEAD and other:
            self._told[event.kind, event.value] = other
            other = self._local.when(other)
        return replace(event, t_ns=self._clock.now_ns, other=other)

    def on_rate(self) -> None:
        """The clock of the process goes at another rate from now on."""
        if self.closed:
            return
        still: dict[tuple[Kind, int], int] = {}
        for index, event in enumerate(self.events):
            if event.kind in _MOMENTS_AHEAD and event.other > self._clock.now_ns:
                still[event.kind, event.value] = index
            elif event.kind in _ENDS_OF:
                still.pop((_ENDS_OF[event.kind], event.value), None)
        for key, index in still.items():
            told = self._told.setdefault(key, self.events[index].other)
            self.events[index] = replace(self.events[index], other=self._local.when(told))

    def close(self, t_ns: int, how: str = "ended") -> None:
        super().close(self._clock.now_ns, how)


class _FunctionApp:
    """A service that is one function."""

    def __init__(self, run: Any) -> None:
        self.run = run


class _Marks:
    """A mark file of the simulated world: what is being written when its process dies is lost."""

    def __init__(
        self, kept: dict[str, tuple[Address, Mark]], name: str, loop: VirtualLoop, disks: dict[str, float]
    ) -> None:
        self.path = Path(name)
        self.known = kept.get(name)
        self._kept = kept
        self._name = name
        self._loop = loop
        self._disks = disks

    def keep(self, me: Address, mark: Mark, done: Done) -> None:
        self._loop.call_later(self._disks.get(self._name, SYNC_SECONDS), self._keep, me, mark, done)

    def _keep(self, me: Address, mark: Mark, done: Done) -> None:
        self._kept[self._name] = (me, mark)
        done(None)

    async def close(self) -> None:
        pass

    def release(self) -> None:
        pass
