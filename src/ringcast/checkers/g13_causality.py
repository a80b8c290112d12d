"""G13, causality: dequeued-before-queued and finished-before-started are respected, also through side channels.

Judged company by company, on the seqs (G12 shows that they are the order): a message's seq is above that of everything
that was dequeued, or whose queueing was finished, before its own queueing started; at the same member by the place in
its recording, at others by time, if they are on the same clock. "Everything before" is a running maximum. A real
member stamps an event with the begin of the turn in which it happened, so by time it counts from the next stamp on.
Members on different clocks are compared by messages: what a member knew when it sent a message, its receiver knows from
the delivery on, and so it passes it on. The recordings are replayed together, each up to the next message that was not
sent yet.
Between views: what was started in a view started before anybody of the company had a place in the next one.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from ringcast.checkers.passages import PASSAGE_KINDS, Company, Passages, Stay
from ringcast.checkers.replay import Replay
from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.model import STREAMS_PER_EPOCH, Address, Event, Kind, ViewId
from ringcast.trace import SIMULATED_CLOCK, detail_of

_NEVER_NS = 1 << 62
_PRIVATE = 1  # the channel of private messages in a stream's number


@dataclass(slots=True)
class _Known:
    """The highest seq that a member had dequeued or finished, by place in its recording and by time."""

    indexes: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    highest: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, stay: Stay, is_exact: bool) -> _Known:
        known = cls()
        for index, event in stay.of(Kind.DEQUEUE, Kind.QUEUE_FINISH):
            known.indexes.append(index)
            known.times.append(max(event.t_ns, known.times[-1]) if known.times else event.t_ns)
            known.highest.append(max(event.value, known.highest[-1]) if known.highest else event.value)
        if not is_exact:
            known.times = _next_stamps(known.times)
        return known

    def before_index(self, index: int) -> int:
        at = bisect_left(self.indexes, index)
        return self.highest[at - 1] if at else -1

    def before_time(self, t_ns: int) -> int:
        at = bisect_left(self.times, t_ns)
        return self.highest[at - 1] if at else -1


def _next_stamps(times: list[int]) -> list[int]:
    """For each the first later one; the last has none, so nobody can say by when it had happened."""
    later, next_ns = [], _NEVER_NS
    for at in range(len(times) - 1, -1, -1):
        if at + 1 < len(times) and times[at + 1] > times[at]:
            next_ns = times[at + 1]
        later.append(next_ns)
    return later[::-1]


class CausalityChecker:
    guarantee = "G13"
    kinds = (Kind.START, Kind.SEND, Kind.DELIVER, *PASSAGE_KINDS)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._passages = Passages()
        self._clocks: dict[Address, str] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.kind is Kind.START:
            self._clocks[member] = str(detail_of(event.detail).get("clock"))
        elif event.kind is Kind.SEND or event.kind is Kind.DELIVER:
            is_read = not event.stream or event.stream % STREAMS_PER_EPOCH == _PRIVATE
            if is_read and self._clocks.get(member) != SIMULATED_CLOCK:
                self._passages.on_message(member, index, event)
        else:
            self._passages.on_event(member, index, event)

    def finish(self, closed: Closed) -> Finding:
        companies = self._passages.companies(closed)
        for company in companies:
            self._judge(company)
            if len({self._clocks.get(stay.member) for stay in company.stays}) > 1:
                self._judge_by_messages(company)
        self._judge_between(companies)
        return self._report.finding()

    def _judge(self, company: Company) -> None:
        known = {stay.member: self._known(stay) for stay in company.stays}
        for stay in company.stays:
            places = {event.first: event.value for _, event in stay.of(Kind.QUEUE_FINISH)}
            for index, event in stay.of(Kind.QUEUE_START):
                seq = places.get(event.first)
                if seq is not None:
                    self._report.examined += 1
                    self._compare(company, stay.member, index, event, seq, known)

    def _compare(
        self, company: Company, member: Address, index: int, event: Event, seq: int, known: dict[Address, _Known]
    ) -> None:
        for other, marks in known.items():
            if other == member:
                before = marks.before_index(index)
            elif self._clocks.get(other) == self._clocks.get(member):
                before = marks.before_time(event.t_ns)
            else:
                continue
            if before >= seq:
                what = f"{member} began to queue its {event.first} when {other} already had seq {before}"
                sentence = f"{company.where} {what}, yet it got seq {seq}"
                self._report.violated((member, other), index, sentence, Evidence.of(member, index, event))
                return

    def _known(self, stay: Stay) -> _Known:
        # On a bus (no view) and in a simulated world stamps are exact.
        return _Known.of(stay, stay.view is None or self._clocks.get(stay.member) == SIMULATED_CLOCK)

    def _judge_by_messages(self, company: Company) -> None:
        replay = Replay(company.stays)
        for member, index, event, seq, before in replay.late():
            what = f"{member} began to queue its {event.first} with a message of one who had seq {before}"
            sentence = f"{company.where} {what}, yet it got seq {seq}"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))

    def _judge_between(self, companies: list[Company]) -> None:
        earliest: dict[tuple[ViewId | None, Address], int] = {}
        for company in companies:
            for stay in company.stays:
                times = self._known(stay).times
                if times:
                    earliest.setdefault((company.view, stay.member), times[0])
        for company in companies:
            if company.next is not None:
                self._started_too_late(company, earliest)

    def _started_too_late(self, company: Company, earliest: dict[tuple[ViewId | None, Address], int]) -> None:
        times = {
            s.member: earliest[company.next, s.member] for s in company.stays if (company.next, s.member) in earliest
        }
        for stay in company.stays:
            mine = self._clocks.get(stay.member)
            comparable = [member for member in times if self._clocks.get(member) == mine]
            if not comparable:
                continue
            first = min(comparable, key=lambda member: times[member])
            for index, event in stay.of(Kind.QUEUE_START):
                if event.t_ns > times[first]:
                    what = f"{stay.member} began to queue its {event.first} {company.where}"
                    sentence = f"{what} when {first} already had a place in {company.next}"
                    self._report.violated((stay.member, first), index, sentence, Evidence.of(stay.member, index, event))
