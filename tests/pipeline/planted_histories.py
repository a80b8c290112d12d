"""Violations on demand: each takes a valid period and breaks one guarantee in one place, the way a bug would show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ringcast.bench.history.shape import Period
from ringcast.model import Event, Kind, ViewId
from ringcast.trace import as_address

Breaker = Callable[[Period], None]


@dataclass(frozen=True, slots=True)
class Planted:
    """A violation that can be planted."""

    name: str
    guarantee: str
    break_: Breaker

    def into(self, period: Period) -> Period:
        """The same period with this violation in it."""
        broken = replace(period, events=[list(events) for events in period.events])
        self.break_(broken)
        return broken


def _at(period: Period, member: int, kind: Kind, nth: int = 5, **wanted: Any) -> int:
    """Where the nth event of a kind (with these fields) stands, or the last but one if there are fewer."""
    found = [
        i
        for i, event in enumerate(period.events[member])
        if event.kind is kind and all(getattr(event, name) == value for name, value in wanted.items())
    ]
    return found[nth] if nth < len(found) else found[max(0, len(found) - 2)]


def _change(period: Period, member: int, at: int, **fields: Any) -> None:
    period.events[member][at] = replace(period.events[member][at], **fields)


def _other(period: Period, member: int) -> Any:
    return period.addresses[(member + 1) % len(period.addresses)]


def _lost_run(period: Period) -> None:
    del period.events[1][_at(period, 1, Kind.DELIVER, 40, peer=_other(period, 1))]


def _repeated_run(period: Period) -> None:
    at = _at(period, 1, Kind.DELIVER, 40)
    period.events[1].insert(at + 1, period.events[1][at])


def _swapped_runs(period: Period) -> None:
    sender = _other(period, 1)
    first = _at(period, 1, Kind.DELIVER, 40, peer=sender)
    events = period.events[1]
    second = next(
        i for i in range(first + 1, len(events)) if events[i].kind is Kind.DELIVER and events[i].peer == sender
    )
    a, b = period.events[1][first], period.events[1][second]
    _change(period, 1, first, first=b.first, count=b.count)
    _change(period, 1, second, first=a.first, count=a.count)


def _offset_without_view(period: Period) -> None:
    at = _at(period, 1, Kind.DELIVER, 40)
    event = period.events[1][at]
    offset = Event(Kind.OFFSET, event.t_ns, event.view, event.peer, value=event.first + event.count - 1)
    period.events[1].insert(at + 1, replace(offset, detail={"cause": "view"}))


def _overrun(period: Period) -> None:
    at = _at(period, 2, Kind.SEND, 20)
    _change(period, 2, at, value=period.shape.capacity + 1)


def _overfull_receiver(period: Period) -> None:
    _change(period, 2, _at(period, 2, Kind.DELIVER, 20), value=period.shape.capacity + 1)


def _purged_too_early(period: Period) -> None:
    """The last ack before a purge comes only after it."""
    purge = _at(period, 3, Kind.PURGE, 2)
    event = period.events[3][purge]
    ack = max(
        i for i in range(purge) if period.events[3][i].kind is Kind.ACK and period.events[3][i].value == event.value
    )
    period.events[3].insert(purge, period.events[3].pop(ack))


def _false_ack(period: Period) -> None:
    """The receiver never took what it acked: its last TAKEN is missing."""
    sender = period.addresses[3]
    at = max(i for i, e in enumerate(period.events[2]) if e.kind is Kind.TAKEN and e.peer == sender)
    del period.events[2][at]


def _shrinking_id(period: Period) -> None:
    at = _at(period, 4, Kind.VIEW, 3)
    event = period.events[4][at]
    assert event.view is not None
    _change(period, 4, at, view=ViewId(event.view.number - 2, event.view.creator))


def _two_contents(period: Period) -> None:
    at = _at(period, 4, Kind.VIEW, 3)
    detail = dict(period.events[4][at].detail or {})
    _change(period, 4, at, detail={**detail, "members": detail["members"][:-1]})


def _view_without_me(period: Period) -> None:
    at = _at(period, 4, Kind.VIEW, 3)
    detail = dict(period.events[4][at].detail or {})
    members = [member for member in detail["members"] if member != period.addresses[4]]
    _change(period, 4, at, detail={**detail, "members": members})


def _different_cut(period: Period) -> None:
    """One member delivers the last run of a view only in the next."""
    view = _at(period, 4, Kind.VIEW, 3)
    run = max(i for i in range(view) if period.events[4][i].kind is Kind.DELIVER)
    event = period.events[4].pop(run)
    period.events[4].insert(view, replace(event, view=period.events[4][view - 1].view))


def _merge_in_view_change(period: Period) -> None:
    at = _at(period, 0, Kind.ROLL_CALL, 4)
    event = period.events[0][at]
    period.events[0].insert(at + 1, replace(event, kind=Kind.MERGE, detail={"step": "accept", "merge_id": "other"}))


def _endless_suspension(period: Period) -> None:
    del period.events[0][_at(period, 0, Kind.RESUME, 4)]


def _wrong_cause(period: Period) -> None:
    _change(period, 0, _at(period, 0, Kind.RESUME, 4), detail={"cause": "leader-gone", "has_view": True})


def _no_cancel(period: Period) -> None:
    _change(period, 0, _at(period, 0, Kind.RESUME, 4), detail={"cause": "view-failed", "has_view": False})


def _hearsay(period: Period) -> None:
    at = _at(period, 0, Kind.DIGEST, 3)
    _change(period, 0, at, detail={**(period.events[0][at].detail or {}), "origin": period.addresses[0]})


def _missing_digest(period: Period) -> None:
    for member in range(len(period.addresses)):
        at = _merge_view(period, member)
        detail = dict(period.events[member][at].detail or {})
        _change(period, member, at, detail={**detail, "digest": detail["digest"][1:]})


def _not_the_maximum(period: Period) -> None:
    at = _at(period, 0, Kind.DIGEST, 3)
    event = period.events[0][at]
    period.events[0].insert(at + 1, replace(event, value=event.value + 3, other=event.other + 3))


def _merge_view(period: Period, member: int) -> int:
    events = period.events[member]
    return next(i for i, e in enumerate(events) if e.kind is Kind.VIEW and (e.detail or {}).get("subgroups"))


def _own_entry_overwritten(period: Period) -> None:
    at = _merge_view(period, 2)
    event = period.events[2][at]
    own = next(row for row in (event.detail or {})["digest"] if row[0] == period.addresses[2])
    offset = Event(Kind.OFFSET, event.t_ns, event.view, period.addresses[2], value=own[2])
    period.events[2].insert(at, replace(offset, detail={"cause": "merge"}))


def _not_reset(period: Period) -> None:
    del period.events[2][_at(period, 2, Kind.OFFSET, 0)]


def _dequeued_out_of_order(period: Period) -> None:
    """Two messages of one sender change places in one member's queue."""
    events = period.events[5]
    dequeues = [i for i, e in enumerate(events) if e.kind is Kind.DEQUEUE][:400]
    first = dequeues[50]
    second = next(i for i in dequeues[51:] if events[i].peer == events[first].peer)
    _swap_messages(period, 5, first, second)


def _swap_messages(period: Period, member: int, first: int, second: int) -> None:
    a, b = period.events[member][first], period.events[member][second]
    _change(period, member, first, peer=b.peer, first=b.first, value=b.value)
    _change(period, member, second, peer=a.peer, first=a.first, value=a.value)


def _different_order(period: Period) -> None:
    """Two neighbours of different senders that somebody else has too change places, numbers and all."""
    common = _common_neighbours(period, 5)
    _swap_messages(period, 5, *common)


def _hidden_different_order(period: Period) -> None:
    """The same, but each keeps the other's seq, so that the numbers still grow: a witness that lies."""
    first, second = _common_neighbours(period, 5)
    a, b = period.events[5][first], period.events[5][second]
    _change(period, 5, first, peer=b.peer, first=b.first)
    _change(period, 5, second, peer=a.peer, first=a.first)


def _common_neighbours(period: Period, member: int) -> tuple[int, int]:
    elsewhere = {(e.peer, e.first) for e in period.events[4] if e.kind is Kind.DEQUEUE}
    events = period.events[member]
    dequeues = [i for i, e in enumerate(events) if e.kind is Kind.DEQUEUE]
    for first, second in pairwise(dequeues[50:]):
        a, b = events[first], events[second]
        if a.peer != b.peer and a.view == b.view and {(a.peer, a.first), (b.peer, b.first)} <= elsewhere:
            return first, second
    raise AssertionError("no two messages in common")


def _answer_before_question(period: Period) -> None:
    """A member queues a message after it has dequeued another, and the message is ordered before that one."""
    events = period.events[5]
    start = _at(period, 5, Kind.QUEUE_START, 30)
    finish = next(i for i in range(start, len(events)) if events[i].kind is Kind.QUEUE_FINISH)
    question = next(
        i
        for i in range(finish, len(events))
        if events[i].kind is Kind.DEQUEUE and events[i].value > events[finish].value
    )
    t_ns = events[question].t_ns
    events[question + 1 : question + 1] = [replace(events[i], t_ns=t_ns) for i in (start, finish)]
    del events[finish], events[start]


def _stuck_send(period: Period) -> None:
    at = _at(period, 0, Kind.WAIT_END, 0)
    del period.events[0][at]


def _lost_at_one_destination(period: Period) -> None:
    """One member passes over a message that another destination has, and goes on."""
    elsewhere = {(e.peer, e.first) for e in period.events[4] if e.kind is Kind.DEQUEUE}
    events = period.events[5]
    del events[next(i for i, e in enumerate(events) if e.kind is Kind.DEQUEUE and (e.peer, e.first) in elsewhere)]


def _never_queued(period: Period) -> None:
    """A message that was dequeued, though its sender has no word of it."""
    sender = next(e.peer for e in period.events[5] if e.kind is Kind.DEQUEUE)
    number = next(e.first for e in period.events[5] if e.kind is Kind.DEQUEUE)
    member = period.addresses.index(as_address(sender))
    kinds = (Kind.QUEUE_START, Kind.QUEUE_FINISH)
    period.events[member] = [e for e in period.events[member] if e.kind not in kinds or e.first != number]


def _older_digest(period: Period) -> None:
    """The MergeView and all that was said for it have one member's entry as it was one message earlier."""
    whose = period.addresses[1]
    for member, events in enumerate(period.events):
        for at, event in enumerate(events):
            rows = (event.detail or {}).get("digest")
            if event.kind is Kind.VIEW and rows and (event.detail or {}).get("subgroups"):
                older = [[w, low, *(f - 1 for f in more)] if w == whose else [w, low, *more] for w, low, *more in rows]
                _change(period, member, at, detail={**(event.detail or {}), "digest": older})
            elif event.kind is Kind.DIGEST and event.peer == whose:
                _change(period, member, at, value=event.value - 1, other=event.other - 1)


def _cause_that_did_not_happen(period: Period) -> None:
    """The Resumer is said to have ended a suspension long before its moment."""
    _change(period, 0, _at(period, 0, Kind.RESUME, 4), detail={"cause": "resumer", "has_view": True})


PLANTED: tuple[Planted, ...] = (
    Planted("a run is lost", "G1", _lost_run),
    Planted("a run is delivered twice", "G1", _repeated_run),
    Planted("two runs change places", "G1", _swapped_runs),
    Planted("an offset without a view", "G1", _offset_without_view),
    Planted("the send window overruns", "G2", _overrun),
    Planted("the receive window overruns", "G2", _overfull_receiver),
    Planted("purged before the last ack", "G3", _purged_too_early),
    Planted("an ack for what was not taken", "G3", _false_ack),
    Planted("a view id that shrinks", "G4", _shrinking_id),
    Planted("one view id, two contents", "G4", _two_contents),
    Planted("a view without its member", "G4", _view_without_me),
    Planted("a run delivered one view late", "G5", _different_cut),
    Planted("a merge inside a view change", "G6", _merge_in_view_change),
    Planted("a suspension that never ends", "G7", _endless_suspension),
    Planted("a cause that does not belong", "G7", _wrong_cause),
    Planted("no cancel to those who hold", "G7", _no_cancel),
    Planted("an entry from hearsay", "G8", _hearsay),
    Planted("a merge without a digest", "G9", _missing_digest),
    Planted("an overlap below the maximum", "G9", _not_the_maximum),
    Planted("the own entry overwritten", "G10", _own_entry_overwritten),
    Planted("a window not reset", "G10", _not_reset),
    Planted("a sender's order turned round", "G11", _dequeued_out_of_order),
    Planted("two members, two orders", "G12", _different_order),
    Planted("two orders behind numbers that grow", "G12", _hidden_different_order),
    Planted("an answer ordered before its question", "G13", _answer_before_question),
    Planted("a wait that never ends", "G14", _stuck_send),
)

# Violations that rules and checkers once called held.
ONCE_MISSED: tuple[Planted, ...] = (
    Planted("a message lost at one destination", "G16", _lost_at_one_destination),
    Planted("a message that nobody queued", "G16", _never_queued),
    Planted("a digest older by one message", "G8", _older_digest),
    Planted("a cause that did not happen", "G7", _cause_that_did_not_happen),
)
