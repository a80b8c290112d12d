"""G3, purged means delivered: a message leaves the send window only when each receiver has acked it or begins above it.

The receivers of the multicast are the members of the sender's current view; of another stream, its one peer. A sender's
own copy counts when it is ready, that is at once. A member that is new in a view begins at an offset: known from the
view's digest, or from that member's own OFFSET, which may be fed later, so such purges are decided at the end.
And an ack is true: who acked up to k has taken up to k (unknown if its recording is cut), had taken it when the ack
came (judged in simulated worlds, where all stamps are exact), and its sender had sent as much.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import SIMULATED_CLOCK, detail_of


@dataclass(slots=True)
class _Ack:
    upto: int
    index: int


@dataclass(slots=True)
class _Member:
    """One member as sender (acks it got, what it purged) and as receiver (what it has taken)."""

    view: Installed | None = None
    previous: Installed | None = None
    high: dict[int, int] = field(default_factory=dict)
    low: dict[int, int] = field(default_factory=dict)
    acks: dict[tuple[int, Address], _Ack] = field(default_factory=dict)
    given: dict[Address, int] = field(default_factory=dict)  # where members began, by the view they came with
    reached: dict[tuple[Address, int], int] = field(default_factory=dict)  # as receiver: taken, or begun at
    has_exact_stamps: bool = False
    acked_ns: dict[tuple[Address, int], list[tuple[int, int, int]]] = field(default_factory=dict)  # when, up to, where
    reached_ns: dict[tuple[Address, int], list[tuple[int, int]]] = field(default_factory=dict)
    offsets: dict[tuple[Address, ViewId], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Early:
    """A purge without the ack of one receiver, which may have begun above it."""

    sender: Address
    receiver: Address
    view: ViewId
    upto: int
    acked: int
    index: int
    event: Event
    is_new: bool


class PurgeChecker:
    guarantee = "G3"
    kinds = (Kind.START, Kind.VIEW, Kind.SEND, Kind.ACK, Kind.PURGE, Kind.TAKEN, Kind.OFFSET)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._early: list[_Early] = []
        self._on = {
            Kind.START: self._on_start,
            Kind.VIEW: self._on_view,
            Kind.SEND: self._on_send,
            Kind.ACK: self._on_ack,
            Kind.PURGE: self._on_purge,
            Kind.TAKEN: self._on_taken,
            Kind.OFFSET: self._on_offset,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        self._on[event.kind](member, index, event, state)

    def _on_start(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.has_exact_stamps = detail_of(event.detail).get("clock") == SIMULATED_CLOCK

    def _on_view(self, member: Address, index: int, event: Event, state: _Member) -> None:
        view = installed(event)
        state.previous, state.view = state.view, view
        stayed = set(state.previous.members) if state.previous else set()
        if view.is_merge:  # Who comes from another side begins where the view says, though it was here before.
            stayed &= set(view.subgroup_of(member))
        # Who was away comes back with a new offset; its old acks say nothing about this view.
        state.acks = {key: ack for key, ack in state.acks.items() if key[0] or key[1] in stayed}
        mine = view.digest.get(member)
        kept = {old: offset for old, offset in state.given.items() if old in stayed and old in view.members}
        new = {} if mine is None else {new: mine.delivered for new in view.members if new not in stayed}
        state.given = kept | new  # Who stays keeps the offset of the view it came with, as it keeps its acks.

    def _on_send(self, member: Address, index: int, event: Event, state: _Member) -> None:
        state.high[event.stream] = max(state.high.get(event.stream, 0), event.first + event.count - 1)
        state.low.setdefault(event.stream, event.first - 1)

    def _on_ack(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is None:
            raise ValueError("an ACK event without a receiver")
        if event.value > state.high.get(event.stream, 0):
            sentence = f"{event.peer} acked {event.value} to {member}, which had sent only up to"
            sentence = f"{sentence} {state.high.get(event.stream, 0)}"
            self._report.violated((member, event.peer), index, sentence, Evidence.of(member, index, event))
        if state.has_exact_stamps and event.peer != member:
            state.acked_ns.setdefault((event.peer, event.stream), []).append((event.t_ns, event.value, index))
        ack = state.acks.get((event.stream, event.peer))
        if ack is None or event.value > ack.upto:
            state.acks[event.stream, event.peer] = _Ack(event.value, index)

    def _on_purge(self, member: Address, index: int, event: Event, state: _Member) -> None:
        receivers = self._receivers(member, event, state)
        self._report.examined += event.count
        if event.value > state.high.get(event.stream, 0):
            sentence = f"{member} purged up to {event.value}, but had sent only up to {state.high.get(event.stream, 0)}"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        for receiver in receivers:
            ack = state.acks.get((event.stream, receiver))
            given = 0 if event.stream else state.given.get(receiver, 0)
            acked = given if ack is None else max(given, ack.upto)
            if acked < event.value:
                self._purged_early(member, receiver, acked, index, event, state)

    def _receivers(self, member: Address, event: Event, state: _Member) -> list[Address]:
        if event.stream:
            return [] if event.peer is None else [event.peer]
        if state.view is None:
            raise LookupError("a PURGE before the first VIEW")
        return [receiver for receiver in state.view.members if receiver != member]

    def _purged_early(
        self, member: Address, receiver: Address, acked: int, index: int, event: Event, state: _Member
    ) -> None:
        if event.stream or state.view is None:
            self._blame(member, receiver, acked, index, event)
            return
        view, before = state.view, state.previous
        is_new = before is None or receiver not in before.members or view.is_merge
        early = _Early(member, receiver, view.id, event.value, acked, index, event, is_new)
        self._early.append(early)

    def _on_taken(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is None:
            raise ValueError("a TAKEN event without a sender")
        key = (event.peer, event.stream)
        self._reach(state, key, event.t_ns, event.first + event.count - 1)

    def _on_offset(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is None:
            raise ValueError("an OFFSET event without a sender")
        key = (event.peer, event.stream)
        self._reach(state, key, event.t_ns, event.value)
        if event.view is not None and not event.stream:
            state.offsets[event.peer, event.view] = event.value

    def _reach(self, state: _Member, key: tuple[Address, int], t_ns: int, upto: int) -> None:
        upto = max(state.reached.get(key, 0), upto)
        state.reached[key] = upto
        if state.has_exact_stamps:
            state.reached_ns.setdefault(key, []).append((t_ns, upto))

    def finish(self, closed: Closed) -> Finding:
        for early in self._early:
            self._decide(early, closed)
        for member, state in self._members.items():
            for (stream, receiver), ack in state.acks.items():
                self._check_truth(member, receiver, stream, ack, closed)
            for (receiver, stream), acks in state.acked_ns.items():
                self._check_times(member, receiver, stream, acks, closed)
        return self._report.finding()

    def _decide(self, early: _Early, closed: Closed) -> None:
        there = self._members.get(early.receiver)
        began = None if there is None else there.offsets.get((early.sender, early.view))
        if began is not None and max(began, early.acked) >= early.upto:
            return
        if began is None and early.is_new and not closed.get(early.receiver, False):
            self._report.lacks(f"the offset that {early.receiver} was given for {early.sender} in {early.view}")
            return
        self._blame(early.sender, early.receiver, max(began or 0, early.acked), early.index, early.event)

    def _blame(self, member: Address, receiver: Address, acked: int, index: int, event: Event) -> None:
        sentence = f"{member} purged up to {event.value}, but {receiver} had acked only up to {acked}"
        self._report.violated((member, receiver), index, sentence, Evidence.of(member, index, event))

    def _check_truth(self, member: Address, receiver: Address, stream: int, ack: _Ack, closed: Closed) -> None:
        if receiver == member or not closed.get(receiver):
            return
        there = self._members.get(receiver)
        reached = 0 if there is None else there.reached.get((member, stream), 0)
        if reached < ack.upto:
            sentence = f"{receiver} acked {ack.upto} to {member}, but had taken only up to {reached}"
            self._report.violated((receiver, member), ack.index, sentence)

    def _check_times(
        self, member: Address, receiver: Address, stream: int, acks: list[tuple[int, int, int]], closed: Closed
    ) -> None:
        """The first ack that came before its receiver had taken as much, though it took it later."""
        there = self._members.get(receiver)
        if there is None or not closed.get(receiver) or not there.has_exact_stamps:
            return
        steps, at, reached = there.reached_ns.get((member, stream), []), 0, 0
        for t_ns, upto, index in acks:
            while at < len(steps) and steps[at][0] <= t_ns:
                reached, at = steps[at][1], at + 1
            if reached < upto <= there.reached.get((member, stream), 0):
                sentence = f"{receiver} had acked {upto} to {member} when it had taken only up to {reached}"
                self._report.violated((receiver, member), index, sentence)
                return
