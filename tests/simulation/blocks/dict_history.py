"""What clients of a replicated dictionary saw, and an independent judge of what was promised to them.

Nothing here knows how the dictionary works. A process notes when it asked for what and what it was told, and every
change it saw, with the time; the judge replays them. The promise, per side: everybody who goes together from view to
view sees the same changes in the same order; a write is seen here before it returns, once; of two writes the one that
was finished before the other began is seen first (in one view, by those who go on from it together); a comparison was
true where the write stands, or false at some moment of the call; what was refused as not sent is seen by nobody; and
what a process wrote is still there in the end if that process is, unless somebody wrote that key later or on another
side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from simulation.blocks.kit import Log, differing


@dataclass
class Asked:
    """One operation of a client. `values` are unique among all writes."""

    what: str
    key: str
    value: str | None
    expected: str | None
    began: float
    ended: float | None = None
    result: Any = None
    sent: bool | None = True  # as an error says


@dataclass
class Seen:
    """One change as a process saw it; `by` is None for a loaded or merged state."""

    at: float
    view: object
    key: str
    old: str | None
    new: str | None
    by: str | None


@dataclass
class Process:
    who: str
    asked: list[Asked] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    # how many changes were seen before; the view, or the number of the view where a state that was loaded was cut
    views: list[tuple[int, object]] = field(default_factory=list)


def judge(processes: list[Process]) -> list[str]:
    found = differing([_log(process) for process in processes])
    where = [_places(process) for process in processes]
    for process, places in zip(processes, where, strict=True):
        found += _breaks(process)
        for asked in process.asked:
            found += _untrue(process, asked, places)
    unsent = {asked.value for process in processes for asked in process.asked if asked.sent is False} - {None}
    for process in processes:
        found += [f"{process.who} saw {seen.new!r}, which was not sent" for seen in process.seen if seen.new in unsent]
    return [*found, *_out_of_time(processes)]


def _log(process: Process) -> Log:
    log: Log = []
    views = dict(reversed(process.views))  # Of several views at one place the first is enough: nothing lies between.
    for index in range(len(process.seen) + 1):
        if index in views:
            log += [("load" if isinstance(view, int) else "view", view) for at, view in process.views if at == index]
        if index < len(process.seen) and process.seen[index].by is not None:
            seen = process.seen[index]
            log.append(("op", (seen.key, seen.new, seen.by)))
    return log


def _places(process: Process) -> dict[tuple[str, str | None], list[int]]:
    places: dict[tuple[str, str | None], list[int]] = {}
    for index, seen in enumerate(process.seen):
        if seen.by is not None:
            places.setdefault((seen.key, seen.new), []).append(index)
    return places


def _breaks(process: Process) -> Iterable[str]:
    """Each change begins where the one before it ended."""
    now: dict[str, str | None] = {}
    for seen in process.seen:
        if seen.key in now and now[seen.key] != seen.old:
            yield f"{process.who}: {seen.key} was {now[seen.key]!r} and changed from {seen.old!r}"
        now[seen.key] = seen.new


def _untrue(process: Process, asked: Asked, places: dict[tuple[str, str | None], list[int]]) -> Iterable[str]:
    """Was the answer to this call true?"""
    if asked.ended is None:
        return
    if asked.result is False:  # A comparison that failed, a key that was not there.
        values = [seen.old for seen in process.seen if seen.key == asked.key and asked.began <= seen.at <= asked.ended]
        values += [_value_at(process, asked.key, asked.ended)]
        if all(value == asked.expected for value in values) and asked.what == "swap":
            yield f"{process.who}: {asked} failed, and nothing else was ever there"
        return
    if asked.what == "delete":
        return
    mine = [process.seen[index] for index in places.get((asked.key, asked.value), [])]
    if len(mine) != 1 or not asked.began <= mine[0].at <= asked.ended:
        yield f"{process.who}: {asked} was done, seen here {mine}"
    elif asked.what == "swap" and mine[0].old != asked.expected:
        yield f"{process.who}: {asked} was done over {mine[0].old!r}"


def _value_at(process: Process, key: str, at: float) -> str | None:
    value = None
    for seen in process.seen:
        if seen.at > at:
            break
        if seen.key == key:
            value = seen.new
    return value


def _out_of_time(processes: list[Process]) -> Iterable[str]:
    """Finished before started is seen before: in one view, by those who go on together from it (G12, G13)."""
    asked = {one.value: (process, one) for process in processes for one in process.asked if one.value is not None}
    for process in processes:
        latest: dict[object, tuple[float, str]] = {}  # view -> the latest beginning of what was seen in it so far
        for seen in process.seen:
            writer, one = (None, None) if seen.new is None or seen.by is None else asked.get(seen.new, (None, None))
            if writer is None or one is None or _next(writer, seen.view) != _next(process, seen.view):
                continue
            began, which = latest.get(seen.view, (-1.0, ""))
            if one.ended is not None and one.result is not False and one.ended < began:
                yield f"{process.who}: {seen.new} was finished before {which} began, and seen behind it"
            if one.began > began:
                latest[seen.view] = (one.began, one.value or "")


def _next(process: Process, view: object) -> object:
    """The view that this process went to from that one; nothing if it never did."""
    views = [one for _, one in process.views if not isinstance(one, int)]
    at = views.index(view) + 1 if view in views else len(views)
    return views[at] if at < len(views) else None


def lost(processes: list[Process], alive: Iterable[str], final: dict[str, str]) -> list[str]:
    """Keys that were written once, by a process that is still there, and are not in the end."""
    living = set(alive)
    return [
        f"{asked.key} was written by {process.who} and is gone"
        for process in processes
        if process.who in living
        for asked in process.asked
        if asked.what == "insert" and asked.ended is not None and final.get(asked.key) != asked.value
    ]
