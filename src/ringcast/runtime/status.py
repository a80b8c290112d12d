"""Everything an operator may ask of a member: `Status`, plain values, and `explain`, text.

One declaration for `Group.status()`, for the JSON of `ringcast status` and for the metrics: the keys here are its keys.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TypedDict, cast

from ringcast.model import Address
from ringcast.runtime.absences import absences, merge_in_words, nobody_answered, strangers, suspicions
from ringcast.runtime.chronicle import Happened
from ringcast.runtime.disks import MarkFileMarks, mark_file_of, slow_disks
from ringcast.runtime.driver import Driver
from ringcast.runtime.keys import KeyMarks, unopened_in_words
from ringcast.runtime.words import (
    Waiting,
    bad_links,
    heard_seconds,
    roll_call_awaits,
    short,
    slow_members,
    who_excludes,
    why_aside,
    why_not_ready,
)
from ringcast.security import REASONS

_RUNS = {"view": "a view change", "merge": "a merge led by this member", "merge-request": "a merge led by another"}


class SendWindow(TypedDict):
    """Messages of this member: `low` is acked by all, `high` is the last one sent."""

    low: int
    high: int
    occupancy: int
    bytes: int
    max_bytes: int
    capacity: int
    own_unread: int


class ReceiveWindowMarks(TypedDict):
    """Messages of another member: received without gap, handed to the application, highest seen, held."""

    ready: int
    taken: int
    highest: int
    held: int


class Windows(TypedDict):
    send: SendWindow
    receive: dict[str, ReceiveWindowMarks]


class Peer(TypedDict):
    """`lag` = messages of ours that it has not acked, `unread` = messages of its that were not read here."""

    heard_seconds: float | None
    lag: int
    received: int
    unread: int


class SpoolMarks(TypedDict):
    """What arrived while this member loaded its state, and is not read yet."""

    messages: int
    memory_bytes: int
    memory_limit: int
    disk_bytes: int
    disk_limit: int


class WaitingRow(TypedDict):
    what: str
    because: str
    since_seconds: float
    freed_by: str


class AbsenceRow(TypedDict):
    member: str
    because: str
    since_seconds: float
    returns: str


class TransportMarks(TypedDict):
    """What went through the transport since it was opened; `lost` by reason."""

    frames_in: int
    bytes_in: int
    frames_out: int
    bytes_out: int
    wakes: int
    busy: int
    connects: int
    frames_aside: int
    lost: dict[str, int]


class Status(TypedDict):
    """What a member knows. The same keys with and without a view."""

    group: str
    me: str
    endpoint: str
    ready: bool  # this member may send
    not_ready_because: str | None
    view: str | None
    view_number: int
    view_since_seconds: float
    primary: bool
    members: list[str]
    coordinator: str | None
    slow: list[str]
    suspected: dict[str, str]
    absent: list[AbsenceRow]
    merge: str | None
    windows: Windows
    peers: dict[str, Peer]
    spool: SpoolMarks
    waiting: list[WaitingRow]
    explanation: str
    drops: dict[str, int]
    retransmitted: int
    happened: Happened  # since this incarnation began
    transport: TransportMarks
    keys: KeyMarks | None  # None: frames travel in clear
    mark_file: MarkFileMarks | None  # None: what is known of primary views is not kept
    recording_lost: int | None  # events that the disk did not take; None: nothing is recorded


def status_of(group: str, driver: Driver, waiting: list[Waiting]) -> Status:
    """What `ringcast status` shows."""
    node, chronicle, now = driver.node, driver.chronicle, driver.now_ns()
    has = node.has_group
    reunion = chronicle.reunion
    return {
        "group": group,
        "me": str(node.me),
        "endpoint": node.me.endpoint,
        "ready": is_ready(driver),
        "not_ready_because": _not_ready_because(driver),
        "view": str(node.view.id) if has else None,
        "view_number": node.view.id.number if has else 0,
        "view_since_seconds": (now - chronicle.since_ns) / 1e9 if has else 0.0,
        "primary": has and node.view.is_primary and node.may_go_on,
        "members": [str(member) for member in node.view.members] if has else [],
        "coordinator": str(node.coordinator) if has and node.coordinator is not None else None,
        "slow": [str(member) for member in slow_members(driver)] if has else [],
        "suspected": {str(member): why for member, why in suspicions(driver).items()},
        "absent": [cast(AbsenceRow, asdict(absence)) for absence in absences(driver)],
        "merge": None if reunion is None else merge_in_words(reunion, now),
        "windows": {
            "send": _send_window(driver),
            "receive": _receive_windows(driver) if has else {},
        },
        "peers": {str(member): _peer(driver, member) for member in node.view.members} if has else {},
        "spool": _spool(driver),
        "waiting": [cast(WaitingRow, asdict(wait)) for wait in waiting],
        "explanation": short(explain(group, driver, waiting)),
        "drops": dict(driver.drops),
        "retransmitted": node.group.repairs.count if has else 0,
        "happened": chronicle.happened.copy(),
        "transport": cast(TransportMarks, driver.transport.counters.as_dict()),
        "keys": None if driver.keys is None else driver.keys.status(),
        "mark_file": mark_file_of(driver),
        "recording_lost": driver.recording_lost,
    }


def is_ready(driver: Driver) -> bool:
    """This member may send: it has a place in the group, on the primary side if only that may go on."""
    node = driver.node
    return not driver.is_closed and node.has_group and node.view.is_primary and node.may_go_on


def _not_ready_because(driver: Driver) -> str | None:
    if is_ready(driver):
        return None
    return "this member's place in the group has ended" if driver.is_closed else short(why_not_ready(driver))


def explain(group: str, driver: Driver, waiting: list[Waiting]) -> str:
    """In words: where this member is, what waits and what frees it, who is missing, what was merged."""
    if driver.is_closed:
        return "\n".join([_ended(group, driver), *map(str, waiting), *_unopened(driver)])
    parts = [_place(group, driver)]
    if driver.node.has_group and not (driver.node.may_go_on and driver.node.view.is_primary):
        parts.append(why_aside(driver.node))
    parts += [str(wait) for wait in waiting] or ["nothing waits"]
    parts += _narrowed(driver)
    parts += _spooled(driver)
    parts += _unread(driver)
    parts += _runs(driver)
    parts += slow_disks(driver)
    parts += bad_links(driver)
    for member, why in suspicions(driver).items():
        parts.append(f"{member} is suspected ({why}); {who_excludes(driver)}")
    parts += [str(absence) for absence in absences(driver)]
    if driver.chronicle.reunion is not None:
        parts.append(merge_in_words(driver.chronicle.reunion, driver.now_ns()))
    parts += filter(None, [nobody_answered(driver)])
    parts += _unopened(driver)
    stranger = strangers(driver)
    return "\n".join(parts if stranger is None else [*parts, stranger])


def _place(group: str, driver: Driver) -> str:
    node = driver.node
    if not node.has_group:
        return f"{node.me} at {node.me.endpoint} is in no view of group {group} yet"
    names = ", ".join(member.name for member in node.view.members)
    since = (driver.now_ns() - driver.chronicle.since_ns) / 1e9
    return f"{node.me} at {node.me.endpoint} is in group {group}, view {node.view.id} for {since:.1f} s: {names}"


def _ended(group: str, driver: Driver) -> str:
    """Describe a member whose place is over: nothing that its node last knew is true any more."""
    node = driver.node
    ago = (driver.now_ns() - driver.closed_ns) / 1e9
    last = f" ({driver.ended})" if driver.ended not in ("", "ended") else ""
    return f"{node.me} at {node.me.endpoint} is no longer in group {group}: its place ended {ago:.1f} s ago{last}"


def _unopened(driver: Driver) -> list[str]:
    """What came and was not sealed as it should be."""
    lost = driver.transport.counters.lost
    return [f"{lost[why]} frames were dropped: {unopened_in_words(why)}" for why in REASONS if why in lost]


def _narrowed(driver: Driver) -> list[str]:
    """A member with a small window slows everybody."""
    if not driver.node.has_group or 2 * driver.node.group.capacity > driver.node.config.capacity:
        return []
    own, agreed = driver.node.config.capacity, driver.node.group.capacity
    return [f"the group's window is {agreed} messages, that of its smallest member; this member's config allows {own}"]


def _unread(driver: Driver) -> list[str]:
    """Whom this member's own application keeps waiting."""
    if not driver.node.has_group:
        return []
    group = driver.node.group
    unread = {m: s.window.ready - s.window.taken for m, s in group.incoming.items()}
    return [
        f"{count} messages of {member} are not read yet by this member's application; {member} can send on as it reads"
        for member, count in unread.items()
        if 2 * count >= group.capacity
    ]


def _spool(driver: Driver) -> SpoolMarks:
    spool = driver.spool
    if spool is None:
        return {"messages": 0, "memory_bytes": 0, "memory_limit": 0, "disk_bytes": 0, "disk_limit": 0}
    return {
        "messages": spool.messages,
        "memory_bytes": spool.memory_bytes,
        "memory_limit": spool.memory_limit,
        "disk_bytes": spool.disk_bytes,
        "disk_limit": spool.disk_limit,
    }


def _spooled(driver: Driver) -> list[str]:
    spool = driver.spool
    if spool is None or spool.is_empty:
        return []
    full = "; it is full, so senders wait for this member" if driver.inbox and spool.is_full else ""
    memory = f"{spool.memory_bytes} of {spool.memory_limit} bytes in memory"
    disk = f"{spool.disk_bytes} of {spool.disk_limit} on disk"
    return [f"{spool.messages} messages that came while the state was loaded are in the spool: {memory}, {disk}{full}"]


def _runs(driver: Driver) -> list[str]:
    """A view change or a merge under way at this coordinator."""
    if driver.chronicle.suspended is None:
        return []
    since_ns, cause = driver.chronicle.suspended
    awaited = ", ".join(map(str, roll_call_awaits(driver)))
    waits = f", waiting for answers of {awaited}" if awaited else ""
    return [f"{_RUNS.get(cause, cause)} runs for {(driver.now_ns() - since_ns) / 1e9:.1f} s{waits}"]


def _peer(driver: Driver, member: Address) -> Peer:
    """How this member and another stand."""
    group = driver.node.group
    window, incoming = group.outgoing.window, group.incoming.get(member)
    if member == driver.node.me or incoming is None:
        return {"heard_seconds": 0.0, "lag": 0, "received": window.high, "unread": group.own_unread}
    return {
        "heard_seconds": heard_seconds(driver, member),
        "lag": window.high - (group.outgoing.acks.get(member) or 0),
        "received": incoming.window.ready,
        "unread": incoming.window.ready - incoming.window.taken,
    }


def _send_window(driver: Driver) -> SendWindow:
    if not driver.node.has_group:
        return {"low": 0, "high": 0, "occupancy": 0, "bytes": 0, "max_bytes": 0, "capacity": 0, "own_unread": 0}
    group = driver.node.group
    window = group.outgoing.window
    return {
        "low": window.low,
        "high": window.high,
        "occupancy": window.occupancy,
        "bytes": window.bytes,
        "max_bytes": window.max_bytes,
        "capacity": group.capacity,
        "own_unread": group.own_unread,
    }


def _receive_windows(driver: Driver) -> dict[str, ReceiveWindowMarks]:
    return {
        str(member): {
            "ready": incoming.window.ready,
            "taken": incoming.window.taken,
            "highest": incoming.window.highest,
            "held": incoming.window.occupancy,
        }
        for member, incoming in driver.node.group.incoming.items()
    }
