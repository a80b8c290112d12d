"""A user's service on every member of a simulated group, and a test that decides what happens to them.

The test is plain synchronous code; virtual time passes only inside its calls. The same seed and the same calls are the
same run, bit for bit. At the end of the block (or `close`) comes a quiet time in which every wait must end, then the
verdict of the checkers on everything that was recorded. Whatever fails, the failure names the seed.
"""

from __future__ import annotations

import asyncio
import atexit
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from random import Random
from types import TracebackType
from typing import Any, TypedDict, TypeVar, Unpack
from weakref import WeakSet

from ringcast.errors import UsageError
from ringcast.model import MS, SECOND, Address, Config, Kind, check_name, profile
from ringcast.runtime import Driver, OnExclusion, what_is_unread
from ringcast.sim import (
    Act,
    Diverged,
    Fault,
    FrameRule,
    Link,
    MakeApp,
    Names,
    Partition,
    Process,
    SimulatedWorld,
    Unsettled,
    Violated,
    copy,
    delay,
    differences,
    drop,
    hold,
    names_of,
    reorder,
    tell,
    violations,
)
from ringcast.testing.trouble import LIFE_ACTS, check_fault, draw_trouble

T = TypeVar("T")

LOOK_NS = 5 * MS


class Ends(TypedDict, total=False):
    """When a rule for frames ends by itself: after so many of them, after so many seconds."""

    times: int | None
    seconds: float | None


class World(SimulatedWorld):
    """`app` makes the application object of one process (a class will do), or is an `async def app(group)`."""

    def __init__(
        self,
        app: MakeApp,
        members: int | Sequence[str] = 3,
        *,
        seed: int = 0,
        config: Config | str = "test",
        link: Link | None = None,
        group: str = "world",
        on_exclusion: OnExclusion = "merge",
        partition: Partition = "all",
        observers: Sequence[str] = (),
        primary_mark: bool = False,
        quorum: int = 0,
        bound: float = 15.0,
    ) -> None:
        """Starts a process for each member and waits until they are one group. `bound`: seconds in which, once nothing
        is wrong any more, every wait must end (G14). `observers` are names of members that join as observers. With
        `partition="primary"`: `primary_mark` gives each name a mark file, `quorum` is that of `ringcast.join`."""
        super().__init__(
            seed,
            profile(config) if isinstance(config, str) else config,
            link,
            group,
            on_exclusion=on_exclusion,
            partition=partition,
            observers=observers,
            primary_mark=primary_mark,
            quorum=quorum,
        )
        self._make_app = app
        self._bound_ns = int(bound * SECOND)
        self._troubles = 0
        self._reorders = 0
        self._ruled: dict[str, None] = {}  # whom rules named who was not there yet
        _open.add(self)
        names = names_of(members) if isinstance(members, int) else list(members)
        self._expect = len(names)
        for name in names:
            self.begin(name, app, self._expect)
        try:
            self.agree()
        except BaseException:
            self.abandon()  # Nobody gets this world, so nobody else would end it.
            raise

    # ---- who is here

    @property
    def apps(self) -> dict[str, Any]:
        """The application objects of the processes that run."""
        return {process.name: process.app for process in self.running()}

    def running(self) -> list[Process]:
        return list(self.alive())

    @property
    def now(self) -> float:
        """Seconds of virtual time."""
        return self.clock.now_ns / SECOND

    # ---- time

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self._passing.until(self.clock.now_ns + round(seconds * SECOND))

    def agree(self, limit: float = 30.0) -> None:
        """Let time pass until all who run (and are not frozen) share one view, and nobody else is in it."""
        self._until(self._share_a_view, limit, "one view of all")

    def settle(self, limit: float = 30.0) -> None:
        """Let time pass until there is one view, nothing waits to be sent, acked or read, and the states of a merge's
        sides are one everywhere."""
        self._until(self._is_settled, limit, "everything sent, acked and read in one view, with one state")

    def do(self, name: str, work: Coroutine[Any, Any, T], limit: float = 60.0) -> T:
        """Run this coroutine in that process, let time pass until it is done, and give what it gives."""
        task = self.spawn(name, work)
        end_ns = self.clock.now_ns + round(limit * SECOND)
        if not self._passing.until(end_ns, task.done):
            task.cancel()
            raise Unsettled(self._words(f"{name} was not done within {limit:g} s", *self._explained()))
        return task.result()

    def spawn(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin it in that process; time does not pass yet."""
        if self[name].is_over:
            work.close()
            raise UsageError(f"{name} does not run")
        return self[name].loop.create_task(work)

    # ---- what happens to them

    def partition(self, *sides: str | Sequence[str]) -> None:
        """Cut the network: nothing passes from a side to any other, nor to those who are not named.

        A side is a list of names; or one text, which is the name of a member, or its letters are ("AB": A and B).
        """
        for side in sides:
            self.fault("split", *self._named(side))

    def _named(self, names: Names) -> tuple[str, ...]:
        """Return the members named, in a list or in one text; letters are members only if all of them are known."""
        if not isinstance(names, str):
            return tuple(names)
        is_name = names in self.apps or names in self.names or not set(names) <= {*self.names}
        return (names,) if is_name else tuple(names)

    def isolate(self, name: str) -> None:
        self.fault("isolate", name)

    def fault(self, kind: str, *members: str, amount: float = 0.0) -> None:
        """Any fault that a seed can draw: loss, delay, one-way, deaf, bridge, no-acks, freeze, clock, crash, …

        It lasts until `heal`. UsageError for what cannot be done: nothing has happened then.
        """
        for name in members:
            self[name]
        check_fault(kind, members, amount, self.apps)
        if kind in LIFE_ACTS:
            getattr(self, LIFE_ACTS[kind])(members[0])
        else:
            self.faults.begin(Fault(kind, 0, sys.maxsize, members, amount))

    # ---- what happens to frames

    def drop(self, kind: str = "*", sender: Names = "*", to: Names = "*", **ends: Unpack[Ends]) -> FrameRule:
        """Frames of this kind, from this member to that, are lost: so many, for so long, or until `heal`.

        Kinds are data, stream, control, state, ack, request, highest, … and the types of control messages (heartbeat,
        newview, …); `ringcast.testing.FRAME_KINDS` has all. The rule that is returned can be ended, and counts.
        """
        return self._rule("drop", drop, kind, sender, to, **ends)

    def hold(self, kind: str = "*", sender: Names = "*", to: Names = "*", **ends: Unpack[Ends]) -> FrameRule:
        """Such frames are kept until the end of the rule; then all of them go on, in their order."""
        return self._rule("hold", hold, kind, sender, to, **ends)

    def delay(
        self, kind: str = "*", sender: Names = "*", to: Names = "*", *, by: float, **ends: Unpack[Ends]
    ) -> FrameRule:
        """Each of such frames is late by that many seconds."""
        return self._rule("delay", delay(self.clock, round(by * SECOND)), kind, sender, to, **ends)

    def copy(
        self, kind: str = "*", sender: Names = "*", to: Names = "*", *, copies: int = 1, **ends: Unpack[Ends]
    ) -> FrameRule:
        """Each of such frames comes once more, or so many times more."""
        return self._rule("copy", copy(copies), kind, sender, to, **ends)

    def reorder(
        self, kind: str = "*", sender: Names = "*", to: Names = "*", *, within: float = 0.05, **ends: Unpack[Ends]
    ) -> FrameRule:
        """Each of such frames is late by a part of that time, drawn from the seed, so that others overtake it."""
        self._reorders += 1
        random = Random(f"{self.seed}/reorder/{self._reorders}")
        act = reorder(self.clock, round(within * SECOND), random)
        return self._rule("reorder", act, kind, sender, to, **ends)

    def _rule(
        self,
        what: str,
        act: Act,
        kind: str,
        sender: Names,
        to: Names,
        times: int | None = None,
        seconds: float | None = None,
    ) -> FrameRule:
        senders, receivers = ("*" if side == "*" else self._named(side) for side in (sender, to))
        named = [name for side in (senders, receivers) if side != "*" for name in side]
        for name in named:
            if (wrong := check_name(name)) is not None:  # It may be one that starts later.
                raise UsageError(wrong)
            if name not in self.processes:
                self._ruled[name] = None
        rule = FrameRule(self.network, act, kind, senders, receivers, times)
        self._note(f"{what} {kind}", *named, amount=seconds or 0.0)
        if seconds is not None:
            self.clock.after(round(seconds * SECOND), rule.end)
        return rule

    def heal(self) -> None:
        """Nothing is cut off, lost or frozen any more. Who crashed stays down until it is started."""
        for process in self.running():
            process.thaw()
        for rule in list(self.network.rules):
            rule.end()
        for fault in list(self.faults.active):
            self.faults.end(fault)
        self.note_heal(None, self._bound_ns)

    def start(self, name: str) -> Process:
        """A new process in the place of one that ended, or at a new name; it joins by itself while time passes."""
        if self.is_alive(name):
            raise UsageError(f"{name} still runs")
        self._note("start", name)
        return self.begin(name, self._make_app, self._expect if self.partitioning == "primary" else 0)

    def leave(self, name: str) -> None:
        """The process leaves in good order and ends."""
        process = self[name]
        self._note("leave", name)
        if process.group is not None:
            self.do(name, process.group.leave())
        process.main.cancel()
        self.advance(0)

    def freeze(self, name: str) -> None:
        """Nothing of it runs, like a process that was stopped; its socket keeps what fits its buffer."""
        process = self[name]
        self._note("freeze", name)
        process.freeze()

    def thaw(self, name: str) -> None:
        self[name].thaw()

    def suspect(self, name: str, *suspects: str) -> None:
        """This member takes these members of its view for dead, as if they had not answered it for too long. If it
        is the coordinator a view without them follows; they come back as after any exclusion."""
        process = self[name]
        group, driver = process.group, process.place.entry.driver
        if group is None or driver is None or process.is_over:
            raise UsageError(f"{name} is in no group, so it suspects nobody")
        for suspect in suspects:
            peer = next((member for member in group.members if member.name == suspect != name), None)
            if peer is None:
                raise UsageError(f"{name} cannot suspect {suspect}: in its view are {group.view}")
            process.loop.call_soon(_suspect, driver, peer)
        self._note("suspect", name, *suspects)
        self.advance(0)

    def exclude(self, *names: str, limit: float = 30.0) -> None:
        """Everybody else suspects these, until there is a view without them; then they may come back."""
        others = [process.name for process in self.running() if process.name not in names and not process.is_frozen]
        for name in others:
            self.suspect(name, *names)
        self._until(lambda: self._is_view_without(others, names), limit, f"a view without {', '.join(names)}")

    def trouble(self, seconds: float, faults: int = 5, *, crashes: bool = True) -> None:
        """That many faults, drawn from the seed, within that time; then everything heals and who crashed is back.

        With `partition="primary"` and neither mark files nor a quorum nobody crashes with whom a majority of the last
        primary view would be gone: nothing is promised for that (G17).
        """
        self._troubles += 1
        for at_ns, act in draw_trouble(self, f"{self.seed}/trouble/{self._troubles}", seconds, faults, crashes):
            self.clock.at(at_ns, act)
        self.advance(seconds)
        self.heal()
        for name in self.names:
            if self[name].is_over:
                self.start(name)

    # ---- what there is to see

    def same(self, look: Callable[[Any], T]) -> T:
        """What `look` finds in each application, which must be the same everywhere; Diverged says who holds what."""
        held: dict[str, object] = {name: look(app) for name, app in self.apps.items()}
        found = differences(held)
        if found is not None:
            raise Diverged(self._words(f"the members differ: {found}"))
        return look(next(iter(self.apps.values())))

    def story(self) -> list[str]:
        """What happened so far: faults, views, suspicions, merges; a line each."""
        return list(tell(self.recordings()))

    # ---- the end

    def close(self) -> None:
        """Let everything end that waits, then judge what was recorded; Violated says what did not hold."""
        if self._passing.is_over:
            return
        try:
            if not self.faults.active and not self.network.rules:
                self.note_heal(None, self._bound_ns)
                self._passing.until(self.clock.now_ns + self._bound_ns + 1)
        finally:
            self.end_all()
        found = violations(self.recordings())
        if found:
            raise Violated(self._words(*found[:10]))
        for name in self._ruled:
            if name not in self.processes:
                raise UsageError(f"a rule was for {name!r}, and there never was one in this world")

    def abandon(self) -> None:
        """End without a verdict."""
        self.end_all()

    def __enter__(self) -> World:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        self.abandon()
        if self._replay not in str(error):
            error.add_note(self._replay)
        for sentence in violations(self.recordings())[:3]:
            error.add_note(sentence)

    # ---- small things

    def _note(self, what: str, *members: str, amount: float = 0.0) -> None:
        self.note(Kind.FAULT, {"what": what, "members": list(members), "amount": amount})

    def _share_a_view(self) -> bool:
        awake = [process for process in self.running() if not process.is_frozen]
        return bool(awake) and all(process.group is not None for process in awake) and self.share_a_view(awake)

    def _is_view_without(self, others: Sequence[str], names: Sequence[str]) -> bool:
        groups = [group for group in (self[name].group for name in others) if group is not None]
        return all(member.name not in names for group in groups for member in group.members)

    def _is_settled(self) -> bool:
        return self._share_a_view() and all(process.is_settled for process in self.running() if not process.is_frozen)

    def _until(self, condition: Callable[[], bool], limit: float, what: str) -> None:
        self._passing.until(self.clock.now_ns)  # What was spawned just now has begun before we look.
        if not self.run_until(condition, round(limit * SECOND), LOOK_NS):
            raise Unsettled(self._words(f"not within {limit:g} s: {what}", *self._explained()))

    def _explained(self) -> Iterator[str]:
        for process in self.running():
            if process.group is None:
                yield f"{process.name} is in no group"
            else:
                frozen = " (frozen)" if process.is_frozen else ""
                driver = process.place.entry.driver
                unread = "" if driver is None else what_is_unread(driver)
                yield f"{process.name}{frozen} in {process.group.view}: {process.group.explain()}{unread}"

    @property
    def _replay(self) -> str:
        return f"at {self.now:.3f} s of virtual time; the same again with seed={self.seed}"

    def _words(self, *lines: str) -> str:
        return "\n".join([*lines, self._replay])


def _suspect(driver: Driver, peer: Address) -> None:
    driver.execute(driver.node.suspect(driver.now_ns(), peer))


_open: WeakSet[World] = WeakSet()


def _end_all() -> None:
    """Worlds that a script did not close end with it in silence; else their tasks would complain that no loop runs."""
    for world in list(_open):
        with suppress(Exception):
            world.abandon()


atexit.register(_end_all)
