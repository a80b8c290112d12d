"""G7, every suspension ends, with one of the four causes, and one that ends without a view cancels all who hold.

The cause that a RESUME states must have happened since the suspension: the view was installed, this very merge ended
(a coordinator whose part is over records that in the same moment), the leader of the merge was suspected, the Resumer's
moment had come. Who holds: the members that were asked by roll calls since the suspension began. Each suspension arms
the Resumer. One that is open when the recording ends is a violation only if the Resumer should have come by then: the
recording goes on for `GRACE_NS` after that moment. The moment of a crash is not one at which the member went on: it may
have been stopped since long before.
Judged at those who hold, too: behind a release without a view stands a cancel, the holder's suspicion of the asker, or
the holder's own limit; by limit only if asker and holder did not go on together from there. A cancel comes from the
asker's roll call or a later one of its own that had asked the holder, too, and ended without a view or without the
holder; on one clock it began before the release (real processes stamp an event when their turn began, so they have
`GRACE_NS`). That a cancel was sent is the asker's word; a holder that went on with it and waited until its own limit
got none, unless an injected fault held meanwhile, or the cancel was sent about as late as that limit: clocks of two
hosts do not run alike. None is owed to one that is still in the view in which it promised, if a fault held meanwhile
and the roll call ended with a view for it. A limit is one of the holder's own clock: one that runs fast, by a fault,
makes it shorter.
Unknown if the asker's recording does not reach that far.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report, is_crash
from ringcast.checkers.troubles import Troubles
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import SIMULATED_CLOCK, as_address, as_addresses, detail_of

GRACE_NS = 1_000_000_000
CLOCKS = 64  # a clock may run faster than another by one part of so many

# Which causes may end a suspension that began for this cause; the Resumer may end each (case 4).
ENDS = {
    "view": ("view-installed", "view-failed", "resumer"),
    "merge": ("merge-ended", "merge-view", "resumer"),
    "merge-request": ("merge-view", "leader-gone", "merge-ended", "resumer"),
}


@dataclass(slots=True)
class _Suspension:
    evidence: Evidence
    number: int
    cause: str
    resumer_ns: int
    leader: Address | None = None
    merge_id: str | None = None
    holding: dict[Address, None] = field(default_factory=dict)
    happened: dict[str, None] = field(default_factory=lambda: {"view-failed": None})


@dataclass(slots=True)
class _RollCall:
    """One coordinator's roll call on one view, over all its attempts."""

    asker: Address
    begin_ns: int  # both by the asker's clock
    end_ns: int = 0
    outcomes: list[str] = field(default_factory=list)
    asked: dict[Address, None] = field(default_factory=dict)
    going: dict[Address, None] = field(default_factory=dict)

    def has_view_for(self, member: Address) -> bool:
        return "installed" in self.outcomes and member in self.asked and member not in self.going

    def has_cancelled(self, member: Address) -> bool:
        """It ended with a cancel to this member: to all who were asked, or, with a view, to those who go."""
        is_without = any(outcome != "installed" for outcome in self.outcomes)
        return member in self.asked and (is_without or (bool(self.outcomes) and member in self.going))


@dataclass(frozen=True, slots=True)
class _Release:
    evidence: Evidence
    call: str
    t_ns: int
    promised_ns: int
    is_in_view_of_promise: bool
    suspected: tuple[Address, ...]
    view: ViewId | None


@dataclass(slots=True)
class _Member:
    clock: str = ""
    resumer_ns: int = 0
    promised_ns: int = 0
    promised_in: ViewId | None = None
    releases: list[_Release] = field(default_factory=list)
    views: list[ViewId] = field(default_factory=list)
    crashed: bool = False
    suspension: _Suspension | None = None
    last_ns: int = 0
    ending: tuple[int, str | None, Evidence, Evidence] | None = None  # resumed because this merge is said to be over
    suspected: dict[Address, None] = field(default_factory=dict)


class SuspensionChecker:
    guarantee = "G7"
    kinds = tuple(Kind)  # every event tells that the member still went on

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._calls: dict[str, _RollCall] = {}
        self._troubles = Troubles()
        self._on = {
            Kind.START: self._on_start,
            Kind.SUSPEND: self._on_suspend,
            Kind.RESUME: self._on_resume,
            Kind.ROLL_CALL: self._on_roll_call,
            Kind.VIEW: self._on_view,
            Kind.MERGE: self._on_merge,
            Kind.SUSPECT: self._on_suspect,
            Kind.CLOSED: self._on_closed,
            Kind.FAULT: self._on_trouble,
            Kind.HEAL: self._on_trouble,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        self._check_ending(member, event.t_ns, state)
        if not is_crash(event):
            state.last_ns = event.t_ns
        handler = self._on.get(event.kind)
        if handler is not None:
            handler(member, index, event, state)

    def _on_start(self, member: Address, index: int, event: Event, state: _Member) -> None:
        detail = detail_of(event.detail)
        state.clock = str(detail.get("clock"))
        state.resumer_ns = int(detail_of(detail.get("config")).get("resumer_ns") or 0)

    def _on_suspend(self, member: Address, index: int, event: Event, state: _Member) -> None:
        here = Evidence.of(member, index, event)
        cause = detail_of(event.detail)["cause"]
        self._report.examined += 1
        if cause not in ENDS:
            self._violated(here, f"{member} suspended its view handler for {cause!r}, which is no known cause")
        if state.suspension is not None:
            first = state.suspension
            sentence = f"{member} suspended its view handler for {cause} while suspended for {first.cause}"
            self._violated(here, sentence, first.evidence)
        if not event.other:
            self._violated(here, f"{member} suspended its view handler for {cause} without a Resumer")
        detail = detail_of(event.detail)
        leader = detail.get("leader")
        known = None if leader is None else as_address(leader)
        state.suspension = _Suspension(here, event.value, cause, event.other, known, detail.get("merge_id"))

    def _on_resume(self, member: Address, index: int, event: Event, state: _Member) -> None:
        here = Evidence.of(member, index, event)
        detail = detail_of(event.detail)
        cause = detail["cause"]
        cancelled = as_addresses(detail.get("cancelled"))
        suspension, state.suspension = state.suspension, None
        if suspension is None or suspension.number != event.value:
            self._violated(here, f"{member} resumed suspension {event.value}, which was not open")
            return
        if cause not in ENDS.get(suspension.cause, (cause,)):
            sentence = f"{member} ended a suspension for {suspension.cause} with {cause!r}, not one of its causes"
            self._violated(here, sentence, suspension.evidence)
        elif cause == "merge-ended" and cause not in suspension.happened:
            state.ending = (event.t_ns, suspension.merge_id, suspension.evidence, here)
        elif not _has_happened(suspension, cause, event.t_ns, state):
            sentence = f"{member} ended a suspension for {suspension.cause} with {cause!r}, which had not happened"
            self._violated(here, sentence, suspension.evidence)
        if not detail.get("has_view", cause in ("view-installed", "merge-view")):
            self._check_cancelled(here, suspension, cancelled)

    def _check_cancelled(self, here: Evidence, suspension: _Suspension, cancelled: tuple[Address, ...]) -> None:
        left = [holder for holder in suspension.holding if holder not in cancelled and holder != here.member]
        if left:
            names = ", ".join(map(str, left))
            sentence = f"{here.member} ended a suspension without a view and sent no cancel to {names}"
            self._violated(here, sentence, suspension.evidence)

    def _on_roll_call(self, member: Address, index: int, event: Event, state: _Member) -> None:
        detail = detail_of(event.detail)
        step, call = detail["step"], str(detail.get("id", "")).rpartition(".")[0]
        if step in ("start", "again"):
            asked = dict.fromkeys(as_addresses(detail.get("asked")))
            if state.suspension is not None:
                state.suspension.holding.update(asked)
            known = self._calls.setdefault(call, _RollCall(member, event.t_ns))
            known.asked.update(asked)
            known.going.update(dict.fromkeys(as_addresses(detail.get("going"))))
        elif step == "end" and call in self._calls:
            self._calls[call].outcomes.append(str(detail.get("outcome")))
            self._calls[call].end_ns = event.t_ns
        elif step == "promise":
            state.promised_ns, state.promised_in = event.t_ns, event.view
        elif step == "release":
            here = Evidence.of(member, index, event)
            since_ns, is_same, suspected = state.promised_ns, event.view == state.promised_in, tuple(state.suspected)
            state.releases.append(_Release(here, call, event.t_ns, since_ns, is_same, suspected, event.view))

    def _on_view(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.view is not None:
            state.views.append(event.view)
        if state.suspension is not None:
            state.suspension.happened["view-installed"] = None
            if detail_of(event.detail).get("subgroups"):
                state.suspension.happened["merge-view"] = None

    def _on_merge(self, member: Address, index: int, event: Event, state: _Member) -> None:
        detail = detail_of(event.detail)
        if detail["step"] != "end":
            return
        if state.suspension is not None and state.suspension.merge_id == detail["merge_id"]:
            state.suspension.happened["merge-ended"] = None
        if state.ending is not None and state.ending[1] == detail["merge_id"]:
            state.ending = None

    def _check_ending(self, member: Address, now_ns: int, state: _Member) -> None:
        """That moment is over: the merge did not end."""
        if state.ending is None or now_ns == state.ending[0]:
            return
        (_, merge_id, began, here), state.ending = state.ending, None
        sentence = f"{member} ended a suspension with 'merge-ended', which had not happened: merge {merge_id} went on"
        self._violated(here, sentence, began)

    def _on_suspect(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is not None:
            state.suspected[event.peer] = None

    def _on_trouble(self, member: Address, index: int, event: Event, state: _Member) -> None:
        self._troubles.add(event.t_ns, event.kind, detail_of(event.detail))

    def _on_closed(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.crashed = is_crash(event)

    def _violated(self, here: Evidence, sentence: str, *more: Evidence) -> None:
        self._report.violated((here.member,), here.index, sentence, *more, here)

    def finish(self, closed: Closed) -> Finding:
        for member, state in self._members.items():
            open_still = state.suspension
            if open_still is not None and self._is_overdue(open_still, state):
                sentence = f"{member} never ended its suspension for {open_still.cause}"
                self._violated(open_still.evidence, sentence)
            for release in state.releases:
                self._judge_release(member, state, release, closed)
        return self._report.finding()

    def _judge_release(self, member: Address, state: _Member, release: _Release, closed: Closed) -> None:
        call = self._calls.get(release.call)
        if call is None or call.asker == member or not closed.get(call.asker) or self._members[call.asker].crashed:
            return
        if call.asker in release.suspected or not call.outcomes:
            return
        held_ns = self._troubles.passed_ns(member.name, release.promised_ns, release.t_ns)
        is_by_limit = bool(state.resumer_ns) and held_ns >= state.resumer_ns
        if is_by_limit and not self._go_together(member, call.asker, release.view):
            return
        is_quiet = self._troubles.is_quiet(release.promised_ns, release.t_ns)
        if is_by_limit and not is_quiet and release.is_in_view_of_promise and call.has_view_for(member):
            return
        cancels = [one for one in self._calls.values() if self._may_release(one, call, member, release)]
        if is_by_limit and is_quiet:
            soon_ns = call.begin_ns + state.resumer_ns - state.resumer_ns // CLOCKS
            cancels = [one for one in cancels if one.end_ns >= soon_ns]  # An earlier one would have come in time.
        if cancels:
            return
        sentence = (
            f"{member} let go of what {call.asker} had asked it to hold: no cancel was sent, and it did not suspect it"
        )
        self._violated(release.evidence, sentence)

    def _may_release(self, cancelled: _RollCall, call: _RollCall, member: Address, release: _Release) -> bool:
        """A cancel ends the promise to whatever its sender asked before."""
        if cancelled.asker != call.asker or cancelled.begin_ns < call.begin_ns or not cancelled.has_cancelled(member):
            return False
        clock = self._members[member].clock
        slack_ns = 0 if clock == SIMULATED_CLOCK else GRACE_NS
        return self._members[call.asker].clock != clock or cancelled.begin_ns <= release.t_ns + slack_ns

    def _go_together(self, member: Address, other: Address, view: ViewId | None) -> bool:
        ways = [self._next_view(who, view) for who in (member, other)]
        return ways[0] is not None and ways[0] == ways[1]

    def _next_view(self, member: Address, view: ViewId | None) -> ViewId | None:
        views = self._members[member].views
        at = views.index(view) + 1 if view in views else len(views)
        return views[at] if at < len(views) else None

    def _is_overdue(self, suspension: _Suspension, state: _Member) -> bool:
        return 0 < suspension.resumer_ns + GRACE_NS < state.last_ns


def _has_happened(suspension: _Suspension, cause: str, now_ns: int, state: _Member) -> bool:
    if cause == "resumer":
        return now_ns >= suspension.resumer_ns
    if cause == "leader-gone":
        return suspension.leader is None or suspension.leader in state.suspected
    return cause in suspension.happened
