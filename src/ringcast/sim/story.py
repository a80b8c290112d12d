"""A run as a sequence that can be read: who did what, when, one line each.

By default only what changes the course is told: faults, views, suspicions, requests, merges. What every message brings
with it (sends, deliveries, acks, purges, waits for room, duplicates) is told only with `everything`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge

from ringcast.checkers import describe
from ringcast.model import SECOND, TRAFFIC, Address, Event, Kind
from ringcast.trace import Recording

_QUIET = TRAFFIC | {Kind.START}


def tell(
    recordings: Iterable[Recording], everything: bool = False, told: Mapping[Address, int] | None = None
) -> Iterator[str]:
    """The lines of the story, in the order of virtual time; `told` = how many events of each are known."""
    known = told or {}
    lines = [
        _lines(number, recording, everything, known.get(recording.member, 0))
        for number, recording in enumerate(recordings)
    ]
    return (f"{t_ns / SECOND:10.4f} s  {who:<8} {words}" for t_ns, _, _, who, words in merge(*lines))


def _lines(number: int, recording: Recording, everything: bool, told: int) -> Iterator[tuple[int, int, int, str, str]]:
    who = str(recording.member) if recording.member.name != "harness" else "*"
    for index, event in enumerate(recording.events):
        if index >= told and (everything or event.kind not in _QUIET):
            yield event.t_ns, number, index, who, in_words(event)


def in_words(event: Event) -> str:
    """One event as a sentence; kinds without words of their own are described field by field."""
    say = _WORDS.get(event.kind)
    return say(event) if say is not None else describe(event).rpartition(" at ")[0]


def _of(event: Event, name: str) -> str:
    return str((event.detail or {}).get(name))


def _run(event: Event) -> str:
    last = event.first + event.count - 1
    return str(event.first) if event.count == 1 else f"{event.first}..{last}"


def _stream(event: Event) -> str:
    return " (stream)" if event.stream else ""


def _view(event: Event) -> str:
    detail = event.detail or {}
    members = ", ".join(member[0] for member in detail.get("members", ()))
    merged = f", merged from {len(detail['subgroups'])}" if detail.get("subgroups") else ""
    return f"installs view {event.view} [{members}]{merged}"


def _fault(event: Event) -> str:
    detail = event.detail or {}
    amount = f" {detail['amount']:g}" if detail.get("amount") else ""
    sides = [*detail.get("left", ()), "|", *detail.get("right", ())] if "left" in detail else []
    return " ".join([f"{detail.get('what', 'all')}{amount}", *detail.get("members", ()), *sides])


_WORDS: dict[Kind, Callable[[Event], str]] = {
    Kind.SEND: lambda e: f"sends {_run(e)}{f' to {e.peer}' if e.peer else ''}{_stream(e)}, window holds {e.value}",
    Kind.DELIVER: lambda e: f"delivers {_run(e)} of {e.peer}{_stream(e)}",
    Kind.TAKEN: lambda e: f"counts {_run(e)} of {e.peer}{_stream(e)} as taken",
    Kind.HANDED: lambda e: f"has read {_run(e)} of {e.peer}{_stream(e)}",
    Kind.UNREAD: lambda e: f"will not read {_run(e)} of {e.peer}{_stream(e)}: {(e.detail or {}).get('why')}",
    Kind.ACK: lambda e: f"hears that {e.peer} has {e.value}{_stream(e)}",
    Kind.PURGE: lambda e: f"purges up to {e.value}{_stream(e)}",
    Kind.REQUEST: lambda e: f"asks {e.peer} for {_run(e)}{_stream(e)}",
    Kind.REPAIR: lambda e: f"sends {_run(e)} again to {e.peer}{_stream(e)}",
    Kind.DROP: lambda e: f"drops from {e.peer}: {_of(e, 'reason')}",
    Kind.VIEW: _view,
    Kind.WAIT_START: lambda e: f"waits ({_of(e, 'what')} {e.value})",
    Kind.WAIT_END: lambda e: f"waits no longer ({e.value}, {_of(e, 'how')})",
    Kind.SUSPECT: lambda e: f"suspects {e.peer}",
    Kind.FAULT: lambda e: f"begins: {_fault(e)}",
    Kind.HEAL: lambda e: f"ends: {_fault(e)}",
    Kind.REQUESTED: lambda e: f"is asked to {_of(e, 'what')} {e.peer}: {_of(e, 'answer')}",
    Kind.SUSPEND: lambda e: f"suspends its view handler: {_of(e, 'cause')}",
    Kind.RESUME: lambda e: f"resumes its view handler: {_of(e, 'cause')}",
    Kind.ROLL_CALL: lambda e: f"roll call {_of(e, 'id')}: {_of(e, 'step')}",
    Kind.MERGE: lambda e: f"merge {_of(e, 'merge_id')}: {_of(e, 'step')}",
    Kind.CLOSED: lambda e: f"ends ({_of(e, 'how')})",
}
