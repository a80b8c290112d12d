"""G14, nothing blocks for ever: after the last heal every wait ends in time, and all live members share one view.

No kernel of its own: waits, views and faults are control events. A wait is over at its WAIT_END, or not at all.
Everywhere it must be over by its own limit, and only a send may have none; a process that was stopped has its grace
when it runs again (a HEAL that names it, `other` = since). After the last HEAL, if no FAULT follows, each wait of a
live member must be over within the bound, counted from its start or the heal, whichever is later; and at the horizon
all live members are in one view, installed before heal + bound, without those whose recordings say that they ended
before the heal; a member that was there at the heal is in it even if it never was in a view before. The horizon is the
moment when the first live member ends or begins to leave. A live process in no view is told also if all others are
gone. Once all live ones shared a view after everything was healed (HEAL `all`), no view leaves any of them out whose
maker does so behind that moment: with the attempt of its roll call that first names it as going. What is heard in one
attempt decides the next, which therefore counts from the begin of the one before, but at most `GRACE_NS` before its
own. Whoever is not named is left out when the maker installs the view; by a merge, when its one attempt begins. Where
the maker's recording breaks off before that view, this moment is unknown, and nobody is accused.
Where only observers live nobody may make a view: which one each of them holds is not judged, only its waits.
Judged on the clock of whoever recorded the heal.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out, address_of
from ringcast.pipeline.rules.run import Control, Member, Run, Stay, View, keys_of

GUARANTEE = "G14"
GRACE_NS = 1_000_000_000
DEFAULT_BOUND_NS = 60_000_000_000
UNLIMITED = ("send", "order")  # a send may wait for ever, for room or for its place in the one order
_Made = tuple[int, dict[str, int]]  # when a view was made; since when its maker had left out whom


@dataclass(frozen=True, slots=True)
class _Wait:
    row: Control
    what: str
    end_ns: int | None


def compare(run: Run, out: Out) -> None:
    waits = _waits(run, out)
    stops = _stops(run)
    for member in run:
        for wait in waits.get(member.key, []):
            _own_limit(member, wait, stops.get(member.address.name, []), out)
    heal = _heal(run, out)
    if heal is not None:
        _after(run, heal, waits, out)


def _waits(run: Run, out: Out) -> dict[str, list[_Wait]]:
    found: dict[str, list[_Wait]] = {}
    for member, rows in run.control_by_member(Kind.WAIT_START, Kind.WAIT_END).items():
        ends: dict[int, int] = {}
        waits = found[member] = []
        for row in reversed(rows):  # a number may come again: each start has the first end behind it
            if row.kind == Kind.WAIT_END:
                ends[row.value] = row.t_ns
            else:
                waits.append(_Wait(row, str(row.detail["what"]), ends.pop(row.value, None)))
        waits.reverse()
        out.examined(len(waits))
    return found


def _stops(run: Run) -> dict[str, list[tuple[int, int]]]:
    """By name, when a process did not run."""
    found: dict[str, list[tuple[int, int]]] = {}
    for row in run.control(Kind.HEAL):
        if row.peer and row.other:
            found.setdefault(address_of(row.peer).name, []).append((row.other, row.t_ns))
    return {name: sorted(stops) for name, stops in found.items()}


def _own_limit(member: Member, wait: _Wait, stops: list[tuple[int, int]], out: Out) -> None:
    limit_ns = wait.row.other
    if not limit_ns:
        if wait.what not in UNLIMITED:
            out.violation(wait.row.index, f"{member} waits for {wait.what} without a limit", member=member.key)
        return
    due_ns = limit_ns + GRACE_NS
    for stopped_ns, again_ns in stops:
        if stopped_ns <= due_ns:
            due_ns = max(due_ns, again_ns + GRACE_NS)
    end_ns = member.last_ns if wait.end_ns is None else wait.end_ns
    if end_ns > due_ns:
        late = (end_ns - limit_ns) / 1e9
        sentence = f"{member} waited for {wait.what} {late:.1f} s beyond its own limit"
        out.violation(wait.row.index, sentence, member=member.key)


def _heal(run: Run, out: Out) -> Control | None:
    heals = [row for row in run.control(Kind.HEAL) if not (row.peer and row.other)]
    if not heals:
        out.lacks("no HEAL was recorded")
        return None
    heal = max(reversed(heals), key=lambda row: row.t_ns)  # of several at one moment the last
    clock = run.members_by_key[heal.member].clock
    faults = [row.t_ns for row in run.control(Kind.FAULT) if run.members_by_key[row.member].clock == clock]
    if faults and max(faults) > heal.t_ns:
        out.lacks("the last FAULT came after the last HEAL")
        return None
    return heal


def _after(run: Run, heal: Control, waits: dict[str, list[_Wait]], out: Out) -> None:
    bound_ns = heal.value or DEFAULT_BOUND_NS
    settled_ns = heal.t_ns + bound_ns
    clock = run.members_by_key[heal.member].clock
    here = [m for m in run if m.clock == clock and not m.is_harness and not m.bus]
    live = [
        member
        for member in here
        if member.last_ns >= settled_ns
        and member.how != "crashed"
        and (member.has_views or member.first_ns <= heal.t_ns)
    ]
    if not live:
        out.lacks(f"no recording reaches {bound_ns / 1e9:.1f} s beyond the heal")
        return
    horizon_ns = min(_quiet_until(member, waits.get(member.key, []), settled_ns) for member in live)
    for member in live:
        for wait in waits.get(member.key, []):
            due_ns = max(wait.row.t_ns, heal.t_ns) + bound_ns
            end_ns = horizon_ns if wait.end_ns is None else min(wait.end_ns, horizon_ns)
            if end_ns > due_ns:
                sentence = f"{member} still waited for {wait.what} long after nothing disturbed it any more"
                out.violation(wait.row.index, sentence, member=member.key)
    dead = {member.key: member for member in here if member.how and member.last_ns <= heal.t_ns}
    _views(live, dead, settled_ns, horizon_ns, out)
    _exclusions(run, live, _makers(run, here), _healed_ns(run, heal, clock), horizon_ns, out)


def _healed_ns(run: Run, heal: Control, clock: str) -> int:
    """Since when nothing was wrong: a bound may be stated again later, when everything is settled."""

    def is_here(row: Control) -> bool:
        return run.members_by_key[row.member].clock == clock

    last_ns = max((row.t_ns for row in run.control(Kind.FAULT) if is_here(row)), default=0)
    heals = [row for row in run.control(Kind.HEAL) if not (row.peer and row.other) and is_here(row)]
    alike = [row.t_ns for row in heals if row.detail.get("what") == "all" and row.t_ns >= last_ns]
    return min(alike, default=heal.t_ns)


def _makers(run: Run, here: list[Member]) -> dict[View, _Made]:
    """Of each view that one of these made, by its last roll call before it."""
    found: dict[View, _Made] = {}
    rows = run.control_by_member(Kind.ROLL_CALL, Kind.VIEW)
    for member in here:
        start: Control | None = None
        since: dict[str, int] = {}
        attempt_ns = 0
        for row in rows.get(member.key, []):
            if row.kind == Kind.VIEW and row.view is not None and row.view[1] == member.key:
                begun = start if start is not None and start.detail.get("purpose") == "merge" else row
                found[row.view] = (begun.t_ns, since)
                start, since = None, {}
            elif row.kind == Kind.ROLL_CALL and row.detail.get("step") == "start":
                start, since, attempt_ns = row, dict.fromkeys(keys_of(row.detail.get("going")), row.t_ns), row.t_ns
            elif row.kind == Kind.ROLL_CALL and row.detail.get("step") == "again" and start is not None:
                for key in keys_of(row.detail.get("going")):
                    since.setdefault(key, max(attempt_ns, row.t_ns - GRACE_NS))
                attempt_ns = row.t_ns
    return found


def _exclusions(
    run: Run, live: list[Member], made: dict[View, _Made], since_ns: int, horizon_ns: int, out: Out
) -> None:
    """All share a view when the last of them has come to it, and none of them is missing in it."""
    names = {member.key: member for member in live}
    steps = [(stay.view, member) for member in live for stay in member.stays if stay.view is not None]
    steps.sort(key=lambda step: step[0].t_ns)
    last: dict[str, View] = {}
    shared: View | None = None
    shared_ns = since_ns
    for view, member in steps:
        last[member.key] = view.id
        gone = [key for key in names if key not in view.members]
        made_ns, since = made.get(view.id, (view.t_ns, {}))
        is_known = view.id in made or run.is_whole(view.id[1]) or view.id[1] not in run.members_by_key
        behind = [key for key in gone if is_known and since.get(key, made_ns) >= shared_ns]
        if gone and not behind:
            shared = None
        if behind and shared is not None and view.t_ns <= horizon_ns:
            words = f"{member} installed view {view.id[0]} without {names[behind[0]]}, which lives"
            out.violation(view.index, f"{words}, after all had shared view {shared[0]}", behind[0], member.key)
        is_shared = set(last.values()) == {view.id} and len(last) == len(names) and not gone
        if shared is None and is_shared and view.t_ns >= since_ns:
            shared, shared_ns = view.id, view.t_ns


def _quiet_until(member: Member, waits: list[_Wait], settled_ns: int) -> int:
    leaving = [wait.row.t_ns for wait in waits if wait.what == "leave" and wait.row.t_ns >= settled_ns]
    return min([*leaving, member.last_ns])


def _stays(member: Member, horizon_ns: int) -> list[Stay]:
    return [stay for stay in member.stays if stay.view is not None and stay.view.t_ns <= horizon_ns]


def _views(live: list[Member], dead: dict[str, Member], settled_ns: int, horizon_ns: int, out: Out) -> None:
    shared: tuple[Member, Stay] | None = None
    held = {member.key: _stays(member, horizon_ns) for member in live}
    last = {key: stays[-1].view for key, stays in held.items() if stays}
    may_coordinate = any(view is not None and key not in view.observers for key, view in last.items())
    for member in live:
        stays = held[member.key]
        out.examined(1)
        if stays and not may_coordinate:
            continue
        if not stays:
            out.violation(0, f"{member} was still in no view, long after the heal", member=member.key)
            continue
        final = stays[-1]
        shared = shared or (member, final)
        assert final.view is not None and shared[1].view is not None
        if final.view.id != shared[1].view.id:
            sentence = f"{member} ended in view {final.view.id[0]}, {shared[0]} in view {shared[1].view.id[0]}"
            out.violation(final.start, f"{sentence}, long after the heal", shared[0].key, member.key)
        if final.view.t_ns > settled_ns:
            sentence = f"{member} still changed to view {final.view.id[0]} after the bound"
            out.violation(final.start, sentence, member=member.key)
        for key in final.view.members:
            if key in dead:
                sentence = (
                    f"{member} ended in view {final.view.id[0]} with {dead[key]}, which had ended before the heal"
                )
                out.violation(final.start, sentence, key, member.key)
