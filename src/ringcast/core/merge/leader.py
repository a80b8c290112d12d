"""The merge leader: asks every party, lets each hold its roll call, and makes one view of the answers (seed 000).

    idle --begin--> ASKING --all accepted--> CALLING --all digests--> SPREADING --own view--> idle

A refusal, a limit, a missing digest or the death of a coordinator ends the attempt at once: CANCEL_MERGE to all who
were asked (whole or cancelled, G9), then a pause. While ASKING nothing is held, and we yield to a lower leader.
Not here: whether a merge may start at all (the view handler), who is a party (election.py), the sums (aggregates.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ringcast.core.control import CancelMerge, MergeCall, MergeDigest, MergeId, MergeReq, MergeRsp, MergeView
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import SendReliable, Warn
from ringcast.core.entrance import RandomSource
from ringcast.core.merge.aggregates import Aggregate, Told, digest_event, merge_view
from ringcast.core.merge.election import Party
from ringcast.core.merge.patience import Patience, Pause
from ringcast.core.steps import Steps
from ringcast.model import Address, Config, Digest, Event, Kind, Terms, View, ViewId, ViewNumbers, consolidate


class Stage(StrEnum):
    ASKING = "asking"
    CALLING = "calling"
    SPREADING = "spreading"


@dataclass(slots=True)
class Attempt:
    """One merge under way. `awaited` is an ordered set: who still owes the answer of this step."""

    merge_id: MergeId
    parties: dict[Address, Party]  # by coordinator, our own first
    step: Stage
    awaited: dict[Address, None]
    aggregates: dict[Address, Aggregate] = field(default_factory=dict)
    outcome: ViewId | None = None


class Gate(Protocol):
    """This member's coordinator and its view handler, as merges see them: no merge runs while a view changes (G6)."""

    def may_lead_merge(self, now_ns: int) -> bool: ...

    def lead_merge(self, now_ns: int, merge_id: MergeId) -> Steps:
        """Suspend the handler for a merge of our own, if it may lead one."""
        ...

    def discard_merge(self, now_ns: int, merge_id: MergeId) -> Steps:
        """Lead no merge now; process what is queued."""
        ...

    def hold_roll_call(self, now_ns: int, merge_id: MergeId, members: tuple[Address, ...]) -> Steps:
        """Hold the roll call of this merge among these members, whose own view id is ours."""
        ...

    def yields_to(self, other: MergeId) -> bool:
        """True if a merge of our own gives way to this one."""
        ...

    def spread(self, now_ns: int, merged: MergeView) -> Steps:
        """Install this MergeView here, and spread it among the members that answered our roll call."""
        ...

    def on_merge_ended(self, now_ns: int, merge_id: MergeId, installed: bool) -> Steps:
        """Resume the handler if it is suspended for this merge (case #2)."""
        ...


class MergeLeader:
    def __init__(
        self,
        me: Address,
        config: Config,
        random: RandomSource,
        gate: Gate,
        terms: Terms | None = None,
        numbers: ViewNumbers | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.me = me
        self.config = config
        self.attempt: Attempt | None = None
        self.deadlines = deadlines or Deadlines()
        self._timer = self.deadlines.timer()  # of the attempt's step
        self.pause = Pause(config.merge_pause_ns, config.merge_pause_max_ns, random)
        self.patience = Patience(config.merge_patience, config.known_peers)
        self._gate = gate
        self._terms = terms
        self._merges = 0
        self._numbers = numbers or ViewNumbers()  # a view that nobody kept here may be kept elsewhere (G4)

    # ---- starting

    def on_raised(self, now_ns: int, parties: Sequence[Party]) -> Steps:
        """Detection raised MERGE. During an attempt or a pause nothing comes of it: it will be raised again."""
        if self.attempt is not None or now_ns < self.pause.until_ns:
            return []
        admitted = self.patience.admit(self.me, parties)
        if len(admitted) < 2 or all(party.coordinator != self.me for party in admitted):
            return []
        self._merges += 1
        merge_id = MergeId(self.me, self._merges)
        if not self._gate.may_lead_merge(now_ns):
            return self._gate.discard_merge(now_ns, merge_id)
        return [*self._gate.lead_merge(now_ns, merge_id), *self._begin(now_ns, merge_id, admitted)]

    def _begin(self, now_ns: int, merge_id: MergeId, admitted: list[Party]) -> Steps:
        parties = sorted(admitted, key=lambda party: (party.coordinator != self.me, party.coordinator))
        by_coordinator = {party.coordinator: party for party in parties}
        self._timer.at_ns = now_ns + self.config.merge_ask_ns
        self.attempt = Attempt(merge_id, by_coordinator, Stage.ASKING, dict.fromkeys(by_coordinator))
        asked = [
            SendReliable(party.coordinator, MergeReq(merge_id, party.view.id, party.members, self._terms))
            for party in _self_last(self.me, parties)
        ]
        return [self._traced(now_ns, "start", {"parties": [list(party.members) for party in parties]}), *asked]

    # ---- answers

    def on_merge_rsp(self, now_ns: int, sender: Address, answer: MergeRsp) -> Steps:
        attempt = self._awaiting(Stage.ASKING, sender, answer.merge_id)
        if attempt is None:
            return []
        if not answer.accepted:
            # Who names its coordinator did right: the wrong one was asked.
            blamed = [sender] if answer.coordinator is None else []
            return self._fail(now_ns, f"{sender} refused: {answer.why}", blamed)
        del attempt.awaited[sender]
        return [] if attempt.awaited else self._call(now_ns, attempt)

    def _call(self, now_ns: int, attempt: Attempt) -> Steps:
        attempt.step, self._timer.at_ns = Stage.CALLING, now_ns + self.config.merge_ns
        attempt.awaited = dict.fromkeys(attempt.parties)
        calls = [SendReliable(to, MergeCall(attempt.merge_id)) for to in self._addressees(attempt)]
        return [self._traced(now_ns, "call"), *calls]

    def on_merge_digest(self, now_ns: int, sender: Address, answer: MergeDigest) -> Steps:
        attempt = self._awaiting(Stage.CALLING, sender, answer.merge_id)
        if attempt is None:
            return []
        if answer.missing:
            return self._fail(now_ns, f"{sender} has no digest for {_names(answer.missing)}", answer.missing)
        if not _is_firsthand(sender, answer):
            return self._fail(now_ns, f"{sender} sent what its members did not say themselves", [sender])
        if wrong := _mismatch(attempt.parties[sender], sender, answer):
            return self._fail(now_ns, f"{sender} {wrong}", [sender])
        attempt.aggregates[sender] = _aggregate(attempt.parties[sender], answer)
        del attempt.awaited[sender]
        told = zip(answer.members, answer.origins, answer.entries, strict=True)
        events: Steps = [
            digest_event(now_ns, answer.merge_id, member, Told(origin, entry)) for member, origin, entry in told
        ]
        return events if attempt.awaited else events + self._consolidate(now_ns, attempt)

    def _consolidate(self, now_ns: int, attempt: Attempt) -> Steps:
        aggregates = [attempt.aggregates[coordinator] for coordinator in attempt.parties]
        digest, overlap = consolidate(aggregate.digest for aggregate in aggregates)
        highest = max(aggregate.number for aggregate in aggregates)
        view = merge_view(self._numbers.next_id(highest, self.me), aggregates)
        missing = digest.missing(view.members)
        if missing:
            return self._fail(now_ns, f"no digest for {_names(missing)}", missing)
        attempt.step, self._timer.at_ns = Stage.SPREADING, now_ns + self.config.merge_ask_ns
        attempt.outcome = view.id
        stateless = tuple(member for aggregate in aggregates for member in aggregate.stateless)
        outcome = _merge_view(attempt.merge_id, view, digest, stateless)
        spread = [SendReliable(to, outcome) for to in self._addressees(attempt)]
        who = _names(overlap)  # seed 000 asks for a warning
        warning = [Warn(f"merge: more than one side sent a digest of {who}; the highest entries count")] if who else []
        return [self._traced(now_ns, "view", {"view": view.id, "overlap": list(overlap)}), *warning, *spread]

    def on_view(self, now_ns: int, view: View) -> Steps:
        """A view was installed here; if it is ours, the merge is complete."""
        attempt = self.attempt
        if attempt is None or view.id != attempt.outcome:
            return []
        self.attempt, self._timer.at_ns = None, None
        self.pause.on_success()
        self.patience.on_attempt(())
        done = self._event(now_ns, attempt.merge_id, "end", {"outcome": "installed", "view": view.id})
        return [done, *self._gate.on_merge_ended(now_ns, attempt.merge_id, installed=True)]

    # ---- failing

    def on_gone(self, now_ns: int, peer: Address) -> Steps:
        """A coordinator that we asked is suspected; even if it has answered, it could not spread the view."""
        attempt = self.attempt
        if attempt is None or attempt.step is Stage.SPREADING or peer not in attempt.parties:
            return []
        return self._fail(now_ns, f"{peer} is suspected", [peer])

    def on_other_merge(self, now_ns: int, other: MergeId) -> Steps:
        """Another leader asks us, without objection. Before the view handler decides: we may yield, then it accepts."""
        return self._end(now_ns, f"yielded to {other}") if self.yields_to(other) else []

    def yields_to(self, other: MergeId) -> bool:
        """True while our own merge, for which nobody holds yet, gives way to this one of a lower leader."""
        return self.attempt is not None and self.attempt.step is Stage.ASKING and other.leader < self.me

    def on_cancelled(self, now_ns: int, merge_id: MergeId, why: str) -> Steps:
        """The view handler ended the suspension first (the Resumer, case #4)."""
        if self.attempt is None or self.attempt.merge_id != merge_id:
            return []
        return self._fail(now_ns, why, self.attempt.awaited)

    def _fail(self, now_ns: int, why: str, missing: Iterable[Address]) -> Steps:
        self.patience.on_attempt([member for member in missing if member != self.me])
        self.pause.on_failure(now_ns)
        return self._end(now_ns, why)

    def _end(self, now_ns: int, why: str) -> Steps:
        attempt = self.attempt
        assert attempt is not None
        cancels = [
            SendReliable(to, CancelMerge(attempt.merge_id, why)) for to in self._addressees(attempt) if to != self.me
        ]
        ended = self._traced(now_ns, "end", {"outcome": "cancelled", "why": why})
        self.attempt, self._timer.at_ns = None, None
        return [ended, *cancels, *self._gate.on_merge_ended(now_ns, attempt.merge_id, installed=False)]

    # ---- time

    def on_time(self, now_ns: int) -> Steps:
        attempt = self.attempt
        if attempt is None or not self._timer.is_due(now_ns):
            return []
        if attempt.step is Stage.SPREADING:
            return self._fail(now_ns, "our own subgroup did not install the view", ())
        late = list(attempt.awaited)
        return self._fail(now_ns, f"no answer from {_names(late)} while {attempt.step}", late)

    # ---- small things

    def _awaiting(self, step: Stage, sender: Address, merge_id: MergeId) -> Attempt | None:
        """The attempt, if this answer belongs to it, to this step, and is still owed."""
        attempt = self.attempt
        if attempt is None or attempt.merge_id != merge_id or attempt.step is not step:
            return None
        return attempt if sender in attempt.awaited else None

    def _addressees(self, attempt: Attempt) -> list[Address]:
        return [party.coordinator for party in _self_last(self.me, list(attempt.parties.values()))]

    def _traced(self, now_ns: int, step: str, detail: dict[str, object] | None = None) -> Event:
        assert self.attempt is not None
        return self._event(now_ns, self.attempt.merge_id, step, detail or {})

    def _event(self, now_ns: int, merge_id: MergeId, step: str, detail: dict[str, object]) -> Event:
        return Event(Kind.MERGE, now_ns, peer=self.me, detail={"step": step, "merge_id": str(merge_id), **detail})


def _self_last(me: Address, parties: list[Party]) -> list[Party]:
    """Our own answer is at hand at once: the others shall be asked before we act on it."""
    return sorted(parties, key=lambda party: party.coordinator == me)


def _is_firsthand(sender: Address, answer: MergeDigest) -> bool:
    """Whole, and without hearsay (G8)."""
    return sender in answer.members and len(answer.members) == len(answer.entries) and answer.members == answer.origins


def _mismatch(party: Party, sender: Address, answer: MergeDigest) -> str | None:
    """Say how the members of this answer differ from those it was asked for; None if they are the same (G9).

    Only an observer may leave members out: where no voter is left it speaks for its side, and the merge excludes whom
    it suspects, because nobody there can (`RollCall.digested`).
    """
    strangers = [member for member in answer.members if member not in party.members]
    if strangers:
        return f"answered for {_names(strangers)}, without being asked"
    if len(dict.fromkeys(answer.members)) < len(answer.members):
        return "answered twice for the same member"
    omitted = [member for member in party.members if member not in answer.members]
    if omitted and sender not in party.view.observers:
        return f"was asked for {_names(party.members)}, and says nothing of {_names(omitted)}"
    return None


def _names(members: Iterable[Address]) -> str:
    return ", ".join(map(str, members))


def _aggregate(party: Party, answer: MergeDigest) -> Aggregate:
    digest = Digest(dict(zip(answer.members, answer.entries, strict=True)))
    observers = tuple(m for m in party.view.observers if m in answer.members)
    limits = (answer.number, answer.capacity, answer.window_bytes)
    stateless = tuple(m for m in answer.stateless if m in answer.members)
    return Aggregate(answer.members, digest, *limits, observers, answer.mark, stateless)


def _merge_view(merge_id: MergeId, view: View, digest: Digest, stateless: tuple[Address, ...]) -> MergeView:
    entries = tuple(digest[member] for member in view.members)
    return MergeView(
        merge_id,
        view.id,
        view.members,
        view.observers,
        view.subgroups,
        view.capacity,
        view.window_bytes,
        entries,
        view.mark,
        stateless,
    )
