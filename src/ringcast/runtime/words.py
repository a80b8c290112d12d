"""Why something waits, in words: window, who holds it back, since when nothing was heard of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ringcast.model import Address
from ringcast.runtime.driver import Driver

_SEND_MARKS = ("low", "high", "occupancy", "bytes", "max_bytes", "capacity", "own_unread")


@dataclass(frozen=True, slots=True)
class Waiting:
    """One entry of `group.waiting()` and of `ringcast status`."""

    what: str
    because: str
    since_seconds: float


def why_no_room(driver: Driver) -> str:
    node = driver.node
    if not node.has_group:
        return f"{node.me} is in no view yet"
    window = node.group.outgoing.window
    parts = [f"window {window.occupancy}/{node.group.capacity} messages, {window.bytes}/{window.max_bytes} bytes"]
    if driver.is_busy:
        parts.append("the socket is busy")
    if node.config.self_delivery and node.group.own_unread >= node.group.capacity:
        parts.append(f"{node.group.own_unread} own messages are not read yet by this member's application")
    return ", ".join(parts + _missing_acks(driver))


def why_not_flushed(driver: Driver) -> str:
    if not driver.node.has_group:
        return why_no_room(driver)
    window = driver.node.group.outgoing.window
    head = f"{window.occupancy} messages are not acked by all"
    unacked = [peer for peer, stream in driver.node.peers.outgoing.items() if stream.window.occupancy]
    if unacked:
        head += f", private messages are not acked by {', '.join(map(str, unacked))}"
    return ", ".join([head, *_missing_acks(driver)])


def why_not_placed(driver: Driver) -> str:
    """Why an ordered message has no place yet, or cannot be queued."""
    node = driver.node
    if not node.has_group:
        return f"{node.me} is in no view yet"
    ordering = node.order.ordering
    coordinator = node.view.coordinator
    parts = [f"{ordering.in_flight.count}/{ordering.capacity} ordered messages have no place yet"]
    if coordinator is None:
        parts.append("there is no coordinator among observers")
    elif coordinator != node.me:
        parts.append(f"the coordinator is {coordinator}")
    if ordering.unread >= ordering.capacity:
        parts.append(f"{ordering.unread} ordered messages are not read yet by this member's application")
    parts += [f"{member} has not staged what stands first" for member in ordering.awaited()]
    return ", ".join(parts)


def _missing_acks(driver: Driver) -> list[str]:
    outgoing = driver.node.group.outgoing
    if outgoing.window.occupancy == 0:
        return []
    return [_missing_ack(driver, member) for member in outgoing.acks.laggards() if member != driver.node.me]


def _missing_ack(driver: Driver, member: Address) -> str:
    acked = driver.node.group.outgoing.acks.get(member)
    heard = driver.heard.get(member)
    last = "never heard" if heard is None else f"last heard {(driver.now_ns() - heard) / 1e9:.1f} s ago"
    if member in slow_members(driver):
        last += "; it lives, but its event loop stands still"
    return f"{member} has acked up to {acked} of {driver.node.group.outgoing.window.high} ({last})"


def slow_members(driver: Driver) -> list[Address]:
    """Who lives, but whose event loop does not turn; as far as this member watches them."""
    society = driver.node.society
    return [] if society is None else list(society.vigilance.detector.slow)


def status_of(group: str, driver: Driver, waiting: list[Waiting], explanation: str) -> dict[str, Any]:
    """What `ringcast status` shows."""
    node = driver.node
    if not node.has_group:
        return _status_outside(group, driver, waiting, explanation)
    return {
        "group": group,
        "me": str(node.me),
        "view": str(node.view.id),
        "members": [str(member) for member in node.view.members],
        "coordinator": str(node.view.coordinator),
        "slow": [str(member) for member in slow_members(driver)],
        "windows": {"send": _send_window(driver), "receive": _receive_windows(driver)},
        "waiting": [asdict(wait) for wait in waiting],
        "explanation": explanation,
        "drops": dict(driver.drops),
        "retransmitted": node.group.repaired,
        "transport": driver.transport.counters.as_dict(),
    }


def _status_outside(group: str, driver: Driver, waiting: list[Waiting], explanation: str) -> dict[str, Any]:
    """The same keys, of a member on its way in."""
    return {
        "group": group,
        "me": str(driver.node.me),
        "view": None,
        "members": [],
        "coordinator": None,
        "slow": [],
        "windows": {"send": dict.fromkeys(_SEND_MARKS, 0), "receive": {}},
        "waiting": [asdict(wait) for wait in waiting],
        "explanation": explanation,
        "drops": dict(driver.drops),
        "retransmitted": 0,
        "transport": driver.transport.counters.as_dict(),
    }


def _send_window(driver: Driver) -> dict[str, int]:
    window = driver.node.group.outgoing.window
    marks = {name: getattr(window, name) for name in _SEND_MARKS[:5]}
    return marks | {"capacity": driver.node.group.capacity, "own_unread": driver.node.group.own_unread}


def _receive_windows(driver: Driver) -> dict[str, dict[str, int]]:
    return {
        str(member): {
            "ready": incoming.window.ready,
            "taken": incoming.window.taken,
            "highest": incoming.window.highest,
            "held": incoming.window.occupancy,
        }
        for member, incoming in driver.node.group.incoming.items()
    }
