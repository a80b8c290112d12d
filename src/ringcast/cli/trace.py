"""`ringcast trace`: look into recordings."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import click

from ringcast.checkers import describe
from ringcast.cli.output import check_writable, emit_json, json_option, on_one_line, say
from ringcast.model import STREAMS_PER_EPOCH, Event, Kind
from ringcast.trace import Recording, TraceError, read_run

_EPILOG = """\b
Examples:
  ringcast trace ls recordings/
  ringcast trace head recordings/ -n 50 --kind VIEW --member a
  ringcast trace export recordings/ -o events.jsonl
"""

CONTROL_CHANNELS = (2, 3)  # of a stream number: control, and state (ringcast/model/event.py)

_traces = click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path))
_member = click.option("--member", help="Only members of this name (or name#incarnation).")
_kind = click.option(
    "--kind", type=click.Choice([kind.name for kind in Kind], case_sensitive=False), help="Only these."
)


@click.group(name="trace", epilog=_EPILOG)
def command() -> None:
    """Look into recordings."""


@command.command()
@_traces
@json_option
def ls(traces: tuple[Path, ...], as_json: bool) -> None:
    """The recordings that are there: member, events, size, closed or cut."""
    rows = [_row(recording) for recording in read_run(traces)]
    if as_json:
        emit_json({"recordings": rows})
        return
    for row in rows:
        end = "closed" if row["closed"] else f"cut ({row['cut'] or 'no end was recorded'})"
        lost = f", {row['dropped_events']:,} events dropped" if row["dropped_events"] else ""
        say(f"{row['member']:<20} {row['events']:>10,} events {row['bytes']:>12,} bytes  {end}{lost}")


@command.command()
@_traces
@click.option("-n", "--count", default=10, show_default=True, type=click.IntRange(1), help="Events of each member.")
@_member
@_kind
@json_option
def head(traces: tuple[Path, ...], count: int, member: str | None, kind: str | None, as_json: bool) -> None:
    """The first events of each recording."""
    chosen = {str(r.member): list(islice(_chosen(r, kind), count)) for r in _of(traces, member)}
    if as_json:
        emit_json({"events": {name: [event_json(i, e) for i, e in rows] for name, rows in chosen.items()}})
        return
    for name, rows in chosen.items():
        say(name)
        for index, event in rows:
            say(f"  {index:>8}  {on_one_line(describe(event))}")


@command.command()
@_traces
@_member
@json_option
def stats(traces: tuple[Path, ...], member: str | None, as_json: bool) -> None:
    """Events per kind, messages sent and delivered by the application and for control, time covered."""
    rows = {str(recording.member): _stats(recording) for recording in _of(traces, member)}
    if as_json:
        emit_json({"members": rows})
        return
    for name, row in rows.items():
        say(f"{name}: {row['events']:,} events over {row['seconds']:.3f} s, {row['bytes_per_event']:.1f} bytes each")
        runs = f"(mean run {row['mean_run']:.1f})"
        say(f"  of the application: sent {row['sent']:,}, delivered {row['delivered']:,} {runs}")
        say(f"  of control: sent {row['control_sent']:,}, delivered {row['control_delivered']:,}")
        say("  " + ", ".join(f"{kind} {number:,}" for kind, number in row["kinds"].items()))


@command.command()
@_traces
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file; standard output if not given.")
@_member
@_kind
@json_option
def export(traces: tuple[Path, ...], output: Path | None, member: str | None, kind: str | None, as_json: bool) -> None:
    """Every event as one JSON object per line. With --json only a summary is printed, so it needs -o."""
    if as_json and output is None:
        raise click.UsageError("--json prints one object about the export, so the events need a file: -o FILE")
    if output is not None:
        check_writable(output)
    written = 0
    recordings = _of(traces, member)
    with _sink(output) as sink:
        for recording in recordings:
            for index, event in _chosen(recording, kind):
                sink.write(
                    json.dumps({"member": str(recording.member), **event_json(index, event)}, default=str) + "\n"
                )
                written += 1
    if as_json:
        emit_json({"path": str(output), "events": written})


@contextmanager
def _sink(output: Path | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    with output.open("w", encoding="utf-8") as file:
        yield file


def event_json(index: int, event: Event) -> dict[str, Any]:
    """An event as plain values; unused fields are left out."""
    plain: dict[str, Any] = {"index": index, "kind": event.kind.name, "t_ns": event.t_ns}
    if event.view is not None:
        plain["view"] = str(event.view)
    if event.peer is not None:
        plain["peer"] = str(event.peer)
    for name in ("stream", "first", "count", "ordinal", "value", "other"):
        if getattr(event, name):
            plain[name] = getattr(event, name)
    return plain if event.detail is None else {**plain, "detail": dict(event.detail)}


def _of(traces: tuple[Path, ...], member: str | None) -> list[Recording]:
    found = [r for r in read_run(traces) if member is None or member in (r.member.name, str(r.member))]
    if not found:
        raise TraceError(f"no recording of a member named {member!r}")
    return found


def _chosen(recording: Recording, kind: str | None) -> Iterator[tuple[int, Event]]:
    wanted = None if kind is None else Kind[kind.upper()]
    return ((i, e) for i, e in enumerate(recording.events) if wanted is None or e.kind is wanted)


def _row(recording: Recording) -> dict[str, Any]:
    return {
        "member": str(recording.member),
        "group": recording.header.group,
        "version": recording.header.version,
        "seed": recording.header.seed,
        "events": recording.count,
        "bytes": _size(recording),
        "closed": recording.closed,
        "cut": recording.cut,
        "dropped_events": recording.dropped,
    }


def _stats(recording: Recording) -> dict[str, Any]:
    kinds: Counter[str] = Counter()
    messages: Counter[Kind] = Counter()  # of the application: multicast and private
    control: Counter[Kind] = Counter()  # of membership, merge and state transfer, on streams of their own
    runs = 0
    first_ns = last_ns = None
    for event in recording.events:
        kinds[event.kind.name] += 1
        is_control = event.stream % STREAMS_PER_EPOCH in CONTROL_CHANNELS
        (control if is_control else messages)[event.kind] += event.count
        runs += event.kind is Kind.DELIVER and not is_control
        first_ns = event.t_ns if first_ns is None else first_ns
        last_ns = event.t_ns
    return {
        "events": sum(kinds.values()),
        "seconds": ((last_ns or 0) - (first_ns or 0)) / 1e9,
        "sent": messages[Kind.SEND],
        "delivered": messages[Kind.DELIVER],
        "control_sent": control[Kind.SEND],
        "control_delivered": control[Kind.DELIVER],
        "mean_run": messages[Kind.DELIVER] / runs if runs else 0.0,
        "bytes_per_event": _size(recording) / max(1, recording.count),
        "kinds": dict(kinds.most_common()),
    }


def _size(recording: Recording) -> int:
    return sum(path.stat().st_size for path in recording.segments)
