"""G14, nothing blocks for ever: after the last heal every wait ends in time, and all live members share one view.

Judged only where a HEAL was recorded and no FAULT after it, on one clock, from heal + bound to the horizon: the moment
when the first live member ends or begins to leave. Live = its recording reaches beyond heal + bound. A live member is
in a view then, also if it never was in one before; and that view is without those whose recordings say that they ended
before the heal. Nobody may be left: a live process in no view is told also if all others are gone. Once all live ones
shared a view after everything was healed (HEAL `all`), no view excludes any of them whose maker leaves it out behind
that moment: with the attempt of the roll call that first names it as going; one that follows another answers what was
heard in that, so it counts from the begin of that one, but at most `GRACE_NS` before its own. Whoever none names is
left out when the view is made; in a merge, which has one attempt, when its roll call begins.
Where only observers live nobody may make a view: each keeps the one it holds, with the dead, and its waits end.
Everywhere: a wait with a limit of its own ends by it (and `GRACE_NS`), and only a send may wait without one. A process
that was stopped ends nothing meanwhile: it has its grace when it runs again (a HEAL that names it, `other` = since).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import as_addresses, detail_of, is_harness

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


@dataclass(frozen=True, slots=True)
class _Heal:
    t_ns: int
    bound_ns: int
    clock: str
    of_all: bool = False  # nothing is wrong any more


@dataclass(slots=True)
class _RollCall:
    begin_ns: int
    attempt_ns: int  # when its latest attempt began
    is_merge: bool
    without: dict[Address, int] = field(default_factory=dict)  # whom it leaves out, since when

    def leave_out(self, now_ns: int, going: tuple[Address, ...]) -> None:
        since_ns, self.attempt_ns = max(self.attempt_ns, now_ns - GRACE_NS), now_ns
        for member in going:
            self.without.setdefault(member, since_ns)


@dataclass(frozen=True, slots=True)
class _Made:
    """A view, at its maker."""

    t_ns: int
    without: dict[Address, int]

    def left_out_ns(self, member: Address) -> int:
        return self.without.get(member, self.t_ns)


@dataclass(slots=True)
class _Member:
    waits: list[_Wait] = field(default_factory=list)
    open_waits: dict[int, _Wait] = field(default_factory=dict)
    views: list[tuple[int, Installed, Evidence]] = field(default_factory=list)
    first_ns: int = 0
    last_ns: int = 0
    call: _RollCall | None = None  # its latest
    how: str = ""
    clock: str = ""


class LivenessChecker:
    guarantee = "G14"
    kinds = tuple(Kind)  # every event tells how far the recording reaches

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._heals: list[_Heal] = []
        self._faults: list[tuple[int, str]] = []  # when, on which clock
        self._stops: dict[str, list[tuple[int, int]]] = {}  # by name: when a process did not run
        self._made: dict[ViewId, _Made] = {}
        self._on = {
            Kind.START: self._on_start,
            Kind.WAIT_START: self._on_wait_start,
            Kind.WAIT_END: self._on_wait_end,
            Kind.ROLL_CALL: self._on_roll_call,
            Kind.VIEW: self._on_view,
            Kind.FAULT: self._on_fault,
            Kind.HEAL: self._on_heal,
            Kind.CLOSED: self._on_closed,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member(first_ns=event.t_ns)
        state.last_ns = event.t_ns
        handler = self._on.get(event.kind)
        if handler is not None:
            handler(member, index, event, state)

    def _on_start(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.clock = str(detail_of(event.detail).get("clock"))

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

    def _on_roll_call(self, member: Address, index: int, event: Event, state: _Member) -> None:
        detail = detail_of(event.detail)
        if detail.get("step") == "start":
            state.call = _RollCall(event.t_ns, event.t_ns, detail.get("purpose") == "merge")
        if detail.get("step") in ("start", "again") and state.call is not None:
            state.call.leave_out(event.t_ns, as_addresses(detail.get("going")))

    def _on_view(self, member: Address, index: int, event: Event, state: _Member) -> None:
        view = installed(event)
        state.views.append((event.t_ns, view, Evidence.of(member, index, event)))
        if view.id.creator == member:
            call, state.call = state.call, None
            made_ns = call.begin_ns if call is not None and call.is_merge else event.t_ns
            self._made[view.id] = _Made(made_ns, {} if call is None else call.without)

    def _on_fault(self, member: Address, index: int, event: Event, state: _Member) -> None:
        self._faults.append((event.t_ns, state.clock))

    def _on_heal(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is not None and event.other:
            self._stops.setdefault(event.peer.name, []).append((event.other, event.t_ns))
        else:
            of_all = detail_of(event.detail).get("what") == "all"
            self._heals.append(_Heal(event.t_ns, event.value or DEFAULT_BOUND_NS, state.clock, of_all))

    def _on_closed(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.how = str(detail_of(event.detail).get("how", "ended"))

    def finish(self, closed: Closed) -> Finding:
        for member, state in self._members.items():
            for wait in state.waits:
                self._judge_own_limit(member, state, wait)
        heal = max(reversed(self._heals), key=lambda heal: heal.t_ns, default=None)
        if heal is None:
            self._report.lacks("no HEAL was recorded")
        elif any(t_ns > heal.t_ns for t_ns, clock in self._faults if clock == heal.clock):
            self._report.lacks("the last FAULT came after the last HEAL")
        else:
            self._judge_after_heal(heal.t_ns, heal.bound_ns, heal.clock, closed)
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

    def _judge_after_heal(self, heal_ns: int, bound_ns: int, clock: str, closed: Closed) -> None:
        settled_ns = heal_ns + bound_ns
        here = {m: s for m, s in self._members.items() if s.clock == clock and _is_of_a_group(m)}
        live = {
            member: state
            for member, state in here.items()
            if state.last_ns >= settled_ns and state.how != "crashed" and (state.views or state.first_ns <= heal_ns)
        }
        if not live:
            self._report.lacks(f"no recording reaches {bound_ns / 1e9:.1f} s beyond the heal")
            return
        horizon_ns = min(_quiet_until(state, settled_ns) for state in live.values())
        for member, state in live.items():
            for wait in state.waits:
                self._judge_wait(member, wait, max(wait.start_ns, heal_ns) + bound_ns, horizon_ns, bound_ns)
        dead = [member for member, state in here.items() if state.how and state.last_ns <= heal_ns]
        self._judge_views(live, dead, settled_ns, horizon_ns)
        made = {view: it for view, it in self._made.items() if view.creator in here}
        self._judge_exclusions(live, made, self._healed_ns(heal_ns, clock), horizon_ns, closed)

    def _healed_ns(self, heal_ns: int, clock: str) -> int:
        """Since when nothing was wrong: a bound may be stated again later, when everything is settled."""
        last_ns = max((t_ns for t_ns, where in self._faults if where == clock), default=0)
        alike = [heal.t_ns for heal in self._heals if heal.of_all and heal.clock == clock and heal.t_ns >= last_ns]
        return min(alike, default=heal_ns)

    def _judge_exclusions(
        self,
        live: dict[Address, _Member],
        made: dict[ViewId, _Made],
        since_ns: int,
        horizon_ns: int,
        closed: Closed,
    ) -> None:
        held: dict[Address, Installed] = {}
        shared: Installed | None = None
        shared_ns = since_ns
        steps = [(when_ns, member, view, here) for member, state in live.items() for when_ns, view, here in state.views]
        for when_ns, member, view, here in sorted(steps, key=lambda step: step[0]):
            held[member] = view
            gone = [other for other in live if other not in view.members]
            how = made.get(view.id, _Made(when_ns, {}))
            # Where the maker's recording breaks off before this view, nobody knows whom it left out when.
            is_known = view.id in made or closed.get(view.id.creator, True)
            behind = [other for other in gone if is_known and how.left_out_ns(other) >= shared_ns]
            if gone and not behind:
                shared = None  # It was under way when the last of them came: whoever made it could not know.
            if shared is not None and behind and when_ns <= horizon_ns:
                sentence = (
                    f"{member} installed {view.id} without {behind[0]}, which lives, after all had shared {shared.id}"
                )
                self._report.violated((member, behind[0]), here.index, sentence, here)
            is_shared = len(held) == len(live) and len({each.id for each in held.values()}) == 1 and not gone
            if shared is None and is_shared and when_ns >= since_ns:
                shared, shared_ns = view, when_ns

    def _judge_wait(self, member: Address, wait: _Wait, by_ns: int, horizon_ns: int, bound_ns: int) -> None:
        end_ns = horizon_ns if wait.end_ns is None else min(wait.end_ns, horizon_ns)
        if end_ns > by_ns:
            sentence = (
                f"{member} still waited for {wait.what} {bound_ns / 1e9:.1f} s after nothing disturbed it any more"
            )
            self._violated(wait, sentence)

    def _judge_views(self, live: dict[Address, _Member], dead: list[Address], settled_ns: int, horizon_ns: int) -> None:
        shared: tuple[Address, Installed] | None = None
        may_coordinate = _may_coordinate(live, horizon_ns)
        for member, state in live.items():
            self._report.examined += 1
            views = [view for view in state.views if view[0] <= horizon_ns]
            if views and not may_coordinate:
                continue
            if not views:
                self._report.violated((member,), 0, f"{member} was still in no view, long after the heal")
                continue
            when_ns, view, evidence = views[-1]
            shared = shared or (member, view)
            if view.id != shared[1].id:
                sentence = f"{member} ended in {view.id} and {shared[0]} in {shared[1].id}, long after the heal"
                self._report.violated((member, shared[0]), evidence.index, sentence, evidence)
            if when_ns > settled_ns:
                sentence = f"{member} still changed to {view.id} after the bound"
                self._report.violated((member,), evidence.index, sentence, evidence)
            for other in dead:
                if other in view.members:
                    sentence = f"{member} ended in {view.id} with {other}, which had ended before the heal"
                    self._report.violated((member, other), evidence.index, sentence, evidence)

    def _violated(self, wait: _Wait, sentence: str) -> None:
        self._report.violated((wait.evidence.member,), wait.evidence.index, sentence, wait.evidence)


def _is_of_a_group(member: Address) -> bool:
    return not is_harness(member) and not member.endpoint.startswith("bus:")


def _may_coordinate(live: dict[Address, _Member], horizon_ns: int) -> bool:
    """True if one of these is no observer in the view that it holds at the horizon."""
    held = {m: [view for t_ns, view, _ in state.views if t_ns <= horizon_ns][-1:] for m, state in live.items()}
    return any(member not in view.observers for member, views in held.items() for view in views)


def _quiet_until(state: _Member, settled_ns: int) -> int:
    """When this member begins to leave after everything was settled, or its recording ends."""
    leaving = [wait.start_ns for wait in state.waits if wait.what == "leave" and wait.start_ns >= settled_ns]
    return min([*leaving, state.last_ns])
