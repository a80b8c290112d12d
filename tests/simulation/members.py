"""The words in which stories on membership are told: who starts, who is cut off, who is in one view, who read what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from ringcast.core import Effect, Node
from ringcast.core.control import Control, NewView, RollCallId
from ringcast.core.membership import ViewHandler
from ringcast.model import MS, SECOND, Address, Config, Entry, Event, Kind, View, ViewId, profile
from ringcast.sim import Cluster, Fault, Link, violations

FOREVER_NS = 1 << 62

Fact = Callable[[Node, int], list[Effect]]  # put into a node at this moment, with what comes of it


def excluded(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Who has learned that the others go on without it."""
    said = (record.getMessage().split(": ") for record in caplog.records)
    return [words[0] for words in said if words[1:2] == ["excluded"]]


class Members(Cluster):
    """Processes that start one by one. A link takes one to two milliseconds."""

    def __init__(self, seed: int = 1, *, loss: float = 0.0, jitter_ns: int = 1 * MS, **options: Any) -> None:
        link = Link(delay_ns=1 * MS, jitter_ns=jitter_ns, loss=loss)
        super().__init__((), seed=seed, link=link, fixed=False, group="g", **options)

    # ---- who is in one view

    def gather(self, names: str) -> None:
        """These, one after the other, in one view."""
        for count, name in enumerate(names, 1):
            self.start(name)
            assert self.is_soon_one(names[:count]), names[:count]

    def start_together(self, names: Iterable[str]) -> None:
        expect = len(list(names))
        for name in names:
            self.start(name, expect)

    def is_one(self, names: Iterable[str]) -> bool:
        """These are in one view, and nobody else is in it."""
        return self.share_a_view(map(self.__getitem__, names))

    def is_soon_one(self, names: Iterable[str], limit_ns: int = 30 * SECOND) -> bool:
        return self.run_until(lambda: self.is_one(names), limit_ns)

    # ---- what goes wrong

    def fault(self, kind: str, *members: str, amount: float = 0.0) -> None:
        """Until `mend`."""
        self.faults.begin(Fault(kind, self.clock.now_ns, FOREVER_NS, members, amount))

    def cut(self, *sides: Sequence[str]) -> None:
        """From now on only members of one side hear each other."""
        self.mend()
        for side in sides[:-1]:
            self.fault("split", *side)

    def mend(self) -> None:
        for fault in list(self.faults.active):
            self.faults.end(fault)

    def on_frame(self, name: str, act: Callable[[], None]) -> None:
        """Whenever this process has sent a frame."""

        def look(sender: str, to: str, packet: object) -> bool:
            if sender == name and self.is_alive(name):
                act()
            return False

        self.network.snares.append(look)

    def crash_after(self, name: str, frames: int) -> None:
        """This process dies as soon as it has sent so many more frames."""
        last = self[name].transport.counters.frames_out + max(1, frames)

        def look() -> None:
            if self[name].transport.counters.frames_out >= last:
                self.crash(name)

        self.on_frame(name, look)

    # ---- what is seen of a member

    def messages(self, name: str, origin: str) -> list[bytes]:
        """The multicasts that it read, of all processes of the name `origin`."""
        read = self.application(name).multicasts.items()
        return [payload for sender, payloads in read if sender.name == origin for payload in payloads]

    def into(self, name: str, fact: Fact) -> None:
        """Put a fact into the node of a member, as its driver would."""
        process = self[name]

        def execute() -> None:
            process.driver.execute(fact(process.node, process.now_ns()))

        process.loop.call_soon(execute)
        self.run_for(0)

    def resumed(self, name: str, since_ns: int = 0) -> list[str]:
        """The causes for which its view handler resumed."""
        found = [event for event in self.events(name) if event.kind is Kind.RESUME and event.t_ns >= since_ns]
        return [str((event.detail or {})["cause"]) for event in found]

    def merge_events(self, name: str, step: str, since_ns: int = 0) -> list[Event]:
        """When it took this step of a merge."""
        found = [event for event in self.events(name) if event.kind is Kind.MERGE and event.t_ns >= since_ns]
        return [event for event in found if (event.detail or {})["step"] == step]

    def handler(self, name: str) -> ViewHandler:
        leading = self[name].node.coordination.membership.as_coordinator  # type: ignore[union-attr]
        assert leading is not None
        return leading.handler

    def has_left(self, name: str) -> bool:
        """The others agreed on a view without it, before it would have gone anyway."""
        waits = [event for event in self.events(name) if event.kind in (Kind.WAIT_START, Kind.WAIT_END)][-2:]
        is_told = [event.kind for event in waits] == [Kind.WAIT_START, Kind.WAIT_END]
        return self[name].is_over and is_told and waits[1].t_ns - waits[0].t_ns < self.config_of(name).leave_ns

    def violations(self) -> list[str]:
        """Every checker over everything recorded so far."""
        return violations(self.recordings())

    def verdict(self) -> list[str]:
        """The same when everybody has ended."""
        self.end_all()
        return self.violations()


def in_views(text: str, seed: int = 0, place: str = "lan", **changes: int) -> Members:
    """`in_views("A,B:AB C,D:CD")`: A and B have the view {A,B}, as joiners that were told it.

    Views are numbered in the order given, or `AB/7`; names of more than one letter have commas behind them.
    """
    views: dict[str, View] = {}
    for number, part in enumerate(text.split(), 1):
        holders, _, content = part.partition(":")
        names, _, given = content.partition("/")
        members = tuple(address_of(name) for name in (names.split(",") if "," in names else names) if name)
        view = View(ViewId(int(given or number), members[0]), members)
        views |= dict.fromkeys(holders.split(","), view)
    return holding(views, seed, profile(place, **changes))


def holding(views: Mapping[str, View], seed: int, config: Config) -> Members:
    """Each has its view, whatever the others have; a link takes a millisecond."""
    world = Members(seed, config=config, jitter_ns=0)
    for name in views:
        world.start(name)
    for name, view in views.items():
        base, entries = RollCallId(ViewId(0, view.id.creator), 0, 0), (Entry(0, 0, 0),) * len(view.members)
        message = NewView(base, view.id, view.members, (), (), config.capacity, config.window_bytes, entries, ())
        world.into(name, told(view.id.creator, message))
    return world


def told(sender: Address, message: Control, *, later_ns: int = 0) -> Fact:
    """This message comes, or is read so much later."""

    def put(node: Node, now_ns: int) -> list[Effect]:
        assert node.coordination is not None
        return node.coordination.on_message(now_ns + later_ns, sender, message)

    return put


def address_of(name: str) -> Address:
    """The first process of this name."""
    return Address(name, 1, f"mem:{name}")
