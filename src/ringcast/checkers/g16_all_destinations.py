"""G16, all destinations: a message reaches all who are to get it, or its sender is told whom it did not reach.

In the one order: if one of several members that go together from view V to W dequeued a message in V, those of them to
whom it was queued dequeued it there too; and nobody dequeues what was not queued to it. (The multicast without order is
judged by G5.) Private messages: when a view removes a destination that had not acked everything, an UNDELIVERED names
the rest before the next view; a stream is given up for no other reason, and none is dropped without a word: one that
begins anew while its destination stays carries everything that was not acked. Nothing is delivered that was not sent to
that destination. What a sender with a cut recording did last is unknown; one that crashed in the moment of the view
had no time to say anything. Peers of a bus are not judged here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ringcast.checkers.runs import Runs
from ringcast.checkers.shape import Closed, Evidence, Finding, Report, is_crash, run_text
from ringcast.checkers.views import Installed, installed
from ringcast.model import STREAMS_PER_EPOCH, Address, Event, Kind, ViewId
from ringcast.trace import as_addresses, detail_of

_PRIVATE = 1  # the channel of private messages in a stream's number


@dataclass(slots=True)
class _Queued:
    first: int
    last: int
    to: tuple[Address, ...]


@dataclass(slots=True)
class _Stream:
    """From a sender to one destination."""

    number: int
    evidence: Evidence
    high: int = 0
    acked: int = 0

    @property
    def rest(self) -> tuple[int, int]:
        """First and count of what was not acked."""
        return self.acked + 1, self.high - self.acked


@dataclass(slots=True)
class _Member:
    delivers_own: bool = True
    view: Installed | None = None
    queued: list[_Queued] = field(default_factory=list)
    dequeued: dict[Address, Runs] = field(default_factory=dict)  # in this view
    indexes: dict[Address, int] = field(default_factory=dict)  # where the last of each sender was dequeued
    to: dict[Address, _Stream] = field(default_factory=dict)  # private streams, by destination
    sent: defaultdict[tuple[Address, int], Runs] = field(default_factory=lambda: defaultdict(Runs))
    got: dict[tuple[Address, int], tuple[Runs, Evidence]] = field(default_factory=dict)
    owed: dict[Address, _Stream] = field(default_factory=dict)  # destinations that left, and were not named yet
    viewed_ns: int = 0  # when it installed its view
    died_with_view: bool = False  # it crashed in that moment


@dataclass(frozen=True, slots=True)
class _Stay:
    """What one member dequeued in a view from which it went on."""

    member: Address
    dequeued: dict[Address, Runs]
    indexes: dict[Address, int]


class DestinationChecker:
    guarantee = "G16"
    kinds = (
        Kind.START,
        Kind.VIEW,
        Kind.QUEUE_START,
        Kind.DEQUEUE,
        Kind.SEND,
        Kind.DELIVER,
        Kind.ACK,
        Kind.UNDELIVERED,
        Kind.CLOSED,
    )

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._stays: defaultdict[tuple[ViewId, ViewId], list[_Stay]] = defaultdict(list)
        self._on = {
            Kind.START: self._on_start,
            Kind.VIEW: self._on_view,
            Kind.QUEUE_START: self._on_queue_start,
            Kind.DEQUEUE: self._on_dequeue,
            Kind.SEND: self._on_send,
            Kind.DELIVER: self._on_deliver,
            Kind.ACK: self._on_ack,
            Kind.UNDELIVERED: self._on_undelivered,
            Kind.CLOSED: self._on_closed,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        self._on[event.kind](member, index, event, state)

    def _on_start(self, member: Address, index: int, event: Event, state: _Member) -> None:
        config = detail_of(detail_of(event.detail).get("config"))
        state.delivers_own = bool(config.get("self_delivery", True))

    def _on_view(self, member: Address, index: int, event: Event, state: _Member) -> None:
        view, before = installed(event), state.view
        self._blame_owed(member, state)
        if before is not None:
            self._stays[before.id, view.id].append(_Stay(member, state.dequeued, state.indexes))
            for gone in [peer for peer in before.members if peer not in view.members]:
                stream = state.to.pop(gone, None)
                if stream is not None and stream.rest[1]:
                    state.owed[gone] = stream
        state.view, state.dequeued, state.indexes = view, {}, {}
        state.viewed_ns = event.t_ns

    def _on_closed(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.died_with_view = is_crash(event) and event.t_ns == state.viewed_ns

    # ---- the one order

    def _on_queue_start(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.view is None or state.view is None:
            return
        to = detail_of(event.detail).get("to")
        members = state.view.members if to == "view" else as_addresses(to)
        state.queued.append(_Queued(event.first, event.first + event.count - 1, members))

    def _on_dequeue(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.view is None or state.view is None:
            return
        if event.peer is None:
            raise ValueError("a DEQUEUE event without a sender")
        state.dequeued.setdefault(event.peer, Runs()).add(event.first, event.first + event.count - 1)
        state.indexes[event.peer] = index

    # ---- private messages

    def _on_send(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream % STREAMS_PER_EPOCH != _PRIVATE or event.peer is None:
            return
        self._report.examined += event.count
        state.sent[event.peer, event.stream].add(event.first, event.first + event.count - 1)
        stream = state.to.get(event.peer)
        if stream is None or stream.number != event.stream:
            here = Evidence.of(member, index, event)
            if stream is not None and stream.rest[1] > event.count:
                self._silent(member, event.peer, stream, "began another stream", here)
            stream = state.to[event.peer] = _Stream(event.stream, here)
        stream.high = max(stream.high, event.first + event.count - 1)

    def _on_ack(self, member: Address, index: int, event: Event, state: _Member) -> None:
        stream = None if event.peer is None else state.to.get(event.peer)
        if stream is not None and stream.number == event.stream:
            stream.acked = max(stream.acked, min(event.value, stream.high))

    def _on_undelivered(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is None:
            raise ValueError("an UNDELIVERED event without a destination")
        here = Evidence.of(member, index, event)
        if state.view is not None and event.peer in state.view.members:
            what = run_text(event.first, event.count)
            sentence = f"{member} gave up {what} to {event.peer}, which is a member of its view {state.view.id}"
            self._report.violated((member, event.peer), index, sentence, here)
        stream = state.owed.pop(event.peer, None) or state.to.pop(event.peer, None)
        if stream is not None and (stream.number, *stream.rest) != (event.stream, event.first, event.count):
            first, count = stream.rest
            told = f"{run_text(event.first, event.count)} were named, {run_text(first, count)} were not acked"
            sentence = f"{event.peer} left, and to {member} {told}"
            self._report.violated((member, event.peer), index, sentence, here)

    def _on_deliver(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream % STREAMS_PER_EPOCH != _PRIVATE or event.peer is None:
            return
        key = (event.peer, event.stream)
        if key not in state.got:
            state.got[key] = (Runs(), Evidence.of(member, index, event))
        state.got[key][0].add(event.first, event.first + event.count - 1)

    def _blame_owed(self, member: Address, state: _Member) -> None:
        for gone, stream in state.owed.items():
            self._silent(member, gone, stream, "said nothing when it left", stream.evidence)
        state.owed.clear()

    def _silent(self, member: Address, peer: Address, stream: _Stream, how: str, here: Evidence) -> None:
        first, count = stream.rest
        sentence = f"{peer} had not acked {run_text(first, count)} of the private messages of {member}, which {how}"
        self._report.violated((member, peer), here.index, sentence, here)

    # ---- the end

    def finish(self, closed: Closed) -> Finding:
        for (before, after), stays in self._stays.items():
            self._check_company(before, after, stays, closed)
        for member, state in self._members.items():
            if closed.get(member, False) and not state.died_with_view:
                self._blame_owed(member, state)
            for (sender, number), (runs, evidence) in state.got.items():
                self._check_sent(member, sender, number, runs, evidence, closed)
        return self._report.finding()

    def _check_company(self, before: ViewId, after: ViewId, stays: list[_Stay], closed: Closed) -> None:
        for sender in dict.fromkeys(sender for stay in stays for sender in stay.dequeued):
            if sender not in closed:
                self._report.lacks_recording_of(sender)
                continue
            union = Runs()
            for stay in stays:
                for first, last in stay.dequeued.get(sender, Runs()).pairs():
                    union.add(first, last)
            for queued in self._queued(sender, union, closed):
                for stay in stays:
                    self._check_stay(stay, sender, queued, union, (before, after))

    def _queued(self, sender: Address, union: Runs, closed: Closed) -> Iterator[_Queued]:
        """What that sender queued of these numbers; what it never queued is a violation of its own."""
        queued = self._members[sender].queued if sender in self._members else []
        firsts = [entry.first for entry in queued]
        known = Runs()
        for first, last in union.pairs():
            at = max(0, bisect_right(firsts, first) - 1)
            while at < len(queued) and queued[at].first <= last:
                known.add(queued[at].first, queued[at].last)
                yield queued[at]
                at += 1
            missing = known.first_missing(first, last)
            if missing is not None and (closed[sender] or missing < known.last):
                self._report.violated((sender,), 0, f"{missing} of {sender} was dequeued, and {sender} never queued it")

    def _check_stay(
        self, stay: _Stay, sender: Address, queued: _Queued, union: Runs, views: tuple[ViewId, ViewId]
    ) -> None:
        if stay.member == sender and not self._members[sender].delivers_own:
            return
        here = stay.dequeued.get(sender, Runs())
        index = stay.indexes.get(sender, 0)
        if stay.member not in queued.to:
            if any(first <= queued.last and last >= queued.first for first, last in here.pairs()):
                what = f"{run_text(queued.first, queued.last - queued.first + 1)} of {sender}"
                sentence = f"{stay.member} dequeued {what}, which was not queued to it"
                self._report.violated((stay.member, sender), index, sentence)
            return
        for first, last in union.pairs():
            first, last = max(first, queued.first), min(last, queued.last)
            if first > last:
                continue
            self._report.examined += last - first + 1
            missing = here.first_missing(first, last)
            if missing is not None:
                where = f"in {views[0]}, from where it went to {views[1]} together with others that did"
                sentence = f"{stay.member} never dequeued {missing} of {sender} {where}"
                self._report.violated((stay.member, sender), index, sentence)

    def _check_sent(
        self, member: Address, sender: Address, number: int, runs: Runs, evidence: Evidence, closed: Closed
    ) -> None:
        if sender not in closed:
            self._report.lacks_recording_of(sender)
            return
        there = self._members.get(sender)
        sent = Runs() if there is None else there.sent.get((member, number), Runs())
        for first, last in runs.pairs():
            missing = sent.first_missing(first, last)
            if missing is not None and (closed[sender] or missing < sent.last):
                sentence = f"{member} delivered {missing} of a stream of {sender} that {sender} never sent to it"
                self._report.violated((member, sender), evidence.index, sentence, evidence)
