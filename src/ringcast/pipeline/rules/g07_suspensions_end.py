"""G7, every suspension ends, with one of the four causes, and one that ends without a view cancels all who hold.

No kernel of its own: suspensions are control events. At a member SUSPEND and RESUME alternate, and a RESUME has the
number of the SUSPEND before it, which names the Resumer's moment. What a RESUME states as its cause must stand between
the two at that member: the view, the end of this merge (or in the moment of the RESUME, behind it), or the Resumer's
moment (its leader's suspicion may be older). Who holds are the members asked by roll calls in between; without a view
each of them is sent a cancel. The last suspension may be open if the Resumer need not have come by the end of the
recording; the moment of a crash is not one at which the member went on.
Holders: a promise that ends in a release was ended by its asker (whose roll call, or a later one of its own, had asked
the holder and ended without a view, or with one and the holder among those who go: a cancel ends every earlier promise
to whoever sends it), by the holder's suspicion of the asker, or by the holder's limit. The last counts only if
the two did not go on together, so that the view may not have reached it; an asker of whom the end is not known accuses
nobody. A holder that went on with its asker and held until its limit while no injected fault held got no cancel,
whatever the asker says; unless the roll calls up to it, by the asker's clock, took about as long (one part in 64 less,
or more): the holder's clock may run faster, by a fault much faster, and its limit comes so much sooner. Nor does one
get a cancel for whom the roll call ended with a view; it is not accused if it is still in the view in which it promised
and a fault held meanwhile.
Lengths of time are compared, each by its own clock; moments only on one clock: a roll call that begins behind the
release did not end it (real processes stamp an event when their turn began, so they have `GRACE_NS`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ringcast.checkers import Troubles
from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out, key_of, name_of
from ringcast.pipeline.rules.run import NEVER, Control, Member, Run, keys_of
from ringcast.trace import SIMULATED_CLOCK, as_address

GUARANTEE = "G7"
GRACE_NS = 1_000_000_000
CLOCKS = 64
ENDS = {
    "view": ("view-installed", "view-failed", "resumer"),
    "merge": ("merge-ended", "merge-view", "resumer"),
    "merge-request": ("merge-view", "leader-gone", "merge-ended", "resumer"),
}
_KINDS = (Kind.SUSPEND, Kind.RESUME, Kind.ROLL_CALL, Kind.VIEW, Kind.MERGE, Kind.SUSPECT)


@dataclass(slots=True)
class _Suspension:
    row: Control
    cause: str
    resumed: Control | None = None
    holding: dict[str, None] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)  # causes that did happen


@dataclass(slots=True)
class _RollCall:
    """Over all its attempts; times by the asker's clock."""

    asker: str
    begun_ns: int
    ended_ns: int = 0
    outcomes: set[object] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    going: set[str] = field(default_factory=set)

    def has_view_for(self, holder: str) -> bool:
        return "installed" in self.outcomes and holder in self.asked and holder not in self.going

    def has_cancelled(self, holder: str) -> bool:
        """Without a view it sends a cancel to all whom it asked, with a view to those of them who go."""
        if holder not in self.asked or not self.outcomes:
            return False
        return self.outcomes != {"installed"} or holder in self.going


def compare(run: Run, out: Out) -> None:
    for member, rows in run.control_by_member(*_KINDS).items():
        _judge(run.members_by_key[member], rows, out)
    _releases(run, out)


def _judge(member: Member, rows: list[Control], out: Out) -> None:
    now: _Suspension | None = None
    ending: _Suspension | None = None  # resumed because of a merge whose end must follow in the same moment
    suspected: dict[str, None] = {}
    for row in rows:
        if ending is not None:
            ending = _ended(member, ending, row.t_ns, row, out)
        if row.kind == Kind.SUSPECT:
            suspected[row.peer] = None
        if row.kind == Kind.SUSPEND:
            now = _suspended(member, now, row, out)
        elif row.kind == Kind.RESUME:
            ending = _resumed(member, now, row, suspected, out)
            now = None
        elif now is not None:
            _note(now, row)
    if ending is not None:
        _ended(member, ending, member.last_ns, None, out)
    if now is not None and _is_overdue(member, now):
        out.violation(now.row.index, f"{member} never ended its suspension for {now.cause}", member=member.key)


def _releases(run: Run, out: Out) -> None:
    troubles = Troubles()
    for row in run.control(Kind.FAULT, Kind.HEAL):
        troubles.add(row.t_ns, row.kind, row.detail)
    calls = _roll_calls(run)
    for key, rows in run.control_by_member(Kind.ROLL_CALL, Kind.SUSPECT).items():
        suspected: set[str] = set()
        promised: Control | None = None
        for row in rows:
            if row.kind == Kind.SUSPECT:
                suspected.add(row.peer)
            elif row.detail["step"] == "promise":
                promised = row
            elif row.detail["step"] == "release":
                call = calls.get(_call_of(row))
                asker = None if call is None else run.members_by_key.get(call.asker)
                if call is None or asker is None or asker.key == key or asker.key in suspected:
                    continue
                is_over = asker.is_whole and asker.how != "crashed" and bool(call.outcomes)
                if is_over and not _has_cause(run, call, calls.values(), row, promised, troubles):
                    sentence = f"{name_of(key)} let go of what {asker} had asked it to hold"
                    sentence = f"{sentence}: no cancel was sent, and it did not suspect it"
                    out.violation(row.index, sentence, asker.key, key)


def _roll_calls(run: Run) -> dict[str, _RollCall]:
    found: dict[str, _RollCall] = {}
    for row in run.control(Kind.ROLL_CALL):
        call, step = _call_of(row), row.detail["step"]
        if step in ("start", "again"):
            known = found.setdefault(call, _RollCall(row.member, row.t_ns))
            known.asked.update(keys_of(row.detail.get("asked")))
            known.going.update(keys_of(row.detail.get("going")))
        elif step == "end" and call in found:
            found[call].outcomes.add(row.detail.get("outcome"))
            found[call].ended_ns = row.t_ns
    return found


def _call_of(row: Control) -> str:
    """A roll call over all its attempts."""
    return str(row.detail.get("id", "")).rpartition(".")[0]


def _has_cause(
    run: Run, call: _RollCall, calls: Iterable[_RollCall], row: Control, promised: Control | None, troubles: Troubles
) -> bool:
    """The holder's limit, or a cancel; who went on with its asker and held until its limit, undisturbed, got none."""
    holder, asker = run.members_by_key[row.member], run.members_by_key[call.asker]
    promised_ns = 0 if promised is None else promised.t_ns
    limit_ns = int(holder.config.get("resumer_ns") or 0)
    is_by_limit = 0 < limit_ns <= troubles.passed_ns(holder.address.name, promised_ns, row.t_ns)
    if is_by_limit and not _go_together(holder, asker, row):
        return True
    is_quiet = troubles.is_quiet(promised_ns, row.t_ns)
    is_same = promised is not None and promised.view == row.view
    if is_by_limit and not is_quiet and is_same and call.has_view_for(holder.key):
        return True
    sent_ns = call.begun_ns  # the cancel that came was sent then or later
    if is_by_limit and is_quiet:
        sent_ns += limit_ns - limit_ns // CLOCKS
    until_ns = NEVER
    if holder.clock == asker.clock:
        until_ns = row.t_ns + (0 if holder.clock == SIMULATED_CLOCK else GRACE_NS)
    return any(
        other.asker == asker.key
        and call.begun_ns <= other.begun_ns <= until_ns
        and other.ended_ns >= sent_ns
        and other.has_cancelled(holder.key)
        for other in calls
    )


def _go_together(holder: Member, asker: Member, row: Control) -> bool:
    """From the view in which it was released."""
    stay = holder.stay_at(row.index)
    beside = [other for other in asker.stays if other.view and stay.view and other.view.id == stay.view.id]
    return stay.next is not None and bool(beside) and beside[0].next == stay.next


def _suspended(member: Member, now: _Suspension | None, row: Control, out: Out) -> _Suspension:
    cause = str(row.detail["cause"])
    out.examined(1)
    if cause not in ENDS:
        sentence = f"{member} suspended its view handler for {cause!r}, which is no known cause"
        out.violation(row.index, sentence, member=member.key)
    if now is not None:
        sentence = f"{member} suspended its view handler for {cause} while suspended for {now.cause}"
        out.violation(row.index, sentence, member=member.key)
    if not row.other:
        sentence = f"{member} suspended its view handler for {cause} without a Resumer"
        out.violation(row.index, sentence, member=member.key)
    return _Suspension(row, cause)


def _is_end_of(row: Control, suspension: _Suspension) -> bool:
    is_end = row.kind == Kind.MERGE and row.detail.get("step") == "end"
    return is_end and row.detail.get("merge_id") == suspension.row.detail.get("merge_id")


def _ended(member: Member, ending: _Suspension, now_ns: int, row: Control | None, out: Out) -> _Suspension | None:
    """Does its merge end in the moment in which it resumed?"""
    if row is not None and _is_end_of(row, ending):
        return None
    resumed = ending.resumed
    if resumed is None or now_ns <= resumed.t_ns:
        return ending
    merge_id = ending.row.detail.get("merge_id")
    sentence = f"{member} ended a suspension with 'merge-ended', which did not happen: merge {merge_id} went on"
    out.violation(resumed.index, sentence, member=member.key)
    return None


def _note(now: _Suspension, row: Control) -> None:
    """What happened in between."""
    step = row.detail.get("step")
    if row.kind == Kind.ROLL_CALL and step in ("start", "again"):
        now.holding.update(dict.fromkeys(keys_of(row.detail.get("asked"))))
    elif row.kind == Kind.VIEW:
        now.seen["view-installed"] = None
        if row.detail.get("subgroups"):
            now.seen["merge-view"] = None
    elif _is_end_of(row, now):
        now.seen["merge-ended"] = None


def _resumed(
    member: Member, now: _Suspension | None, row: Control, suspected: dict[str, None], out: Out
) -> _Suspension | None:
    """The suspension, if it ended with its merge and that end has not been recorded yet."""
    cause = str(row.detail["cause"])
    is_ending = False
    if now is None or now.row.value != row.value:
        sentence = f"{member} resumed suspension {row.value}, which was not open"
        out.violation(row.index, sentence, member=member.key)
        return None
    now.resumed = row
    if cause not in ENDS.get(now.cause, (cause,)):
        sentence = f"{member} ended a suspension for {now.cause} with {cause!r}, not one of its causes"
        out.violation(row.index, sentence, member=member.key)
    elif cause == "merge-ended" and cause not in now.seen:
        is_ending = True
    elif not _happened(now, cause, row, suspected):
        sentence = f"{member} ended a suspension for {now.cause} with {cause!r}, which did not happen"
        out.violation(row.index, sentence, member=member.key)
    if not row.detail.get("has_view", cause in ("view-installed", "merge-view")):
        sent = set(keys_of(row.detail.get("cancelled")))
        left = [who for who in now.holding if who not in sent and who != member.key]
        if left:
            names = ", ".join(map(name_of, left))
            sentence = f"{member} ended a suspension without a view and sent no cancel to {names}"
            out.violation(row.index, sentence, left[0], member.key)
    return now if is_ending else None


def _happened(now: _Suspension, cause: str, row: Control, suspected: dict[str, None]) -> bool:
    if cause == "resumer":
        return row.t_ns >= now.row.other
    leader = now.row.detail.get("leader")
    if cause == "leader-gone":
        return leader is None or key_of(as_address(leader)) in suspected
    return cause == "view-failed" or cause in now.seen


def _is_overdue(member: Member, now: _Suspension) -> bool:
    return 0 < now.row.other + GRACE_NS < member.went_on_ns
