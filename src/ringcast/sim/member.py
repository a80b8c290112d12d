"""A simulated process: the one place of this room where a `core.Node` is driven.

It does what the asyncio driver does, on virtual time: frames in, effects out, one timer; then the application reads and
sends as far as it may. After every fact that goes into the node, `check()` of every machine in it is called.
A frozen member does nothing; its socket keeps what arrives, up to its buffer. A crashed one is gone, with its memory.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from ringcast.core import (
    Beat,
    Cast,
    Channel,
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
    Unicast,
)
from ringcast.errors import UsageError
from ringcast.model import SECOND, Address, Event, Kind, ViewId
from ringcast.sim.application import Application, Outbound
from ringcast.sim.clock import Clock, LocalClock
from ringcast.sim.invariants import TickCheck, check_packet, check_stream, check_taken
from ringcast.sim.network import Network
from ringcast.sim.nodes import name_at
from ringcast.trace import Recorder
from ringcast.wire import Codec

JOIN_LIMIT_NS = 60 * SECOND


class World(Protocol):
    """What a member needs from the world it lives in."""

    group: str
    clock: Clock
    network: Network


class Member:
    """One process: its node, its application, its clock, its recording."""

    def __init__(self, world: World, node: Node, recorder: Recorder) -> None:
        self.address = node.me
        self.name = node.me.name
        self.recorder = recorder
        self.application = Application()
        self.local = LocalClock()
        self.node = node
        self.excluded: list[ViewId] = []  # later views of the others, without this member
        self.lost: str | None = None  # why it cannot go on in its view, if so
        self.drops: Counter[str] = Counter()
        self.is_frozen = False
        self.is_over = False
        self._is_leaving = False  # the node is out: the process ends as soon as its effects are carried out
        self.clock_rate = 0  # parts per million that its clock gains or loses
        self._world = world
        self._codec = Codec(world.group, node.me)
        self._record = recorder.append
        self._check_tick = TickCheck(node.config.heartbeat_ns)
        self._buffer: deque[tuple[bytes, bool]] = deque()  # what a frozen member's socket holds
        self._buffered = 0
        self._timer_ns: int | None = None
        self._armed_interval_ns: int | None = None
        self._has_reached_far = True  # since the deadline was asked for: it may have come nearer
        self._waits: dict[str, int] = {}  # what is waited for, and the number of that wait
        self._last_wait = 0
        self._waiting: Outbound | None = None  # the message whose send waits for room
        self._next_read_ns: int | None = None
        self._do: dict[type, Callable[..., None]] = {
            Cast: self._cast,
            Unicast: self._unicast,
            Probe: self._probe,
            Deliver: self._queue,
            Dequeue: self._queue,
            Finished: self._ignore,
            Install: self._install,
            Freed: self._ignore,  # the application looks again after every fact anyway
            Drop: self._drop,
            Lost: self._lose,
            Left: self._leave_world,
            Excluded: self._note_exclusion,
            Beat: self._ignore,
            Event: self._note,
        }

    # ---- life

    def begin(self, endpoints: Iterable[str] = ()) -> None:
        """The process starts; somebody may be found at these endpoints."""
        self._world.network.attach(self.name, self._on_frame)
        if not self.node.has_group:
            self._start_wait("join", JOIN_LIMIT_NS)
        self._enter_anew(self.node.begin(self.now_ns))
        self._enter_anew(self.node.on_discovered(self.now_ns, endpoints))

    def leave(self) -> None:
        """Ask to be let go; the process ends when it is out."""
        if not self.is_over and "leave" not in self._waits:
            self._start_wait("leave", self.node.config.leave_ns)
            self._enter_anew(self.node.leave(self.now_ns))

    @property
    def now_ns(self) -> int:
        """What this member's own clock shows."""
        now_ns = self._world.clock.now_ns
        return now_ns if self.local.is_true else self.local.local(now_ns)

    def end(self, how: str) -> None:
        """The process is over: ended, left or crashed. Whoever waited in it waits no longer."""
        if self.is_over:
            return
        self._world.network.detach(self.name)
        for what in list(self._waits) if how != "crashed" else ():
            self._end_wait(what, "closed")
        self.is_over = True
        self.application.outbox.clear()
        self.recorder.close(self._world.clock.now_ns, how)

    def freeze(self) -> None:
        self.is_frozen = True

    def thaw(self) -> None:
        """What was missed happens now: first the timer, then what the socket kept."""
        if not self.is_frozen or self.is_over:
            return
        self.is_frozen = False
        self._buffered = 0
        frames, self._buffer = self._buffer, deque()
        self._enter_anew(self.node.on_time(self.now_ns))
        for frame, is_damaged in frames:
            self._on_frame(frame, is_damaged)

    def set_clock_rate(self, parts_per_million: int) -> None:
        self.clock_rate = parts_per_million
        self.local.set_rate(self._world.clock.now_ns, parts_per_million)
        self._timer_ns = None
        self._arm()

    # ---- what the application does

    @property
    def largest_message(self) -> int:
        """What may be sent at all: its pieces must fit an empty window together."""
        config = self.node.config
        capacity = self.node.group.capacity if self.node.has_group else config.capacity
        pieces = min(capacity, config.stream_capacity)
        return min(config.max_message_bytes, pieces * self.node.largest_whole)

    def send(self, payload: bytes, to: tuple[Address, ...] = ()) -> None:
        """Queue a message; it goes out at once if there is room, otherwise it waits."""
        if self.is_over:
            return
        if len(payload) > self.largest_message:
            raise UsageError(f"a message of {len(payload)} bytes is above the {self.largest_message} that fit a window")
        self.application.outbox.append(Outbound(payload, to))
        self.look()

    def queue(self, payload: bytes, to: tuple[Address, ...] | None = None) -> None:
        """Queue a message in the one order: to the view (None), to some of it, or to nobody (a barrier)."""
        if not self.is_over:
            self.application.outbox.append(Outbound(payload, to, in_order=True))
            self.look()

    def read_every(self, pause_ns: int | None) -> None:
        """Change the pace of the reader: 0 = at once, None = not at all."""
        self.application.read_every_ns = pause_ns
        self._next_read_ns = None
        self.look()

    def look(self) -> None:
        """The application does what it can do now."""
        if not (self.is_frozen or self.is_over):
            self._has_reached_far = True
            self._enter([])

    # ---- facts

    def _on_frame(self, frame: bytes, is_damaged: bool) -> None:
        if self.is_frozen:
            self._keep(frame, is_damaged)
            return
        decoded = self._codec.decode(frame)
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

    def _keep(self, frame: bytes, is_damaged: bool) -> None:
        if self._buffered + len(frame) <= self.node.config.receive_buffer_bytes:
            self._buffered += len(frame)
            self._buffer.append((frame, is_damaged))

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
        if application.inbox or application.outbox or self._waiting is not None:
            while self._read() or self._send():
                pass
            self._note_wait()
        if self._has_reached_far or self.node.next_interval_ns != self._armed_interval_ns:
            self._arm()
        if self._is_leaving:
            self.end("left")

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

    def _carry_out_far(self, effects: list[Effect]) -> None:
        self.node.check()
        self._has_reached_far = True
        self._carry_out(effects)

    def _arm(self) -> None:
        self._has_reached_far = False
        self._armed_interval_ns = self.node.next_interval_ns
        deadline_ns = self.node.deadline_ns()
        if deadline_ns is None or self.is_over:
            return
        when_ns = deadline_ns if self.local.is_true else self.local.when(deadline_ns)
        due_ns = max(when_ns, self._world.clock.now_ns)
        if self._timer_ns is None or due_ns < self._timer_ns:
            self._timer_ns = due_ns
            self._world.clock.at(due_ns, self._on_timer, due_ns)

    # ---- the application reads and sends

    def _read(self) -> bool:
        app = self.application
        if not app.inbox or app.read_every_ns is None:
            return False
        if app.read_every_ns and not self._is_time_to_read(app.read_every_ns):
            return False
        delivery = app.read()
        if delivery is not None:
            effects = self.node.on_taken(self.now_ns, delivery)
            self._has_reached_far |= check_taken(self.node, delivery, effects)
            self._carry_out(effects)
        return True

    def _is_time_to_read(self, pause_ns: int) -> bool:
        clock = self._world.clock
        if self._next_read_ns is None or clock.now_ns >= self._next_read_ns:
            self._next_read_ns = clock.now_ns + pause_ns
            clock.at(self._next_read_ns, self.look)
            return True
        return False

    def _send(self) -> bool:
        outbox = self.application.outbox
        if not outbox:
            return False
        outbound = outbox[0]
        if outbound.in_order:
            return self._send_in_order(outbound)
        if outbound.to:
            return self._send_private(outbound)
        if len(outbound.payload) > self.node.largest_whole:
            return self._send_large(outbound.payload)
        payloads = self.application.leading_small(self.node.largest_whole, self.node.room())
        count = self.node.fit(list(map(len, payloads)))
        if not count:
            return False
        for _ in range(count):
            outbox.popleft()
        payloads = payloads[:count]
        effects = self.node.send(self.now_ns, payloads, list(map(len, payloads)))
        check_stream(self.node, Channel.GROUP, self.address)
        self._carry_out(effects)
        return True

    def _send_large(self, payload: bytes) -> bool:
        if not self.node.may_send_large(payload):
            return False
        self.application.outbox.popleft()
        self._carry_out_far(self.node.send_large(self.now_ns, payload))
        return True

    def _send_in_order(self, outbound: Outbound) -> bool:
        """To those who are still in the view; it may have changed since."""
        if not self.node.has_group:
            return False
        to = None if outbound.to is None else [peer for peer in outbound.to if peer in self.node.view]
        if not self.node.fit_in_order([len(outbound.payload)], to):
            return False
        self.application.outbox.popleft()
        self._carry_out_far(self.node.queue(self.now_ns, [outbound.payload], to)[1])
        return True

    def _send_private(self, outbound: Outbound) -> bool:
        peers = list(outbound.to or ())
        if self.node.society is not None and self.node.has_group:
            # Whoever left while the message waited cannot be sent to any more; `Group.send` says so (seed 210).
            peers = [peer for peer in peers if peer in self.node.view]
        if not self.node.may_send_to(peers, len(outbound.payload)):
            return False
        self.application.outbox.popleft()
        self._carry_out_far(self.node.send_to(self.now_ns, peers, outbound.payload))
        return True

    def _note_wait(self) -> None:
        """What stands first in the outbox now found no room: its send waits (G14)."""
        outbox = self.application.outbox
        head = outbox[0] if outbox else None
        if head is self._waiting:
            return
        self._end_wait("send", "done")
        self._waiting = head
        if head is not None:
            self._start_wait("send", 0)

    def _start_wait(self, what: str, limit_ns: int) -> None:
        self._last_wait += 1
        self._waits[what] = self._last_wait
        until_ns = self._world.clock.now_ns + limit_ns if limit_ns else 0
        detail = {"what": what}
        self._note(Event(Kind.WAIT_START, self.now_ns, value=self._last_wait, other=until_ns, detail=detail))

    def _end_wait(self, what: str, how: str) -> None:
        number = self._waits.pop(what, None)
        if number is not None:
            self._note(Event(Kind.WAIT_END, self.now_ns, value=number, detail={"how": how}))

    # ---- effects

    def _cast(self, effect: Cast) -> None:
        frame = self._codec.encode(effect.packet)
        assert len(frame) <= self.node.config.frame_bytes, (len(frame), effect.packet)
        for member in self.node.view.members:
            if member != self.address:
                self._world.network.transmit(self.name, member.name, effect.packet, frame)

    def _unicast(self, effect: Unicast) -> None:
        frame = self._codec.encode(effect.packet, effect.to)
        assert len(frame) <= self.node.config.frame_bytes, (len(frame), effect.packet)
        self._world.network.transmit(self.name, effect.to.name, effect.packet, frame)

    def _probe(self, effect: Probe) -> None:
        frame = self._codec.encode(effect.packet)
        self._world.network.transmit(self.name, name_at(effect.endpoint), effect.packet, frame)

    def _queue(self, effect: Deliver) -> None:
        self.application.inbox.append(effect)

    def _install(self, effect: Install) -> None:
        self._end_wait("join", "done")
        self.application.inbox.append(effect)

    def _ignore(self, effect: Freed | Finished | Beat) -> None:
        """Nobody is to be woken, and the node sends its heartbeats itself."""

    def _leave_world(self, effect: Left) -> None:
        self._end_wait("leave", "done" if effect.clean else "limit")
        self._is_leaving = True

    def _note_exclusion(self, effect: Excluded) -> None:
        self.excluded.append(effect.view)

    def _drop(self, effect: Drop) -> None:
        self.drops[effect.reason] += effect.count
        self._note(
            Event(Kind.DROP, self.now_ns, None, effect.peer, count=effect.count, detail={"reason": effect.reason})
        )

    def _lose(self, effect: Lost) -> None:
        self.lost = self.lost or effect.reason

    def _note(self, event: Event) -> None:
        """Recordings are in true time, also where the member's own clock is wrong."""
        if not self.local.is_true:
            event = replace(event, t_ns=self._world.clock.now_ns)
        self._record(event)
