"""The roll call, at the coordinator: ask, collect answers, let everybody fill up to the cut (DESIGN section 4).

    ask → answer (all hold) → fill → filled → complete
      ↑______ again, attempt + 1: somebody dropped out; no answer of an earlier attempt counts

The id of the view to come is taken with the order to fill up, and with it, under the primary policy, whether that view
is primary: its voters record it before they have filled up (G17).

Invariants: every member of the base view is asked or going; an answer counts for one attempt only; a roll call that
does not end in a view sends a cancel to all who were asked. Who does not answer twice in a row, or does not fill up
twice in a row, is suspected; that others are slow costs it no chance. If it fails all the same, whoever was silent in
two of its attempts is: two members that are late by turns would block every view. However often
it begins again, it is complete within `view_change_ns` or has failed: the view that follows has its own limit, and both
end before the Resumer (G6, G7).

Mark files: each answer says how long its disk takes, and the limit to fill up follows the slowest. While a disk stands
still its member is not silent, for up to `resumer_ns`. A view that is proposed again, because nobody dropped out, keeps
its id: what voters have recorded of it, or are writing, counts for the next attempt and the next roll call.
Not the view: what follows from a complete roll call (a view, a merge answer) is decided by whoever began it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ringcast.core.control import (
    NOTHING_TO_SETTLE,
    Answer,
    Ask,
    Behind,
    Cancel,
    Fill,
    Filled,
    Join,
    MergeId,
    NewView,
    Refusal,
    RollCallId,
    Settlement,
    Standing,
    Survivor,
)
from ringcast.core.deadlines import Deadlines, Timer
from ringcast.core.effects import Drop, Lost, SendReliable
from ringcast.core.membership.cut import agreed_cut
from ringcast.core.steps import Steps, Until
from ringcast.model import Address, Config, Electorate, Entry, Event, Kind, Mark, View, ViewId, ViewNumbers, combined

STRIKES = 2  # silent attempts in a row before a member is suspected
DISK_TIMES = 2  # the limit to fill up, in times that the slowest disk took lately


@dataclass(frozen=True, slots=True)
class Complete:
    """Everybody who goes on has answered and is filled up: what the next view needs to know."""

    entries: dict[Address, Entry]  # how far the streams of those who answered have come, said by themselves (G8)
    cuts: tuple[int, ...]  # of every member of the base view, in its order
    number: int  # the highest view number in any answer
    capacity: int
    window_bytes: int
    settlement: Settlement = NOTHING_TO_SETTLE
    standings: dict[Address, Standing] = field(default_factory=dict)  # how each stands with the application's state
    mark: Mark | None = None  # what they know of primary views


class Digested(NamedTuple):
    """The roll call of a merge is over; not complete: some are missing, and these are to blame (none: all missing)."""

    merge_id: MergeId
    entries: dict[Address, Entry]
    number: int
    capacity: int
    window_bytes: int
    mark: Mark | None = None
    blamed: tuple[Address, ...] = ()
    stateless: tuple[Address, ...] = ()  # who has not loaded the state it joined with
    excluded: tuple[Address, ...] = ()  # whom the merge excludes, because nobody of its side can: not missing


class Caller(Protocol):
    """The coordinator that called the roll, and learns how it ended."""

    def on_complete(self, now_ns: int, complete: Complete) -> Steps: ...

    def on_digested(self, now_ns: int, digested: Digested) -> Steps: ...

    def on_failed(self, now_ns: int, roll_call: RollCallId, why: str) -> Steps:
        """This roll call cannot end in a view."""
        ...

    def suspect(self, now_ns: int, member: Address, why: str, until: Until = Until.VIEW) -> Steps:
        """Suspect a member that did not do what it must."""
        ...

    def on_spread(self, now_ns: int, view: ViewId) -> Steps:
        """Every member that must know the view has shown it, or is suspected for not doing so."""
        ...


class RollCall:
    """One change of the view, from the first question until everybody is filled up."""

    def __init__(
        self,
        me: Address,
        config: Config,
        base: View,
        attempt: int,
        caller: Caller,
        *,
        going: tuple[Address, ...] = (),
        leaving: tuple[Address, ...] = (),
        merge_id: MergeId | None = None,
        known: NewView | None = None,
        numbers: ViewNumbers | None = None,
        timer: Timer | None = None,
        proposed: Electorate | None = None,
    ) -> None:
        """`proposed`: the primary view that we last proposed on this base, and never told."""
        self.me = me
        self.config = config
        self.timer = timer or Deadlines().timer()  # of this step
        self.base = base
        self._caller = caller
        self.merge_id = merge_id
        self.id = RollCallId(base.id, base.rank(me), attempt)
        self.going: dict[Address, None] = dict.fromkeys(m for m in going if m in base and m != me)
        self.leaving = tuple(m for m in leaving if m in base)
        self.timer.at_ns = None
        self.until_ns = 0  # of all attempts together
        self.joiners: Callable[[], Mapping[Address, Join]] = dict  # who joins with the view to come
        self.next_id: ViewId | None = None  # of the view to come
        self.primary: Electorate | None = None  # it is this primary view
        self.proposed = proposed
        self._numbers = numbers or ViewNumbers()
        self._known = known  # how the base view was told, for members that missed it
        self._asked_ever: dict[Address, None] = {}
        self._answers: dict[Address, Answer] = {}
        self._filled: dict[Address, None] = {}
        self._is_filling = False
        self._strikes: dict[tuple[Address, bool], int] = {}  # in a row, by member and whether it was to fill up
        self._missed: dict[Address, int] = {}  # in how many attempts a member was silent

    # ---- who

    @property
    def asked(self) -> list[Address]:
        """Ourselves last: what we answer ourselves comes back at once, when all others have been asked."""
        return [m for m in self.base.members if m not in self.going and m != self.me] + [self.me]

    @property
    def staying(self) -> list[Address]:
        """In the order of the view: it decides who leads next."""
        return [m for m in self.base.members if m not in self.going and m not in self.leaving]

    @property
    def awaited(self) -> list[Address]:
        """Who is still to answer, or to fill up."""
        if self._is_filling:
            return [member for member in self.staying if member not in self._filled]
        return [member for member in self.asked if member not in self._answers]

    # ---- begin, begin again, end

    def begin(self, now_ns: int) -> Steps:
        self.until_ns = now_ns + self.config.view_change_ns
        return self._ask(now_ns, "start")

    def again(self, now_ns: int, *dropped: Address) -> Steps:
        """Attempt + 1, with these among the going-away; nothing that was answered counts any more.

        A merge is not repeated here: its leader learns at once who is missing, and whom to blame for it.
        """
        if self.merge_id is not None:
            self.timer.at_ns = None
            return self._caller.on_digested(now_ns, self.digested(self.merge_id, dropped))
        if now_ns >= self.until_ns:
            self.timer.at_ns = None
            often = [m for m, missed in self._missed.items() if missed >= STRIKES and m not in self.going]
            return [*self._suspect(now_ns, self._silences(often)), *self._fail_late(now_ns)]
        self.going.update(dict.fromkeys(member for member in dropped if member != self.me))
        self.id = self.id._replace(attempt=self.id.attempt + 1)
        return self._ask(now_ns, "again")

    def _ask(self, now_ns: int, step: str) -> Steps:
        self._answers.clear()
        self._filled.clear()
        self._is_filling = False
        self.next_id, self.primary = None, None
        self.timer.at_ns = min(self.until_ns, now_ns + self.config.roll_call_ns - self.config.fill_ns)
        asked = self.asked
        self._asked_ever.update(dict.fromkeys(asked))
        purpose = "view" if self.merge_id is None else "merge"
        question = Ask(self.id, tuple(self.going), self.leaving, self.merge_id)
        detail = {"purpose": purpose, "asked": asked, "going": list(self.going)}
        return [self._event(now_ns, step, **detail), *(SendReliable(member, question) for member in asked)]

    def cancel(self, now_ns: int, why: str = "") -> Steps:
        """The end without a view: all who hold are told (G7)."""
        detail = {"outcome": "cancelled"} | ({"why": why} if why else {})
        return [self._event(now_ns, "end", **detail), *self._cancels(list(self._asked_ever))]

    def dismiss(self, now_ns: int) -> Steps:
        """The end with a view: those who dropped out on the way hold for nothing."""
        return [self._event(now_ns, "end", outcome="installed"), *self._cancels(list(self.going))]

    def _cancels(self, members: list[Address]) -> Steps:
        return [SendReliable(member, Cancel(self.id)) for member in members if member in self._asked_ever]

    @property
    def cancelled(self) -> list[Address]:
        return list(self._asked_ever)

    # ---- answers

    def on_answer(self, now_ns: int, sender: Address, answer: Answer) -> Steps:
        if answer.id != self.id or self._is_filling or sender in self.going or sender not in self.base:
            return []
        told = [holding.origin for holding in answer.holdings]
        if any(member not in told for member in self.going):
            return [Drop("an answer that says nothing of a member that is going away", sender)]
        self._answers[sender] = answer
        self._strikes.pop((sender, False), None)
        if self.awaited:
            return []
        return self._fill(now_ns)

    def _fill(self, now_ns: int) -> Steps:
        self._is_filling = True
        cuts, sources = {}, []
        for member in self.base.members:
            answer = self._answers.get(member)
            if answer is not None:
                cuts[member] = answer.entry.delivered
                continue
            held = {
                who: holding
                for who, answer in self._answers.items()
                for holding in answer.holdings
                if holding.origin == member
            }
            cuts[member], found = agreed_cut(member, held)
            sources += found
        self._cuts = tuple(cuts.values())
        self._propose()
        self.timer.at_ns = min(self.until_ns, now_ns + self._fill_limit_ns())
        order = Fill(self.id, self._cuts, tuple(sources), self._settlement(), self.primary)
        out: Steps = [self._event(now_ns, "fill", cuts=list(self._cuts))]
        out += [SendReliable(member, order) for member in self.asked if member not in self.leaving]
        return out if self.staying else [*out, *self._end_filling(now_ns)]

    def _propose(self) -> None:
        """A merge leader numbers its view itself; and a MergeView is not primary, but followed by a primary view."""
        if self.merge_id is not None:
            return
        self.primary = self._proposed_before()
        if self.primary is not None:
            self.next_id = self.primary.view
            return
        self.next_id = self._numbers.next_id(self.number, self.me)
        mark = self.mark
        self.primary = self.proposed = None if mark is None else self._primary_view(mark, self.next_id)

    def _primary_view(self, mark: Mark, view: ViewId) -> Electorate | None:
        """The view to come as a primary one, with this id; None if it has not the votes."""
        voters = [member for member in self.staying if member not in self.base.observers]
        newcomers = [member for member, join in self.joiners().items() if not join.observer]
        return mark.proposal(view, voters, newcomers, len(self.staying) - len(voters))

    def _proposed_before(self) -> Electorate | None:
        """The primary view that we proposed before, if it is the same that we would propose now.

        It was told to nobody, so its id is still to be given (G4); but not if anybody knows a view as high.
        """
        before, mark = self.proposed, self.mark
        if before is None or mark is None:
            return None
        mark = mark.without(before.view)
        known = [answer.number for member, answer in self._answers.items() if member != self.me]
        is_above = before.view.number > max([mark.highest, self.base.id.number, *known])
        return before if is_above and self._primary_view(mark, before.view) == before else None

    def _fill_limit_ns(self) -> int:
        """Twice as long as the slowest disk took lately, if marks are to be stored; three attempts fit a roll call."""
        floor_ns = self.config.fill_ns
        if self.primary is None:
            return floor_ns
        slowest_ns = max(answer.disk_ns for answer in self._answers.values())
        return max(floor_ns, min(DISK_TIMES * slowest_ns, self.config.view_change_ns // 3))

    @property
    def storing(self) -> dict[Address, int]:
        """Whose mark file is what we wait for, as far as their answers tell, and how long it took lately or by now."""
        if not self._is_filling or self.primary is None:
            return {}
        disks = {m: max(a.disk_ns, a.storing_ns) for m, a in self._answers.items() if m in self.awaited}
        return {member: disk_ns for member, disk_ns in disks.items() if disk_ns}

    def _storing_ns(self, member: Address) -> int:
        """How long it had been storing a mark when it answered this attempt, which it has not filled up in."""
        answer = self._answers.get(member) if self._is_filling else None
        return 0 if answer is None else answer.storing_ns

    def on_filled(self, now_ns: int, sender: Address, filled: Filled) -> Steps:
        if filled.id != self.id or not self._is_filling or sender not in self.staying:
            return []
        self._filled[sender] = None
        self._strikes.pop((sender, True), None)
        return [] if self.awaited else self._end_filling(now_ns)

    def _end_filling(self, now_ns: int) -> Steps:
        """A coordinator that slept past the limit makes no view of what it finds when it wakes."""
        if now_ns < self.until_ns:
            return self._caller.on_complete(now_ns, self._complete())
        return self._fail_late(now_ns)

    def _fail_late(self, now_ns: int) -> Steps:
        self.timer.at_ns = None
        why = f"roll call {self.id} is not complete within {self.config.view_change_ns / 1e9:g} s"
        return self._caller.on_failed(now_ns, self.id, why)

    def _complete(self) -> Complete:
        self.timer.at_ns = None
        limits = self.limits(self.staying or self.asked)
        standings = {member: answer.standing for member, answer in self._answers.items()}
        return Complete(self.entries(), self._cuts, self.number, *limits, self._settlement(), standings, self.mark)

    def _settlement(self) -> Settlement:
        survivors = tuple(Survivor(member, self._answers[member].carried) for member in self.staying)
        return Settlement(tuple(self.going), survivors)

    def entries(self, members: list[Address] | None = None) -> dict[Address, Entry]:
        """What members said of themselves in this attempt (G8)."""
        return {m: answer.entry for m, answer in self._answers.items() if members is None or m in members}

    @property
    def number(self) -> int:
        """The highest number of a view that those who answered know, primary views of before included (G17)."""
        highest = max((answer.number for answer in self._answers.values()), default=self.base.id.number)
        return highest if self.mark is None else max(highest, self.mark.highest)

    @property
    def mark(self) -> Mark | None:
        """What those who answered, and those who join, know together of primary views."""
        marks = [answer.mark for answer in self._answers.values()]
        return combined([*marks, *(join.mark for join in self.joiners().values())])

    def limits(self, members: list[Address]) -> tuple[int, int]:
        """The smallest windows of these."""
        answers = [self._answers[member] for member in members if member in self._answers]
        return (
            min((answer.capacity for answer in answers), default=self.config.capacity),
            min((answer.window_bytes for answer in answers), default=self.config.window_bytes),
        )

    def digested(self, merge_id: MergeId, blamed: tuple[Address, ...] = ()) -> Digested:
        """The outcome for a merge leader, complete or not: who is filled up, or has at least answered.

        `blamed` ended it before the others could answer; none: whoever has not answered within the limit. An observer
        speaks where no voter is left: it can make no view without those whom it suspects, so the merge is that view.
        """
        done = [member for member in self.staying if member not in self.awaited]
        limits, stateless = self.limits(done), self._stateless(done)
        excluded = tuple(self.going) if self.me in self.base.observers else ()
        return Digested(merge_id, self.entries(done), self.number, *limits, self.mark, blamed, stateless, excluded)

    def _stateless(self, members: Sequence[Address]) -> tuple[Address, ...]:
        """Those who have not loaded the state they joined with, or lack the merged one that a voter of the side has."""
        said = {member: answer.standing for member, answer in self._answers.items()}
        reunion = None if self._known is None else self._known.reunion
        able = [standing for member, standing in said.items() if member not in self.base.observers]
        is_merged = reunion is not None and any(standing.reunited == reunion.cut for standing in able)
        lacking = [m for m, it in said.items() if it.joining is not None or (it.lacks and is_merged)]
        return tuple(member for member in members if member in lacking)

    # ---- those who do not answer

    def on_behind(self, sender: Address, behind: Behind) -> Steps:
        """It is in an earlier view: it gets ours and its cut first, then the question again.

        Who was on another side of the merge that made our view would be told a cut that is not of its side: its own
        coordinator brings it the view, and then it answers the question that it has.
        """
        if (
            behind.id != self.id
            or sender not in self.awaited
            or self._known is None
            or self.base.joins(self.me, sender)
        ):
            return []
        return [
            SendReliable(sender, self._known),
            SendReliable(sender, Ask(self.id, tuple(self.going), self.leaving, self.merge_id)),
        ]

    def on_refusal(self, now_ns: int, sender: Address, refusal: Refusal) -> Steps:
        if refusal.id != self.id or sender in self.going or sender not in self.base:
            return []
        if self.merge_id is not None:
            out = self.again(now_ns, sender)  # First, because the suspicion may bring up others, the merge leader too.
            return [*out, *self._caller.suspect(now_ns, sender, refusal.why)] if refusal.gone else out
        if refusal.gone:  # It is in a later view without us: left to merge.
            again = self.again(now_ns, sender)  # Before the suspicion, which is told to this roll call, too.
            suspected = self._caller.suspect(now_ns, sender, refusal.why)
            return [*suspected, *again] if now_ns < self.until_ns else [*again, *suspected]  # Past it, it has failed.
        if sender in self._answers:  # It could not fill up to the cut: its answer is void.
            return self.again(now_ns)
        return self._caller.on_failed(now_ns, self.id, f"{sender} refuses: {refusal.why}")

    def on_suspect(self, now_ns: int, member: Address) -> Steps:
        """Stop waiting for it, at once. A leaver that crashed is going-away like anybody."""
        if member in self.going or member not in self.base or self.timer.at_ns is None:
            return []
        return self.again(now_ns, member)

    def on_time(self, now_ns: int) -> Steps:
        if not self.timer.is_due(now_ns):
            return []
        if self.me in self.awaited and self._storing_ns(self.me) >= self.config.resumer_ns:
            return self._give_up_place(now_ns)
        awaited = [m for m in self.awaited if m != self.me] if now_ns < self.until_ns else []  # Else it was cut short.
        for member in [m for m in awaited if 0 < self._storing_ns(m) < self.config.resumer_ns]:
            self._strikes.pop((member, True), None)  # It is not silent: its disk stands still.
            awaited.remove(member)
        for member in awaited:
            self._missed[member] = self._missed.get(member, 0) + 1
            self._strikes[member, self._is_filling] = self._strikes.get((member, self._is_filling), 0) + 1
        silent = [m for m in awaited if self._strikes[m, self._is_filling] >= STRIKES]
        silences = self._silences(silent)
        again = self.again(now_ns, *silent)  # Before the suspicions, which are told to this roll call, too.
        return [*self._suspect(now_ns, silences), *again]

    def _give_up_place(self, now_ns: int) -> Steps:
        """Leave the view to another member: our own disk stands still, and every view would wait for it."""
        self.timer.at_ns = None
        why = f"its mark file was not stored for {self._storing_ns(self.me) / 1e9:.1f} s, and every view waits for it"
        return [*self._caller.on_failed(now_ns, self.id, why), Lost(why)]

    def _silences(self, members: list[Address]) -> dict[Address, str]:
        """Why each of these is suspected."""
        return {m: f"silent in {self._missed[m]} attempts of roll call {self.id}" for m in members}

    def _suspect(self, now_ns: int, silences: dict[Address, str]) -> Steps:
        return [step for member, why in silences.items() for step in self._caller.suspect(now_ns, member, why)]

    def _event(self, now_ns: int, step: str, **detail: object) -> Event:
        return Event(
            Kind.ROLL_CALL,
            now_ns,
            self.base.id,
            value=self.id.attempt,
            detail={"step": step, "id": str(self.id)} | detail,
        )
