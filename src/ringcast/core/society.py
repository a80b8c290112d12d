"""What a member does as one among others: membership, failure detection and the control line, brought together.

Organs decide, as steps and decisions; here each is carried out, depth first and in order, so that a coordinator has
installed a view before its message to anybody else exists. A word to oneself takes no wire. Exists only in a node
that joins by itself; a node with a fixed view needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from ringcast.core.control import (
    Announce,
    AreYouThere,
    Ask,
    Control,
    Heartbeat,
    NewView,
    Settlement,
    StateConfirmed,
    StateProgress,
    Stranger,
    Suspicion,
)
from ringcast.core.control_line import ControlLine
from ringcast.core.effects import Beat, Drop, Effect, Excluded, Install, Left, Probe, StateOver, Unicast
from ringcast.core.failure import AskIfAlive, AssureAlive, FailureDetector, HeartbeatTo, SlowPeer, Unsuspect
from ringcast.core.failure import Decision as Finding
from ringcast.core.failure import Suspect as Suspected
from ringcast.core.membership import (
    AcceptMerge,
    Adopt,
    CancelHeld,
    Chance,
    Digested,
    FillTo,
    Hold,
    Membership,
    RejectMerge,
    Release,
    Resumed,
    Ring,
    Say,
    StartMerge,
    Steps,
    Tell,
    UnwatchLeader,
    WatchLeader,
)
from ringcast.core.merging import Merging
from ringcast.core.multicast import GroupStream
from ringcast.core.order_line import OrderLine
from ringcast.core.packets import Loose, Run
from ringcast.core.state_line import StateLine
from ringcast.model import Address, Config, Event, View


class Body(Protocol):
    """The node whose social half this is."""

    me: Address
    config: Config
    largest_whole: int
    order: OrderLine

    @property
    def has_group(self) -> bool: ...

    @property
    def group(self) -> GroupStream: ...

    def on_view(
        self,
        now_ns: int,
        view: View,
        offsets: Mapping[Address, int],
        notes: Mapping[str, object],
        settlement: Settlement,
    ) -> list[Effect]: ...

    def wake(self, now_ns: int) -> None: ...


class Society:
    """One member's organs of membership, and how they move its streams."""

    def __init__(
        self,
        body: Body,
        chance: Chance,
        line: ControlLine,
        *,
        expect: int,
        observer: bool,
        with_state: bool,
        beats: bool,
    ) -> None:
        self.me = body.me
        self.config = body.config
        self.line = line
        self.membership = Membership(
            self.me, self.config, chance, expect=expect, observer=observer, with_state=with_state
        )
        self.detector = FailureDetector(self.me, self.config)
        self.merging = Merging(self.me, self.config, chance, self.membership)
        self.state = StateLine(self.me, self.config, body.largest_whole)
        self.state.wants = with_state
        self._told_progress_ns = 0
        self.progress = 0  # turns of the core loop, told in heartbeats
        self._body = body
        self._beats = beats
        self._beat_to: tuple[Address, ...] = ()
        self._beat_ns: int | None = None
        self._do: dict[type, Callable[[int, Any], list[Effect]]] = {
            Say: self._say,
            Tell: self._tell,
            Ring: self._ring,
            Hold: self._hold,
            FillTo: self._fill,
            Release: self._release,
            Adopt: self._adopt,
            # what the view handler decided about a merge
            StartMerge: self._start_merge,
            AcceptMerge: self._accept_merge,
            RejectMerge: self._reject_merge,
            CancelHeld: self._cancel_held,
            Digested: self._digested,
            WatchLeader: self._watch_leader,
            UnwatchLeader: self._unwatch_leader,
            Resumed: self._nothing,
            Left: self._pass_on,
            Excluded: self._pass_on,
            Drop: self._pass_on,
            Event: self._pass_on,
            # what the failure detector found
            AskIfAlive: self._ask_if_alive,
            AssureAlive: self._assure_alive,
            Suspected: self._suspected,
            Unsuspect: self._unsuspect,
            HeartbeatTo: self._heartbeat_to,
            SlowPeer: self._nothing,
        }

    @property
    def view(self) -> View | None:
        return self._body.group.view if self._body.has_group else None

    # ---- facts

    def begin(self, now_ns: int) -> list[Effect]:
        return self.carry_out(now_ns, self.membership.begin(now_ns))

    def on_discovered(self, now_ns: int, endpoints: Iterable[str]) -> list[Effect]:
        endpoints = list(endpoints)
        self.merging.on_found(endpoints)
        return self.carry_out(now_ns, self.membership.on_discovered(now_ns, endpoints))

    def leave(self, now_ns: int) -> list[Effect]:
        return self.carry_out(now_ns, self.membership.leave(now_ns))

    def on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        """Control messages, as they came."""
        out, messages = self.line.on_run(now_ns, sender, run)
        for message in messages:
            out += self.on_message(now_ns, sender, message)
        return out

    def on_message(self, now_ns: int, sender: Address, message: Control) -> list[Effect]:
        match message:
            case Heartbeat():
                found = self.detector.on_heartbeat(now_ns, sender, message.progress)
                out = self.carry_out(now_ns, found) + self._on_claim(sender, message)
                return out + self.carry_out(now_ns, self.merging.on_announced(now_ns, sender, message))
            case AreYouThere():
                return [Unicast(sender, Loose(self.heartbeat()))]
            case Suspicion():
                return self.carry_out(now_ns, self.detector.on_told(now_ns, sender, message.members))
            case Ask():
                return self._on_ask(now_ns, sender, message)
            case StateConfirmed():
                return self._on_state_confirmed(now_ns, sender, message)
            case Announce() if self.view is not None:
                return self.carry_out(now_ns, self.merging.on_announced(now_ns, sender, message))
        steps = self.merging.on_message(now_ns, sender, message)
        if steps is None:
            steps = self.membership.on_message(now_ns, sender, message)
        return self.carry_out(now_ns, steps)

    def _on_ask(self, now_ns: int, sender: Address, ask: Ask) -> list[Effect]:
        out: list[Effect] = []
        if ask.merge_id is None and not self.membership.may_lead(sender):
            # It thinks that all before it are dead, and we do not: see for ourselves, for it will ask again.
            out += self.carry_out(now_ns, self.detector.on_told(now_ns, sender, ask.going))
        why = self.merging.objection(now_ns, ask) if self.membership.would_answer(sender, ask) else None
        if why is not None:
            return out + self.carry_out(now_ns, self.membership.refuse(now_ns, sender, ask, why))
        return out + self.carry_out(now_ns, self.membership.on_message(now_ns, sender, ask))

    def _on_claim(self, sender: Address, heartbeat: Heartbeat) -> list[Effect]:
        """A heartbeat names the sender's view: a member has shown it, a stranger learns that it is none of us."""
        view = self.view
        if view is None or heartbeat.view is None:
            return []
        if sender in view:
            if heartbeat.view == view.id:
                self._body.group.on_shown(sender)
            return []
        return [Unicast(sender, Loose(Stranger(view.id)))] if heartbeat.view < view.id else []

    # ---- state

    def on_state_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        out = self.state.on_run(now_ns, sender, run)
        if self.state.getting is not None and now_ns - self._told_progress_ns > self.config.state_patience_ns // 4:
            self._told_progress_ns = now_ns
            out += self._to_members(now_ns, StateProgress())
        failed = next((e.error for e in out if isinstance(e, StateOver) and e.joiner == self.me), None)
        return out if failed is None else out + self.on_state_loaded(now_ns, failed)

    def on_state_loaded(self, now_ns: int, error: str | None) -> list[Effect]:
        """The joiner's application holds the state; or it never will."""
        return self._to_members(now_ns, StateConfirmed(error or ""))

    def _to_members(self, now_ns: int, message: Control) -> list[Effect]:
        members = () if self.view is None else self.view.members
        steps: Steps = [Say(member, message) for member in members]
        return self.carry_out(now_ns, steps)

    def _on_state_confirmed(self, now_ns: int, sender: Address, confirmed: StateConfirmed) -> list[Effect]:
        out = self.carry_out(now_ns, self.membership.on_message(now_ns, sender, confirmed))
        if confirmed.error and self.state.giving.pop(sender, None) is not None:
            out.append(StateOver(sender, confirmed.error))
        return out

    def after_packet(self, now_ns: int, sender: Address, out: list[Effect]) -> list[Effect]:
        """Whatever it was: its sender lives, and it may have filled us up."""
        heard = self.detector.on_heard(now_ns, sender)
        if heard:
            out = out + self.carry_out(now_ns, heard)
        return out + self._progress(now_ns) if self._is_filling else out

    @property
    def _is_filling(self) -> bool:
        return self._body.has_group and self._body.group.is_filled

    def _progress(self, now_ns: int) -> list[Effect]:
        return self._body.order.on_progress(now_ns) + self.carry_out(now_ns, self.membership.on_progress())

    # ---- steps

    def carry_out(self, now_ns: int, steps: Steps | list[Finding]) -> list[Effect]:
        out: list[Effect] = []
        for step in steps:
            do = self._do.get(type(step))
            if do is not None:
                out += do(now_ns, step)
            else:
                out += self.carry_out(now_ns, self.membership.on_step(now_ns, step))  # type: ignore[arg-type]
        return out

    def _say(self, now_ns: int, step: Say) -> list[Effect]:
        if step.to == self.me:
            return self.on_message(now_ns, self.me, step.message)
        said = self.line.say(now_ns, step.to, step.message)
        self._body.wake(now_ns)
        if said is None:
            full = Drop("the control ring to a peer is full", step.to)
            return [full, *self.carry_out(now_ns, self.detector.on_unreachable(now_ns, step.to))]
        return said

    def _tell(self, now_ns: int, step: Tell) -> list[Effect]:
        return [Unicast(step.to, Loose(step.message))]

    def _ring(self, now_ns: int, step: Ring) -> list[Effect]:
        return [Probe(step.endpoint, Loose(step.message))]

    def _hold(self, now_ns: int, step: Hold) -> list[Effect]:
        self._body.wake(now_ns)
        self._body.order.hold(step.going)
        return []

    def _fill(self, now_ns: int, step: FillTo) -> list[Effect]:
        out = self._body.order.fill(now_ns, step.cuts, step.sources, step.settlement)
        return out + (self._progress(now_ns) if self._is_filling else [])

    def _release(self, now_ns: int, step: object) -> list[Effect]:
        return self._body.order.release(now_ns) + self.carry_out(now_ns, self.merging.on_released(now_ns))

    def _adopt(self, now_ns: int, step: Adopt) -> list[Effect]:
        message: NewView = step.message
        previous, view = self.view, message.view
        offsets = {member: entry.delivered for member, entry in message.digest.items()}
        notes: dict[str, object] = {"digest": [[list(m), *entry] for m, entry in message.digest.items()]}
        if message.merge_id is not None:
            notes["merge_id"] = str(message.merge_id)
        out = self._body.on_view(now_ns, view, offsets, notes, message.settlement)
        behind_view = next(at for at, effect in enumerate(out, 1) if isinstance(effect, Install))
        out[behind_view:behind_view] = self.state.on_view(now_ns, message)
        self.line.on_view(previous, view)
        out += self.carry_out(now_ns, self.detector.on_view(now_ns, view))
        out += self.carry_out(now_ns, self.membership.on_adopted(now_ns, message, self._body.order))
        return out + self.carry_out(now_ns, self.merging.on_view(now_ns, view))

    def _pass_on(self, now_ns: int, step: Effect) -> list[Effect]:
        return [step]

    def _nothing(self, now_ns: int, step: object) -> list[Effect]:
        return []

    # ---- the view handler's decisions about a merge

    def _start_merge(self, now_ns: int, decision: StartMerge) -> list[Effect]:
        return self.carry_out(now_ns, self.merging.on_start(now_ns, decision))

    def _accept_merge(self, now_ns: int, decision: AcceptMerge) -> list[Effect]:
        return self.carry_out(now_ns, self.merging.on_accept(now_ns, decision))

    def _reject_merge(self, now_ns: int, decision: RejectMerge) -> list[Effect]:
        return self.carry_out(now_ns, self.merging.on_reject(now_ns, decision))

    def _cancel_held(self, now_ns: int, decision: CancelHeld) -> list[Effect]:
        return self.carry_out(now_ns, self.merging.on_cancel_held(now_ns, decision))

    def _digested(self, now_ns: int, outcome: Digested) -> list[Effect]:
        return self.carry_out(now_ns, self.merging.on_digested(now_ns, outcome))

    def _watch_leader(self, now_ns: int, decision: WatchLeader) -> list[Effect]:
        self.detector.watch(now_ns, decision.leader)
        return []

    def _unwatch_leader(self, now_ns: int, decision: UnwatchLeader) -> list[Effect]:
        self.detector.unwatch(decision.leader)
        return []

    # ---- the failure detector's findings

    def _ask_if_alive(self, now_ns: int, finding: AskIfAlive) -> list[Effect]:
        return [Unicast(finding.peer, Loose(AreYouThere()))]

    def _assure_alive(self, now_ns: int, finding: AssureAlive) -> list[Effect]:
        return [Unicast(finding.to, Loose(self.heartbeat()))]

    def _suspected(self, now_ns: int, finding: Suspected) -> list[Effect]:
        out: list[Effect] = []
        for member in finding.tell:
            out += self._say(now_ns, Say(member, Suspicion((finding.peer,))))
        out += self.carry_out(now_ns, self.merging.on_suspect(now_ns, finding.peer))
        steps = self.membership.suspect(now_ns, finding.peer, str(finding.reason), final=False)
        return out + self.carry_out(now_ns, steps)

    def _unsuspect(self, now_ns: int, finding: Unsuspect) -> list[Effect]:
        self.membership.withdraw(finding.peer)
        return []

    def _heartbeat_to(self, now_ns: int, finding: HeartbeatTo) -> list[Effect]:
        self._beat_to = finding.peers
        if not self._beats:
            return [Beat(finding.peers)]
        self._beat_ns = now_ns
        return []

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(None if self.view is None else self.view.id, self.progress)

    def _beat(self, now_ns: int) -> list[Effect]:
        if self._beat_ns is None or now_ns < self._beat_ns:
            return []
        self._beat_ns = now_ns + self.config.heartbeat_ns
        return [Unicast(peer, Loose(self.heartbeat())) for peer in self._beat_to]

    # ---- time

    def deadline_ns(self) -> int | None:
        if self.membership.is_over:
            return None
        parts = (self.membership, self.detector, self.merging)
        due = [self._beat_ns, *(part.deadline_ns() for part in parts)]
        return min((deadline for deadline in due if deadline is not None), default=None)

    def on_time(self, now_ns: int) -> list[Effect]:
        if self.membership.is_over:
            return []
        self.progress += 1
        out = self._beat(now_ns)
        out += self.carry_out(now_ns, self.detector.on_time(now_ns))
        out += self.carry_out(now_ns, self.membership.on_time(now_ns))
        return out + self.carry_out(now_ns, self.merging.on_time(now_ns))

    @property
    def is_idle(self) -> bool:
        return self.line.streams.is_idle and self.state.streams.is_idle

    def on_interval(self, now_ns: int) -> list[Effect]:
        return self.line.on_interval(now_ns, self.view) + self.state.on_interval(now_ns)

    def check(self) -> None:
        self.line.streams.check()
        self.state.streams.check()
