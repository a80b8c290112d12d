"""How the components of a merge meet those of membership: detection, leader and participant with the view handler.

    detection ──MERGE──► handler ──start──► leader ──MERGE_REQ──► handlers ──accept──► participants
    participants ──GET_DIGEST: the roll call of each subgroup──► digests ──► leader ──MERGE_VIEW──► each subgroup

Every message of a merge goes on the control streams, also one to oneself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ringcast.core.control import (
    Announce,
    AskView,
    CancelMerge,
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
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import Drop, SendReliable, Warn, probe
from ringcast.core.entrance import RandomSource
from ringcast.core.failure import Readmission
from ringcast.core.membership import Membership, ViewHandler
from ringcast.core.membership.coordinator import Neighbours
from ringcast.core.membership.roll_call import Digested
from ringcast.core.merge.aggregates import Told
from ringcast.core.merge.detection import MergeDetector
from ringcast.core.merge.election import Party
from ringcast.core.merge.leader import MergeLeader
from ringcast.core.merge.participant import MergeParticipant
from ringcast.core.steps import Steps, Until
from ringcast.model import Address, Config, Electorate, Event, Kind, View, ViewId

MAX_RELAYED = 64


class Merging:
    """This member's part in becoming one group again."""

    def __init__(
        self,
        me: Address,
        config: Config,
        random: RandomSource,
        membership: Membership,
        readmission: Readmission,
        neighbours: Neighbours,
        deadlines: Deadlines,
    ) -> None:
        self.me = me
        self.deadlines = deadlines
        self.detection = MergeDetector(
            me,
            config,
            random,
            self,
            deadlines,
            is_suspected=membership.suspicions.__contains__,
            is_held=readmission.is_held,
        )
        self.leader = MergeLeader(me, config, random, self, membership.terms, membership.numbers, deadlines)
        self.participant = MergeParticipant(me, config, self, deadlines)
        self._membership = membership
        self._readmission = readmission
        self._neighbours = neighbours
        # Who relays: between us and a coordinator that we ask and do not hear; of another's merge as its request came.
        self._asked_via: dict[Address, Address] = {}
        self._asking_via: dict[MergeId, Address] = {}
        self.routes: dict[type, Callable[[int, Address, Any], Steps]] = {
            AskView: self._on_ask_view,
            ViewAnswer: self._on_view_answer,
            Sighted: self.detection.on_sighted,
            MergeReq: self._on_merge_req,
            MergeRsp: self._on_merge_rsp,
            MergeCall: self.participant.on_merge_call,
            MergeDigest: self.leader.on_merge_digest,
            MergeView: self.participant.on_merge_view,
            CancelMerge: self._on_cancel_merge,
            Relayed: self._on_relayed,
        }

    @property
    def _view(self) -> View | None:
        return self._membership.view

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
        if sender not in view and self._relay_to(relayed.origin, message) != sender:
            return [Drop("a relayed message from a stranger", sender)]
        if isinstance(message, MergeReq):
            if len(self._asking_via) >= MAX_RELAYED:
                del self._asking_via[next(iter(self._asking_via))]
            self._asking_via[message.merge_id] = sender
        return self.routes[type(message)](now_ns, relayed.origin, message)

    def relay(self, sent: SendReliable) -> SendReliable:
        """To a coordinator that we do not hear: through the member that hears both."""
        message = sent.message
        if not isinstance(message, Relayable):
            return sent
        via = self._relay_to(sent.to, message)
        return sent if via is None else SendReliable(via, Relayed.of(self.me, sent.to, message))

    def _relay_to(self, other: Address, message: Relayable) -> Address | None:
        """All messages of a merge go one way, that of its request; another merge of the two may go another."""
        merge_id = message.merge_id
        return self._asked_via.get(other) if merge_id.leader == self.me else self._asking_via.get(merge_id)

    # ---- what detection found (`Finder`)

    def raise_merge(self, now_ns: int, parties: Sequence[Party]) -> Steps:
        own = next((party.view.id for party in parties if self.me in party.members), None)
        if self._view is None or own != self._view.id:
            return []  # A view came since these were read: it will be raised again.
        if self.leader.attempt is None:
            self._asked_via = {party.coordinator: party.via for party in parties if party.via is not None}
        return self.leader.on_raised(now_ns, parties)

    def announce_to(self, endpoints: tuple[str, ...]) -> Steps:
        view: ViewId | None = None if self._view is None else self._view.id
        return [probe(endpoint, Announce(view, self._membership.acting)) for endpoint in endpoints]

    def go_to_primary(self, view: View, primary: Electorate) -> Steps:
        """The primary side has gone on without us; ourselves last, for we end with it."""
        members = () if self._view is None else self._view.members
        outside = [member for member in members if member not in view and member != self.me]
        return [SendReliable(member, PrimaryElsewhere(primary)) for member in (*outside, self.me)]

    def left_behind(self, now_ns: int, view: View) -> Steps:
        return self._membership.on_left_behind(now_ns, view)

    def suspect(self, now_ns: int, member: Address, why: str, until: Until = Until.VIEW) -> Steps:
        return self._membership.suspect(now_ns, member, why, until)

    def shown(self, now_ns: int, member: Address) -> Steps:
        return self._neighbours.shown(now_ns, member)

    def give_view(self, to: Address) -> Steps:
        return self._membership.give_view(to)

    # ---- messages to detection

    def on_found(self, endpoints: Iterable[str]) -> None:
        self.detection.on_found(endpoints)

    def on_announced(self, now_ns: int, sender: Address, message: Announce | Heartbeat) -> Steps:
        """Somebody told its view id."""
        if message.view is None:
            return []
        coordinator = message.coordinator if isinstance(message, Announce) else None
        return self.detection.on_announcement(now_ns, sender, message.view, coordinator)

    def _on_ask_view(self, now_ns: int, sender: Address, ask: AskView) -> Steps:
        return [] if self._view is None else [SendReliable(sender, ViewAnswer.of(self._view, self.detection.acting))]

    def _on_view_answer(self, now_ns: int, sender: Address, answer: ViewAnswer) -> Steps:
        return self.detection.on_view_answer(now_ns, sender, answer.view, answer.acting)

    # ---- a coordinator asked by a leader

    def _on_merge_req(self, now_ns: int, sender: Address, request: MergeReq) -> Steps:
        view, leading = self._view, self._membership.as_coordinator
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
            return refused
        # Yield only to a merge that will be accepted; else both would fail.
        handler, merge_id = leading.handler, request.merge_id
        yielded = self.leader.on_other_merge(now_ns, merge_id) if handler.would_follow_after_own else []
        why = handler.refusal(now_ns, merge_id, request.members)
        if why is not None:
            refused = self.participant.on_refused(now_ns, sender, merge_id, why)
            return [*yielded, *handler.refuse(now_ns, merge_id, refused)]
        taken = handler.take_part(now_ns, sender, merge_id)
        return [*yielded, *taken, *self.participant.on_accepted(now_ns, request)]

    def _refuse_terms(self, now_ns: int, sender: Address, merge_id: MergeId, differs: str) -> Steps:
        """Sides that have not in common what a group must have stay apart, and both say so."""
        terms, why = self._membership.terms, f"at {self.me} {differs} as at {sender}"
        refused = self.participant.on_refused(now_ns, sender, merge_id, why, terms)
        return [*self._apart(now_ns, sender, differs), *refused]

    def _apart(self, now_ns: int, other: Address, differs: str) -> Steps:
        detail = {"what": "TERMS", "answer": f"here {differs} as there"}
        return [
            Event(Kind.REQUESTED, now_ns, peer=other, detail=detail),
            Warn(f"this side and that of {other} do not merge: here {differs} as there"),
        ]

    def on_digested(self, now_ns: int, outcome: Digested) -> Steps:
        """Our subgroup's roll call is over: each entry was said by the member itself (G8)."""
        told = {member: Told(member, entry) for member, entry in outcome.entries.items()}
        limits = (outcome.capacity, outcome.window_bytes)
        return self.participant.on_roll_call_ended(
            now_ns,
            outcome.merge_id,
            told,
            outcome.number,
            limits,
            outcome.mark,
            outcome.blamed,
            outcome.stateless,
            outcome.excluded,
        )

    def _on_cancel_merge(self, now_ns: int, sender: Address, cancel: CancelMerge) -> Steps:
        return self.participant.on_cancel(now_ns, sender, cancel.merge_id, cancel.why)

    # ---- a member asked by its coordinator

    def enter(self, now_ns: int, merge_id: MergeId) -> str | None:
        """Enter the merge of our coordinator's roll call. The answer is why we do not: we are in another one."""
        return self.participant.enter(now_ns, merge_id)

    def on_released(self, now_ns: int) -> Steps:
        """Our promise ended without a view."""
        merge = self.participant.merge
        return [] if merge is None else self.participant.on_released(now_ns, merge.merge_id)

    # ---- the coordinator and its view handler, for the leader and the participant (`Gate`); without a view: none

    @property
    def _handler(self) -> ViewHandler | None:
        leading = self._membership.as_coordinator
        return None if leading is None else leading.handler

    def may_lead_merge(self, now_ns: int) -> bool:
        return self._handler is not None and self._handler.may_lead_merge(now_ns)

    def lead_merge(self, now_ns: int, merge_id: MergeId) -> Steps:
        return [] if self._handler is None else self._handler.lead_merge(now_ns, merge_id)

    def discard_merge(self, now_ns: int, merge_id: MergeId) -> Steps:
        return [] if self._handler is None else self._handler.discard_merge(now_ns, merge_id)

    def hold_roll_call(self, now_ns: int, merge_id: MergeId, members: tuple[Address, ...]) -> Steps:
        leading = self._membership.as_coordinator
        return [] if leading is None else leading.call_for_merge(now_ns, merge_id, members)

    def yields_to(self, other: MergeId) -> bool:
        return self.leader.yields_to(other)

    def spread(self, now_ns: int, merged: MergeView) -> Steps:
        leading = self._membership.as_coordinator
        return [] if leading is None else leading.on_merged(now_ns, merged)

    def on_merge_ended(self, now_ns: int, merge_id: MergeId, installed: bool) -> Steps:
        return [] if self._handler is None else self._handler.on_merge_ended(now_ns, merge_id, installed)

    # ---- the leader

    def _on_merge_rsp(self, now_ns: int, sender: Address, answer: MergeRsp) -> Steps:
        differs = self._membership.terms.difference(answer.terms)
        apart = [] if differs is None else self._apart(now_ns, sender, differs)
        return [*apart, *self.leader.on_merge_rsp(now_ns, sender, answer)]

    def on_suspected(self, now_ns: int, peer: Address) -> Steps:
        return [] if self.leader.attempt is None else self.leader.on_gone(now_ns, peer)

    # ---- the end

    def on_suspension_ended(self, now_ns: int, merge_id: MergeId, why: str) -> Steps:
        """End our part in this merge, as its leader and as a party."""
        out = self.leader.on_cancelled(now_ns, merge_id, why)
        return out + self.participant.on_released(now_ns, merge_id)

    def on_view(self, now_ns: int, view: View, left: Iterable[Address] = ()) -> Steps:
        self.detection.on_view(now_ns, view, left)
        self._asked_via.clear()
        self._asking_via.clear()
        out = [] if self.leader.attempt is None else self.leader.on_view(now_ns, view)
        return out if self.participant.merge is None else out + self.participant.on_view(now_ns, view)

    # ---- time

    def on_time(self, now_ns: int) -> Steps:
        out = self.detection.on_time(now_ns)
        out += [] if self.leader.attempt is None else self.leader.on_time(now_ns)
        return out if self.participant.merge is None else out + self.participant.on_time(now_ns)
