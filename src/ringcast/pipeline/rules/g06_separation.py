"""G6, separation: at a coordinator no merge runs while a view change runs, and the reverse.

No kernel of its own: the steps are control events. A view change is open from its suspension (or its roll call, if
that is all that was recorded) until it is resumed and its roll call has ended; a merge from its first `start` or
`accept` to its `end`. Two intervals overlap iff one begins while the other is open, so it is enough to know at each
beginning what is open at that member.
Who resumes because its view was installed has brought it to everybody who came with it from the view before, unless it
suspects them: nobody of those installs that view later (on one clock, with some slack where stamps are not exact).
A view that a member makes, except its first one, comes with a suspension and a roll call (of members whose recorded
configuration has a limit for suspensions).
A merge takes a party through its acting coordinator only: whoever accepts has nobody before it in its view whom it does
not suspect, who has shown that view (something of it was delivered there: G5's facts) and who went on with it. Others
may have been in another view by then, so they accuse nobody.
"""

from __future__ import annotations

from ringcast.model import Kind
from ringcast.pipeline.rules import g05_agreed_cut
from ringcast.pipeline.rules.fact import Fact, Out, name_of
from ringcast.pipeline.rules.run import Control, Installed, Member, Run, View

GUARANTEE = "G6"
SLACK_NS = 1_000_000_000


def compare(run: Run, out: Out) -> None:
    steps = run.control_by_member(Kind.ROLL_CALL, Kind.MERGE, Kind.SUSPEND, Kind.RESUME)
    for member, rows in steps.items():
        here = _Coordinator(member, out)
        for row in rows:
            here.on_step(row)
    _unsuspended(run, out)
    _resumed_early(run, out)
    _not_acting(run, out)


def _unsuspended(run: Run, out: Out) -> None:
    """Views that a member made, after its first one, without a suspension and a roll call before them."""
    for key, rows in run.control_by_member(Kind.VIEW, Kind.SUSPEND, Kind.ROLL_CALL).items():
        member, steps, is_first = run.members_by_key[key], set[int](), True
        for row in rows:
            if row.kind != Kind.VIEW:
                if row.kind == Kind.SUSPEND or row.detail["step"] == "start":
                    steps.add(row.kind)
                continue
            if not is_first and member.config.get("resumer_ns") and row.view is not None and row.view[1] == key:
                for kind, what in ((Kind.SUSPEND, "suspending its view handler"), (Kind.ROLL_CALL, "a roll call")):
                    if kind not in steps:
                        out.violation(row.index, f"{member} made view {row.view[0]} without {what}", member=key)
            steps, is_first = set(), False


def _resumed_early(run: Run, out: Out) -> None:
    came: dict[View, list[tuple[Member, Installed]]] = {}
    for member in run:
        for stay in member.stays:
            if stay.view is not None:
                came.setdefault(stay.view.id, []).append((member, stay.view))
    for key, rows in run.control_by_member(Kind.SUSPEND, Kind.RESUME, Kind.SUSPECT).items():
        since, excused = 0, []
        for row in rows:
            if row.kind == Kind.SUSPECT:
                excused.append(row.peer)
                continue
            if row.kind == Kind.RESUME and row.detail["cause"] == "view-installed":
                view = run.members_by_key[key].stay_at(row.index).view
                if view is not None and view.index > since:
                    out.examined(1)
                    _reached(run.members_by_key[key], row, view, came[view.id], excused, out)
            since = row.index


def _reached(
    member: Member,
    row: Control,
    view: Installed,
    came: list[tuple[Member, Installed]],
    excused: list[str],
    out: Out,
) -> None:
    due_ns = row.t_ns + (0 if member.has_exact_stamps else SLACK_NS)
    for other, held in came:
        is_mate = other.clock == member.clock and held.previous == view.previous and other.key in view.members
        if is_mate and other.key not in excused and held.t_ns > due_ns:
            sentence = f"{member} ended the change to view {view.id[0]} before that had reached {other}"
            out.violation(row.index, sentence, other.key, member.key)


def _not_acting(run: Run, out: Out) -> None:
    heard = run.by_member(g05_agreed_cut.GUARANTEE, "delivered")
    steps = run.control_by_member(Kind.MERGE, Kind.SUSPECT)
    for key, rows in steps.items():
        suspected: dict[str, None] = {}
        for row in rows:
            if row.kind == Kind.SUSPECT:
                suspected[row.peer] = None
            elif row.detail["step"] == "accept":
                _accepted(run, run.members_by_key[key], row, suspected, heard.get(key, []), out)


def _accepted(run: Run, member: Member, row: Control, suspected: dict[str, None], heard: list[Fact], out: Out) -> None:
    stay = member.stay_at(row.index)
    if stay.view is None or stay.company is None or member.key not in stay.view.members:
        return
    here = {fact.peer for fact in heard if stay.start <= fact.index < row.index}
    for key in stay.view.members[: stay.view.members.index(member.key)]:
        went = [other.member for other in run.companies[stay.company]]
        if key in here and key in went and key not in suspected and key not in stay.view.observers:
            sentence = f"{member} took its view into merge {row.detail['merge_id']}, and {name_of(key)} coordinates it"
            out.violation(row.index, sentence, key, member.key)
            return


class _Coordinator:
    """What is open at one member."""

    def __init__(self, member: str, out: Out) -> None:
        self.member, self.out = member, out
        self.is_suspended = self.is_calling = False
        self.merges: dict[str, None] = {}

    def on_step(self, row: Control) -> None:
        if row.kind == Kind.SUSPEND:
            self.is_suspended = row.detail["cause"] == "view"
        elif row.kind == Kind.RESUME:
            self.is_suspended = False
        elif row.kind == Kind.ROLL_CALL:
            self._on_roll_call(row, row.detail["step"])
        else:
            self._on_merge(row, str(row.detail["merge_id"]), row.detail["step"])

    def _on_roll_call(self, row: Control, step: str) -> None:
        if step == "end":
            self.is_calling = False
        elif step == "start" and row.detail["purpose"] == "view":
            self.out.examined(1)
            self.is_calling = True
            for merge_id in self.merges:
                sentence = f"{name_of(self.member)} began a view change while merge {merge_id} ran"
                self.out.violation(row.index, sentence, member=self.member)

    def _on_merge(self, row: Control, merge_id: str, step: str) -> None:
        if step == "end":
            self.merges.pop(merge_id, None)
        elif step in ("start", "accept") and merge_id not in self.merges:
            self.out.examined(1)
            self.merges[merge_id] = None
            if self.is_suspended or self.is_calling:
                sentence = f"{name_of(self.member)} began merge {merge_id} while a view change ran"
                self.out.violation(row.index, sentence, member=self.member)
