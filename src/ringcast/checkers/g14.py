"""G14, nothing blocks for ever: after the last heal every wait ends in time, and all live members share one view.

Judged only where a HEAL was recorded and no FAULT after it, on one clock, from heal + bound to the horizon: the moment
when the first live member ends or begins to leave. Live = its recording reaches beyond heal + bound.
Everywhere: a wait with a limit of its own ends by it (and `GRACE_NS`), and only a send may wait without one. A process
that was stopped ends nothing meanwhile: it has its grace when it runs again (a HEAL that names it, `other` = since).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import installed
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import detail_of

GRACE_NS = 1_000_000_000
UNLIMITED = ("send", "order")  # a send may wait for ever, for room or for its place in the one order
DEFAULT_BOUND_NS = 60_000_000_000


@dataclass(slots=True)
class _Wait:
    evidence: Evidence
    what: str
    start_ns: int
    limit_ns: int
    end_ns: int | None = None


@dataclass(slots=True)
class _Member:
    waits: list[_Wait] = field(default_factory=list)
    open_waits: dict[int, _Wait] = field(default_factory=dict)
    views: list[tuple[int, ViewId, Evidence]] = field(default_factory=list)
    last_ns: int = 0
    how: str = ""


class LivenessChecker:
    guarantee = "G14"
    kinds = tuple(Kind)  # every event tells how far the recording reaches

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._heal: tuple[int, int] | None = None  # when, bound
        self._last_fault_ns = -1
        self._stops: dict[str, list[tuple[int, int]]] = {}  # by name: when a process did not run
        self._on = {
            Kind.WAIT_START: self._on_wait_start,
            Kind.WAIT_END: self._on_wait_end,
            Kind.VIEW: self._on_view,
            Kind.FAULT: self._on_fault,
            Kind.HEAL: self._on_heal,
            Kind.CLOSED: self._on_closed,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        state.last_ns = event.t_ns
        handler = self._on.get(event.kind)
        if handler is not None:
            handler(member, index, event, state)

    def _on_wait_start(self, member: Address, index: int, event: Event, state: _Member) -> None:
        what = str(detail_of(event.detail)["what"])
        wait = _Wait(Evidence.of(member, index, event), what, event.t_ns, event.other)
        state.waits.append(wait)
        state.open_waits[event.value] = wait
        if not event.other and what not in UNLIMITED:
            self._violated(wait, f"{member} waits for {what} without a limit")

    def _on_wait_end(self, member: Address, index: int, event: Event, state: _Member) -> None:
        wait = state.open_waits.pop(event.value, None)
        if wait is not None:
            wait.end_ns = event.t_ns

    def _on_view(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.views.append((event.t_ns, installed(event).id, Evidence.of(member, index, event)))

    def _on_fault(self, member: Address, index: int, event: Event, state: _Member) -> None:
        self._last_fault_ns = max(self._last_fault_ns, event.t_ns)

    def _on_heal(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is not None and event.other:
            self._stops.setdefault(event.peer.name, []).append((event.other, event.t_ns))
        elif self._heal is None or event.t_ns >= self._heal[0]:
            self._heal = (event.t_ns, event.value or DEFAULT_BOUND_NS)

    def _on_closed(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.how = str(detail_of(event.detail).get("how", "ended"))

    def finish(self, closed: Closed) -> Finding:
        for member, state in self._members.items():
            for wait in state.waits:
                self._judge_own_limit(member, state, wait)
        if self._heal is None:
            self._report.lacks("no HEAL was recorded")
        elif self._last_fault_ns > self._heal[0]:
            self._report.lacks("the last FAULT came after the last HEAL")
        else:
            self._judge_after_heal(*self._heal)
        return self._report.finding()

    def _judge_own_limit(self, member: Address, state: _Member, wait: _Wait) -> None:
        self._report.examined += 1
        end_ns = state.last_ns if wait.end_ns is None else wait.end_ns
        if wait.limit_ns and end_ns > self._due_ns(member, wait.limit_ns):
            late = (end_ns - wait.limit_ns) / 1e9
            self._violated(wait, f"{member} waited for {wait.what} {late:.1f} s beyond its own limit")

    def _due_ns(self, member: Address, limit_ns: int) -> int:
        due_ns = limit_ns + GRACE_NS
        for stopped_ns, again_ns in sorted(self._stops.get(member.name, ())):
            if stopped_ns <= due_ns:
                due_ns = max(due_ns, again_ns + GRACE_NS)
        return due_ns

    def _judge_after_heal(self, heal_ns: int, bound_ns: int) -> None:
        settled_ns = heal_ns + bound_ns
        live = {m: s for m, s in self._members.items() if s.last_ns >= settled_ns and s.how != "crashed" and s.views}
        if not live:
            self._report.lacks(f"no recording reaches {bound_ns / 1e9:.1f} s beyond the heal")
            return
        horizon_ns = min(_quiet_until(state, settled_ns) for state in live.values())
        for member, state in live.items():
            for wait in state.waits:
                self._judge_wait(member, wait, max(wait.start_ns, heal_ns) + bound_ns, horizon_ns, bound_ns)
        self._judge_views(live, settled_ns, horizon_ns)

    def _judge_wait(self, member: Address, wait: _Wait, by_ns: int, horizon_ns: int, bound_ns: int) -> None:
        end_ns = horizon_ns if wait.end_ns is None else min(wait.end_ns, horizon_ns)
        if end_ns > by_ns:
            sentence = (
                f"{member} still waited for {wait.what} {bound_ns / 1e9:.1f} s after nothing disturbed it any more"
            )
            self._violated(wait, sentence)

    def _judge_views(self, live: dict[Address, _Member], settled_ns: int, horizon_ns: int) -> None:
        seen = {member: [view for view in state.views if view[0] <= horizon_ns] for member, state in live.items()}
        finals = {member: views[-1] for member, views in seen.items() if views}
        shared: ViewId | None = None
        for member, (when_ns, view, evidence) in finals.items():
            self._report.examined += 1
            shared = view if shared is None else shared
            if view != shared:
                first = next(iter(finals))
                sentence = f"{member} ended in {view} and {first} in {shared}, long after the heal"
                self._report.violated((member, first), evidence.index, sentence, evidence)
            if when_ns > settled_ns:
                sentence = f"{member} still changed to {view} after the bound"
                self._report.violated((member,), evidence.index, sentence, evidence)

    def _violated(self, wait: _Wait, sentence: str) -> None:
        self._report.violated((wait.evidence.member,), wait.evidence.index, sentence, wait.evidence)


def _quiet_until(state: _Member, settled_ns: int) -> int:
    """When this member begins to leave after everything was settled, or its recording ends."""
    leaving = [wait.start_ns for wait in state.waits if wait.what == "leave" and wait.start_ns >= settled_ns]
    return min([*leaving, state.last_ns])
