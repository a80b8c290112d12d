"""The view handler of seed 004: view changes and merges never run together at a coordinator (G6).

Requests wait in a queue for a short gathering delay and are processed one batch at a time. Processing, leading a
merge and following one each suspend the handler; suspended, it takes nothing. (What was queued when a merge was
followed is processed behind it.) Every suspension is watched by the
Resumer and ends with one of the seed's four causes, named in the trace; one that ends without a view orders a cancel
to all who hold (G7). What is discarded never matters: askers are told BUSY at once, suspicion is raised again until
a view, merges are detected periodically.

The answers stand in handler_table.py. Not here: how a view or a merge is made (the roll call, the merge leader),
who is suspected (the failure detector), and how an asker waits before it asks again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from ringcast.core.control import Busy, MergeId
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable
from ringcast.core.membership.handler_table import RULES, MergeEvent, Phase, Rule
from ringcast.core.membership.requests import Request, RequestKind, RequestQueue
from ringcast.core.membership.suspension import ResumeCause, Resumer
from ringcast.core.state.providers import Transfers
from ringcast.core.steps import Steps
from ringcast.model import Address, Config, Event, Kind, View


class MergeTurn:
    """When a merge that was turned away goes first: so that a steady stream of joins cannot starve it.

    Merges are turned away while requests are processed and while joiners load their state. One that has been turned
    away for `limit_ns`, and was asked for again lately, is due: then JOINs are told BUSY, and joiners that load their
    state do not stop the merge. It is over when a merge begins, or when nobody asks for one any more.
    """

    def __init__(self, limit_ns: int, memory_ns: int) -> None:
        self.limit_ns = limit_ns
        self.memory_ns = memory_ns  # without another attempt for this long nobody waits
        self._first_ns: int | None = None
        self._last_ns = 0

    def turn_away(self, now_ns: int) -> None:
        if self._first_ns is None or now_ns - self._last_ns > self.memory_ns:
            self._first_ns = now_ns
        self._last_ns = now_ns

    def begin(self) -> None:
        self._first_ns = None

    def is_due(self, now_ns: int) -> bool:
        if self._first_ns is None or now_ns - self._last_ns > self.memory_ns:
            return False
        return now_ns - self._first_ns >= self.limit_ns


# The words of the trace for what suspended the handler.
_CAUSES = {Phase.CHANGING: "view", Phase.LEADING: "merge", Phase.FOLLOWING: "merge-request"}


@dataclass(frozen=True, slots=True)
class Suspension:
    """One stretch during which the handler takes nothing. Numbered, so that the end of an old one ends no new one."""

    number: int
    phase: Phase
    requests: tuple[Request, ...] = ()
    merge_id: MergeId | None = None
    leader: Address | None = None  # of another coordinator's merge


class Changes(Protocol):
    """The coordinator, as its view handler orders it: what begins and ends with a suspension."""

    def start(self, now_ns: int, ticket: int, requests: tuple[Request, ...]) -> Steps:
        """Process these requests in one roll call; give the ticket back with `on_change_ended`."""
        ...

    def stop_waiting_for(self, now_ns: int, suspect: Address) -> Steps:
        """Tell the running roll call that this member is suspected."""
        ...

    def cancel(self, now_ns: int, ended: Suspension, cause: ResumeCause) -> Steps:
        """End the roll call or merge of a suspension that ended without a view: a cancel to all who hold (G7)."""
        ...

    def give_view(self, to: Address) -> Steps:
        """Send our view to a process that is in it already, or is behind."""
        ...

    def watch(self, now_ns: int, leader: Address) -> None:
        """Watch the leader of the merge that we follow, member or not."""
        ...

    def unwatch(self, leader: Address) -> None: ...

    def notes(self) -> dict[str, object]:
        """Describe, for the recording, the change that a suspension ends with."""
        ...


class ViewHandler:
    """One member's handler. Only its coordinator (or who acts as one) brings it requests."""

    def __init__(self, me: Address, config: Config, changes: Changes, deadlines: Deadlines | None = None) -> None:
        self.me = me
        self._changes = changes
        self.deadlines = deadlines or Deadlines()
        self.gather_ns = config.gather_ns
        self.queue = RequestQueue(config.request_capacity)
        self.resumer = Resumer(config.resumer_ns, self.deadlines.timer())
        self.transfers = Transfers(config.state_patience_ns, self.deadlines.timer())
        self.merge_turn = MergeTurn(config.resumer_ns, 2 * config.merge_pause_max_ns + config.resumer_ns)
        self.suspension: Suspension | None = None
        self._view: View | None = None
        self._gathering = self.deadlines.timer()  # while requests wait for others; never while suspended
        self._suspensions = 0

    @property
    def phase(self) -> Phase:
        if self.suspension is not None:
            return self.suspension.phase
        if len(self.queue):
            return Phase.GATHERING
        return Phase.TRANSFERRING if self.transfers.under_way else Phase.IDLE

    @property
    def merge_leader(self) -> Address | None:
        """Whose merge we follow; null again when that is over (seed 004, case #3)."""
        return None if self.suspension is None else self.suspension.leader

    @property
    def would_follow_after_own(self) -> bool:
        """We lead a merge; if it ended now, would another leader's request be accepted? Not if work waits."""
        return self.phase is Phase.LEADING and not len(self.queue) and not self.transfers.under_way

    # ---- JOIN, JOIN_WITH_STATE, LEAVE, COORD_LEAVE, SUSPECT

    def on_request(self, now_ns: int, request: Request) -> Steps:
        match RULES[request.kind][self.phase]:
            case Rule.ADD if request.kind.is_join and self.merge_turn.is_due(now_ns) and not self._is_settled(request):
                return [_requested(now_ns, request, "busy"), _busy(request)]
            case Rule.ADD:
                return self._add(now_ns, request)
            case Rule.TELL if request.member == self.merge_leader:
                return self._resume(now_ns, ResumeCause.LEADER_GONE) + self._add_member(now_ns, request)
            case Rule.TELL:
                return [_requested(now_ns, request, "told"), *self._changes.stop_waiting_for(now_ns, request.member)]
            case Rule.DISCARD:
                return [_requested(now_ns, request, "discarded")]
            case _:
                return [_requested(now_ns, request, "busy"), _busy(request)]

    def on_suspect(self, now_ns: int, member: Address) -> Steps:
        return self.on_request(now_ns, Request(RequestKind.SUSPECT, member))

    def on_cleared(self, member: Address) -> None:
        """It is suspected no longer: no view is made for that alone."""
        self.queue.take_where(lambda request: request == Request(RequestKind.SUSPECT, member))
        if not len(self.queue):
            self._gathering.at_ns = None

    def _add(self, now_ns: int, request: Request) -> Steps:
        if self._is_settled(request):
            return self._settle(now_ns, request)
        if request in self.queue:
            return [_requested(now_ns, request, "duplicate")]
        if self.queue.is_full:
            return [_requested(now_ns, request, "busy"), *_busy_if_asked(request)]
        self.queue.add(request)
        if self._gathering.at_ns is None:
            self._gathering.at_ns = now_ns + self.gather_ns
        return [_requested(now_ns, request, "queued"), *self._process_gathered(now_ns)]

    def _add_member(self, now_ns: int, request: Request) -> Steps:
        """The merge leader may be an outsider: then there is nothing to exclude it from."""
        if self._view is None or request.member not in self._view:
            return []
        return self.on_request(now_ns, request)

    def _is_settled(self, request: Request) -> bool:
        if request.kind is RequestKind.PRIMARY:
            return self._view is not None and self._view.is_primary
        return self._view is not None and request.kind.is_join == (request.member in self._view)

    def _settle(self, now_ns: int, request: Request) -> Steps:
        answer = self._changes.give_view(request.member) if request.has_asker else []
        return [_requested(now_ns, request, "settled"), *answer]

    def _process_gathered(self, now_ns: int) -> Steps:
        return self._process(now_ns) if self._gathering.is_due(now_ns) else []

    def _process(self, now_ns: int) -> Steps:
        """One batch; the handler is suspended until it is done (V04: one at a time)."""
        self._gathering.at_ns = None
        if not len(self.queue) or self.suspension is not None:
            return []
        batch = self.queue.take_batch()
        suspended = self._suspend(now_ns, Phase.CHANGING, requests=batch)
        return [*suspended, *self._changes.start(now_ns, self._suspensions, batch)]

    def on_change_ended(self, now_ns: int, ticket: int, installed: bool) -> Steps:
        """The view of this batch is installed, or its installation failed (case #1). Call `on_view` first."""
        ended = self.suspension
        if ended is None or ended.number != ticket or ended.phase is not Phase.CHANGING:
            return []  # The Resumer was faster.
        for request in ended.requests if installed else ():
            if request.kind is RequestKind.JOIN_WITH_STATE and self._is_settled(request):
                self.transfers.begin(now_ns, request.member)
        return self._resume(now_ns, ResumeCause.VIEW_INSTALLED if installed else ResumeCause.VIEW_FAILED)

    # ---- MERGE and MERGE-REQ

    def may_lead_merge(self, now_ns: int) -> bool:
        return RULES[MergeEvent.MERGE][self._phase_for_merge(now_ns)] is Rule.START

    def lead_merge(self, now_ns: int, merge_id: MergeId) -> Steps:
        """Suspend for a merge of our own. Ask `may_lead_merge` first."""
        assert self.may_lead_merge(now_ns)
        started = _merge_event(now_ns, MergeEvent.MERGE, merge_id, "started")
        return [started, *self._suspend(now_ns, Phase.LEADING, merge_id=merge_id)]

    def discard_merge(self, now_ns: int, merge_id: MergeId) -> Steps:
        """Do not lead this merge now: detection raises it again. What is queued is processed at once."""
        rule = RULES[MergeEvent.MERGE][self._phase_for_merge(now_ns)]
        self._turn_away(now_ns)
        discarded = _merge_event(now_ns, MergeEvent.MERGE, merge_id, "discarded")
        return [discarded, *(self._process(now_ns) if rule is Rule.DISCARD_AND_PROCESS else [])]

    def refusal(self, now_ns: int, merge_id: MergeId, members: Collection[Address] = ()) -> str | None:
        """Why this member does not take part in this merge now; None if it does.

        `members` of our view are asked for.
        """
        phase = self._phase_for_merge(now_ns)
        rule = RULES[MergeEvent.MERGE_REQ][phase]
        if rule is Rule.ACCEPT or self._is_suspended_for(merge_id):
            return None
        return self._goes_first(now_ns, members) if rule is Rule.ACCEPT_OR_PROCESS else f"{self.me} is {phase}"

    def _goes_first(self, now_ns: int, members: Collection[Address]) -> str | None:
        """Name what cannot wait for a merge of these members, queued or not; None if all of it waits."""
        going = next((m for m in members if Request(RequestKind.SUSPECT, m) in self.queue), None)
        if going is not None:  # It would be missing in the merge's roll call, and so would the merge fail.
            return f"{self.me} is about to exclude {going}"
        if self.transfers.under_way and not self.merge_turn.is_due(now_ns):
            return f"{self.me} is {Phase.TRANSFERRING}"
        return None

    def take_part(self, now_ns: int, leader: Address, merge_id: MergeId) -> Steps:
        """Suspend for the merge of this leader (another coordinator, or ourselves). Ask `refusal` first.

        Queued requests wait until the handler resumes; who asks again meanwhile is told BUSY.
        """
        assert self.refusal(now_ns, merge_id) is None
        if self._is_suspended_for(merge_id):
            return [_merge_event(now_ns, MergeEvent.MERGE_REQ, merge_id, "accepted again")]
        accepted = _merge_event(now_ns, MergeEvent.MERGE_REQ, merge_id, "accepted")
        self._gathering.at_ns = None
        suspended = self._suspend(now_ns, Phase.FOLLOWING, merge_id=merge_id, leader=leader)
        self._changes.watch(now_ns, leader)
        return [accepted, *suspended]

    def refuse(self, now_ns: int, merge_id: MergeId, answer: Steps) -> Steps:
        """Send the leader this answer, then process what is queued."""
        rule = RULES[MergeEvent.MERGE_REQ][self._phase_for_merge(now_ns)]
        self._turn_away(now_ns)
        rejected = _merge_event(now_ns, MergeEvent.MERGE_REQ, merge_id, "rejected")
        return [rejected, *answer, *(self._process(now_ns) if rule is Rule.ACCEPT_OR_PROCESS else [])]

    def _is_suspended_for(self, merge_id: MergeId) -> bool:
        """True for the merge that we lead or follow: the request is the leader's own, or a duplicate."""
        return self.suspension is not None and self.suspension.merge_id == merge_id

    def _phase_for_merge(self, now_ns: int) -> Phase:
        """A merge that was turned away for long no longer waits for joiners that load their state."""
        due = self.phase is Phase.TRANSFERRING and self.merge_turn.is_due(now_ns)
        return Phase.IDLE if due else self.phase

    def _turn_away(self, now_ns: int) -> None:
        if self.phase not in (Phase.LEADING, Phase.FOLLOWING):
            self.merge_turn.turn_away(now_ns)

    def on_merge_ended(self, now_ns: int, merge_id: MergeId, installed: bool) -> Steps:
        """The merge is complete or has failed; for a follower: its leader cancelled it (case #2)."""
        if self.suspension is None or self.suspension.merge_id != merge_id:
            return []
        return self._resume(now_ns, ResumeCause.MERGE_ENDED, with_view=installed)

    # ---- views

    def on_view(self, now_ns: int, view: View) -> Steps:
        """A view was installed at this member, whoever made it."""
        self._view = view
        gone = self.transfers.end_outside(view) if self.transfers.under_way else ()
        out: Steps = [_transfer_over(now_ns, joiner, "excluded") for joiner in gone]
        for request in self.queue.take_where(self._is_settled):
            out += self._settle(now_ns, request)
        if view.is_merge:  # Whoever is suspected still is raised again; the others are with us once more.
            self.queue.take_where(lambda request: request.kind is RequestKind.SUSPECT)
        if view.coordinator != self.me:  # The requests are for somebody else now.
            for request in self.queue.take_where(lambda request: True):
                out += [_requested(now_ns, request, "busy"), *_busy_if_asked(request)]
        if not len(self.queue):
            self._gathering.at_ns = None
        return out + self._resume_follower(now_ns, view)

    def _resume_follower(self, now_ns: int, view: View) -> Steps:
        leader = self.merge_leader
        if leader is None:
            return []
        if leader not in view:
            return self._resume(now_ns, ResumeCause.LEADER_GONE, with_view=True)
        return self._resume(now_ns, ResumeCause.MERGE_VIEW) if view.is_merge else []

    # ---- state transfers

    def on_state_begun(self, now_ns: int, joiner: Address) -> None:
        """For members that did not process the JOIN_WITH_STATE themselves: one of them may have to take over."""
        self.transfers.begin(now_ns, joiner)

    def on_state_progress(self, now_ns: int, joiner: Address) -> None:
        self.transfers.on_progress(now_ns, joiner)

    def on_state_confirmed(self, now_ns: int, joiner: Address) -> Steps:
        return [_transfer_over(now_ns, joiner, "confirmed")] if self.transfers.end(joiner) else []

    # ---- suspending and resuming

    def _suspend(
        self,
        now_ns: int,
        phase: Phase,
        requests: tuple[Request, ...] = (),
        merge_id: MergeId | None = None,
        leader: Address | None = None,
    ) -> Steps:
        assert self.suspension is None
        self._suspensions += 1
        if phase is not Phase.CHANGING:
            self.merge_turn.begin()
        self.suspension = Suspension(self._suspensions, phase, requests, merge_id, leader)
        self.resumer.arm(now_ns)
        detail = {"cause": _CAUSES[phase], "merge_id": None if merge_id is None else str(merge_id)}
        due_ns = self.resumer.timer.at_ns or 0
        return [Event(Kind.SUSPEND, now_ns, peer=leader, value=self._suspensions, other=due_ns, detail=detail)]

    def _resume(self, now_ns: int, cause: ResumeCause, with_view: bool | None = None) -> Steps:
        ended = self.suspension
        assert ended is not None
        self.suspension = None
        self.resumer.disarm()
        if with_view is None:
            with_view = cause in (ResumeCause.VIEW_INSTALLED, ResumeCause.MERGE_VIEW)
        detail: dict[str, object] = {"cause": str(cause), "has_view": with_view} | self._changes.notes()
        event = Event(Kind.RESUME, now_ns, peer=ended.leader, value=ended.number, other=cause.case, detail=detail)
        out: Steps = [event]
        if ended.leader is not None:
            self._changes.unwatch(ended.leader)
        if not with_view:
            out += self._changes.cancel(now_ns, ended, cause)
            out += [_busy(request) for request in ended.requests if request.has_asker]
        if cause is ResumeCause.MERGE_VIEW and len(self.queue):  # This view is still to be told to our side.
            self._gathering.at_ns = now_ns + self.gather_ns
            return out
        return out + self._process(now_ns)

    # ---- time

    def on_time(self, now_ns: int) -> Steps:
        stalled = self.transfers.end_stalled(now_ns) if self.transfers.timer.is_due(now_ns) else ()
        out: Steps = [_transfer_over(now_ns, joiner, "stalled") for joiner in stalled]
        if self.resumer.is_due(now_ns):
            out += self._resume(now_ns, ResumeCause.RESUMER)
        return out + self._process_gathered(now_ns)


def _busy(request: Request) -> SendReliable:
    """It was not taken, or its view failed: its asker shall ask again after a random pause."""
    return SendReliable(request.member, Busy())


def _busy_if_asked(request: Request) -> Steps:
    return [_busy(request)] if request.has_asker else []


def _requested(now_ns: int, request: Request, answer: str) -> Event:
    return Event(Kind.REQUESTED, now_ns, peer=request.member, detail={"what": str(request.kind), "answer": answer})


def _merge_event(now_ns: int, what: MergeEvent, merge_id: MergeId, answer: str) -> Event:
    detail = {"what": str(what), "answer": answer, "merge_id": str(merge_id)}
    return Event(Kind.REQUESTED, now_ns, peer=merge_id.leader, detail=detail)


def _transfer_over(now_ns: int, joiner: Address, how: str) -> Event:
    return Event(Kind.REQUESTED, now_ns, peer=joiner, detail={"what": "STATE", "answer": how})
