"""A period repeated: every number moved on by what a period adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ringcast.bench.history.shape import Period
from ringcast.model import Event, Kind, ViewId
from ringcast.trace import FileRecorder, Header, as_address, as_view_id

# Which fields move on with the numbers of which member: "own" the recording one, "peer" the other side.
_FIRST = {
    **dict.fromkeys((Kind.SEND, Kind.PURGE), ("sent", "own")),
    **dict.fromkeys((Kind.DELIVER, Kind.TAKEN, Kind.DIGEST), ("sent", "peer")),
    **dict.fromkeys((Kind.QUEUE_START, Kind.QUEUE_FINISH), ("queued", "own")),
    Kind.DEQUEUE: ("queued", "peer"),
}
_VALUE = {
    **dict.fromkeys((Kind.ACK, Kind.PURGE), ("sent", "own")),
    **dict.fromkeys((Kind.OFFSET, Kind.DIGEST), ("sent", "peer")),
}
_OTHER = {Kind.SEND: ("sent", "own"), Kind.DIGEST: ("sent", "peer")}


class _Step(NamedTuple):
    """By how much the numbers of an event move on from turn to turn."""

    first: int
    ordinal: int
    value: int
    other: int


class Tile:
    """One member's events of a period and how each of them moves on."""

    def __init__(self, period: Period, member: int, events: Sequence[Event] | None = None) -> None:
        self.period = period
        self.member = member
        self.events = period.events[member] if events is None else events
        self._code = {address: code for code, address in enumerate(period.addresses)}
        self.suspensions = sum(e.kind is Kind.SUSPEND for e in period.events[member])
        self._steps = [self._step(event) for event in self.events]

    def _step(self, event: Event) -> _Step:
        ordinals = {Kind.DELIVER: self.period.delivered, Kind.DEQUEUE: self.period.dequeued}.get(event.kind)
        value, other = self._amount(_VALUE, event), self._amount(_OTHER, event)
        if event.kind in (Kind.SUSPEND, Kind.RESUME):
            value = self.suspensions
        elif event.kind in (Kind.WAIT_START, Kind.WAIT_END):
            value = self.period.waits
        if not self.period.shape.views and event.kind in (Kind.QUEUE_FINISH, Kind.DEQUEUE):
            value = sum(self.period.queued)  # The numbers of one order go on with its view.
        if event.kind in (Kind.SUSPEND, Kind.WAIT_START):
            other = self.period.duration_ns
        return _Step(self._amount(_FIRST, event), ordinals[self.member] if ordinals else 0, value, other)

    def _amount(self, table: Mapping[Kind, tuple[str, str]], event: Event) -> int:
        if event.kind not in table:
            return 0
        what, whose = table[event.kind]
        if whose == "peer" and event.peer not in self._code:
            return 0
        amounts: list[int] = getattr(self.period, what)
        return amounts[self.member if whose == "own" else self._code[as_address(event.peer)]]

    def at(self, turn: int) -> list[Event]:
        """The events of this turn of the period."""
        begins = (Kind.VIEW, Kind.OFFSET, Kind.SUSPEND, Kind.RESUME, Kind.ROLL_CALL)
        is_same_view = turn > 0 and not self.period.shape.views
        views: dict[ViewId | None, ViewId | None] = {e.view: e.view and self._later(e.view, turn) for e in self.events}
        return [
            Event(
                e.kind,
                e.t_ns + turn * self.period.duration_ns,
                views[e.view],
                e.peer,
                e.stream,
                e.first + turn * step.first,
                e.count,
                e.ordinal + turn * step.ordinal,
                e.value + turn * step.value,
                e.other + turn * step.other,
                e.detail and self.detail_at(e, turn),
                e.content,
            )
            for e, step in zip(self.events, self._steps, strict=True)
            if not (is_same_view and e.kind in begins)
        ]

    def _later(self, view: ViewId, turn: int) -> ViewId:
        return ViewId(view.number + turn * self.period.shape.views, view.creator)

    def detail_at(self, event: Event, turn: int) -> Mapping[str, Any] | None:
        detail = event.detail
        if detail is None or not (event.kind is Kind.VIEW or "merge_id" in detail):
            return detail
        later = dict(detail)
        if "merge_id" in later:
            later["merge_id"] = f"{later['merge_id']}-{turn}"
        previous = as_view_id(later.get("previous"))
        if previous is not None:
            later["previous"] = self._later(previous, turn) if previous.number or turn else None
        if "digest" in later:
            later["digest"] = [self._later_entry(row, turn) for row in later["digest"]]
        return later

    def _later_entry(self, row: Sequence[Any], turn: int) -> list[Any]:
        member, *figures = row
        code = self._code.get(as_address(member))
        return [member, *(figure + turn * (self.period.sent[code] if code is not None else 0) for figure in figures)]


def write_recordings(
    root: Path, period: Period, turns: int = 1, changed: tuple[int, Period] | None = None, run: str | None = None
) -> None:
    """Recordings of `turns` turns of a period; `changed` = (turn, another period) is told instead in that turn."""
    config = {"capacity": period.shape.capacity, "stream_capacity": period.shape.capacity}
    for member, address in enumerate(period.addresses):
        recorder = FileRecorder(root, Header(address, period.shape.name, config, run=run))
        usual = Tile(period, member)
        for turn in range(turns):
            is_other = changed is not None and turn == changed[0]
            tile = Tile(period, member, changed[1].events[member]) if changed is not None and is_other else usual
            recorder.extend(tile.at(turn))
        recorder.close(turns * period.duration_ns)
