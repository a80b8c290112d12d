"""G1, FIFO: from its offset on, a receiver delivers a sender's messages in seqno order, without gap or duplicate.

Judged per (receiver, sender, stream). Only a view may set a new offset, and only forward: an OFFSET stands together
with its VIEW, no message between them, and is for somebody who joined or was on another side of the merge: who comes
from the same view is never given one. What is delivered was sent: a sender's runs follow each other without a hole,
and nobody delivers beyond them (unknown if the sender's recording is cut). Where recordings hold digests of what runs
carry, a receiver delivered the content that was sent (contents.py). A member's own delivery ordinals count up.
After a gap or a repetition the fold goes on from where the member went on, so each fault is reported once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.contents import Got, Sent, differing
from ringcast.checkers.shape import Closed, Evidence, Finding, Report, run_text
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind


@dataclass(slots=True)
class _Stream:
    """How far one receiver has come with one sender's stream."""

    high: int = 0
    lowest: int = 0  # the first seqno ever delivered; 0 = none yet
    last_index: int = 0
    got: Got = field(default_factory=Got)


@dataclass(slots=True)
class _Sent:
    first: int
    last: int
    content: Sent = field(default_factory=Sent)


@dataclass(slots=True)
class _Member:
    """One member's recording, as far as G1 looks at it."""

    streams: dict[tuple[Address, int], _Stream] = field(default_factory=dict)
    sent: dict[int, _Sent] = field(default_factory=dict)
    view: Installed | None = None
    before: Installed | None = None  # the view before it
    is_installing: bool = True  # no message since the last VIEW (or since the start)
    unviewed: list[tuple[int, Event]] = field(default_factory=list)  # offsets that wait for their view
    next_ordinal: int | None = None


class FifoChecker:
    guarantee = "G1"
    kinds = (Kind.SEND, Kind.DELIVER, Kind.TAKEN, Kind.OFFSET, Kind.VIEW)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._on = {
            Kind.SEND: self._on_send,
            Kind.DELIVER: self._on_deliver,
            Kind.TAKEN: self._on_message,
            Kind.OFFSET: self._on_offset,
            Kind.VIEW: self._on_view,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        self._on[event.kind](member, index, event)

    def _state(self, member: Address) -> _Member:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        return state

    def _on_message(self, member: Address, index: int, event: Event) -> None:
        """A message moved: offsets that still have no view were set by something else."""
        if event.stream:
            return
        state = self._state(member)
        state.is_installing = False
        if state.unviewed:
            self._blame_unviewed(member, state)

    def _on_send(self, member: Address, index: int, event: Event) -> None:
        self._on_message(member, index, event)
        sent = self._state(member).sent
        last = event.first + event.count - 1
        known = sent.get(event.stream)
        if known is None:
            known = sent[event.stream] = _Sent(event.first, last)
            known.content.add(event.first, last, event.content)
            return
        if event.first != known.last + 1:
            sentence = f"{member} sent {run_text(event.first, event.count)} after {known.last}: not the next seqno"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        known.last = max(known.last, last)
        known.content.add(event.first, last, event.content)

    def _on_deliver(self, member: Address, index: int, event: Event) -> None:
        if event.peer is None or event.count < 1:
            raise ValueError("a DELIVER event without a sender or a run")
        self._on_message(member, index, event)
        self._report.examined += event.count
        state = self._state(member)
        stream = state.streams.setdefault((event.peer, event.stream), _Stream())
        if event.first != stream.high + 1:
            self._out_of_step(member, index, event, stream.high)
        stream.high = max(stream.high, event.first + event.count - 1)
        stream.lowest = stream.lowest or event.first
        stream.last_index = index
        if event.content > 0 or (event.content == 0 and stream.got.runs):
            stream.got.add(event.first, event.first + event.count - 1, event.content, index)
        if event.stream == 0:
            self._count_ordinal(member, index, event, state)

    def _out_of_step(self, member: Address, index: int, event: Event, high: int) -> None:
        run = run_text(event.first, event.count)
        if event.first > high + 1:
            why = f"{run_text(high + 1, event.first - high - 1)} missing"
        else:
            why = f"{run_text(event.first, min(event.count, high - event.first + 1))} again"
        sentence = f"{member} delivered {run} from {event.peer} after {high}: {why}"
        self._report.violated((member, _known(event.peer)), index, sentence, Evidence.of(member, index, event))

    def _count_ordinal(self, member: Address, index: int, event: Event, state: _Member) -> None:
        expected = state.next_ordinal
        if expected is not None and event.ordinal != expected:
            sentence = f"{member} counted a delivery as its number {event.ordinal}, the next was {expected}"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        state.next_ordinal = event.ordinal + event.count

    def _on_offset(self, member: Address, index: int, event: Event) -> None:
        if event.peer is None:
            raise ValueError("an OFFSET event without a sender")
        state = self._state(member)
        stream = state.streams.setdefault((event.peer, event.stream), _Stream())
        if event.value < stream.high:
            sentence = f"{member} set its offset for {event.peer} back from {stream.high} to {event.value}"
            self._report.violated((member, event.peer), index, sentence, Evidence.of(member, index, event))
        stream.high = event.value
        if event.stream:
            return
        if state.is_installing and state.view is not None and state.view.id == event.view:
            self._judge_offset(member, index, event, state)
        else:
            state.unviewed.append((index, event))

    def _judge_offset(self, member: Address, index: int, event: Event, state: _Member) -> None:
        """It belongs to the view that was just installed."""
        before, view, peer = state.before, state.view, _known(event.peer)
        if before is None or view is None or peer not in before.members:
            return
        if not view.is_merge or peer in view.subgroup_of(member):
            sentence = f"{member} set its offset for {peer} to {event.value} in {view.id}; both came from {before.id}"
            self._report.violated((member, peer), index, sentence, Evidence.of(member, index, event))

    def _on_view(self, member: Address, index: int, event: Event) -> None:
        state = self._state(member)
        view = installed(event)
        state.before, state.view = state.view, view
        state.is_installing = True
        mine = [(at, offset) for at, offset in state.unviewed if offset.view == view.id]
        state.unviewed = [(at, offset) for at, offset in state.unviewed if offset.view != view.id]
        for at, offset in mine:
            self._judge_offset(member, at, offset, state)
        self._blame_unviewed(member, state)

    def _blame_unviewed(self, member: Address, state: _Member) -> None:
        for index, event in state.unviewed:
            sentence = f"{member} set its offset for {event.peer} to {event.value} without a view that says so"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        state.unviewed = []

    def finish(self, closed: Closed) -> Finding:
        for member, state in self._members.items():
            if closed.get(member):
                self._blame_unviewed(member, state)
            for (sender, number), stream in state.streams.items():
                self._check_was_sent(member, sender, number, stream, closed)
        return self._report.finding()

    def _check_was_sent(self, member: Address, sender: Address, number: int, stream: _Stream, closed: Closed) -> None:
        if not stream.lowest:
            return
        if sender not in closed:
            self._report.lacks_recording_of(sender)
            return
        state = self._members.get(sender)
        sent = None if state is None else state.sent.get(number)
        last = 0 if sent is None else sent.last
        if stream.high > last and closed[sender]:
            sentence = f"{member} delivered up to {stream.high} from {sender}, which sent only up to {last}"
            self._report.violated((member, sender), stream.last_index, sentence)
        elif sent is not None and stream.lowest < sent.first:
            sentence = f"{member} delivered {stream.lowest} from {sender}, whose first message was {sent.first}"
            self._report.violated((member, sender), stream.last_index, sentence)
        if sent is None:
            return
        for first, last, index in differing(sent.content, stream.got):
            run = run_text(first, last - first + 1)
            sentence = f"{member} delivered {run} from {sender} with other content than was sent"
            self._report.violated((member, sender), index, sentence)


def _known(peer: Address | None) -> Address:
    assert peer is not None
    return peer
