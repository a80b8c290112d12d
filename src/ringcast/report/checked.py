"""A run judged by the checkers and measured here: everything a report needs, without Spark and without numpy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ringcast.checkers import judge, together
from ringcast.errors import UsageError
from ringcast.model import TRAFFIC, Event, Kind
from ringcast.report.measuring import measured
from ringcast.report.subject import Judged, Place
from ringcast.trace import Recording, detail_of, is_harness

MOST_EVENTS = 2_000_000


def judged_by_checkers(recordings: Sequence[Recording], require: Sequence[str] = ()) -> Judged:
    """The recordings of one run; its groups are judged apart."""
    total = sum(recording.count for recording in recordings)
    if total > MOST_EVENTS:
        raise UsageError(f"{total:,} events are too many for the checkers ({MOST_EVENTS:,}): leave --checkers out")
    groups: dict[str, list[Recording]] = {}
    for recording in recordings:
        groups.setdefault(recording.header.group, []).append(recording)
    judgement = together([judge(group, require) for group in groups.values()])
    members, control = [], []
    for recording in recordings:
        members.append(_member(recording))
        for event in recording.judgeable():
            if event.kind not in TRAFFIC:
                control.append((recording.member, event))
            if event.kind is Kind.CLOSED:
                members[-1]["how"] = detail_of(event.detail).get("how")
            members[-1]["last_ns"] = event.t_ns
    return Judged(
        "checkers", judgement, members, measured(recordings), control, lambda places: look_into(recordings, places)
    )


def look_into(recordings: Sequence[Recording], places: Collection[Place]) -> dict[Place, Event]:
    """The events at these places."""
    wanted: dict[str, dict[int, None]] = {}
    for member, index in places:
        wanted.setdefault(member, {})[index] = None
    found = {}
    for recording in recordings:
        name = str(recording.member)
        mine: Mapping[int, None] = wanted.get(name, {})
        last = max(mine, default=-1)
        for index, event in enumerate(recording.events):
            if index > last:
                break
            if index in mine:
                found[name, index] = event
    return found


def _member(recording: Recording) -> dict[str, Any]:
    """As a row of the table `members`."""
    return {
        "group": recording.header.group,
        "member": str(recording.member),
        **recording.member._asdict(),
        "role": "harness" if is_harness(recording.member) else "member",
        "clock": recording.header.clock,
        "events": recording.count,
        "dropped": recording.dropped,
        "closed": recording.is_whole,
        "how": None,
        "damage": recording.cut,
        "last_ns": 0,
    }
