"""G13, causality: dequeued-before-queued and finished-before-started are respected, also through side channels.

Judged company by company, on the seqs (G12 shows that they are the order): a message's seq is above that of everything
that was dequeued, or whose queueing was finished, before its own queueing started; at the same member by the place in
its recording, at the others by time, if all recordings are on one clock. "Everything before" is a running maximum.
Between views: what was started in a view started before anybody of the company had a place in the next one.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from ringcast.checkers.passages import PASSAGE_KINDS, Company, Passages, Stay
from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import detail_of


@dataclass(slots=True)
class _Known:
    """The highest seq that a member had dequeued or finished, by place in its recording and by time."""

    indexes: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    highest: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, stay: Stay) -> _Known:
        known = cls()
        for index, event in stay.of(Kind.DEQUEUE, Kind.QUEUE_FINISH):
            known.indexes.append(index)
            known.times.append(max(event.t_ns, known.times[-1]) if known.times else event.t_ns)
            known.highest.append(max(event.value, known.highest[-1]) if known.highest else event.value)
        return known

    def before_index(self, index: int) -> int:
        at = bisect_left(self.indexes, index)
        return self.highest[at - 1] if at else -1

    def before_time(self, t_ns: int) -> int:
        at = bisect_left(self.times, t_ns)
        return self.highest[at - 1] if at else -1


class CausalityChecker:
    guarantee = "G13"
    kinds = (Kind.START, *PASSAGE_KINDS)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._passages = Passages()
        self._clocks: dict[str, None] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.kind is Kind.START:
            self._clocks[str(detail_of(event.detail).get("clock"))] = None
        else:
            self._passages.on_event(member, index, event)

    def finish(self, closed: Closed) -> Finding:
        companies = self._passages.companies(closed)
        for company in companies:
            self._judge(company)
        if len(self._clocks) == 1:
            self._judge_between(companies)
        return self._report.finding()

    def _judge(self, company: Company) -> None:
        known = {stay.member: _Known.of(stay) for stay in company.stays}
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
            elif len(self._clocks) == 1:
                before = marks.before_time(event.t_ns)
            else:
                continue
            if before >= seq:
                what = f"{member} began to queue its {event.first} when {other} already had seq {before}"
                sentence = f"{company.where} {what}, yet it got seq {seq}"
                self._report.violated((member, other), index, sentence, Evidence.of(member, index, event))
                return

    def _judge_between(self, companies: list[Company]) -> None:
        earliest: dict[tuple[ViewId | None, Address], int] = {}
        for company in companies:
            for stay in company.stays:
                for _, event in stay.of(Kind.DEQUEUE, Kind.QUEUE_FINISH):
                    earliest.setdefault((company.view, stay.member), event.t_ns)
        for company in companies:
            if company.next is not None:
                self._started_too_late(company, earliest)

    def _started_too_late(self, company: Company, earliest: dict[tuple[ViewId | None, Address], int]) -> None:
        times = {
            s.member: earliest[company.next, s.member] for s in company.stays if (company.next, s.member) in earliest
        }
        if not times:
            return
        first = min(times, key=lambda member: times[member])
        for stay in company.stays:
            for index, event in stay.of(Kind.QUEUE_START):
                if event.t_ns > times[first]:
                    what = f"{stay.member} began to queue its {event.first} {company.where}"
                    sentence = f"{what} when {first} already had a place in {company.next}"
                    self._report.violated((stay.member, first), index, sentence, Evidence.of(stay.member, index, event))
