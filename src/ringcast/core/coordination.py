"""The part of a node that deals with the other members: membership, failure detection, merge, state transfer.

Each component returns steps; here they are carried out, depth first and in order, so that a coordinator has installed a
view before its message to anybody else exists. A message to oneself is handled at once. Exists only in a node that
joins by itself; a node with a fixed view needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ringcast.core.admission import takes_message
from ringcast.core.control import (
    Announce,
    Ask,
    Busy,
    Cancel,
    Control,
    Heartbeat,
    Join,
    NewView,
    ReunionFailed,
    StateConfirmed,
    StateProgress,
    Stranger,
    Suspicion,
)
from ringcast.core.control.declaration import Carrier, Sender, State
from ringcast.core.control_streams import ControlStreams
from ringcast.core.deadlines import earliest
from ringcast.core.effects import (
    Beat,
    Drop,
    Effect,
    Excluded,
    Freed,
    Install,
    KeepMark,
    Left,
    Probe,
    Refused,
    SendReliable,
    Unicast,
    Warn,
)
from ringcast.core.entrance import Entrance
from ringcast.core.failure import Decision, FailureDetector, Suspect, Unsuspect
from ringcast.core.membership import (
    AcceptMerge,
    Adopt,
    CancelHeld,
    Digested,
    FillTo,
    Hold,
    Membership,
    RandomSource,
    RejectMerge,
    Release,
    StartMerge,
    Steps,
    UnwatchLeader,
    WatchLeader,
)
from ringcast.core.merging import Merging
from ringcast.core.multicast import OutsideBudget
from ringcast.core.packets import Loose, Run
from ringcast.core.state.exchange import StateExchange, Told
from ringcast.model import Address, Event, View

if TYPE_CHECKING:
    from ringcast.core.node import Node

_CLAIMS = (Heartbeat, Announce)  # messages in which a process names its view
_FOR_THE_DRIVER = (Unicast, Probe, Beat, KeepMark, Freed, Left, Refused, Excluded, Drop, Warn, Event)


class Coordination:
    """Routes control messages to the components, and carries out the steps that they return."""

    def __init__(self, node: Node, random: RandomSource, control: ControlStreams, entrance: Entrance) -> None:
        self.me = node.me
        self.config = node.config
        self.control = control
        self.membership = Membership(self.me, self.config, random, entrance)
        self._early_ask: tuple[Address, Ask] | None = None  # of a roll call on a later view than ours
        self.detector = FailureDetector(self.me, self.config, beats=entrance.beats)
        self.readmission = self.detector.readmission
        self.merging = Merging(self.me, self.config, random, self.membership, self.readmission)
        self.exchange = StateExchange(
            self.me,
            self.config,
            node.largest_whole,
            self.membership,
            lambda: () if self.view is None else self.view.members,
            entrance,
        )
        self.state = self.exchange.state
        self._outside = OutsideBudget(lambda peer: self.view is None or peer not in self.view)
        self.control.streams.budget = self.state.streams.budget = self._outside
        self._node = node
        self._is_moved = True  # since the deadlines were looked for, something was done that may have moved one
        self._deadline_ns: int | None = None
        self._business_ns: int | None = None  # the deadline without failure detection
        self._do: dict[type, Callable[[int, Any], list[Effect]]] = {
            SendReliable: self._send,
            Hold: self._hold,
            FillTo: self._fill,
            Release: self._release,
            Adopt: self._adopt,
            # what the view handler decided about a merge
            StartMerge: self._through(self.merging.on_start),
            AcceptMerge: self._through(self.merging.on_accept),
            RejectMerge: self._through(self.merging.on_reject),
            CancelHeld: self._through(self.merging.on_cancel_held),
            Digested: self._through(self.merging.on_digested),
            WatchLeader: self._watch_leader,
            UnwatchLeader: self._unwatch_leader,
            **dict.fromkeys(_FOR_THE_DRIVER, self._pass_on),
        }

    @property
    def view(self) -> View | None:
        return self._node.group.view if self._node.has_group else None

    # ---- facts

    def begin(self, now_ns: int) -> list[Effect]:
        return self.carry_out(now_ns, self.membership.begin(now_ns))

    def on_discovered(self, now_ns: int, endpoints: Iterable[str], is_all: bool) -> list[Effect]:
        endpoints = list(endpoints)
        self._is_moved = True
        self.merging.on_found(endpoints)
        return self.carry_out(now_ns, self.membership.on_discovered(now_ns, endpoints, is_all))

    def leave(self, now_ns: int) -> list[Effect]:
        return self.carry_out(now_ns, self.membership.leave(now_ns))

    def suspect(self, now_ns: int, member: Address) -> list[Effect]:
        return self._carry_out_found(now_ns, self.detector.suspect(now_ns, member))

    def on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        """Control messages, as they came."""
        out, messages = self.control.on_run(now_ns, sender, run)
        for message in messages:
            if takes_message(message, Carrier.STREAM, self.who_is(sender), self.admission_state):
                out += self.on_message(now_ns, sender, message)
            else:
                out.append(Drop(f"{type(message).__name__}, not taken from this process now", sender))
        return out

    def who_is(self, sender: Address) -> Sender:
        view, joiner = self.view, self.membership.joiner
        if view is not None:
            return Sender.MEMBER if sender in view else Sender.OUTSIDER
        return Sender.FOUND if joiner is not None and joiner.has_found(sender) else Sender.OUTSIDER

    @property
    def admission_state(self) -> State:
        if self.view is None:
            return State.LOOKING
        return State.PROMISED if self.membership.is_promised else State.IN_VIEW

    def on_message(self, now_ns: int, sender: Address, message: Control) -> list[Effect]:
        """Given to the component that takes it."""
        self._is_moved = True
        if isinstance(message, Ask):
            return self._on_ask(now_ns, sender, message)
        if isinstance(message, Cancel) and self._early_ask is not None:
            asker, ask = self._early_ask
            self._early_ask = None if asker == sender and ask.id <= message.id else self._early_ask
        if isinstance(message, Join) and self.view is not None and self.readmission.is_held(now_ns, sender):
            return self.carry_out(now_ns, [SendReliable(sender, Busy())])
        if isinstance(message, StateConfirmed):
            out = self.carry_out(now_ns, self.membership.on_message(now_ns, sender, message))
            return out + self.exchange.on_confirmed(sender, message)
        if isinstance(message, ReunionFailed):
            return self._say_and_do(now_ns, self.exchange.on_failed(now_ns, sender, message))
        if isinstance(message, StateProgress):
            self.exchange.on_progress(now_ns, sender)
        if self.view is not None and isinstance(message, _CLAIMS):
            return self._on_claim(now_ns, sender, message)
        found = self.detector.on_message(now_ns, sender, message)
        if found is not None:
            return self._carry_out_found(now_ns, found)
        steps = self.merging.on_message(now_ns, sender, message)
        if steps is not None:
            return self.carry_out(now_ns, steps)
        return self.carry_out(now_ns, self.membership.on_message(now_ns, sender, message))

    def _on_ask(self, now_ns: int, sender: Address, ask: Ask) -> list[Effect]:
        out: list[Effect] = []
        if ask.merge_id is None and self.who_is(sender) is Sender.MEMBER and not self.membership.may_lead(sender):
            # It thinks that all before it are dead, and we do not: see for ourselves, for it will ask again.
            out += self._carry_out_found(now_ns, self.detector.on_told(now_ns, sender, ask.going))
        if self.view is not None and ask.id.base > self.view.id:
            self._early_ask = (sender, ask)
        why = self.merging.objection(now_ns, ask) if self.membership.would_answer(sender, ask) else None
        if why is not None:
            return out + self.carry_out(now_ns, self.membership.refuse(now_ns, sender, ask, why))
        return out + self.carry_out(now_ns, self.membership.on_message(now_ns, sender, ask))

    def _on_claim(self, now_ns: int, sender: Address, claim: Heartbeat | Announce) -> list[Effect]:
        """It names its view: a member has shown it, a stranger learns that it is none of us, a merge may be due."""
        out = self._carry_out_found(now_ns, self.detector.on_message(now_ns, sender, claim) or [])
        view = self.view
        if view is not None and sender in view and claim.view == view.id:
            self._node.group.on_shown(sender)
        elif view is not None and isinstance(claim, Heartbeat) and claim.view is not None and sender not in view:
            out += [Unicast(sender, Loose(Stranger(view.id)))] if claim.view < view.id else []
        return out + self.carry_out(now_ns, self.merging.on_announced(now_ns, sender, claim))

    # ---- state

    def on_state_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        return self._say_and_do(now_ns, self.exchange.on_run(now_ns, sender, run))

    def on_state_loaded(self, now_ns: int, error: str | None) -> list[Effect]:
        """The joiner's application holds the state; or it never will."""
        return self.carry_out(now_ns, self.exchange.on_loaded(error))

    def on_states_merged(self, now_ns: int, error: str | None) -> list[Effect]:
        """The merger's application made one state of those of all sides; or it could not."""
        return self._say_and_do(now_ns, self.exchange.on_states_merged(now_ns, error))

    def _say_and_do(self, now_ns: int, told: Told) -> list[Effect]:
        self._is_moved = True
        return told[0] + self.carry_out(now_ns, told[1])

    def on_mark_kept(self, now_ns: int, number: int) -> list[Effect]:
        """The mark of this number, or a later one, outlives the process now."""
        return self.carry_out(now_ns, self.membership.on_mark_kept(number))

    def after_packet(self, now_ns: int, sender: Address, out: list[Effect]) -> list[Effect]:
        """Whatever it was: its sender lives, and it may have filled us up."""
        heard = self.detector.on_heard(now_ns, sender)
        if heard:
            steps = self._steps_of(now_ns, heard)
            out = out + self.carry_out(now_ns, steps) if steps else out
        return out + self._progress(now_ns) if self._is_filling else out

    @property
    def _is_filling(self) -> bool:
        return self._node.has_group and self._node.group.is_filled

    def _progress(self, now_ns: int) -> list[Effect]:
        return self._node.order.on_progress(now_ns) + self.carry_out(now_ns, self.membership.on_progress())

    # ---- steps

    def _carry_out_found(self, now_ns: int, found: list[Decision]) -> list[Effect]:
        return self.carry_out(now_ns, self._steps_of(now_ns, found))

    def _steps_of(self, now_ns: int, found: list[Decision]) -> Steps:
        """What the failure detector found out, with what follows from each suspicion."""
        out: Steps = []
        for finding in found:
            if isinstance(finding, Suspect):
                out += [SendReliable(member, Suspicion((finding.peer,))) for member in finding.tell]
                out += self.merging.on_suspect(now_ns, finding.peer)
                out += self.membership.suspect(now_ns, finding.peer, str(finding.reason), final=False)
            elif isinstance(finding, Unsuspect):
                self.membership.withdraw(finding.peer)
            else:
                out.append(finding)
        return out

    def carry_out(self, now_ns: int, steps: Steps) -> list[Effect]:
        self._is_moved = True
        out: list[Effect] = []
        for step in steps:
            do = self._do.get(type(step))
            if do is not None:
                out += do(now_ns, step)
            else:
                out += self.carry_out(now_ns, self.membership.on_step(now_ns, step))
        return out

    def _send(self, now_ns: int, step: SendReliable) -> list[Effect]:
        if step.to == self.me:
            return self.on_message(now_ns, self.me, step.message)
        sent = self.control.send(now_ns, step.to, step.message)
        self._node.wake(now_ns)
        if sent is None:
            full = Drop("the control ring to a peer is full", step.to)
            return [full, *self._carry_out_found(now_ns, self.detector.on_unreachable(now_ns, step.to))]
        return sent

    def _hold(self, now_ns: int, step: Hold) -> list[Effect]:
        self._node.wake(now_ns)
        self._node.order.hold(step.going)
        return []

    def _fill(self, now_ns: int, step: FillTo) -> list[Effect]:
        out = self._node.order.fill(now_ns, step.cuts, step.sources, step.settlement)
        return out + (self._progress(now_ns) if self._is_filling else [])

    def _release(self, now_ns: int, step: object) -> list[Effect]:
        out = self._node.order.release(now_ns) + self.carry_out(now_ns, self.merging.on_released(now_ns))
        return out + self._say_and_do(now_ns, self.exchange.on_free(now_ns))

    def _adopt(self, now_ns: int, step: Adopt) -> list[Effect]:
        message: NewView = step.message
        previous, view = self.view, message.view
        offsets = {member: entry.delivered for member, entry in message.digest.items()}
        out = self._node.on_view(now_ns, view, offsets, message.notes, message.settlement)
        behind_view = next(at for at, effect in enumerate(out, 1) if isinstance(effect, Install))
        states, said = self.exchange.on_view(now_ns, message)
        out[behind_view:behind_view] = states
        self._outside.on_view()
        out += self.control.on_view(now_ns, previous, view) + self.state.on_departed(now_ns, previous, view)
        out += self._carry_out_found(now_ns, self.detector.on_view(now_ns, view))
        suspects = self.detector.suspects
        out += self.carry_out(now_ns, self.membership.on_adopted(now_ns, message, self._node.order, suspects))
        out += self.carry_out(now_ns, self.merging.on_view(now_ns, view, message.left))
        out += self.carry_out(now_ns, said)
        return out + self._answer_early(now_ns, view)

    def _answer_early(self, now_ns: int, view: View) -> list[Effect]:
        """The roll call on this view that came before the view; its asker was told that we were behind."""
        early = self._early_ask
        if early is None or early[1].id.base > view.id:
            return []
        self._early_ask = None
        return self._on_ask(now_ns, *early) if early[1].id.base == view.id else []

    def _pass_on(self, now_ns: int, step: Effect) -> list[Effect]:
        return [step]

    # ---- the view handler's decisions about a merge

    def _through(self, decide: Callable[[int, Any], Steps]) -> Callable[[int, Any], list[Effect]]:
        """Ask this component, and carry out what it returns."""
        return lambda now_ns, step: self.carry_out(now_ns, decide(now_ns, step))

    def _watch_leader(self, now_ns: int, decision: WatchLeader) -> list[Effect]:
        self.detector.watch(now_ns, decision.leader)
        return []

    def _unwatch_leader(self, now_ns: int, decision: UnwatchLeader) -> list[Effect]:
        self.detector.unwatch(decision.leader)
        return []

    # ---- time

    def deadline_ns(self) -> int | None:
        """Kept from fact to fact. Hearing from a member only puts it off, and a deadline that is early does no harm."""
        if self._is_moved or self.detector.is_moved:
            self._is_moved = self.detector.is_moved = False
            self._business_ns, self._deadline_ns = self._find_deadlines()
        return self._deadline_ns

    def _find_deadlines(self) -> tuple[int | None, int | None]:
        if self.membership.is_over:
            return None, None
        business = earliest(
            self.membership.deadline_ns(), self.merging.deadline_ns(), self.exchange.reunion.deadline_ns
        )
        return business, earliest(business, self.detector.heartbeats.due_ns, self.detector.deadline_ns())

    def on_time(self, now_ns: int) -> list[Effect]:
        self.deadline_ns()
        is_due = self._business_ns is not None and now_ns >= self._business_ns
        out: list[Effect] = []
        if not self.membership.is_over:
            beats = self.detector.heartbeats.on_time(now_ns)
            steps = [*beats, *self._steps_of(now_ns, self.detector.on_time(now_ns))]
            if steps:
                out += self.carry_out(now_ns, steps)
                is_due = True  # It may have given the others something to do at once.
        self._is_moved = True
        if not is_due and self.membership.joiner is None and not self.membership.is_over:
            return out  # Founding has no deadline of its own: a joiner considers it every time.
        for part in (self.membership, self.merging):
            if not self.membership.is_over:
                out += self.carry_out(now_ns, part.on_time(now_ns))
        return out + self._say_and_do(now_ns, self.exchange.on_time(now_ns))

    @property
    def progress(self) -> int:
        """Turns of the core loop, for heartbeats that a driver sends."""
        return self.detector.heartbeats.progress

    @property
    def is_idle(self) -> bool:
        return self.control.streams.is_idle and self.state.streams.is_idle

    def on_interval(self, now_ns: int) -> list[Effect]:
        return self.control.on_interval(now_ns, self.view) + self.state.on_interval(now_ns, self.view)

    def check(self) -> None:
        self.control.streams.check()
        self.state.streams.check()
        kept_ns, (_, true_ns) = self.deadline_ns(), self._find_deadlines()
        assert kept_ns == true_ns or (kept_ns is not None and (true_ns is None or kept_ns < true_ns)), (
            kept_ns,
            true_ns,
        )
