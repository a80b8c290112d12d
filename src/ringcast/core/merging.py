"""How the components of a merge meet those of membership: detection, leader and participant with the view handler.

    detection ──MERGE──► handler ──start──► leader ──MERGE_REQ──► handlers ──accept──► participants
    participants ──GET_DIGEST: the roll call of each subgroup──► digests ──► leader ──MERGE_VIEW──► each subgroup

Every message of a merge goes on the control streams, also one to oneself. Nothing is decided here: this file tells the
others of each decision whom it concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ringcast.core.control import (
    Announce,
    Ask,
    AskView,
    CancelMerge,
    Control,
    Heartbeat,
    MergeCall,
    MergeDigest,
    MergeId,
    MergeReq,
    MergeRsp,
    MergeView,
    PrimaryElsewhere,
    Relayed,
    Sighted,
    ViewAnswer,
)
from ringcast.core.control.merge import Relayable
from ringcast.core.deadlines import earliest
from ringcast.core.effects import Drop, SendReliable, Warn, probe
from ringcast.core.failure import Readmission
from ringcast.core.membership import (
    AcceptMerge,
    CancelHeld,
    Digested,
    Membership,
    RandomSource,
    RejectMerge,
    StartMerge,
    Steps,
)
from ringcast.core.merge import (
    AnnounceTo,
    BringUp,
    GoToPrimary,
    HoldRollCall,
    LeftBehind,
    MergeDetector,
    MergeEnded,
    MergeLeader,
    MergeOver,
    MergeParticipant,
    Overlap,
    Party,
    Propose,
    RaiseMerge,
    SpreadView,
    SuspectDissenter,
    Told,
)
from ringcast.model import Address, Config, Electorate, Event, Kind, View, ViewId

MAX_RELAYED = 64


class Merging:
    """This member's part in becoming one group again."""

    def __init__(
        self, me: Address, config: Config, random: RandomSource, membership: Membership, readmission: Readmission
    ) -> None:
        self.me = me
        self.detection = MergeDetector(
            me, config, random, is_suspected=membership.suspicions.__contains__, is_held=readmission.is_held
        )
        self.leader = MergeLeader(me, config, random, membership.terms, membership.numbers)
        self.participant = MergeParticipant(me, config)
        self._membership = membership
        self._readmission = readmission
        self._via: dict[Address, Address] = {}  # a coordinator that we do not hear -> who relays between us
        self._request: MergeReq | None = None  # that the handler is being asked about
        self._routes: dict[type, Callable[[int, Address, Any], Steps]] = {
            AskView: self._on_ask_view,
            ViewAnswer: self._on_view_answer,
            Sighted: self._on_sighted,
            MergeReq: self._on_merge_req,
            MergeRsp: self._on_merge_rsp,
            MergeCall: self._on_merge_call,
            MergeDigest: self._on_merge_digest,
            MergeView: self._on_merge_view,
            CancelMerge: self._on_cancel_merge,
            Relayed: self._on_relayed,
        }

    @property
    def _view(self) -> View | None:
        return self._membership.view

    def on_message(self, now_ns: int, sender: Address, message: Control) -> Steps | None:
        """None: not a message of a merge."""
        route = self._routes.get(type(message))
        if isinstance(message, MergeReq):
            self._via.pop(sender, None)  # It reaches us itself.
        return None if route is None else route(now_ns, sender, message)

    # ---- coordinators that do not hear each other

    def _on_relayed(self, now_ns: int, sender: Address, relayed: Relayed) -> Steps:
        """Pass it on, once, between a member of ours and another; or take it as if its origin had sent it."""
        view, message = self._view, relayed.message
        if view is None or message is None:
            return []
        if relayed.to != self.me:
            if sender != relayed.origin or (relayed.to not in view and sender not in view):
                return [Drop("a relayed message between strangers", sender)]
            return [SendReliable(relayed.to, relayed)]
        if sender not in view and self._via.get(relayed.origin) != sender:
            return [Drop("a relayed message from a stranger", sender)]
        if isinstance(message, MergeReq):
            if len(self._via) >= MAX_RELAYED:
                self._via.clear()
            self._via[relayed.origin] = sender
        return self._routes[type(message)](now_ns, relayed.origin, message)

    def _relay(self, sent: SendReliable) -> SendReliable:
        """To a coordinator that we do not hear: through the member that hears both."""
        via, message = self._via.get(sent.to), sent.message
        if via is None or not isinstance(message, Relayable):
            return sent
        return SendReliable(via, Relayed.of(self.me, sent.to, message))

    def _on_raised(self, now_ns: int, parties: tuple[Party, ...]) -> Steps:
        if self.leader.attempt is None:
            self._via = {party.coordinator: party.via for party in parties if party.via is not None}
        return self._carry(now_ns, self.leader.on_raised(now_ns, parties))

    # ---- detection

    def on_found(self, endpoints: Iterable[str]) -> None:
        self.detection.on_found(endpoints)

    def on_announced(self, now_ns: int, sender: Address, message: Announce | Heartbeat) -> Steps:
        """Somebody told its view id."""
        if message.view is None:
            return []
        coordinator = message.coordinator if isinstance(message, Announce) else None
        return self._carry(now_ns, self.detection.on_announcement(now_ns, sender, message.view, coordinator))

    def _on_ask_view(self, now_ns: int, sender: Address, ask: AskView) -> Steps:
        return [] if self._view is None else [SendReliable(sender, ViewAnswer.of(self._view, self.detection.acting))]

    def _on_view_answer(self, now_ns: int, sender: Address, answer: ViewAnswer) -> Steps:
        return self._carry(now_ns, self.detection.on_view_answer(now_ns, sender, answer.view, answer.acting))

    def _on_sighted(self, now_ns: int, sender: Address, sighted: Sighted) -> Steps:
        return self._carry(now_ns, self.detection.on_sighted(now_ns, sender, sighted))

    # ---- a coordinator asked by a leader

    def _on_merge_req(self, now_ns: int, sender: Address, request: MergeReq) -> Steps:
        view, leading = self._view, self._membership.leading
        if view is None or leading is None:
            return [Drop("a merge request before the first view", sender)]
        differs = self._membership.terms.difference(request.terms)
        if differs is not None:
            return self._refuse_terms(now_ns, sender, request.merge_id, differs)
        coordinator = self.detection.coordinator_with_us
        why = self.participant.objection(sender, request, view)
        if why is None and coordinator != self.me:
            why = f"{coordinator} coordinates here"
        if why is None and self._membership.held_by is not None:
            why = f"{self._membership.held_by} changes the view here"
        if why is None and self._readmission.is_held(now_ns, sender):
            why = f"{sender} was excluded for a bad link, and is taken back later"
        if why is not None:
            named = None if coordinator == self.me else coordinator
            refused = self.participant.on_refused(now_ns, sender, request.merge_id, why, coordinator=named)
            return self._carry(now_ns, refused)
        # Yield only to a merge that will be accepted; else both would fail.
        out: Steps = []
        if leading.handler.would_follow_after_own:
            out = self._carry(now_ns, self.leader.on_other_merge(now_ns, request.merge_id))
        self._request = request
        return out + leading.decide(now_ns, leading.handler.on_merge_req(now_ns, sender, request.merge_id))

    def _refuse_terms(self, now_ns: int, sender: Address, merge_id: MergeId, differs: str) -> Steps:
        """Sides that have not in common what a group must have stay apart, and both say so."""
        terms, why = self._membership.terms, f"at {self.me} {differs} as at {sender}"
        refused = self._carry(now_ns, self.participant.on_refused(now_ns, sender, merge_id, why, terms))
        return [*self._apart(now_ns, sender, differs), *refused]

    def _apart(self, now_ns: int, other: Address, differs: str) -> Steps:
        detail = {"what": "TERMS", "answer": f"here {differs} as there"}
        return [
            Event(Kind.REQUESTED, now_ns, peer=other, detail=detail),
            Warn(f"this side and that of {other} do not merge: here {differs} as there"),
        ]

    def on_accept(self, now_ns: int, decision: AcceptMerge) -> Steps:
        request, self._request = self._request, None
        if request is None or request.merge_id != decision.merge_id:
            return []
        return self._carry(now_ns, self.participant.on_accepted(now_ns, request))

    def on_reject(self, now_ns: int, decision: RejectMerge) -> Steps:
        refused = self.participant.on_refused(now_ns, decision.leader, decision.merge_id, decision.why)
        return self._carry(now_ns, refused)

    def _on_merge_call(self, now_ns: int, sender: Address, call: MergeCall) -> Steps:
        return self._carry(now_ns, self.participant.on_merge_call(now_ns, sender, call))

    def on_digested(self, now_ns: int, outcome: Digested) -> Steps:
        """Our subgroup's roll call is over: each entry was said by the member itself (G8)."""
        told = {member: Told(member, entry) for member, entry in outcome.entries.items()}
        limits = (outcome.capacity, outcome.window_bytes)
        ended = self.participant.on_roll_call_ended(
            now_ns, outcome.merge_id, told, outcome.number, limits, mark=outcome.mark, blamed=outcome.blamed
        )
        return self._carry(now_ns, ended)

    def _on_merge_view(self, now_ns: int, sender: Address, outcome: MergeView) -> Steps:
        return self._carry(now_ns, self.participant.on_merge_view(now_ns, sender, outcome))

    def _on_cancel_merge(self, now_ns: int, sender: Address, cancel: CancelMerge) -> Steps:
        return self._carry(now_ns, self.participant.on_cancel(now_ns, sender, cancel.merge_id, cancel.why))

    # ---- a member asked by its coordinator

    def objection(self, now_ns: int, ask: Ask) -> str | None:
        """All members know the merge they are in; a second one is refused."""
        return None if ask.merge_id is None else self.participant.on_asked(now_ns, ask.merge_id)

    def on_released(self, now_ns: int) -> Steps:
        """Our promise ended without a view."""
        merge = self.participant.merge
        return [] if merge is None else self._carry(now_ns, self.participant.on_released(now_ns, merge.merge_id))

    # ---- the leader

    def on_start(self, now_ns: int, decision: StartMerge) -> Steps:
        return self._carry(now_ns, self.leader.begin(now_ns, decision.merge_id))

    def _on_merge_rsp(self, now_ns: int, sender: Address, answer: MergeRsp) -> Steps:
        differs = self._membership.terms.difference(answer.terms)
        apart = [] if differs is None else self._apart(now_ns, sender, differs)
        return [*apart, *self._carry(now_ns, self.leader.on_merge_rsp(now_ns, sender, answer))]

    def _on_merge_digest(self, now_ns: int, sender: Address, answer: MergeDigest) -> Steps:
        return self._carry(now_ns, self.leader.on_merge_digest(now_ns, sender, answer))

    def on_suspect(self, now_ns: int, peer: Address) -> Steps:
        return self._carry(now_ns, self.leader.on_gone(now_ns, peer))

    # ---- the end

    def on_cancel_held(self, now_ns: int, decision: CancelHeld) -> Steps:
        merge_id = decision.suspension.merge_id
        if merge_id is None:
            return []
        out = self._carry(now_ns, self.leader.on_cancelled(now_ns, merge_id, str(decision.cause)))
        return out + self._carry(now_ns, self.participant.on_released(now_ns, merge_id))

    def on_view(self, now_ns: int, view: View, left: Iterable[Address] = ()) -> Steps:
        self.detection.on_view(now_ns, view, left)
        self._via.clear()
        out = self._carry(now_ns, self.leader.on_view(now_ns, view))
        return out + self._carry(now_ns, self.participant.on_view(now_ns, view))

    # ---- what the components decide

    def _carry(self, now_ns: int, decisions: Iterable[object]) -> Steps:
        out: Steps = []
        for decision in decisions:
            out += self._step(now_ns, decision)
        return out

    def _step(self, now_ns: int, decision: Any) -> Steps:
        match decision:
            case SendReliable():
                return [self._relay(decision)]
            case AnnounceTo():
                return self._announce(decision.endpoints)
            case RaiseMerge():
                return self._on_raised(now_ns, decision.parties)
            case BringUp():
                follower = self._membership.follower
                return (
                    [] if follower is None or follower.known is None else [SendReliable(decision.peer, follower.known)]
                )
            case SuspectDissenter():
                return self._membership.suspect(now_ns, decision.peer, "has another view")
            case LeftBehind():
                return self._membership.on_left_behind(now_ns, decision.view)
            case GoToPrimary():
                return self._go_to_primary(decision.view, decision.primary)
            case Overlap():
                who = ", ".join(map(str, decision.members))
                return [Warn(f"merge: more than one side sent a digest of {who}; the highest entries count")]
            case Propose() | MergeEnded() | MergeOver():
                return self._tell_handler(now_ns, decision)
            case HoldRollCall():
                leading = self._membership.leading
                return [] if leading is None else leading.call_for_merge(now_ns, decision.merge_id, decision.members)
            case SpreadView():
                leading = self._membership.leading
                merged = (decision.merge_id, decision.view, decision.digest)
                return [] if leading is None else leading.on_merged(now_ns, *merged)
            case _:
                return [decision]

    def _announce(self, endpoints: tuple[str, ...]) -> Steps:
        view: ViewId | None = None if self._view is None else self._view.id
        return [probe(endpoint, Announce(view, self._membership.leader)) for endpoint in endpoints]

    def _tell_handler(self, now_ns: int, decision: Propose | MergeEnded | MergeOver) -> Steps:
        leading = self._membership.leading
        if leading is None:
            return []
        handler = leading.handler
        match decision:
            case Propose():
                return leading.decide(now_ns, handler.on_merge(now_ns, decision.merge_id))
            case MergeEnded():
                return leading.decide(now_ns, handler.on_merge_ended(now_ns, decision.merge_id, decision.installed))
            case MergeOver():
                return leading.decide(now_ns, handler.on_merge_ended(now_ns, decision.merge_id, installed=False))

    def _go_to_primary(self, view: View, primary: Electorate) -> Steps:
        """The primary side has gone on without us; ourselves last, for we end with it."""
        members = () if self._view is None else self._view.members
        outside = [member for member in members if member not in view and member != self.me]
        return [SendReliable(member, PrimaryElsewhere(primary)) for member in (*outside, self.me)]

    # ---- time

    def deadline_ns(self) -> int | None:
        return earliest(self.detection.deadline_ns(), self.leader.deadline_ns(), self.participant.deadline_ns())

    def on_time(self, now_ns: int) -> Steps:
        out = self._carry(now_ns, self.detection.on_time(now_ns))
        out += self._carry(now_ns, self.leader.on_time(now_ns))
        return out + self._carry(now_ns, self.participant.on_time(now_ns))
