"""G6, separation: at a coordinator no merge runs while a view change runs, and the reverse.

A view change runs from its suspension, or ROLL_CALL `start` (purpose `view`), until it was resumed and the roll call
has ended: until the view has reached everybody who goes on, or has failed; a merge from MERGE `start` or `accept` to
its `end`. The roll call of a merge (purpose `merge`) is part of the merge.
Who resumes because its view was installed has brought it to everybody who came with it from the view before, unless it
suspects them: nobody of those installs that view later (on one clock; real processes stamp an event when their turn
began, so they have `SLACK_NS`).
A view that a member makes, except its first one, comes with a suspension and a roll call (of members whose recorded
configuration has a limit for suspensions).
A merge takes a party through its acting coordinator only. Whoever accepts is that: nobody stands before it in its view
whom it does not suspect, who has shown that view (it delivered something of it there), and who went on with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind
from ringcast.trace import SIMULATED_CLOCK, detail_of

SLACK_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Resumed:
    """A handler was resumed because this view was installed."""

    here: Evidence
    t_ns: int
    view: Installed
    excused: tuple[Address, ...]


@dataclass(slots=True)
class _Running:
    clock: str = ""
    suspends: bool = False  # by its configuration it does
    steps: set[Kind] = field(default_factory=set)  # of SUSPEND and ROLL_CALL, since the last view
    times: list[int] = field(default_factory=list)  # of the views
    is_new: bool = False  # the last view came since the suspension
    resumed: list[_Resumed] = field(default_factory=list)
    change: Evidence | None = None
    suspension: Evidence | None = None  # for a view change
    merges: dict[str, Evidence] = field(default_factory=dict)
    views: list[Installed] = field(default_factory=list)
    heard: dict[Address, None] = field(default_factory=dict)  # of whom it delivered something in this view
    suspected: dict[Address, None] = field(default_factory=dict)
    how: str = ""
    accepted: list[tuple[str, Evidence, int, list[Address]]] = field(default_factory=list)  # ..., view, before it there


class SeparationChecker:
    guarantee = "G6"
    kinds = (
        Kind.START,
        Kind.ROLL_CALL,
        Kind.MERGE,
        Kind.SUSPEND,
        Kind.RESUME,
        Kind.VIEW,
        Kind.DELIVER,
        Kind.SUSPECT,
        Kind.CLOSED,
    )

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Running] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        running = self._members.get(member)
        if running is None:
            running = self._members[member] = _Running()
        if event.kind is Kind.DELIVER:
            if not event.stream and event.peer is not None:
                running.heard[event.peer] = None
            return
        if event.kind is Kind.VIEW:
            self._check_made(running, member, index, event)
            running.views.append(installed(event))
            running.times.append(event.t_ns)
            running.heard = {}
            running.is_new = True
            return
        detail = detail_of(event.detail)
        if event.kind is Kind.START:
            running.clock = str(detail.get("clock"))
            running.suspends = bool(detail_of(detail.get("config")).get("resumer_ns"))
            return
        if event.kind is Kind.SUSPECT:
            if event.peer is not None:
                running.suspected[event.peer] = None
            return
        if event.kind is Kind.CLOSED:
            running.how = str(detail.get("how", "ended"))
            return
        here = Evidence.of(member, index, event)
        if event.kind is Kind.SUSPEND or (event.kind is Kind.ROLL_CALL and detail["step"] == "start"):
            running.steps.add(event.kind)
        if event.kind in (Kind.SUSPEND, Kind.RESUME):
            is_change = event.kind is Kind.SUSPEND and detail["cause"] == "view"
            if event.kind is Kind.RESUME and detail["cause"] == "view-installed" and running.is_new:
                excused = tuple(running.suspected)
                running.resumed.append(_Resumed(here, event.t_ns, running.views[-1], excused))
            running.suspension = here if is_change else None
            running.is_new = False
            return
        step = detail["step"]
        if event.kind is Kind.MERGE:
            self._on_merge(running, str(detail["merge_id"]), step, here)
        elif step == "start" and detail["purpose"] == "view":
            self._on_change(running, here)
        elif step == "end":
            running.change = None

    def _check_made(self, running: _Running, member: Address, index: int, event: Event) -> None:
        """A member's first view is made by itself alone, each later one that it makes by a roll call."""
        view = installed(event)
        if running.views and running.suspends and view.id.creator == member:
            for kind, what in ((Kind.SUSPEND, "suspending its view handler"), (Kind.ROLL_CALL, "a roll call")):
                if kind not in running.steps:
                    sentence = f"{member} made {view.id} without {what}"
                    self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        running.steps.clear()

    def _on_change(self, running: _Running, here: Evidence) -> None:
        self._report.examined += 1
        for merge_id, merge in running.merges.items():
            sentence = f"{here.member} began a view change while merge {merge_id} ran"
            self._report.violated((here.member,), here.index, sentence, merge, here)
        running.change = here

    def _on_merge(self, running: _Running, merge_id: str, step: str, here: Evidence) -> None:
        if step == "end":
            running.merges.pop(merge_id, None)
        elif step in ("start", "accept") and merge_id not in running.merges:
            self._report.examined += 1
            change = running.change or running.suspension
            if change is not None:
                sentence = f"{here.member} began merge {merge_id} while a view change ran"
                self._report.violated((here.member,), here.index, sentence, change, here)
            running.merges[merge_id] = here
        if step == "accept" and running.views:
            self._note_accepted(running, merge_id, here)

    def _note_accepted(self, running: _Running, merge_id: str, here: Evidence) -> None:
        view = running.views[-1]
        if here.member not in view.members:
            return
        before = view.members[: view.members.index(here.member)]
        passed_by = [
            other
            for other in before
            if other not in view.observers and other not in running.suspected and other in running.heard
        ]
        running.accepted.append((merge_id, here, len(running.views) - 1, passed_by))

    def finish(self, closed: Closed) -> Finding:
        for running in self._members.values():
            for merge_id, here, at, passed_by in running.accepted:
                way = self._way(here.member, running.views[at], closed)
                with_it = [
                    other
                    for other in passed_by
                    if way is not None and self._way(other, running.views[at], closed) == way
                ]
                if with_it:
                    sentence = f"{here.member} took its view into merge {merge_id}, and {with_it[0]} coordinates it"
                    self._report.violated((here.member, with_it[0]), here.index, sentence, here)
            for resumed in running.resumed:
                self._judge_resumed(running, resumed)
        return self._report.finding()

    def _judge_resumed(self, running: _Running, resumed: _Resumed) -> None:
        self._report.examined += 1
        view, here = resumed.view, resumed.here
        slack_ns = 0 if running.clock == SIMULATED_CLOCK else SLACK_NS
        for other in view.members:
            came = self._members.get(other)
            if came is None or came.clock != running.clock or other in resumed.excused:
                continue
            for held, t_ns in zip(came.views, came.times, strict=True):
                if held.id == view.id and held.previous == view.previous and t_ns > resumed.t_ns + slack_ns:
                    sentence = f"{here.member} ended the change to {view.id} before that had reached {other}"
                    self._report.violated((here.member, other), here.index, sentence, here)

    def _way(self, member: Address, view: Installed, closed: Closed) -> object:
        """Where it went from this view: the next one, or the end in good order; None if that is not known."""
        running = self._members.get(member)
        ids = [] if running is None else [installed.id for installed in running.views]
        if running is None or view.id not in ids:
            return None
        at = ids.index(view.id)
        if at + 1 < len(ids):
            return ids[at + 1]
        return "the end" if closed.get(member) and running.how == "ended" else None
