"""What a run's recordings cannot show, in sentences: recordings that break off, lost events, missing members, clocks.

A recording without its closing mark: if it has no event, or others show its member alive in a view after its last one,
nothing that needs it can be judged (`missing`). Otherwise everything is judged without the lost tail, and a sentence
names member and moment. Members on different clocks are compared by messages only. Used by checkers and rules alike, so
that the words mean one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ringcast.model import Address, ViewId


@dataclass(slots=True)
class Recorded:
    """One member's recording, as far as it says what is known about the member."""

    member: Address
    clock: str
    closed: bool
    dropped: int = 0
    events: int = 0
    last_ns: int = 0
    views: dict[ViewId, tuple[Address, ...]] = field(default_factory=dict)
    is_harness: bool = False


@dataclass(frozen=True, slots=True)
class Truth:
    missing: list[str] = field(default_factory=list)  # why no guarantee can be said to have held
    not_judged: list[str] = field(default_factory=list)
    clocks: int = 1
    cut: list[str] = field(default_factory=list)  # recordings without their closing mark
    lost: list[str] = field(default_factory=list)  # lost events, missing members: said with the guarantees they concern


def truth_of(recordings: Iterable[Recorded], absent: Sequence[Address] = ()) -> Truth:
    members = [recorded for recorded in recordings if not recorded.is_harness]
    missing: list[str] = []
    said: list[str] = []
    lost: list[str] = []
    for recorded in members:
        if recorded.dropped:
            lost.append(f"what {recorded.member} did after {recorded.dropped} of its events were lost")
        elif not recorded.closed:
            _cut(recorded, members, missing, said)
    lost += [f"what {member} did, a member of a view without a recording" for member in absent[:10]]
    clocks = dict.fromkeys(recorded.clock for recorded in members)
    if len(clocks) > 1:
        firsts = [next(str(r.member) for r in members if r.clock == clock) for clock in clocks]
        said.append(f"G13 by real time between members on different clocks ({', '.join(firsts[:10])})")
    cut = [f"the recording of {recorded.member} has no closing mark" for recorded in members if not recorded.closed]
    return Truth(missing, said, len(clocks), cut, lost)


def truths(parts: Iterable[Truth]) -> Truth:
    """What is true of several groups."""
    parts = list(parts)
    missing = [sentence for part in parts for sentence in part.missing]
    not_judged = [sentence for part in parts for sentence in part.not_judged]
    cut = [sentence for part in parts for sentence in part.cut]
    lost = [sentence for part in parts for sentence in part.lost]
    return Truth(missing, not_judged, max((part.clocks for part in parts), default=1), cut, lost)


def _cut(recorded: Recorded, members: Sequence[Recorded], missing: list[str], said: list[str]) -> None:
    """`recorded` breaks off."""
    later = _later_view(recorded, members)
    moment = f"{recorded.last_ns / 1e9:.6f} s"
    if recorded.events <= 1:  # the first event is the header
        missing.append(f"the recording of {recorded.member} breaks off before its first event")
    elif later is not None:
        missing.append(f"the recording of {recorded.member} breaks off at {moment}, before {later}, in which it is")
    else:
        said.append(f"what {recorded.member} did after {moment}, where its recording breaks off")


def _later_view(recorded: Recorded, members: Sequence[Recorded]) -> ViewId | None:
    """A view that others installed after the last one of this recording, with its member in it."""
    last = max((view.number for view in recorded.views), default=0)
    for other in members:
        for view, content in other.views.items():
            if view.number > last and view not in recorded.views and recorded.member in content:
                return view
    return None
