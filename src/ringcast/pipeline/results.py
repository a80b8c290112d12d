"""What is known about one run, as rows of the tables that people query. docs/tables.md has questions to ask them.

Rows are made where the run is judged (in a task or in this process) and written by Spark's writers only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ringcast.checkers import Evidence, Finding, Judgement, Violation
from ringcast.model import Address, Kind
from ringcast.pipeline.metrics import measured
from ringcast.pipeline.rules.engine import Comparison
from ringcast.pipeline.rules.fact import Fact, key_of, name_of
from ringcast.pipeline.rules.run import Run

SCHEMA = 3  # of the tables; a change of meaning gets a new number
_TEXT, _I64, _I32, _FLAG = pa.string(), pa.int64(), pa.int32(), pa.bool_()
_DETAILS = ("step", "cause", "what", "how", "answer", "outcome", "merge_id", "purpose", "why")


@dataclass(frozen=True, slots=True)
class Table:
    """A table: what a row is, and its columns with a word on each. All have `schema_version`, `run` and `judged_at`."""

    name: str
    a_row: str
    columns: Mapping[str, tuple[pa.DataType, str]]

    @property
    def schema(self) -> pa.Schema:
        columns = [(name, kind) for name, (kind, _) in self.columns.items()]
        return pa.schema([*columns, ("schema_version", _I32), ("run", _TEXT)])


_WHO = {"group": (_TEXT, "the group or bus"), "member": (_TEXT, "who recorded, as name#incarnation")}
_VIEW = {"view": (_I64, "number of the view"), "view_creator": (_TEXT, "who created it; with the number its id")}

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "segments",
            "a file that was read, good or bad",
            {
                **_WHO,
                "incarnation": (_I64, "of the member"),
                "segment": (_I32, "number in its recording"),
                "path": (_TEXT, "where it was read"),
                "bytes": (_I64, "its size"),
                "first_index": (_I64, "place of its first event in the recording"),
                "events": (_I64, "events in it"),
                "lost": (_I64, "events lost while it was recorded"),
                "closed": (_FLAG, "the recording ends here, in good order"),
                "reason": (_TEXT, "why it was not read, or not to its end"),
            },
        ),
        Table(
            "members",
            "a recording",
            {
                **_WHO,
                "name": (_TEXT, "name of the member"),
                "incarnation": (_I64, "its incarnation"),
                "endpoint": (_TEXT, "where it is reached"),
                "role": (_TEXT, "member, or harness"),
                "clock": (_TEXT, "equal where times can be compared"),
                "events": (_I64, "events that can be judged"),
                "dropped": (_I64, "events lost while recording"),
                "closed": (_FLAG, "everything it did is recorded"),
                "how": (_TEXT, "ended, left, crashed; nothing if that was not recorded"),
                "damage": (_TEXT, "why the recording is not whole"),
                "first_ns": (_I64, "time of its first control event"),
                "last_ns": (_I64, "time of its last event"),
            },
        ),
        Table(
            "views",
            "a view as one member installed it",
            {
                **_WHO,
                **_VIEW,
                "index": (_I64, "place in the recording"),
                "t_ns": (_I64, "when"),
                "until_ns": (_I64, "when it installed the next, or its last event"),
                "members": (pa.list_(_TEXT), "members of the view"),
                "is_merge": (_FLAG, "a MergeView"),
                "merge_id": (_TEXT, "the merge that made it"),
            },
        ),
        Table(
            "control",
            "a control event",
            {
                **_WHO,
                "index": (_I64, "place in the recording"),
                "kind": (_TEXT, "what happened"),
                "t_ns": (_I64, "when, on the clock of the member"),
                **_VIEW,
                "peer": (_TEXT, "the other side"),
                "value": (_I64, "see the kind in docs/design/trace.md"),
                "other": (_I64, "likewise"),
                **dict.fromkeys(_DETAILS, (_TEXT, "of the detail")),
                "detail": (_TEXT, "the whole detail, JSON"),
            },
        ),
        Table(
            "violations",
            "a guarantee that did not hold, once",
            {
                "guarantee": (_TEXT, "G1 … G18"),
                "member": (_TEXT, "where it is seen"),
                "peer": (_TEXT, "who else takes part"),
                "index": (_I64, "at which event of the member"),
                "sentence": (_TEXT, "what happened"),
                "evidence": (pa.list_(_TEXT), "the events around it"),
            },
        ),
        Table(
            "coverage",
            "a guarantee in a run",
            {
                "guarantee": (_TEXT, "G1 … G18"),
                "verdict": (_TEXT, "held, violated, unjudged"),
                "examined": (_I64, "how much was looked at"),
                "violations": (_I64, "how many"),
                "missing": (pa.list_(_TEXT), "what was needed and not there"),
            },
        ),
        Table(
            "verdicts",
            "a run",
            {
                "verdict": (_TEXT, "held, violated, unjudged"),
                "judge": (_TEXT, "spark or local"),
                "events": (_I64, "events judged"),
                "dropped_events": (_I64, "events lost while recording"),
                "reasons": (pa.list_(_TEXT), "why, or what was not exercised"),
                "not_judged": (pa.list_(_TEXT), "what could not be judged"),
            },
        ),
        Table(
            "metrics",
            "a figure; see metric",
            {
                "group": (_TEXT, "the group or bus"),
                "metric": (
                    _TEXT,
                    "latency, view latency, pace, delivered, sent, occupancy, repair, events, messages, …",
                ),
                "member": (_TEXT, "at whom"),
                "peer": (_TEXT, "of a latency the sender, of a repair the receiver"),
                "label": (_TEXT, "kind of event, phase, reason, view, what was waited for"),
                "t_ns": (_I64, "begin of the slot of time"),
                "low_ns": (_I64, "lower bound of the bucket of a histogram"),
                "value": (_I64, "messages, events, or ns of a duration"),
            },
        ),
    )
}


def describe_tables() -> dict[str, Any]:
    """Every table: what a row is, and each column with its type and a word on it."""
    common = {"schema_version": (_I32, "of these tables"), "run": (_TEXT, "the run")}
    common["judged_at"] = (pa.timestamp("us"), "when the run was judged, UTC; its newest rows count")
    of_verdicts = {"version": (_TEXT, "of ringcast"), "application": (_TEXT, "id of the Spark application")}
    return {
        "schema_version": SCHEMA,
        "tables": {
            name: {
                "a_row": table.a_row,
                "columns": {
                    column: {"type": str(kind), "about": about}
                    for column, (kind, about) in {
                        **table.columns,
                        **common,
                        **(of_verdicts if name == "verdicts" else {}),
                    }.items()
                },
            }
            for name, table in TABLES.items()
        },
    }


@dataclass(frozen=True, slots=True)
class File:
    """A file that was looked at; `reason` says why it is no readable segment."""

    path: str
    size: int
    segment: Fact | None = None
    reason: str = ""


@dataclass(slots=True)
class Outcome:
    """A run, judged."""

    run: str
    judgement: Judgement
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def batch(self, name: str) -> pa.RecordBatch:
        """The rows of one table."""
        common = {"schema_version": SCHEMA, "run": self.run}
        rows, schema = self.tables[name], TABLES[name].schema
        columns = [
            pa.repeat(pa.scalar(common[field.name], field.type), len(rows))
            if field.name in common
            else pa.array([row.get(field.name) for row in rows], field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def outcome_of(
    run: str,
    comparison: Comparison,
    files: Iterable[File],
    require: Iterable[str],
    judge: str,
    with_tables: bool = True,
) -> Outcome:
    """Everything that the tables say about one run, or only its verdict and files."""
    judgement = comparison.judgement(require)
    groups = [(_group_of(part), part) for part in comparison.runs]
    names = {member.key: group for group, part in groups for member in part}
    outcome = Outcome(run, judgement)
    outcome.tables = {"segments": [_segment(file, names) for file in files], "verdicts": [_verdict(judgement, judge)]}
    if not with_tables:
        return outcome
    outcome.tables |= {
        "members": [row for group, part in groups for row in _members(group, part)],
        "views": [row for group, part in groups for row in _views(group, part)],
        "control": [row for group, part in groups for row in _control(group, part)],
        "violations": [_violation(v) for finding in judgement.findings.values() for v in finding.violations],
        "coverage": [_coverage(finding) for finding in judgement.findings.values()],
        "metrics": [{"group": group, **row} for group, part in groups for row in measured(part)],
    }
    return outcome


def to_json(judgement: Judgement) -> str:
    """A judgement as text, for the way from a task to the driver."""
    plain = judgement.to_json()
    for name, finding in judgement.findings.items():
        members = [[key_of(member) for member in v.members] for v in finding.violations]
        plain["guarantees"][name]["members"] = members
    return json.dumps(plain)


def from_json(text: str) -> Judgement:
    plain = json.loads(text)
    findings = {name: _finding(name, found) for name, found in plain["guarantees"].items()}
    counts = (plain["events"], plain["dropped_events"])
    return Judgement(plain["verdict"], findings, *counts, plain["reasons"], plain["not_judged"], plain["recordings"])


def _finding(name: str, plain: Mapping[str, Any]) -> Finding:
    told = zip(plain["evidence"], plain["members"], strict=True)
    violations = [
        Violation(
            name,
            tuple(_address(key) for key in keys),
            one["index"],
            one["sentence"],
            tuple(Evidence(_address(keys[0]), e["index"], e["event"]) for e in one["events"]),
        )
        for one, keys in told
    ]
    return Finding(name, plain["examined"], violations, plain["violations"], plain["missing"])


def _address(key: str) -> Address:
    name, incarnation, endpoint = key.split("\t", 2)
    return Address(name, int(incarnation), endpoint)


def _group_of(part: Run) -> str:
    return next((member.group for member in part), "")


def _segment(file: File, groups: Mapping[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {"path": file.path, "bytes": file.size, "reason": file.reason or None}
    fact = file.segment
    if fact is None:
        return row
    return row | {
        "group": groups.get(fact.member),
        "member": name_of(fact.member),
        "incarnation": _address(fact.member).incarnation,
        "segment": fact.segment,
        "first_index": fact.first,
        "events": fact.count,
        "lost": fact.last,
        "closed": bool(fact.value),
        "reason": file.reason or fact.text or None,
    }


def _members(group: str, part: Run) -> Iterable[dict[str, Any]]:
    starts: dict[str, int] = {}
    for row in part.control(*Kind):
        starts[row.member] = min(row.t_ns, starts.get(row.member, row.t_ns))
    for member in part:
        yield {
            "group": group,
            "member": str(member),
            **member.address._asdict(),
            "role": "harness" if member.is_harness else "member",
            "clock": member.clock,
            "events": member.events,
            "dropped": member.dropped,
            "closed": member.is_whole,
            "how": member.how or None,
            "damage": member.damage or None,
            "first_ns": starts.get(member.key),
            "last_ns": member.last_ns,
        }


def _views(group: str, part: Run) -> Iterable[dict[str, Any]]:
    for member in part:
        stays = [stay for stay in member.stays if stay.view is not None]
        ends = [*(stay.view.t_ns for stay in stays[1:] if stay.view is not None), member.last_ns][: len(stays)]
        for stay, until_ns in zip(stays, ends, strict=True):
            view = stay.view
            assert view is not None
            yield {
                "group": group,
                "member": str(member),
                "view": view.id[0],
                "view_creator": name_of(view.id[1]),
                "index": view.index,
                "t_ns": view.t_ns,
                "until_ns": until_ns,
                "members": [name_of(key) for key in view.members],
                "is_merge": bool(view.subgroups),
                "merge_id": view.merge_id,
            }


def _control(group: str, part: Run) -> Iterable[dict[str, Any]]:
    for row in part.control(*Kind):
        yield {
            "group": group,
            "member": name_of(row.member),
            "index": row.index,
            "kind": Kind(row.kind).name,
            "t_ns": row.t_ns,
            "view": row.view[0] if row.view else None,
            "view_creator": name_of(row.view[1]) if row.view else None,
            "peer": name_of(row.peer) if row.peer else None,
            "value": row.value,
            "other": row.other,
            **{name: str(row.detail[name]) for name in _DETAILS if row.detail.get(name) is not None},
            "detail": json.dumps(dict(row.detail), default=str) if row.detail else None,
        }


def _violation(violation: Violation) -> dict[str, Any]:
    names = [str(member) for member in violation.members]
    return {
        "guarantee": violation.guarantee,
        "member": names[0] if names else None,
        "peer": names[1] if len(names) > 1 else None,
        "index": violation.index,
        "sentence": violation.sentence,
        "evidence": [f"event {e.index} of {e.member}: {e.text}" for e in violation.evidence],
    }


def _coverage(finding: Finding) -> dict[str, Any]:
    return {
        "guarantee": finding.guarantee,
        "verdict": finding.verdict,
        "examined": finding.examined,
        "violations": finding.violation_count,
        "missing": finding.missing,
    }


def _verdict(judgement: Judgement, judge: str) -> dict[str, Any]:
    return {
        "verdict": judgement.verdict,
        "judge": judge,
        "events": judgement.events,
        "dropped_events": judgement.dropped_events,
        "reasons": judgement.reasons,
        "not_judged": judgement.not_judged,
    }
