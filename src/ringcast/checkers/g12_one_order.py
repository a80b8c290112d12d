"""G12, atomic queueing: of two messages that two members both receive, both receive them in the same order.

Judged company by company (members that go together from view to view; all peers of a bus); between views the number
decides. If at each member the seqs of what it dequeues grow, and if a seq is the same batch at everybody and a batch
has one seq, then every member's order is a part of the order by seq: all agree, without a circle. Where that is not so,
the dequeue orders themselves are laid over each other; a circle in them is a violation. So is a message read twice.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from ringcast.checkers.passages import PASSAGE_KINDS, Company, Passages, Stay
from ringcast.checkers.runs import Runs
from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.model import Address, Event, Kind
from ringcast.trace import TraceError

Message = tuple[Address, int]
MOST_NAMED = 1_000  # messages of one event that are named as read twice
MOST_SINGLES = 1 << 26  # messages that are laid over each other one by one


class OneOrderChecker:
    guarantee = "G12"
    kinds = PASSAGE_KINDS

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._passages = Passages()

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.kind is Kind.DEQUEUE and event.peer is None:
            raise ValueError("a DEQUEUE event without a sender")
        self._passages.on_event(member, index, event)

    def finish(self, closed: Closed) -> Finding:
        for company in self._passages.companies(closed):
            self._report.examined += sum(e.count for stay in company.stays for _, e in stay.of(Kind.DEQUEUE))
            self._repeated(company)
            if not is_by_seq(company.stays):
                self._search(company)
        return self._report.finding()

    def _repeated(self, company: Company) -> None:
        """Atomicity's other half: each destination gets exactly one instance."""
        for stay in company.stays:
            seen: defaultdict[Address, Runs] = defaultdict(Runs)
            for index, event in stay.of(Kind.DEQUEUE):
                assert event.peer is not None
                last = event.first + event.count - 1
                again = (n for run in seen[event.peer].within(event.first, last) for n in range(run[0], run[1] + 1))
                for number in islice(again, MOST_NAMED):
                    sentence = f"{stay.member} dequeued {_text((event.peer, number))} twice {company.where}"
                    self._report.violated((stay.member,), index, sentence, *_evidence(stay, index))
                seen[event.peer].add(event.first, last)

    def _search(self, company: Company) -> None:
        count = sum(event.count for stay in company.stays for _, event in stay.of(Kind.DEQUEUE))
        if count > MOST_SINGLES:
            raise TraceError(f"{count} messages were dequeued {company.where}: more than can be compared one by one")
        circle = circle_in({stay.member: [m for _, m in _singles(stay)] for stay in company.stays})
        if circle is None:
            return
        member, first, second = circle
        stay = next(stay for stay in company.stays if stay.member == member)
        index = next(index for index, message in _singles(stay) if message == second)
        what = f"{member} dequeued {_text(second)} after {_text(first)}"
        sentence = f"{company.where} {what}, which does not fit the order of the others"
        self._report.violated((member,), index, sentence, *_evidence(stay, index))


def is_by_seq(stays: Iterable[Stay]) -> bool:
    """Do the seqs prove that these members dequeued in one order?"""
    meaning: dict[int, tuple[Address, int, int]] = {}
    for stay in stays:
        here: dict[int, tuple[Address, int, int]] = {}  # a batch may be read in parts that follow each other
        before = -1
        for _, event in stay.of(Kind.DEQUEUE):
            assert event.peer is not None
            known = here.get(event.value)
            goes_on = event.value == before and known is not None and known[::2] == (event.peer, event.first - 1)
            if not (event.value > before or goes_on):
                return False
            first = known[1] if known is not None else event.first
            here[event.value] = (event.peer, first, event.first + event.count - 1)
            before = event.value
        # The whole batch, not only its first message: one that is torn has two places.
        if any(meaning.setdefault(seq, batch) != batch for seq, batch in here.items()):
            return False
    return len({batch[:2] for batch in meaning.values()}) == len(meaning)


def circle_in(orders: dict[Address, list[Message]]) -> tuple[Address, Message, Message] | None:
    """A member and two messages it dequeued one after the other on a circle; None if one order fits all."""
    after: dict[Message, dict[Message, Address]] = {}
    waits: dict[Message, int] = {}
    for member, messages in orders.items():
        unique = list(dict.fromkeys(messages))
        for message in unique:
            waits.setdefault(message, 0)
        for first, second in pairwise(unique):
            if second not in after.setdefault(first, {}):
                after[first][second] = member
                waits[second] += 1
    free = deque(message for message, count in waits.items() if not count)
    while free:
        message = free.popleft()
        del waits[message]
        for second in after.get(message, {}):
            waits[second] -= 1
            if not waits[second]:
                free.append(second)
    # What is left is a circle and what hangs behind it: walk backwards until something comes again.
    return None if not waits else _on_circle(waits, after)


def _on_circle(
    left: dict[Message, int], after: dict[Message, dict[Message, Address]]
) -> tuple[Address, Message, Message]:
    before = {second: first for first in left for second in after.get(first, {}) if second in left}
    at = next(iter(before))
    seen: dict[Message, None] = {}
    while at not in seen:
        seen[at] = None
        at = before[at]
    return after[before[at]][at], before[at], at


def _singles(stay: Stay) -> Iterator[tuple[int, Message]]:
    """Every message by itself, with the index of its event."""
    for index, event in stay.of(Kind.DEQUEUE):
        assert event.peer is not None
        for number in range(event.first, event.first + event.count):
            yield index, (event.peer, number)


def _text(message: Message) -> str:
    return f"{message[0]}'s {message[1]}"


def _evidence(stay: Stay, index: int) -> list[Evidence]:
    return [Evidence.of(stay.member, at, event) for at, event in stay.events if at == index][:1]
