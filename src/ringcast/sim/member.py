"""A simulated process: the one place of this room where a `core.Node` is driven.

It does what the asyncio driver does, on virtual time: frames in, effects out, one timer; then the application reads and
sends as far as it may. After every fact that goes into the node, `check()` of every machine in it is called.
A frozen member does nothing; its socket keeps what arrives, up to its buffer. A crashed one is gone, with its memory.
Not what the application does: that is `Reading` and `Sending`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from ringcast.core import (
    Beat,
    Cast,
    Deliver,
    Dequeue,
    Drop,
    Effect,
    Excluded,
    Finished,
    Freed,
    Install,
    Left,
    Lost,
    Node,
    Probe,
    Refused,
    Unicast,
    Warn,
    fate,
)
from ringcast.model import SECOND, Address, Event, Kind, Undelivered, ViewId
from ringcast.sim.application import Application
from ringcast.sim.clock import LocalClock
from ringcast.sim.invariants import TickCheck, check_packet
from ringcast.sim.port import Port
from ringcast.sim.reading import Reading
from ringcast.sim.sending import Sending
from ringcast.sim.state_desk import StateDesk
from ringcast.sim.stateful_reading import StatefulReading
from ringcast.sim.waits import Waits
from ringcast.sim.world import World
from ringcast.trace import Recorder

JOIN_LIMIT_NS = 60 * SECOND


class Member:
    """One process: its node, its application, its clock, its recording."""

    def __init__(self, world: World, node: Node, recorder: Recorder) -> None:
        self.address = node.me
        self.name = node.me.name
        self.recorder = recorder
        self.application = Application()
        self.local = LocalClock()
        self.node = node
        self.port = Port(world.network, world.group, node)
        self.excluded: list[ViewId] = []  # later views of the others, without this member
        self.lost: str | None = None  # why it cannot go on in its view, if so
        self.refused: str | None = None  # why the group does not take it, if so
        self.drops: Counter[str] = Counter()
        self.desk: StateDesk | None = None  # where its state is got and given, if it has one
        self.is_frozen = False
        self.is_over = False
        self._is_leaving = False  # the node is out: the process ends as soon as its effects are carried out
        self.clock_rate = 0  # parts per million that its clock gains or loses
        self._world = world
        self._clock = world.clock
        self._record = recorder.append
        self._reading = Reading(self.application, node, world.clock, self.look)
        self._sending = Sending(self.application, node)
        self.waits = Waits()
        self._check_tick = TickCheck(node.config.heartbeat_ns)
        self._timer_ns: int | None = None
        self._armed_interval_ns: int | None = None
        self._has_reached_far = True  # since the deadline was asked for: it may have come nearer
        self._do: dict[type, Callable[..., None]] = {
            Cast: self.port.cast,
            Unicast: self.port.unicast,
            Probe: self.port.probe,
            Deliver: self.application.inbox.append,
            Dequeue: self.application.inbox.append,
            Finished: self._ignore,
            Install: self._install,
            Freed: self._ignore,  # the application looks again after every fact anyway
            Drop: self._drop,
            Warn: self._ignore,
            Lost: self._lose,
            Refused: self._refused,
            Left: self._leave_world,
            Excluded: self._note_exclusion,
            Beat: self._ignore,
            Undelivered: self._ignore,
            Event: self._note,
        }

    # ---- life

    def hold(self, desk: StateDesk) -> None:
        """Its application has a state, which is got and given at this desk."""
        self.desk = desk
        self._reading = StatefulReading(self.application, desk, self._clock, self.look)
        self._do |= desk.orders

    def begin(self, endpoints: Iterable[str] = ()) -> None:
        """The process starts; somebody may be found at these endpoints."""
        self._world.network.attach(self.name, self._on_frame)
        if not self.node.has_group:
            self._start_wait("join", JOIN_LIMIT_NS)
        self._enter_anew(self.node.begin(self.now_ns))
        self._enter_anew(self.node.on_discovered(self.now_ns, endpoints))

    def leave(self) -> None:
        """Ask to be let go; the process ends when it is out."""
        if not self.is_over and "leave" not in self.waits:
            self._start_wait("leave", self.node.config.leave_ns)
            self._enter_anew(self.node.leave(self.now_ns))

    @property
    def now_ns(self) -> int:
        """What this member's own clock shows."""
        now_ns = self._clock.now_ns
        return now_ns if self.local.is_true else self.local.local(now_ns)

    def end(self, how: str) -> None:
        """The process is over: ended, left or crashed. Whoever waited in it waits no longer."""
        if self.is_over:
            return
        self._world.network.detach(self.name)
        if how != "crashed":
            self._note_all(self.waits.end_all(self.now_ns, "closed"))
            self._note_unread(how)
        self.is_over = True
        self.application.outbox.clear()
        self.recorder.close(self._clock.now_ns, how)

    def _note_unread(self, how: str) -> None:
        """What was delivered and not read; the application ends by its own will, so it knows (G15)."""
        void = [] if self.desk is None else self.desk.unread()
        for item in [*void, *self.application.inbox]:
            if isinstance(item, Deliver):
                self._note(fate(Kind.UNREAD, self.now_ns, item, {"why": how, "told": "closed"}))

    def freeze(self) -> None:
        self.is_frozen = True

    def thaw(self) -> None:
        """What was missed happens now: first the timer, then what the socket kept."""
        if not self.is_frozen or self.is_over:
            return
        self.is_frozen = False
        frames = self.port.take_kept()
        self._enter_anew(self.node.on_time(self.now_ns))
        for frame, is_damaged in frames:
            self._on_frame(frame, is_damaged)

    def set_clock_rate(self, parts_per_million: int) -> None:
        self.clock_rate = parts_per_million
        self.local.set_rate(self._clock.now_ns, parts_per_million)
        self._timer_ns = None
        self._arm()

    # ---- what the application does

    @property
    def largest_message(self) -> int:
        return self._sending.largest_message

    def send(self, payload: bytes, to: tuple[Address, ...] = ()) -> None:
        """Queue a message; it goes out at once if there is room, otherwise it waits."""
        if not self.is_over:
            self._sending.add(payload, to)
            self.look()

    def queue(self, payload: bytes, to: tuple[Address, ...] | None = None) -> None:
        """Queue a message in the one order: to the view (None), to some of it, or to nobody (a barrier)."""
        if not self.is_over:
            self._sending.add_in_order(payload, to)
            self.look()

    def read_every(self, pause_ns: int | None) -> None:
        """Change the pace of the reader: 0 = at once, None = not at all."""
        self._reading.set_pace(pause_ns)
        self.look()

    def look(self) -> None:
        """The application does what it can do now."""
        if not (self.is_frozen or self.is_over):
            self._has_reached_far = True
            self._enter([])

    # ---- facts

    def _on_frame(self, frame: bytes, is_damaged: bool) -> None:
        if self.is_frozen:
            self.port.keep(frame, is_damaged)
            return
        decoded = self.port.decode(frame)
        if type(decoded) is Drop:
            self._drop(decoded)
        elif is_damaged:
            # A checksum (of UDP, of TCP, of the seal) stands in front of the codec in real life; see decision 0054.
            self._drop(Drop("a damaged frame", None))
        else:
            sender, packet = decoded  # type: ignore[misc]
            effects = self.node.on_packet(self.now_ns, sender, packet)
            self._has_reached_far |= check_packet(self.node, sender, packet, effects)
            self._enter(effects)

    def _on_timer(self, due_ns: int) -> None:
        if due_ns != self._timer_ns or self.is_over:
            return  # a timer that was set again since
        self._timer_ns = None
        if not self.is_frozen:
            now_ns = self.now_ns
            effects = self.node.on_time(now_ns)
            self._check_tick(self.node, now_ns, effects)
            self._has_reached_far = True
            self._enter(effects)

    def _enter_anew(self, effects: list[Effect]) -> None:
        """A fact that may have touched anything."""
        self.node.check()
        self._has_reached_far = True
        self._enter(effects)

    def _enter(self, effects: list[Effect]) -> None:
        """One fact went into the node: carry out what came of it, then let the application go on."""
        self._carry_out(effects)
        application = self.application
        if application.inbox or application.outbox or self._sending.waiting is not None or self.desk is not None:
            self._go_on()
        if self._has_reached_far or self.node.next_interval_ns != self._armed_interval_ns:
            self._arm()
        if self._is_leaving:
            self.end("left")

    def _go_on(self) -> None:
        """The application reads and sends as far as it may."""
        now_ns, reading, sending = self.now_ns, self._reading, self._sending
        while done := reading.next(now_ns) or sending.next(now_ns):
            self._has_reached_far |= done.is_far
            self._carry_out(done.effects)
        if sending.has_new_wait():
            self._note_all(self.waits.end(now_ns, "send", "done"))
            if sending.waiting is not None:
                self._start_wait("send")

    def _carry_out(self, effects: list[Effect]) -> None:
        do = self._do
        for effect in effects:
            do[type(effect)](effect)
        if not self.node.order.ordering.is_due:
            return
        flushed = self.node.flush(self.now_ns)
        if flushed:
            self.node.check()
            self._has_reached_far = True
            for effect in flushed:
                do[type(effect)](effect)

    def _arm(self) -> None:
        self._has_reached_far = False
        self._armed_interval_ns = self.node.next_interval_ns
        deadline_ns = self.node.deadline_ns()
        if deadline_ns is None or self.is_over:
            return
        when_ns = deadline_ns if self.local.is_true else self.local.when(deadline_ns)
        due_ns = max(when_ns, self._clock.now_ns)
        if self._timer_ns is None or due_ns < self._timer_ns:
            self._timer_ns = due_ns
            self._clock.at(due_ns, self._on_timer, due_ns)

    # ---- effects

    def _install(self, effect: Install) -> None:
        self._note_all(self.waits.end(self.now_ns, "join", "done"))
        self.application.inbox.append(effect)

    def _ignore(self, effect: Freed | Finished | Beat) -> None:
        """Nobody is to be woken, and the node sends its heartbeats itself."""

    def _leave_world(self, effect: Left) -> None:
        self._note_all(self.waits.end(self.now_ns, "leave", "done" if effect.clean else "limit"))
        self._is_leaving = True

    def _refused(self, effect: Refused) -> None:
        self.refused = effect.why

    def _note_exclusion(self, effect: Excluded) -> None:
        self.excluded.append(effect.view)

    def _drop(self, effect: Drop) -> None:
        self.drops[effect.reason] += effect.count
        self._note(
            Event(Kind.DROP, self.now_ns, None, effect.peer, count=effect.count, detail={"reason": effect.reason})
        )

    def _lose(self, effect: Lost) -> None:
        self.lost = self.lost or effect.reason

    # ---- the recording

    def _start_wait(self, what: str, limit_ns: int = 0) -> None:
        until_ns = self._clock.now_ns + limit_ns if limit_ns else 0
        self._note(self.waits.start(self.now_ns, what, until_ns))

    def _note_all(self, events: list[Event]) -> None:
        for event in events:
            self._note(event)

    def _note(self, event: Event) -> None:
        """Recordings are in true time, also where the member's own clock is wrong."""
        if not self.local.is_true:
            event = replace(event, t_ns=self._clock.now_ns)
        self._record(event)
