"""How long view changes, merges and waits took, phase by phase, from the control events of a run.

A view change at its coordinator: *gathering* from the suspension to the roll call, *asking* until the cut is known,
*filling* until everybody has it, *installing* until the handler resumes. A merge at its leader: *asking* the
coordinators, *calling* the rolls of the subgroups, *installing* the MergeView.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ringcast.model import Kind

Row = Mapping[str, Any]
DETAILS = ("step", "cause", "outcome", "merge_id", "what", "how", "asked")
CHANGE_KINDS = (Kind.SUSPEND, Kind.RESUME, Kind.ROLL_CALL, Kind.MERGE, Kind.WAIT_START, Kind.WAIT_END)
_DURATIONS = {"view change": "views", "merge": "merges", "suspension": "suspensions", "wait": "waits"}
VIEW_PHASES = ("gathering", "asking", "filling", "installing", "in all")
MERGE_PHASES = ("asking", "calling", "installing", "in all")


@dataclass(slots=True)
class Changes:
    """Durations in ns; `views` and `merges` by phase, `suspensions` by cause and end, `waits` by what was awaited."""

    views: dict[str, list[int]] = field(default_factory=dict)
    merges: dict[str, list[int]] = field(default_factory=dict)
    suspensions: dict[str, list[int]] = field(default_factory=dict)
    waits: dict[str, list[int]] = field(default_factory=dict)
    unended: dict[str, int] = field(default_factory=dict)  # waits whose end was not recorded or was no success
    asked: list[int] = field(default_factory=list)  # members asked, by roll call
    drops: dict[str, int] = field(default_factory=dict)  # messages not used on arrival, by reason

    def place(self, metric: str, label: str | None, value: int) -> None:
        """One row of the table `metrics`."""
        what = label or ""
        if metric in _DURATIONS:
            getattr(self, _DURATIONS[metric]).setdefault(what, []).append(value)
        elif metric in ("dropped", "wait unended"):
            counts = self.drops if metric == "dropped" else self.unended
            counts[what] = counts.get(what, 0) + value
        elif metric == "roll call":
            self.asked.append(value)

    def add(self, rows: Iterable[Row]) -> None:
        """The control events of one member, in its order."""
        member = _Member(self)
        for row in rows:
            member.on_row(row)
        member.finish()

    def rows(self) -> Iterator[tuple[str, str, int]]:
        """As rows of the table `metrics`: metric, label, value. `place` reads them back."""
        for metric, name in _DURATIONS.items():
            for label, took in getattr(self, name).items():
                yield from ((metric, label, ns) for ns in took)
        yield from (("wait unended", what, count) for what, count in self.unended.items())
        yield from (("roll call", "", asked) for asked in self.asked)


def row_of(kind: int, t_ns: int, value: int, detail: Mapping[str, Any]) -> Row:
    """What `add` needs to know of one event."""
    return {**{name: detail.get(name) for name in DETAILS}, "kind": kind, "t_ns": t_ns, "value": value}


class _Member:
    """What is open at one member."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._suspended: Row | None = None
        self._marks: dict[str, int] = {}
        self._merges: dict[str, dict[str, int]] = {}
        self._waits: dict[int, Row] = {}
        self._on = {
            int(Kind.SUSPEND): self._on_suspend,
            int(Kind.RESUME): self._on_resume,
            int(Kind.ROLL_CALL): self._on_roll_call,
            int(Kind.MERGE): self._on_merge,
            int(Kind.WAIT_START): self._on_wait_start,
            int(Kind.WAIT_END): self._on_wait_end,
        }

    def on_row(self, row: Row) -> None:
        handler = self._on.get(row["kind"])
        if handler is not None:
            handler(row)

    def _on_suspend(self, row: Row) -> None:
        self._suspended = row
        self._marks = {}

    def _on_roll_call(self, row: Row) -> None:
        step = row["step"]
        if step == "start" and row.get("asked") is not None:
            self._changes.asked.append(len(row["asked"]))
        if step in ("start", "fill", "end"):
            self._marks.setdefault(step, row["t_ns"])

    def _on_resume(self, row: Row) -> None:
        begun, self._suspended = self._suspended, None
        if begun is None or begun["value"] != row["value"]:
            return
        took = row["t_ns"] - begun["t_ns"]
        self._changes.suspensions.setdefault(f"{begun['cause']} → {row['cause']}", []).append(took)
        if begun["cause"] == "view" and row["cause"] == "view-installed" and {"start", "end"} <= self._marks.keys():
            asked_ns = self._marks["start"]
            filled_ns = self._marks.get("fill", asked_ns)
            ends = [begun["t_ns"], asked_ns, filled_ns, self._marks["end"], row["t_ns"]]
            _note(self._changes.views, VIEW_PHASES, ends)

    def _on_merge(self, row: Row) -> None:
        steps = self._merges.setdefault(str(row["merge_id"]), {})
        if row["step"] == "start" or steps:
            steps.setdefault(str(row["step"]), row["t_ns"])
        if row["step"] == "end" and row["outcome"] == "installed" and "start" in steps:
            begin, end = steps["start"], int(row["t_ns"])
            _note(self._changes.merges, MERGE_PHASES, [begin, steps.get("call", begin), steps.get("view", end), end])
            steps.clear()

    def _on_wait_start(self, row: Row) -> None:
        self._waits[row["value"]] = row

    def _on_wait_end(self, row: Row) -> None:
        begun = self._waits.pop(row["value"], None)
        if begun is None:
            return
        what = str(begun["what"])
        self._changes.waits.setdefault(what, []).append(row["t_ns"] - begun["t_ns"])
        if row["how"] not in (None, "done"):
            self._changes.unended[what] = self._changes.unended.get(what, 0) + 1

    def finish(self) -> None:
        for row in self._waits.values():
            what = str(row["what"])
            self._changes.unended[what] = self._changes.unended.get(what, 0) + 1


def _note(phases: dict[str, list[int]], names: tuple[str, ...], ends: list[int]) -> None:
    for name, start, end in zip(names, ends, ends[1:], strict=False):
        phases.setdefault(name, []).append(max(0, end - start))
    phases.setdefault(names[-1], []).append(ends[-1] - ends[0])
