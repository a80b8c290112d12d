"""The part of a node that deals with the other members: membership, failure detection, merge, state transfer.

It routes each control message to the component that takes it, and implements the ports through which components call
each other. What they return is sent here, depth first and in order; a message to oneself is handled at once. Exists
only in a node that joins by itself; a node with a fixed view needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from ringcast.core.admission import takes
from ringcast.core.control import (
    NO_STATE,
    Announce,
    AreYouThere,
    Ask,
    AskAbout,
    AskEcho,
    Busy,
    Cancel,
    Control,
    Echo,
    Heard,
    Heartbeat,
    Join,
    MergeId,
    NewView,
    ReunionFailed,
    Settlement,
    Source,
    Standing,
    StateConfirmed,
    StateProgress,
    Stranger,
    Suspicion,
    Unheard,
)
from ringcast.core.control.declaration import Sender, State
from ringcast.core.control.streams import ControlStreams
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import Drop, Effect, Install, Left, SendReliable, send_once
from ringcast.core.entrance import Entrance, RandomSource
from ringcast.core.failure import FailureDetector, Reason
from ringcast.core.membership import Membership
from ringcast.core.membership.roll_call import Digested
from ringcast.core.merging import Merging
from ringcast.core.multicast import OutsideBudget
from ringcast.core.packets import Run
from ringcast.core.state.exchange import StateExchange
from ringcast.core.steps import Steps, Then, Until
from ringcast.model import Address, View

if TYPE_CHECKING:
    from ringcast.core.node import Node


class Coordination:
    """Routes control messages to the components, and carries out the steps that they return."""

    def __init__(self, node: Node, random: RandomSource, control: ControlStreams, entrance: Entrance) -> None:
        self.me = node.me
        self.config = node.config
        self.control = control
        self.deadlines = Deadlines()
        parts = (node.order, self, self, entrance, self.deadlines.part())
        self.membership = Membership(self.me, self.config, random, *parts)
        self._early_ask: tuple[Address, Ask] | None = None  # of a roll call on a later view than ours
        self.detector = FailureDetector(self.me, self.config, self, self.deadlines.part(), beats=entrance.beats)
        self.detector.given_up = self.membership.suspicions.final
        self.detector.awaited = self._awaited_acks
        self.readmission = self.detector.readmission
        known = (self.membership, self.readmission, self, self.deadlines.part())
        self.merging = Merging(self.me, self.config, random, *known)
        self.exchange = StateExchange(
            self.me,
            self.config,
            node.largest_whole,
            self.membership,
            lambda: self.view,
            entrance,
            self.deadlines.part(),
        )
        self.state = self.exchange.state
        self._outside = OutsideBudget(lambda peer: self.view is None or peer not in self.view)
        self.control.streams.budget = self.state.streams.budget = self._outside
        self._node = node
        self._taken_by = self._takers()

    @property
    def view(self) -> View | None:
        return None if (group := self._node._group) is None else group.view

    def _awaited_acks(self) -> Iterable[tuple[Address, int, int]]:
        """Members that owe an ack: on which stream, and how far they have acked it."""
        group = self._node._group
        if group is None:
            return
        if group.outgoing.window.occupancy:
            for member in group.outgoing.acks.laggards():
                if member != self.me:
                    yield member, 0, group.outgoing.acks.get(member) or 0
        for number, streams in enumerate((self._node.peers, self.control.streams, self.state.streams), 1):
            for peer, stream in streams.outgoing.items():
                if stream.window.occupancy and peer in group.view:
                    yield peer, number, stream.window.low

    # ---- facts

    def on_discovered(self, now_ns: int, endpoints: Iterable[str], is_all: bool) -> list[Effect]:
        endpoints = list(endpoints)
        self.merging.on_found(endpoints)
        return self.carry_out(now_ns, self.membership.on_discovered(now_ns, endpoints, is_all))

    def on_run(self, now_ns: int, sender: Address, run: Run) -> list[Effect]:
        """Control messages, as they came."""
        out, messages = self.control.on_run(now_ns, sender, run)
        for message in messages:
            if takes(message, self.who_is(sender), self.admission_state):
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
        """Give a message to the component that takes it. Whether it is taken at all was asked before (`takes`)."""
        take = self._taken_by.get(type(message))
        return [] if take is None else self.carry_out(now_ns, take(now_ns, sender, message))

    def _takers(self) -> dict[type, Callable[[int, Address, Any], Steps]]:
        """Which component takes which control message; those below the first lines concern more than one."""
        return {
            **self.membership.routes,
            **self.merging.routes,
            Suspicion: lambda now_ns, sender, told: self.detector.on_told(now_ns, sender, told.members),
            Unheard: self.detector.on_rows,
            AskEcho: lambda now_ns, sender, asked: [send_once(sender, Echo())],
            Echo: self._on_echo,
            AskAbout: lambda now_ns, sender, asked: self.detector.on_asked_about(now_ns, sender, asked.peer),
            Heard: lambda now_ns, sender, heard: self.detector.on_vouched(now_ns, sender, heard.peer),
            ReunionFailed: self.exchange.on_failed,
            AreYouThere: self._on_question,
            Heartbeat: self._on_claim,
            Announce: self._on_claim,
            Ask: self._on_ask,
            Cancel: self._on_cancel,
            Join: self._on_join,
            StateConfirmed: self._on_state_confirmed,
            StateProgress: self._on_state_progress,
        }

    def _on_question(self, now_ns: int, sender: Address, question: AreYouThere) -> Steps:
        out: Steps = [send_once(sender, self.detector.heartbeats.heartbeat())]
        if self.view is not None and sender not in self.view:
            out.append(send_once(sender, Stranger(self.view.id)))  # It may take us for a member.
        return out

    def _on_echo(self, now_ns: int, sender: Address, echo: Echo) -> Steps:
        self.detector.on_echo(now_ns, sender)
        return []

    def _on_claim(self, now_ns: int, sender: Address, claim: Heartbeat | Announce) -> Steps:
        """Act on the view that the sender names: it has shown ours, learns that it is a stranger here, or is apart."""
        group = self._node._group
        found: Steps = []
        if isinstance(claim, Heartbeat):
            found = self.detector.on_heartbeat(now_ns, sender, claim.progress, claim.view)
        if group is None:
            return found if isinstance(claim, Heartbeat) else self.membership.on_message(now_ns, sender, claim)
        # Carried out first, because what is compared next depends on who is suspected.
        out: Steps = [*self.carry_out(now_ns, found)] if found else []
        view = group.view
        if claim.view == view.id and sender in view.ranks:
            if sender in group.departed.unshown:
                group.departed.on_shown(sender)
            if sender in self.merging.detection.agreed:
                return out  # what nearly every heartbeat says
        elif isinstance(claim, Heartbeat) and claim.view is not None and sender not in view:
            out += [send_once(sender, Stranger(view.id))] if claim.view < view.id else []
        return out + self.merging.on_announced(now_ns, sender, claim)

    def _on_ask(self, now_ns: int, sender: Address, ask: Ask) -> Steps:
        out: Steps = []
        if ask.merge_id is None and self.who_is(sender) is Sender.MEMBER and not self.membership.may_coordinate(sender):
            # The asker thinks that all before it are dead, and we do not: look for ourselves, for it will ask again.
            # Carried out first, because whom we suspect decides whether we answer.
            out += self.carry_out(now_ns, self.detector.on_told(now_ns, sender, ask.going))
        if self.view is not None and ask.id.base > self.view.id:
            self._early_ask = (sender, ask)
        return out + self.membership.on_message(now_ns, sender, ask)

    def _on_cancel(self, now_ns: int, sender: Address, cancel: Cancel) -> Steps:
        if self._early_ask is not None:
            asker, ask = self._early_ask
            self._early_ask = None if asker == sender and ask.id <= cancel.id else self._early_ask
        return self.membership.on_message(now_ns, sender, cancel)

    def _on_join(self, now_ns: int, sender: Address, join: Join) -> Steps:
        if self.view is not None and self.readmission.is_held(now_ns, sender):
            return [SendReliable(sender, Busy())]
        return self.membership.on_message(now_ns, sender, join)

    def _on_state_confirmed(self, now_ns: int, sender: Address, confirmed: StateConfirmed) -> Steps:
        # Carried out first, because the view handler may go on with what waited for this joiner.
        out: Steps = [*self.carry_out(now_ns, self.membership.on_message(now_ns, sender, confirmed))]
        return out + self.exchange.on_confirmed(sender, confirmed)

    def _on_state_progress(self, now_ns: int, sender: Address, progress: StateProgress) -> Steps:
        self.exchange.on_progress(now_ns, sender)
        return self.membership.on_message(now_ns, sender, progress)

    # ---- state

    @property
    def _is_exchanging(self) -> bool:
        """Is a state on its way to or from this member, or awaited, or one of its streams open? Else none is asked."""
        chunks, reunion, streams = self.state, self.exchange.reunion, self.state.streams
        is_open = bool(streams.outgoing or streams.incoming or chunks.giving or chunks.early)
        awaits = chunks.wants or chunks.joining is not None or self.exchange.early is not None
        return is_open or awaits or reunion.reunion is not None or reunion.reunited is not None

    def after_packet(self, now_ns: int, sender: Address, out: list[Effect]) -> list[Effect]:
        """Whatever it was: its sender lives, and it may have filled us up."""
        detector = self.detector
        health = detector.health.get(sender)
        if health is not None:
            if health.doubt is None and not health.is_unheard and sender not in detector.vouching.asked:
                health.heard_ns = now_ns  # what `on_heard` does for nearly every packet, without the call
            elif heard := detector.on_heard(now_ns, sender):
                out = out + self.carry_out(now_ns, heard)
        group = self._node._group
        if group is not None and group.departed.shown:
            out = out + self._tell_shown(now_ns)
        return out if group is None or group.standstill is None or not group.is_filled else out + self._progress(now_ns)

    def _tell_shown(self, now_ns: int) -> list[Effect]:
        """Who multicast or acked something in our view has it, also if its heartbeats are lost."""
        shown = self._node.group.departed.shown
        members = list(shown)
        shown.clear()
        out: list[Effect] = []
        for member in members:
            out += self.carry_out(now_ns, self.shown(now_ns, member))
        return out

    def _progress(self, now_ns: int) -> list[Effect]:
        return self._node.order.on_progress(now_ns) + self.carry_out(now_ns, self.membership.on_progress())

    # ---- steps

    def carry_out(self, now_ns: int, steps: Steps) -> list[Effect]:
        """Send what is to be sent and make the calls that wait for their turn; what is left is for the driver."""
        out: list[Effect] = []
        for step in steps:
            if type(step) is SendReliable:
                out += self._send(now_ns, step)
            elif type(step) is Then:
                out += self.carry_out(now_ns, step.call())
            else:
                if type(step) is Left:
                    self.membership.is_over = True
                out.append(cast(Effect, step))
        return out

    def _send(self, now_ns: int, step: SendReliable) -> list[Effect]:
        step = self.merging.relay(step)
        if step.to == self.me:
            return self.on_message(now_ns, self.me, step.message)
        sent = self.control.send(now_ns, step.to, step.message)
        self._node.wake(now_ns)
        if sent is None:
            full = Drop("the control ring to a peer is full", step.to)
            return [full, *self.carry_out(now_ns, self.detector.on_unreachable(now_ns, step.to))]
        return sent

    # ---- suspicions (`Verdicts`)

    def on_suspected(self, now_ns: int, peer: Address, reason: Reason, tell: tuple[Address, ...]) -> Steps:
        told: Steps = [SendReliable(member, Suspicion((peer,))) for member in tell]
        told += self.merging.on_suspected(now_ns, peer)
        return told + self.membership.suspect(now_ns, peer, str(reason), Until.HEARD)

    def on_cleared(self, peer: Address) -> Steps:
        self.membership.withdraw(peer)
        return []

    # ---- a roll call and its view, at this member (`ThisMember`)

    def standing(self) -> Standing:
        return self.exchange.standing if self._is_exchanging else NO_STATE

    def hold(self, now_ns: int, going: tuple[Address, ...]) -> None:
        self._node.wake(now_ns)
        self._node.order.hold(going)

    def fill(self, now_ns: int, cuts: dict[Address, int], sources: tuple[Source, ...], settlement: Settlement) -> Steps:
        out: Steps = [*self._node.order.fill(now_ns, cuts, sources, settlement)]
        return [*out, *self._progress(now_ns)] if self._node.group.is_filled else out

    def enter_merge(self, now_ns: int, merge_id: MergeId) -> str | None:
        return self.merging.enter(now_ns, merge_id)

    def release(self, now_ns: int) -> Steps:
        out: Steps = [*self._node.order.release(now_ns), *self.merging.on_released(now_ns)]
        return [*out, *self.exchange.on_free(now_ns)] if self._is_exchanging else out

    def install(self, now_ns: int, message: NewView) -> Steps:
        previous, view = self.view, message.view
        offsets = {member: entry.delivered for member, entry in message.digest.items()}
        out = self._node.on_view(now_ns, view, offsets, message.notes, message.settlement)
        behind_view = next(at for at, effect in enumerate(out, 1) if isinstance(effect, Install))
        for streams in (self._node.peers, self.control.streams, self.state.streams):
            streams.on_view(view)
        is_exchanging = self._is_exchanging or bool(message.transfers) or message.reunion is not None
        told = self.exchange.on_view(now_ns, message) if is_exchanging else []
        said: Steps = [step for step in told if isinstance(step, SendReliable)]
        states = [cast(Effect, step) for step in told if not isinstance(step, SendReliable)]
        # What ends with this view is told first: without a state the place may end with it too (seed 30465).
        out[behind_view:behind_view] = [*self._node.giving_up.on_view(now_ns, previous, view), *states]
        if self._outside.total:
            self._outside.on_view()
        out += self.control.on_view(now_ns, previous, view)
        if is_exchanging:
            out += self.state.on_departed(now_ns, previous, view)
        self.membership.suspicions.final.clear()  # The view settles them, before it is decided whom to watch.
        out += self.carry_out(now_ns, self.detector.on_view(now_ns, view))
        suspects = self.detector.suspects
        out += self.carry_out(now_ns, self.membership.on_installed(now_ns, message, suspects))
        out += self.carry_out(now_ns, self.merging.on_view(now_ns, view, message.left))
        out += self._tell_shown(now_ns)  # Runs of this view may have come before it.
        out += self.carry_out(now_ns, said)
        return [*out, *self._answer_early(now_ns, view)]

    def _answer_early(self, now_ns: int, view: View) -> list[Effect]:
        """The roll call on this view that came before the view; its asker was told that we were behind."""
        early = self._early_ask
        if early is None or early[1].id.base > view.id:
            return []
        self._early_ask = None
        return self.carry_out(now_ns, self._on_ask(now_ns, *early)) if early[1].id.base == view.id else []

    # ---- what a coordinator orders (`Neighbours`)

    def end_merge(self, now_ns: int, merge_id: MergeId, why: str) -> Steps:
        return self.merging.on_suspension_ended(now_ns, merge_id, why)

    def on_digested(self, now_ns: int, digested: Digested) -> Steps:
        return self.merging.on_digested(now_ns, digested)

    def shown(self, now_ns: int, member: Address) -> Steps:
        self.merging.detection.on_shown(member)
        was_late = member in self.membership.suspicions.late
        told = self.membership.on_shown(now_ns, member)
        return told + (self.detector.watch_ring(now_ns) if was_late else [])

    def watch(self, now_ns: int, leader: Address) -> None:
        self.detector.watch(now_ns, leader)

    def unwatch(self, leader: Address) -> None:
        self.detector.unwatch(leader)

    # ---- time

    def on_time(self, now_ns: int) -> list[Effect]:
        """Of each component, if it is due. A joiner always: founding a group has no deadline of its own."""
        out: list[Effect] = []
        is_joining = self.membership.joiner is not None
        if not self.membership.is_over:
            beats, found = self.detector.heartbeats.on_time(now_ns), self.detector.on_time(now_ns)
            out = self.carry_out(now_ns, [*beats, *found]) if beats or found else []
        first_ns = self.deadlines.first_ns
        if not is_joining and (first_ns is None or now_ns < first_ns):
            return out
        for part in (self.membership, self.merging):
            if not self.membership.is_over and (is_joining or part.deadlines.is_due(now_ns)):
                out += self.carry_out(now_ns, part.on_time(now_ns))
        if self.exchange.deadlines.is_due(now_ns):
            out += self.carry_out(now_ns, self.exchange.on_time(now_ns))
        return out

    @property
    def is_idle(self) -> bool:
        control, state = self.control.streams, self.state.streams
        return (control.is_quiet or control.is_idle) and (state.is_quiet or state.is_idle)

    def on_interval(self, now_ns: int) -> list[Effect]:
        control, state = self.control, self.state
        out: list[Effect] = []
        if not control.streams.is_quiet or control.giving_up.progress:
            out += control.on_interval(now_ns, self.view)
        if not state.streams.is_quiet or state.giving_up.progress or state.ends:
            out += state.on_interval(now_ns, self.view)
        return out

    def check(self) -> None:
        self.control.streams.check()
        self.state.streams.check()
        self.deadlines.check()
