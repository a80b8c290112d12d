"""The rows of the table `metrics` from recordings, in plain Python: for a report without the pipeline's packages.

The same figures as the pipeline's (docs/design/report.md), which samples the latencies of long runs; here all count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ringcast.model import Event, Kind
from ringcast.report.changes import CHANGE_KINDS, Changes, row_of
from ringcast.report.histogram import bucket, lower_bound
from ringcast.trace import Recording, detail_of

SLOTS = 256
Row = dict[str, Any]
Run = tuple[int, int, int]  # first, last, t_ns


def measured(recordings: Sequence[Recording]) -> list[Row]:
    """The rows of one run."""
    members = [_Member(recording) for recording in recordings]
    width = max((member.width for member in members), default=0)
    while any(member.slots(width) > SLOTS for member in members):
        width += 1
    rows = [row for member in members for row in member.rows(width)]
    by_name = {member.name: member for member in members}
    pace: Counter[tuple[int, int]] = Counter()
    for receiver in members:
        in_view: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for peer, runs in receiver.delivered.items():
            sender = by_name.get(peer)
            if sender is not None and sender.clock == receiver.clock:
                rows += _latencies(sender, receiver, runs, width, pace, in_view)
        rows += [_row("view latency", _median(lows), receiver.name, label=view) for view, lows in in_view.items()]
    rows += [_row("pace", count, t_ns=slot << width, low_ns=low) for (slot, low), count in sorted(pace.items())]
    return rows


class _Member:
    """What one recording says."""

    def __init__(self, recording: Recording) -> None:
        self.name, self.clock = str(recording.member), recording.header.clock
        self.sent: list[Run] = []
        self.delivered: defaultdict[str, list[Run]] = defaultdict(list)
        self.repaired: defaultdict[str, list[Run]] = defaultdict(list)
        self.occupancy: list[tuple[int, int]] = []
        self.events: Counter[Kind] = Counter()
        self.messages: Counter[Kind] = Counter()
        self.drops: Counter[str] = Counter()
        self.changes = Changes()
        self.views: list[tuple[int, str]] = []
        self.begin_ns = -1
        self.end_ns = 0
        control = []
        for event in recording.judgeable():
            self._add(event)
            if event.kind in CHANGE_KINDS:
                control.append(row_of(event.kind, event.t_ns, event.value, detail_of(event.detail)))
        self.changes.add(control)
        self.width = max(0, (self.end_ns - self.begin_ns) // SLOTS).bit_length()

    def _add(self, event: Event) -> None:
        kind = event.kind
        self.events[kind] += 1
        self.messages[kind] += event.count
        self.begin_ns = event.t_ns if self.begin_ns < 0 else self.begin_ns
        self.end_ns = event.t_ns
        run = (event.first, event.first + event.count - 1, event.t_ns)
        if kind is Kind.VIEW and event.view is not None:
            self.views.append((event.t_ns, f"{event.view.number} {event.view.creator}"))
        elif kind is Kind.DROP:
            self.drops[str(detail_of(event.detail).get("reason") or "no reason given")] += max(1, event.count)
        elif kind is Kind.REPAIR and event.peer is not None:
            self.repaired[str(event.peer)].append(run)
        elif event.stream == 0 and event.count:
            if kind is Kind.SEND:
                self.sent.append(run)
                self.occupancy.append((event.t_ns, event.value))
            elif kind is Kind.DELIVER and event.peer is not None:
                self.delivered[str(event.peer)].append(run)

    def view_at(self, t_ns: int) -> str:
        place = bisect_right(self.views, t_ns, key=lambda view: view[0])
        return self.views[place - 1][1] if place else ""

    def slots(self, width: int) -> int:
        return (self.end_ns >> width) - (self.begin_ns >> width) + 1

    def rows(self, width: int) -> Iterator[Row]:
        for metric, counts in (("events", self.events), ("messages", self.messages)):
            yield from (_row(metric, count, self.name, label=kind.name) for kind, count in counts.items())
        yield from (_row("dropped", count, self.name, label=why) for why, count in self.drops.items())
        yield from _over_time("sent", self.sent, width, self.name)
        yield from _over_time("delivered", [run for runs in self.delivered.values() for run in runs], width, self.name)
        for peer, runs in self.repaired.items():
            yield from _over_time("repair", runs, width, self.name, peer)
        most: dict[int, int] = {}
        for t_ns, held in self.occupancy:
            most[t_ns >> width] = max(held, most.get(t_ns >> width, 0))
        yield from (_row("occupancy", held, self.name, t_ns=slot << width) for slot, held in most.items())
        yield from (_row(metric, value, self.name, label=label) for metric, label, value in self.changes.rows())


def _over_time(metric: str, runs: Iterable[Run], width: int, member: str, peer: str = "") -> Iterator[Row]:
    slots: Counter[int] = Counter()
    for first, last, t_ns in runs:
        slots[t_ns >> width] += last - first + 1
    yield from (_row(metric, count, member, peer, t_ns=slot << width) for slot, count in sorted(slots.items()))


def _latencies(
    sender: _Member,
    receiver: _Member,
    runs: Sequence[Run],
    width: int,
    pace: Counter[tuple[int, int]],
    in_view: defaultdict[str, Counter[int]],
) -> Iterator[Row]:
    """From SEND to DELIVER, run by run: where two runs overlap all messages took equally long."""
    found: Counter[int] = Counter()
    firsts = [run[0] for run in sender.sent]
    for first, last, t_ns in runs:
        view = receiver.view_at(t_ns)
        place = max(0, bisect_right(firsts, first) - 1)
        while place < len(firsts) and firsts[place] <= last:
            begin, end, sent_ns = sender.sent[place]
            count = min(last, end) - max(first, begin) + 1
            if count > 0:
                low = lower_bound(bucket(t_ns - sent_ns))
                found[low] += count
                if sender is not receiver:
                    pace[t_ns >> width, low] += count
                    if view:
                        in_view[view][low] += count
            place += 1
    yield from (_row("latency", count, receiver.name, sender.name, low_ns=low) for low, count in sorted(found.items()))


def _median(lows: Counter[int]) -> int:
    """The lowest value that half of them do not exceed."""
    upto, half = 0, (lows.total() + 1) // 2
    for low, count in sorted(lows.items()):
        upto += count
        if upto >= half:
            return low
    return 0


def _row(metric: str, value: int, member: str = "", peer: str = "", label: str = "", **when: int) -> Row:
    return {
        "metric": metric,
        "member": member or None,
        "peer": peer or None,
        "label": label or None,
        "t_ns": when.get("t_ns"),
        "low_ns": when.get("low_ns"),
        "value": value,
    }
