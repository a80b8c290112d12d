"""Coordinating the group: requests go to the view handler, its batches become view changes (seed 004).

Every member has this part; it is idle unless the member coordinates. One view change at a time; the attempts of roll
calls on one base view are counted here, because a later one must have a greater id than every one before it.
What the view handler decides about a merge is for the merge's own components.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from ringcast.core.control import (
    Answer,
    Behind,
    Busy,
    Filled,
    Join,
    MergeId,
    MergeView,
    NewView,
    Refusal,
    RollCallId,
    StateConfirmed,
    StateProgress,
    ViewAck,
    ViewRefusal,
)
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import Left, SendReliable
from ringcast.core.membership.follower import Follower
from ringcast.core.membership.handler import Suspension, ViewHandler
from ringcast.core.membership.requests import Request, RequestKind
from ringcast.core.membership.roll_call import Complete, Digested, RollCall
from ringcast.core.membership.suspension import ResumeCause
from ringcast.core.membership.suspicions import Suspicions
from ringcast.core.membership.view_change import Spreading, ViewChange
from ringcast.core.state.providers import PendingStates
from ringcast.core.steps import Steps, Until
from ringcast.model import Address, Config, Electorate, ViewId


class Neighbours(Protocol):
    """The components beside membership, as a coordinator orders them: merges and failure detection."""

    def end_merge(self, now_ns: int, merge_id: MergeId, why: str) -> Steps:
        """End our part in this merge: the view handler is no longer suspended for it, and no view came of it."""
        ...

    def on_digested(self, now_ns: int, digested: Digested) -> Steps:
        """Answer the merge leader: our subgroup's roll call is over."""
        ...

    def shown(self, now_ns: int, member: Address) -> Steps:
        """This member has shown our view: by an ack, a heartbeat, an announcement, or something it sent in it."""
        ...

    def watch(self, now_ns: int, leader: Address) -> None:
        """Watch the leader of a merge, member or not, until `unwatch`."""
        ...

    def unwatch(self, leader: Address) -> None: ...


class Owner(Protocol):
    """Membership, of which a coordinator is a part."""

    def suspect(self, now_ns: int, member: Address, why: str, until: Until = Until.VIEW) -> Steps: ...

    def take_view(self, now_ns: int, sender: Address, message: NewView) -> Steps:
        """Take a view as any member does: install it, if it follows ours."""
        ...

    def want_primary(self, now_ns: int) -> Steps:
        """Ask for a primary view, if ours has the votes for one."""
        ...


class Coordinator:
    """The coordinator's half of a member."""

    def __init__(
        self,
        me: Address,
        config: Config,
        follower: Follower,
        suspicions: Suspicions,
        states: PendingStates,
        owner: Owner,
        neighbours: Neighbours,
        deadlines: Deadlines,
    ) -> None:
        self.me = me
        self.config = config
        self.handler = ViewHandler(me, config, self, deadlines)
        self.change: ViewChange | None = None
        self._timer = deadlines.timer()  # of the view change
        self._follower = follower
        self._suspicions = suspicions
        self._states = states
        self._owner = owner
        self._neighbours = neighbours
        self._attempts: tuple[ViewId | None, int] = (None, 0)  # how often we called the roll, on which view
        self._proposed: Electorate | None = None  # there, as the primary view to come, and told to nobody

    @property
    def _roll_call(self) -> RollCall | None:
        return None if self.change is None or self.change.spreading is not None else self.change.roll_call

    @property
    def is_mine(self) -> bool:
        return self._suspicions.acting(self._follower.view) == self.me

    @property
    def is_out(self) -> bool:
        """We have left, in a view that we made ourselves: it is told until all have it, or until its limit."""
        return self._spreading is not None and self.me not in self._spreading.view

    @property
    def _spreading(self) -> Spreading | None:
        return None if self.change is None else self.change.spreading

    # ---- requests

    def on_join(self, now_ns: int, sender: Address, join: Join) -> Steps:
        if join.with_state and self._states.is_apart:
            return [SendReliable(sender, Busy())]  # There is no one state yet that it could get.
        kind = RequestKind.JOIN_WITH_STATE if join.with_state else RequestKind.JOIN
        return self.handler.on_request(now_ns, Request(kind, sender, join))

    def on_leave(self, now_ns: int, sender: Address) -> Steps:
        kind = RequestKind.COORD_LEAVE if sender == self.me else RequestKind.LEAVE
        return self.handler.on_request(now_ns, Request(kind, sender))

    def on_suspects(self, now_ns: int) -> Steps:
        """Raise every suspicion, new or old: said again and again, until a view without these members.

        An old one is no news of the leader of the merge that we follow: its request came after it.
        """
        out: Steps = []
        for member in list(self._suspicions.members):
            if member != self.handler.merge_leader:
                out += self.handler.on_suspect(now_ns, member)
        return out

    def on_wanting_primary(self, now_ns: int) -> Steps:
        """Our view has the votes: a primary one shall follow it."""
        return self.handler.on_request(now_ns, Request(RequestKind.PRIMARY, self.me))

    def _on_state_confirmed(self, now_ns: int, joiner: Address, confirmed: StateConfirmed) -> Steps:
        self._states.confirm(joiner, is_loaded=not confirmed.error)
        return self.handler.on_state_confirmed(now_ns, joiner)

    def _on_state_progress(self, now_ns: int, joiner: Address, progress: StateProgress) -> Steps:
        self.handler.on_state_progress(now_ns, joiner)
        return []

    def on_merge_leader_gone(self, now_ns: int, leader: Address) -> Steps:
        """Resume: this suspicion is later than the leader's request, which we accepted (seed 004, case #3)."""
        return self.handler.on_suspect(now_ns, leader)

    def on_joiner_gone(self, now_ns: int, member: Address) -> Steps:
        return self.stop_waiting_for(now_ns, member)

    # ---- the handler's decisions (`Changes`)

    def stop_waiting_for(self, now_ns: int, suspect: Address) -> Steps:
        return [] if self.change is None else self.change.on_suspect(now_ns, suspect)

    def give_view(self, to: Address) -> Steps:
        known = self._follower.known
        return [] if known is None else [SendReliable(to, known)]

    def watch(self, now_ns: int, leader: Address) -> None:
        self._neighbours.watch(now_ns, leader)

    def unwatch(self, leader: Address) -> None:
        self._neighbours.unwatch(leader)

    def notes(self) -> dict[str, object]:
        """The recording says who is sent a cancel; nobody, if the view is already on its way (G7)."""
        notes: dict[str, object] = {}
        if self.change is not None and self.change.spreading is not None:
            notes["has_view"] = True
        notes["cancelled"] = [] if self._roll_call is None else self._roll_call.cancelled
        return notes

    def start(self, now_ns: int, ticket: int, requests: tuple[Request, ...]) -> Steps:
        leaving = [r.member for r in requests if r.kind in (RequestKind.LEAVE, RequestKind.COORD_LEAVE)]
        roll_call = self._call(going=tuple(self._suspicions.members), leaving=tuple(leaving))
        self.change = ViewChange(self.me, self.config, roll_call, ticket=ticket, requests=requests)
        return roll_call.begin(now_ns) if self.is_mine else self._fail(now_ns, self.change)

    def call_for_merge(self, now_ns: int, merge_id: MergeId, members: tuple[Address, ...]) -> Steps:
        """The seed's GET_DIGEST: exactly those who share our view; the others of it are parties of their own.

        Whom we suspect is not waited for: observers, who cannot exclude the dead, would wait for them in each merge.
        """
        view, suspects = self._follower.view, self._suspicions
        going = tuple(member for member in view.members if member not in members or member in suspects)
        roll_call = self._call(going=going, merge_id=merge_id)
        self.change = ViewChange(self.me, self.config, roll_call, merge_id=merge_id)
        return roll_call.begin(now_ns)

    def _call(
        self,
        *,
        going: tuple[Address, ...],
        leaving: tuple[Address, ...] = (),
        merge_id: MergeId | None = None,
    ) -> RollCall:
        view, known = self._follower.view, self._follower.known
        attempt = self._attempts[1] + 1 if self._attempts[0] == view.id else 1
        proposed = self._proposed if self._attempts[0] == view.id else None
        self._attempts = (view.id, attempt)
        return RollCall(
            self.me,
            self.config,
            view,
            attempt,
            self,
            going=going,
            leaving=leaving,
            merge_id=merge_id,
            known=known,
            numbers=self._follower.numbers,
            timer=self._timer,
            proposed=proposed,
        )

    def cancel(self, now_ns: int, ended: Suspension, cause: ResumeCause) -> Steps:
        out = self._cancel_roll_call(now_ns, ended)
        if ended.merge_id is not None:
            out += self._neighbours.end_merge(now_ns, ended.merge_id, str(cause))
        return out

    def _cancel_roll_call(self, now_ns: int, ended: Suspension) -> Steps:
        """Send a cancel to all who were asked (G7). A view that spreads goes on."""
        change = self.change
        if change is None or change.spreading is not None:
            return []
        if (change.merge_id or change.ticket) != (ended.merge_id or ended.number):
            return []
        self.change, self._timer.at_ns = None, None
        self._attempts = (change.roll_call.base.id, change.roll_call.id.attempt)
        self._proposed = change.roll_call.proposed
        return change.roll_call.cancel(now_ns, change.why)

    def _fail(self, now_ns: int, change: ViewChange) -> Steps:
        """It cannot end in a view; the handler then cancels what is held."""
        if change.merge_id is not None:
            return self.handler.on_merge_ended(now_ns, change.merge_id, installed=False)
        return self.handler.on_change_ended(now_ns, change.ticket, installed=False)

    # ---- the roll call

    def _on_answer(self, now_ns: int, sender: Address, answer: Answer) -> Steps:
        return [] if self._roll_call is None else self._roll_call.on_answer(now_ns, sender, answer)

    def _on_behind(self, now_ns: int, sender: Address, behind: Behind) -> Steps:
        return [] if self._roll_call is None else self._roll_call.on_behind(sender, behind)

    def _on_refusal(self, now_ns: int, sender: Address, refusal: Refusal) -> Steps:
        return [] if self._roll_call is None else self._roll_call.on_refusal(now_ns, sender, refusal)

    def _on_filled(self, now_ns: int, sender: Address, filled: Filled) -> Steps:
        return [] if self._roll_call is None else self._roll_call.on_filled(now_ns, sender, filled)

    def on_complete(self, now_ns: int, complete: Complete) -> Steps:
        """Everybody is at the cut: the view is composed, installed here, then told; or a merge leader is answered."""
        change = self.change
        if change is None:
            return []
        change.complete = complete
        if change.merge_id is not None:
            return self.on_digested(now_ns, change.roll_call.digested(change.merge_id))
        if not change.roll_call.staying and not change.joiners:
            return [Left(clean=True)]
        return self._tell(now_ns, change, change.compose(complete, self._states))

    def on_digested(self, now_ns: int, digested: Digested) -> Steps:
        return self._neighbours.on_digested(now_ns, digested)

    def suspect(self, now_ns: int, member: Address, why: str, until: Until = Until.VIEW) -> Steps:
        return self._owner.suspect(now_ns, member, why, until)

    def on_merged(self, now_ns: int, merged: MergeView) -> Steps:
        """The merge leader's view: it goes the way of any view, in our subgroup."""
        change = self.change
        if (
            change is None
            or change.merge_id != merged.merge_id
            or change.complete is None
            or change.spreading is not None
        ):
            return []
        message = change.compose_merged(change.complete, merged, self._states)
        return self._tell(now_ns, change, message)

    def _tell(self, now_ns: int, change: ViewChange, message: NewView) -> Steps:
        """Install the view here, before any other member hears of it; then spread it."""
        spreading = change.spread(now_ns, message, self)
        told = spreading.messages()  # All shall have it, also whom nobody waits for any more once it is installed here.
        here = self._owner.take_view(now_ns, self.me, message) if self.me in message.members else []
        return [*here, *change.roll_call.dismiss(now_ns), *told, *spreading.end_if_shown(now_ns)]

    def on_failed(self, now_ns: int, roll_call: RollCallId, why: str) -> Steps:
        if self.change is None or self.change.roll_call.id != roll_call:
            return []  # The next change has begun meanwhile.
        self.change.why = why
        return self._fail(now_ns, self.change)

    # ---- the view

    def on_view(self, now_ns: int, message: NewView) -> Steps:
        """A view was installed here. If it is not ours, our own roll call is overtaken."""
        states = self._states
        is_concerned = message.transfers or message.reunion or message.loading
        if is_concerned or states.transfers or states.reunion or states.early:
            for joiner in states.on_view(message):
                self.handler.on_state_begun(now_ns, joiner)
        out: Steps = []
        if self.change is not None and self.change.roll_call.id != message.roll_call:
            out += self._fail(now_ns, self.change)
            if self._spreading is not None:  # Nobody has to show what all have left behind.
                self.change, self._timer.at_ns = None, None
        out += self.handler.on_view(now_ns, message.view)
        return out + (self.on_suspects(now_ns) if self.is_mine else [])

    def _on_view_ack(self, now_ns: int, sender: Address, ack: ViewAck) -> Steps:
        if ack.view == self._follower.view.id:
            return self._neighbours.shown(now_ns, sender)
        return self.on_shown(now_ns, sender, ack.view)

    def on_shown(self, now_ns: int, member: Address, view: ViewId) -> Steps:
        spreading = self._spreading
        return [] if spreading is None or spreading.view.id != view else spreading.on_shown(now_ns, member)

    def _on_view_refusal(self, now_ns: int, sender: Address, refusal: ViewRefusal) -> Steps:
        if self.change is None:
            return []
        if self.change.spreading is None:  # It would not take the base view from us: it is not with us any more.
            return self.change.on_suspect(now_ns, sender)
        return self.change.spreading.on_refusal(now_ns, sender, refusal)

    def on_spread(self, now_ns: int, view: ViewId) -> Steps:
        """End the change of this view, if it is still under way: what its view brought up here may have ended it."""
        change = self.change
        if change is None or change.spreading is None or change.spreading.view.id != view:
            return []
        self.change, self._timer.at_ns = None, None
        return [*self._end_change(now_ns, change, change.spreading), *self._owner.want_primary(now_ns)]

    def _end_change(self, now_ns: int, change: ViewChange, spreading: Spreading) -> Steps:
        if self.me not in spreading.view:
            return [Left(clean=True)]
        if change.merge_id is not None:
            return self.handler.on_merge_ended(now_ns, change.merge_id, installed=True)
        return self.handler.on_change_ended(now_ns, change.ticket, installed=True)

    # ---- time

    def on_time(self, now_ns: int) -> Steps:
        """The inner limit ends first, also at a coordinator that slept past both: the Resumer has the next call."""
        if self.change is not None and self._timer.is_due(now_ns):
            return self.change.on_time(now_ns)
        return self.handler.on_time(now_ns)

    routes: ClassVar[dict[type, Callable[..., Steps]]] = {
        Answer: _on_answer,
        Behind: _on_behind,
        Refusal: _on_refusal,
        Filled: _on_filled,
        ViewAck: _on_view_ack,
        ViewRefusal: _on_view_refusal,
        StateConfirmed: _on_state_confirmed,
        StateProgress: _on_state_progress,
    }
