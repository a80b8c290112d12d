"""A period repeated: every number moved on by what a period adds to it, as arrays for tables or as events for
recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ringcast.model import Event, Kind, ViewId
from ringcast.pipeline.codes import Codes
from ringcast.pipeline.control import detail_columns, view_columns
from ringcast.pipeline.history.shape import Period
from ringcast.pipeline.ingest import FLOW_KINDS, ORDER_KINDS, TableWriter
from ringcast.pipeline.tables import CONTROL, FLOW, ORDER, PACKING, Dataset
from ringcast.trace import FileRecorder, Header, as_address, as_view_id

Array = np.ndarray[Any, np.dtype[Any]]
_NAMES = ("kind", "t_ns", "stream", "first", "count", "ordinal", "value", "other")
_MOVED = {Kind.SEND, Kind.DELIVER, Kind.TAKEN}
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


class Tile:
    """One member's events of a period and how each of them moves on."""

    def __init__(self, period: Period, member: int, events: Sequence[Event] | None = None) -> None:
        self.period = period
        self.member = member
        self.events = period.events[member] if events is None else events
        self._code = {address: code for code, address in enumerate(period.addresses)}
        self.suspensions = sum(e.kind is Kind.SUSPEND for e in period.events[member])
        self._steps = [self._step(event) for event in self.events]

    def _step(self, event: Event) -> dict[str, int]:
        ordinal = {Kind.DELIVER: self.period.delivered, Kind.DEQUEUE: self.period.dequeued}.get(event.kind)
        step = {
            "first": self._amount(_FIRST, event),
            "value": self._amount(_VALUE, event),
            "other": self._amount(_OTHER, event),
            "ordinal": ordinal[self.member] if ordinal else 0,
            "t_ns": self.period.duration_ns,
        }
        if event.kind in (Kind.SUSPEND, Kind.RESUME):
            step["value"] = self.suspensions
        elif event.kind in (Kind.WAIT_START, Kind.WAIT_END):
            step["value"] = self.period.waits
        if event.kind in (Kind.SUSPEND, Kind.WAIT_START):
            step["other"] = self.period.duration_ns
        return step

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
        return [self._moved(e, s, turn) for e, s in zip(self.events, self._steps, strict=True)]

    def _moved(self, event: Event, step: Mapping[str, int], turn: int) -> Event:
        numbers = {name: getattr(event, name) + turn * amount for name, amount in step.items()}
        view = None if event.view is None else self._later(event.view, turn)
        return replace(event, view=view, detail=self.detail_at(event, turn), **numbers)

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

    def arrays(self) -> _Arrays:
        return _Arrays(self)


class _Arrays:
    """A tile as arrays: columns of the first turn, and what each turn adds."""

    def __init__(self, tile: Tile) -> None:
        events = tile.events
        code = {address: number for number, address in enumerate(tile.period.addresses)}
        self.columns = {name: np.array([getattr(e, name) for e in events], dtype=np.int64) for name in _NAMES}
        self.columns["peer"] = np.array(
            [-1 if e.peer is None else code.get(e.peer, -1) for e in events], dtype=np.int64
        )
        self.columns["creator"] = np.array([-1 if e.view is None else code[e.view.creator] for e in events])
        self.columns["epoch"] = np.array([0 if e.view is None else e.view.number for e in events], dtype=np.int64)
        self.columns["index"] = np.arange(len(events), dtype=np.int64) + 1  # START is event 0
        self._carry_views(events)
        names = ("first", "value", "other", "ordinal", "t_ns")
        self.steps = {name: np.array([s[name] for s in tile._steps], dtype=np.int64) for name in names}
        self.steps["index"] = np.full(len(events), len(events), dtype=np.int64)
        self.views = tile.period.shape.views
        self.steps["epoch"] = np.where(self.columns["creator"] < 0, 0, self.views)
        kinds = self.columns["kind"]
        self.is_flow, self.is_order = np.isin(kinds, FLOW_KINDS), np.isin(kinds, ORDER_KINDS)
        self.moves = np.cumsum(np.isin(kinds, list(_MOVED)) & (self.columns["stream"] == 0))

    def _carry_views(self, events: Sequence[Event]) -> None:
        """In tables the view of an event is the installed one; only OFFSET names another before it is installed."""
        for i, event in enumerate(events):
            if event.kind is Kind.OFFSET:
                self.columns["epoch"][i] = self.columns["epoch"][i - 1]
                self.columns["creator"][i] = self.columns["creator"][i - 1]

    def at(self, turn: int, mask: Array) -> dict[str, Array]:
        part = {
            name: values[mask] + turn * self.steps[name][mask] if name in self.steps else values[mask]
            for name, values in self.columns.items()
        }
        if turn:  # what comes before the first view of a turn is still in the last view of the turn before
            early = part["creator"] < 0
            part["epoch"] = np.where(early, turn * self.views, part["epoch"])
            part["creator"] = np.where(early, 0, part["creator"])
        return part


def write_dataset(root: Path, period: Period, turns: int, changed: tuple[int, Period] | None = None) -> Dataset:
    """The tables of `turns` turns of a period; `changed` = (turn, another period) is told instead in that turn."""
    dataset = Dataset(root)
    dataset.make_rooms()
    rows = [_write_member(dataset, period, member, turns, changed) for member in range(len(period.addresses))]
    dataset.write_members(rows)
    return dataset


def _write_member(
    dataset: Dataset, period: Period, member: int, turns: int, changed: tuple[int, Period] | None
) -> dict[str, Any]:
    codes = Codes(period.addresses)
    flow, order = TableWriter(dataset.flow(member), FLOW), TableWriter(dataset.order(member), ORDER)
    control: list[dict[str, Any]] = []
    usual = Tile(period, member)
    other = usual if changed is None else Tile(period, member, changed[1].events[member])
    arrays = {id(tile): tile.arrays() for tile in (usual, other)}
    index = moved = last_ns = 0
    for turn in range(turns):
        tile = other if changed is not None and turn == changed[0] else usual
        columns = arrays[id(tile)]
        shift = index - turn * len(tile.events)
        for writer, mask in ((flow, columns.is_flow), (order, columns.is_order)):
            part = columns.at(turn, mask)
            writer.write({**part, "index": part["index"] + shift})
        control += _control_rows(tile, columns, codes, turn, shift, moved)
        index += len(tile.events)
        moved += int(columns.moves[-1]) if len(columns.moves) else 0
        last_ns = int(columns.columns["t_ns"][-1]) + turn * period.duration_ns
    flow.close()
    order.close()
    pq.write_table(pa.Table.from_pylist(control, CONTROL), dataset.control(member), **PACKING)
    return _member_row(period, member, index, last_ns)


def _control_rows(
    tile: Tile, arrays: _Arrays, codes: Codes, turn: int, shift: int, moved: int
) -> Iterator[dict[str, Any]]:
    names = ("index", "kind", "t_ns", "epoch", "creator", "peer", "stream", "first", "count", "value", "other")
    wanted = np.array([e.detail is not None or e.kind is Kind.OFFSET for e in tile.events], dtype=bool)
    part = arrays.at(turn, wanted)
    for row, i in enumerate(np.flatnonzero(wanted).tolist()):
        event = tile.events[i]
        plain: dict[str, Any] = {name: int(part[name][row]) for name in names}
        plain |= {"member": tile.member, "moved": moved + int(arrays.moves[i]), "index": plain["index"] + shift}
        view = None if event.view is None else tile._later(event.view, turn)
        yield plain | view_columns(view, codes) | detail_columns(tile.detail_at(event, turn), codes)


def _member_row(period: Period, member: int, events: int, last_ns: int) -> dict[str, Any]:
    return {
        "code": member,
        "group": period.shape.name,
        **period.addresses[member]._asdict(),
        "is_whole": True,
        "dropped": 0,
        "events": events,
        "clock": "virtual",
        "capacity": period.shape.capacity,
        "stream_capacity": period.shape.capacity,
        "self_delivery": True,
        "view_synchrony": True,
        "last_ns": last_ns,
        "how": "ended",
        "strangers": [],
    }


def write_recordings(root: Path, period: Period, turns: int = 1, changed: tuple[int, Period] | None = None) -> None:
    """The same as recordings, for those who judge event by event."""
    config = {"capacity": period.shape.capacity, "stream_capacity": period.shape.capacity}
    for member, address in enumerate(period.addresses):
        recorder = FileRecorder(root, Header(address, period.shape.name, config))
        usual = Tile(period, member)
        for turn in range(turns):
            is_other = changed is not None and turn == changed[0]
            tile = Tile(period, member, changed[1].events[member]) if changed is not None and is_other else usual
            recorder.extend(tile.at(turn))
        recorder.close(turns * period.duration_ns)
