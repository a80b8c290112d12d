"""Taking part in a merge, as a coordinator that answers a leader or as a member that answers its coordinator.

Invariants: one merge at a time, at every member; a merge id is armed once in its life, so nothing that arrives late can
bring an old merge back; a merge is over with a view, a cancel, the end of the view handler's suspension, or its limit.
Not here: whether a coordinator may accept at all (the view handler), how a roll call is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ringcast.core.control import MergeCall, MergeDigest, MergeId, MergeReq, MergeRsp, MergeView
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable
from ringcast.core.merge.aggregates import Told, digest_event
from ringcast.core.merge.leader import Gate
from ringcast.core.steps import Steps
from ringcast.model import Address, Config, Event, Kind, Mark, Terms, View

MAX_LEADERS = 1024


class Part(StrEnum):
    ACCEPTED = "accepted"  # a coordinator: nothing is held yet
    CALLING = "calling"  # a coordinator: its roll call runs
    ANSWERED = "answered"  # a coordinator: its digest is with the leader
    MEMBER = "member"  # asked by its coordinator's roll call


@dataclass(slots=True)
class Merge:
    """The merge this member is in."""

    merge_id: MergeId
    part: Part
    members: tuple[Address, ...]


class ArmedOnce:
    """Which merge ids were used up: a leader numbers its merges upwards, so one number for each leader is enough."""

    def __init__(self) -> None:
        self._highest: dict[Address, int] = {}

    def is_used(self, merge_id: MergeId) -> bool:
        return merge_id.number <= self._highest.get(merge_id.leader, 0)

    def use(self, merge_id: MergeId) -> None:
        number = max(merge_id.number, self._highest.pop(merge_id.leader, 0))
        self._highest[merge_id.leader] = number
        if len(self._highest) > MAX_LEADERS:
            del self._highest[next(iter(self._highest))]


class MergeParticipant:
    def __init__(self, me: Address, config: Config, gate: Gate, deadlines: Deadlines | None = None) -> None:
        self.me = me
        self._gate = gate
        self.deadlines = deadlines or Deadlines()
        self._timer = self.deadlines.timer()
        self.limit_ns = config.resumer_ns
        self.merge: Merge | None = None
        self._armed = ArmedOnce()

    # ---- a coordinator and its leader

    def objection(self, sender: Address, request: MergeReq, view: View) -> str | None:
        """Why this MERGE-REQ cannot be accepted, whatever the view handler thinks; None if it can."""
        if request.merge_id.leader != sender:
            return f"merge {request.merge_id} is not {sender}'s"
        if request.view != view.id:
            return f"{self.me} is in view {view.id}, not {request.view}"
        if self.me not in request.members or any(member not in view for member in request.members):
            return f"these are not members of {self.me}'s view {view.id}"
        return self._objection(request.merge_id)

    def _objection(self, merge_id: MergeId) -> str | None:
        merge = self.merge
        if merge is not None and merge.merge_id == merge_id:
            return None
        is_own = merge is not None and merge.merge_id.leader == self.me
        if merge is not None and not (is_own and self._gate.yields_to(merge_id)):
            return f"{self.me} is in merge {merge.merge_id}"
        return f"merge {merge_id} is over" if self._armed.is_used(merge_id) else None

    def on_accepted(self, now_ns: int, request: MergeReq) -> Steps:
        """The view handler accepted it: first or again, the answer is the same."""
        answer = SendReliable(request.merge_id.leader, MergeRsp(request.merge_id, True))
        if self.merge is not None and self.merge.merge_id == request.merge_id:
            return [answer]
        yielded = [] if self.merge is None else self._end(now_ns, "cancelled", f"yielded to {request.merge_id}")
        self._enter(now_ns, request.merge_id, Part.ACCEPTED, request.members)
        return [*yielded, self._event(now_ns, request.merge_id, "accept"), answer]

    def on_refused(
        self,
        now_ns: int,
        sender: Address,
        merge_id: MergeId,
        why: str,
        terms: Terms | None = None,
        coordinator: Address | None = None,
    ) -> Steps:
        """The view handler rejected it, or there was an objection: the leader learns it at once (X5)."""
        refusal = MergeRsp(merge_id, False, why, terms, coordinator)
        return [self._event(now_ns, merge_id, "refuse", why=why), SendReliable(sender, refusal)]

    def on_merge_call(self, now_ns: int, sender: Address, call: MergeCall) -> Steps:
        merge = self._in(call.merge_id, Part.ACCEPTED)
        if merge is None or call.merge_id.leader != sender:
            return []
        merge.part = Part.CALLING
        begun = self._gate.hold_roll_call(now_ns, merge.merge_id, merge.members)
        return [self._event(now_ns, merge.merge_id, "call"), *begun]

    def on_roll_call_ended(
        self,
        now_ns: int,
        merge_id: MergeId,
        told: Mapping[Address, Told],
        number: int,
        limits: tuple[int, int],
        mark: Mark | None = None,
        blamed: tuple[Address, ...] = (),
        stateless: tuple[Address, ...] = (),
        excluded: tuple[Address, ...] = (),
    ) -> Steps:
        """What our roll call gave, complete or not; the leader learns who is missing. `limits` = capacity, bytes.

        An entry that somebody else said counts as missing (G8). Those `blamed` ended the roll call before the others
        could answer: they alone are missing (Y15). Those `excluded` by the merge itself are not missing.
        """
        merge = self._in(merge_id, Part.CALLING)
        if merge is None:
            return []
        merge.part = Part.ANSWERED
        said = {m: told[m] for m in merge.members if m in told and told[m].origin == m}
        origins, entries = tuple(t.origin for t in said.values()), tuple(t.entry for t in said.values())
        missing = tuple(member for member in merge.members if member not in said and member not in excluded)
        missing = tuple(member for member in blamed if member in merge.members) or missing
        digest = MergeDigest(merge_id, tuple(said), origins, entries, missing, number, *limits, mark, stateless)
        events = [digest_event(now_ns, merge_id, member, entry) for member, entry in said.items()]
        return [*events, self._event(now_ns, merge_id, "answer"), SendReliable(merge_id.leader, digest)]

    def on_merge_view(self, now_ns: int, sender: Address, outcome: MergeView) -> Steps:
        merge = self._in(outcome.merge_id, Part.ANSWERED)
        if merge is None or outcome.merge_id.leader != sender or self.me not in outcome.members:
            return []
        if len(outcome.entries) != len(outcome.members):
            return []
        return [self._event(now_ns, merge.merge_id, "view"), *self._gate.spread(now_ns, outcome)]

    def on_cancel(self, now_ns: int, sender: Address, merge_id: MergeId, why: str) -> Steps:
        """The leader gave up; a cancel that overtakes its request uses the id up."""
        if merge_id.leader != sender:
            return []
        self._armed.use(merge_id)
        return self._over(now_ns, merge_id, why) or self._gate.on_merge_ended(now_ns, merge_id, installed=False)

    # ---- a member and its coordinator

    def enter(self, now_ns: int, merge_id: MergeId) -> str | None:
        """Enter the merge of our coordinator's roll call. The answer is why we do not; None: we are in it now."""
        why = self._objection(merge_id)
        if why is None and self.merge is None:
            self._enter(now_ns, merge_id, Part.MEMBER, ())
        return why

    # ---- the end

    def on_view(self, now_ns: int, view: View) -> Steps:
        """Whatever view was installed here, the merge before it is over; if it is no MergeView, without a view."""
        if self.merge is None:
            return []
        if not view.is_merge:
            return self._over(now_ns, self.merge.merge_id, f"view {view.id} came")
        return self._end(now_ns, "installed", "")

    def on_released(self, now_ns: int, merge_id: MergeId) -> Steps:
        """The view handler resumed, or our coordinator cancelled its roll call."""
        if self.merge is None or self.merge.merge_id != merge_id:
            return []
        return self._end(now_ns, "cancelled", "released")

    def on_time(self, now_ns: int) -> Steps:
        if self.merge is None or not self._timer.is_due(now_ns):
            return []
        return self._over(now_ns, self.merge.merge_id, "it took too long")

    # ---- small things

    def _enter(self, now_ns: int, merge_id: MergeId, part: Part, members: tuple[Address, ...]) -> None:
        self._armed.use(merge_id)
        self.merge = Merge(merge_id, part, members)
        self._timer.at_ns = now_ns + self.limit_ns

    def _in(self, merge_id: MergeId, part: Part) -> Merge | None:
        merge = self.merge
        return merge if merge is not None and merge.merge_id == merge_id and merge.part is part else None

    def _over(self, now_ns: int, merge_id: MergeId, why: str) -> Steps:
        if self.merge is None or self.merge.merge_id != merge_id:
            return []
        ended = self._end(now_ns, "cancelled", why)
        return [*ended, *self._gate.on_merge_ended(now_ns, merge_id, installed=False)]

    def _end(self, now_ns: int, outcome: str, why: str) -> Steps:
        """The trace tells of merges at coordinators."""
        ended, self.merge, self._timer.at_ns = self.merge, None, None
        assert ended is not None
        if ended.part is Part.MEMBER:
            return []
        return [self._event(now_ns, ended.merge_id, "end", outcome=outcome, why=why)]

    def _event(self, now_ns: int, merge_id: MergeId, step: str, **more: str) -> Event:
        detail = {"step": step, "merge_id": str(merge_id), **more}
        return Event(Kind.MERGE, now_ns, peer=merge_id.leader, detail=detail)
