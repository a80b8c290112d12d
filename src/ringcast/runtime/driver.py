"""Drives a node on asyncio: frames in, effects out, one timer.

The only place where the pure core meets sockets and the clock. It batches: all frames of one wake go through the
node before anything is sent, and all multicasts that came of them leave in one call.
A frame, a deadline or an effect that raises (a mistake of ours) never reaches the event loop: it is logged with whoever
sent it, and because the node may be half changed, this member gives up its place. The timer is set in any case.
Invariant: effects are carried out in order. Not a protocol: it decides nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ringcast.core import (
    AwaitMerged,
    AwaitState,
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
    GiveMerged,
    Install,
    KeepMark,
    Left,
    Lost,
    MergedOver,
    MergeStates,
    Node,
    Packet,
    Probe,
    ProvideState,
    Refused,
    SideOver,
    Spent,
    StateOver,
    Unicast,
    Warn,
)
from ringcast.errors import JoinRefused, RingcastError
from ringcast.model import STREAMS_PER_EPOCH, Address, Event, Kind, Undelivered, View
from ringcast.runtime.chronicle import Chronicle
from ringcast.runtime.coalescing import coalescer
from ringcast.runtime.drops import Drops
from ringcast.runtime.event_log import EventLog
from ringcast.runtime.forks import ends_with_fork
from ringcast.runtime.frames_out import FramesOut
from ringcast.runtime.handing import Wake
from ringcast.runtime.heartbeats import Audience, Heartbeats
from ringcast.runtime.identity import Identity
from ringcast.runtime.keys import GroupKeys, unopened_in_words
from ringcast.runtime.mark_file import MarkStore
from ringcast.runtime.origins import Origins
from ringcast.runtime.spool import Spool
from ringcast.trace import Recorder, ThreadedRecorder
from ringcast.transport import DEFAULT_LIMITS, Allowance, Endpoint, Frame, Source, Transport
from ringcast.wire import VERSION as WIRE_VERSION
from ringcast.wire import Codec

_log = logging.getLogger("ringcast")

_STATE = Channel.STATE
_OF_MEMBERSHIP, _OF_ORDER = int(Kind.VIEW), int(Kind.QUEUE_START)  # membership and merge lie between them
BLOCKED_NS = 1_000_000_000  # a loop that comes to a timer so late was blocked
FAULT_PAUSE_NS = 100_000_000  # before the next try, while there is no place to give up
MAX_HEARD = 4_096  # senders of whom it is remembered when they were heard
LINES_PER_SECOND = DEFAULT_LIMITS.lines_per_second  # what warnings and errors say may come of what strangers send
WARNED = 64  # warnings remembered, so that each is logged once


class Driver:
    """One member's node, transport and recorder, on one event loop."""

    def __init__(
        self,
        node: Node,
        codec: Codec,
        transport: Transport,
        recorder: Recorder | None,
        heartbeats: Heartbeats | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.node = node
        self.now_ns = now_ns
        self.transport = transport
        self.drops = Drops()
        self.heard: dict[Address, int] = {}
        self.chronicle = Chronicle(node.me, self.heard)
        self._event_log = EventLog(node.me, codec.group)
        self.inbox: deque[object] = deque()  # what the application reads, and where it stops on its way
        self.spool: Spool | None = None  # of a member that joins with state
        self.on_inbox: Callable[[], None] = _nothing
        self.on_retiring: Callable[[str], None] = _say_nothing  # how it ends; before the recording does
        self.on_freed: Callable[[], None] = _nothing
        self.on_spent: Callable[[], None] = _nothing
        self.on_lost: Callable[[str], None] = _say_nothing
        self.on_left: Callable[[Left], None] = _ignore
        self.on_finished: Callable[[Finished], None] = _ignore
        self.on_refused: Callable[[JoinRefused], None] = lambda error: None
        self.on_excluded: Callable[[Excluded], None] = _ignore
        self.on_state: Callable[[Any], None] = _ignore
        self._warned: dict[str, None] = {}
        self._lines = Allowance(LINES_PER_SECOND, now_ns())
        self._codec = codec
        self._coalesced = coalescer(codec.decode)
        self._recorder = recorder
        self.is_recorded = recorder is not None
        self._record_alone: Callable[[Event], None] = _ignore if recorder is None else recorder.append
        self._record: Callable[[Event], None] = self._record_alone
        self._watchers: list[Callable[[Event], None]] = []
        self._say_what_is_read()
        self._heartbeats = heartbeats
        self.asked_buffer_bytes = 0  # of the kernel, for what arrives; what it gave is in the node's config
        self.origins: Origins | None = None  # where frames may come from, on a transport that does not know it
        self.keys: GroupKeys | None = None  # what the transport is sealed with
        self.identity: Identity | None = None  # the certificate that its connections show
        self.asked: list[str] = []  # where discovery says that others may be
        self.on_view: Callable[[View], None] = _ignore
        self._namesakes: deque[Address] = deque(maxlen=16)  # of whom was warned
        self.marks: MarkStore | None = None  # where the mark of primary views is kept
        self.on_unkept: Callable[[RingcastError], None] = _ignore
        self.first_mark_ns: int | None = None  # since when its first mark is being stored
        self._carried: list[Effect] | None = None  # what is being carried out
        self.out = out = FramesOut(node.me, codec, transport, self.drops)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0  # the deadline that the timer is for
        self._awaited_ns = 0  # when the timer was to fire: later than a deadline that had passed when it was set
        self._first_view: asyncio.Future[None] | None = None
        self._freed = False
        self.is_closed = False
        self.closed_ns, self.ended = 0, ""  # when this place ended, and how
        self._fault_ns = 0  # not before this time again, after a fault
        self._is_broken = False  # the node may be half changed: it is asked for nothing more
        self.contains_faults = True
        self.hands_over = False  # readers that wait are stepped in the wake that brings their message
        self.wake = Wake()
        self._do: dict[type, Callable[..., None]] = {
            Cast: out.cast,
            Unicast: out.unicast,
            Probe: out.probe,
            Beat: self._beat,
            KeepMark: self._keep_mark,
            Left: self._left,
            Excluded: self._excluded,
            Deliver: self._deliver,
            Dequeue: self._deliver,
            Finished: self._finish,
            Install: self._install,
            Freed: self._note_freed,
            Spent: self._note_spent,
            Drop: self._drop,
            Warn: self._warn,
            Lost: self._lost,
            Refused: self._refused,
            ProvideState: self._state,
            AwaitState: self._state,
            StateOver: self._state,
            MergeStates: self._state,
            AwaitMerged: self._state,
            SideOver: self._state,
            GiveMerged: self._state,
            MergedOver: self._state,
            Undelivered: self._tell,
            Event: self._event,
        }

        ends_with_fork(self)

    # ---- life

    def on_forked(self) -> None:
        """In the child: nothing comes in, nothing goes out, nothing is recorded."""
        self.is_closed = self._is_broken = True
        self._recorder, self._heartbeats = None, None
        self._record_alone = self._record = _ignore

    def on_other_version(self, source: Source, version: int) -> None:
        """Somebody of this group's name speaks another version of the wire: the two cannot be in one group."""
        where = str(Endpoint(*source))
        error = JoinRefused(
            f"{where} speaks version {version} of the wire and {self.node.me} version {WIRE_VERSION}: "
            "members of one group need the same version of ringcast"
        )
        self._warn(Warn(str(error)))
        self.fail_view(error)

    @property
    def recording_lost(self) -> int | None:
        """Events that did not reach the recording and never will; None if nothing is recorded."""
        if self._recorder is None:
            return None
        return self._recorder.dropped if isinstance(self._recorder, ThreadedRecorder) else 0

    def hold_keys(self, keys: GroupKeys) -> None:
        """From now on this incarnation's frames are sealed; what cannot be opened is told to it."""
        self.keys = keys
        keys.speak_for(self.node.me.incarnation, self._unopened)

    def begin(self) -> None:
        """The transport is open: the node may speak."""
        self.transport.on_writable = self._on_writable
        self.execute(self.node.begin(self.now_ns()))

    async def until_view(self) -> None:
        """Wait for the first view; raises what made it impossible."""
        if not self.node.has_group:
            self._first_view = asyncio.get_running_loop().create_future()
            await self._first_view

    def fail_view(self, error: RingcastError) -> None:
        if self._first_view is not None and not self._first_view.done():
            self._first_view.set_exception(error)

    def close(self, how: str = "ended") -> None:
        if not self.is_closed:
            self.retire(how)
            self.transport.close()

    def retire(self, how: str) -> None:
        """End everything but the transport, which another incarnation goes on to use.

        What the node still says in this wake is for nobody: the application was told the end (seeds 30465, 240688).
        """
        self.on_retiring(how)
        self.is_closed, self.closed_ns, self.ended = True, self.now_ns(), how
        for_the_application = (self._deliver, self._install, self._tell, self._state)
        self._do.update({kind: _ignore for kind, do in self._do.items() if do in for_the_application})
        if self._timer is not None:
            self._timer.cancel()
        if self._heartbeats is not None:
            self._heartbeats.stop()
        if self._recorder is not None:
            self._recorder.close(self.now_ns(), how)

    def watch(self, append: Callable[[Event], None]) -> None:
        """Show every event to somebody else, too."""
        self._watchers.append(append)
        self._record = self._record_and_show
        self._say_what_is_read()

    def unwatch(self, append: Callable[[Event], None]) -> None:
        if append in self._watchers:
            self._watchers.remove(append)
        if not self._watchers:
            self._record = self._record_alone
            self._say_what_is_read()

    def _say_what_is_read(self) -> None:
        recorder = self._recorder
        contents = recorder is not None and recorder.contents
        self.node.record(contents=contents, runs=recorder is not None or bool(self._watchers))

    def _record_and_show(self, event: Event) -> None:
        self._record_alone(event)
        for append in self._watchers:
            append(event)

    def note(self, event: Event) -> None:
        """Something that happened above the node."""
        self._event(event)

    def note_fate(self, kind: Kind, delivered: Deliver, detail: Mapping[str, str] | None = None) -> None:
        """What became of a delivery, for the recording: handed over, spooled, or not read (G15).

        Of a delivery in the one order the numbers are those of the order, and `value` says so; `other` of what is
        spooled, that it went to some members: no void of the spool throws it away.
        """
        stream = delivered.epoch * STREAMS_PER_EPOCH + delivered.channel if delivered.epoch else 0
        is_ordered = int(isinstance(delivered, Dequeue))
        to_some = int(kind is Kind.SPOOLED and is_ordered and delivered.channel is Channel.PEER)
        origin, first, count = delivered.origin, delivered.first, delivered.count
        self.note(Event(kind, self.now_ns(), None, origin, stream, first, count, 0, is_ordered, to_some, detail))

    # ---- facts

    @property
    def is_busy(self) -> bool:
        """The socket has not taken yet what was multicast before: do not give it more."""
        return bool(self.out.backlog)

    def execute(self, effects: list[Effect]) -> None:
        """Carry out what came of one fact."""
        if self._carried is not None:  # the fact is one that an effect brought about
            self._carried += effects
            return
        self._carry_out(effects)
        self._after()

    def _carry_out(self, effects: list[Effect]) -> None:
        """In the order in which the node gave them: what comes of them on the way stands behind them."""
        self._carried, do = effects, self._do
        try:
            for effect in effects:
                do[type(effect)](effect)
        finally:
            self._carried = None

    def on_frames(self, frames: Iterable[Frame]) -> None:
        """Everything that one wake of the transport read."""
        if self._is_broken:
            return
        wake, now = self.wake, self.now_ns()
        wake.is_on = True
        wake.is_taking = self.hands_over
        carry_out, node, heard = self._carry_out, self.node, self.heard
        sender: Address | None = None
        packet: Packet | None = None
        try:
            try:
                for decoded in self._coalesced(frames):
                    if isinstance(decoded, Drop):
                        self._drop(decoded)
                        continue
                    sender, packet = decoded
                    heard[sender] = now
                    if effects := node.on_packet(now, sender, packet):
                        carry_out(effects)
            except Exception as fault:
                self._fail(fault, "a frame" if packet is None else f"{type(packet).__name__} of {sender}")
            if len(heard) > MAX_HEARD:
                self._forget_heard()
            if self.out.frames or self.inbox or self._freed or self.out.unsent.count or node.order.ordering.is_due:
                self._after()  # else there is nothing for it to do, as behind nearly every ack
            wake.is_taking = False
            if wake.steps:
                wake.hand_over()
        finally:
            wake.is_on = wake.is_taking = False
        if not self.is_closed and not self._is_broken:
            deadline = node.deadline_ns()
            if deadline is None or (self._timer is not None and self._timer_ns <= deadline and not self._fault_ns):
                return  # `_set_timer` would find the same, as after nearly every wake
            self._set_timer(deadline)

    def _forget_heard(self) -> None:
        """Members are remembered; of the others those that were heard last."""
        view = self.node.view if self.node.has_group else None
        others = [peer for peer in self.heard if view is None or peer not in view]
        for peer in sorted(others, key=self.heard.__getitem__)[: len(self.heard) - MAX_HEARD // 2]:
            del self.heard[peer]

    def _on_time(self) -> None:
        self._timer = None
        if self._is_broken:
            return
        now = self.now_ns()
        if now - self._awaited_ns > BLOCKED_NS:
            self._say_blocked(now - self._awaited_ns)
        try:
            if effects := self.node.on_time(now):
                self._carry_out(effects)
        except Exception as fault:
            self._fail(fault, "a deadline")
        self._after()

    def _say_blocked(self, late_ns: int) -> None:
        """The loop came to its timer late: somebody's code kept it from turning."""
        if self._lines.take(self.now_ns()):
            _log.warning(
                "%s: the event loop stood still for %.1f s: something in this process blocks it, and the group waits",
                self.node.me,
                late_ns / 1e9,
            )

    def _fail(self, fault: Exception, what: str) -> None:
        """Something raised that must not: say so, and give up a place that may stand on half a change."""
        if not self.contains_faults:
            raise fault
        self.drops.add(f"{what} raised {type(fault).__name__}")
        words = f"{self.node.me}: {what} could not be dealt with: {fault!r}"
        if not self._is_warned(words) and self._lines.take(self.now_ns()):
            _log.error("%s", words, exc_info=fault)
        self._fault_ns = self.now_ns() + FAULT_PAUSE_NS
        if self.node.has_group and not self._is_broken:
            self._is_broken = True
            self.on_lost(f"{what} raised {fault!r}: its state may be half changed")

    def _after(self) -> None:
        """Once per batch: say what the order has to say, send what was multicast, wake who waits, keep the timer."""
        try:
            if self.node.order.ordering.is_due and not self._is_broken:
                self._carry_out(self.node.flush(self.now_ns()))
            if self.out.frames or self.out.unsent.count:
                self.out.flush()
            if self.inbox:
                self.on_inbox()
            if self._freed:
                self._freed = False
                self.on_freed()
        except Exception as fault:
            self._fail(fault, "the end of a batch")
        if not self.wake.is_on and not self.is_closed and not self._is_broken:  # else at the end of the wake
            self._set_timer(self.node.deadline_ns())

    def _set_timer(self, deadline: int | None) -> None:
        """One timer, at the node's deadline or earlier; one that fires too early finds nothing to do."""
        if deadline is not None and self._fault_ns:
            deadline, self._fault_ns = max(deadline, self._fault_ns), 0
        if deadline is None or (self._timer is not None and self._timer_ns <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        now = self.now_ns()
        self._timer_ns, self._awaited_ns = deadline, max(deadline, now)
        delay = (self._awaited_ns - now) / 1e9
        if self._loop is None:
            self._loop = asyncio.get_running_loop()  # once: in Python 3.11 to ask for it is a system call
        self._timer = self._loop.call_later(delay, self._on_time)

    # ---- effects

    def _deliver(self, effect: Deliver) -> None:
        if effect.channel is _STATE:
            self.on_state(effect)
        else:
            self.inbox.append(effect)

    def _tell(self, notice: Undelivered) -> None:
        self.inbox.append(notice)

    def _state(self, effect: Effect) -> None:
        self.on_state(effect)

    def _finish(self, effect: Finished) -> None:
        self.on_finished(effect)

    def _warn_of_namesakes(self, view: View) -> None:
        """Two processes of one name are told apart by their endpoints, and by people not at all."""
        me = self.node.me
        for other in view.members:
            if other.name == me.name and other.endpoint != me.endpoint and other not in self._namesakes:
                self._namesakes.append(other)
                _log.warning(
                    "two members are called %r: %s at %s, and %s at %s", me.name, me, me.endpoint, other, other.endpoint
                )

    def _install(self, effect: Install) -> None:
        self._warn_of_namesakes(effect.view)
        others = self.out.set_members(effect.view.members)
        if self.origins is not None:
            self.origins.set_members(others)
        windows = {member: incoming.window for member, incoming in self.node.group.incoming.items()}
        self.chronicle.on_view(self.now_ns(), effect.view, windows)
        self._event_log.on_view(effect.view, self.chronicle)
        self.inbox.append(effect)
        self.on_view(effect.view)
        self._freed = True
        if self._first_view is not None and not self._first_view.done():
            self._first_view.set_result(None)

    def _event(self, event: Event) -> None:
        if _OF_MEMBERSHIP <= event.kind < _OF_ORDER:
            self.chronicle.on_event(event)
            self._event_log.on_event(event)
        self._record(event)

    def _note_spent(self, effect: Spent) -> None:
        self.on_spent()

    def _note_freed(self, effect: Freed) -> None:
        self._freed = True

    def _drop(self, effect: Drop) -> None:
        self.drops.add(effect.reason, effect.count)

    def _unopened(self, reason: str, count: int) -> None:
        """Frames that are not sealed as they should be: told to whoever reads the log or the recording."""
        if self.is_closed:
            return
        self._event(Event(Kind.DROP, self.now_ns(), count=count, detail={"reason": reason}))
        self._warn(Warn(f"frames dropped: {unopened_in_words(reason)}"))

    def _warn(self, effect: Warn) -> None:
        if not self._is_warned(effect.words) and self._lines.take(self.now_ns()):
            _log.warning("%s: %s", self.node.me, effect.words)

    def _is_warned(self, words: str) -> bool:
        """Were these words said before? They are from now on."""
        if words in self._warned:
            return True
        self._warned[words] = None
        while len(self._warned) > WARNED:
            del self._warned[next(iter(self._warned))]
        return False

    def _refused(self, effect: Refused) -> None:
        error = JoinRefused(f"{self.node.me} cannot be in this group: {effect.why}")
        _log.error("%s", error)
        if self._first_view is not None:
            self.fail_view(error)
        else:  # It comes back; not at once, for we are in the middle of carrying out what the node ordered.
            asyncio.get_running_loop().call_soon(self.on_refused, error)

    def _lost(self, effect: Lost) -> None:
        _log.error("lost its place: %s", effect.reason)
        self.on_lost(effect.reason)

    def _beat(self, effect: Beat) -> None:
        if self._heartbeats is not None:
            view = self.node.view
            everybody = self.out.receivers(view.members)
            self._heartbeats.tell(Audience(view.id, self.out.receivers(effect.peers), everybody))

    def keep_first_mark(self, done: Callable[[RingcastError | None], None]) -> None:
        """Store what this incarnation knows of primary views, if it is to be kept, before anybody hears of it."""
        if self.marks is None or self.node.mark is None:
            done(None)
            return
        self.first_mark_ns = self.now_ns()
        self.marks.keep(self.node.me, self.node.mark, partial(self._first_mark_kept, done))

    def _first_mark_kept(self, done: Callable[[RingcastError | None], None], error: RingcastError | None) -> None:
        self.first_mark_ns = None
        done(error)

    def _keep_mark(self, effect: KeepMark) -> None:
        assert self.marks is not None
        self.marks.keep(self.node.me, effect.mark, partial(self._mark_kept, effect.number))

    def _mark_kept(self, number: int, error: RingcastError | None) -> None:
        if self.is_closed:
            return
        if error is None:
            self.execute(self.node.on_mark_kept(self.now_ns(), number))
            return
        _log.error("%s", error)
        self.fail_view(error)
        self.on_unkept(error)

    def _left(self, effect: Left) -> None:
        self.on_left(effect)

    def _excluded(self, effect: Excluded) -> None:
        self._warn(Warn(f"excluded: the others go on in view {effect.view}"))
        self.on_excluded(effect)

    def _on_writable(self) -> None:
        if self.out.on_writable():
            self.on_freed()


def _nothing() -> None:
    pass


def _say_nothing(reason: str) -> None:
    pass


def _ignore(effect: object) -> None:
    pass


class Entry:
    """Where frames come in, for the current incarnation's driver; they are repeated, so they may be dropped.

    They are without a driver, and as long as its first mark is not stored: nobody is to hear of it before that.
    """

    driver: Driver | None = None

    def hold(self, driver: Driver) -> None:
        """This is the incarnation from now on."""
        self.driver = driver

    def on_frames(self, frames: Iterable[Frame]) -> None:
        if self.driver is not None and self.driver.first_mark_ns is None:
            self.driver.on_frames(frames)
