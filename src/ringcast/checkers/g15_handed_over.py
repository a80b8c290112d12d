"""G15, handed over once: what acks report was given to the application's code, exactly once and in order.

Judged per member. DELIVER (of the multicast and of private streams) and DEQUEUE say what is to be handed over; HANDED
what was; UNREAD what was not, and what the application was told instead; SPOOLED what went into a joiner's spool.

- HANDED comes in the order of DELIVER per stream, and of DEQUEUE, without gap or repetition;
- TAKEN, which acks report, never runs ahead of DELIVER, nor of HANDED and UNREAD; only of SPOOLED (or value 1: nothing
  to be read);
- at the end of a whole recording nothing is left of which neither was said; each UNREAD says what was told;
- what is dropped (unless it is part of a state) is dropped at the end: nothing is handed over behind it.

Unjudged where a recording has none of these events (an older one); but a member that has none, beside one of the same
version that has, is accused of what it counts as taken. What lay at a member that crashed is not asked for.
The second half of the guarantee (a FIFO send that raised was not sent) is not in the recording.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report, is_crash, run_text
from ringcast.model import STREAMS_PER_EPOCH, Address, Event, Kind
from ringcast.trace import detail_of

_IN_THE_STATE = "state"  # what an UNREAD tells of messages that are part of a state which is loaded
_PRIVATE = 1  # the channel of private messages in a stream's number


@dataclass(slots=True)
class _Run:
    first: int
    last: int


class _Waiting:
    """Runs that are to be handed over, in order."""

    __slots__ = ("ready", "runs", "spooled")

    def __init__(self) -> None:
        self.runs: deque[_Run] = deque()
        self.spooled = 0  # up to here it went into the spool
        self.ready = 0  # up to here it was delivered

    @property
    def first(self) -> int | None:
        return self.runs[0].first if self.runs else None

    def add(self, first: int, count: int) -> None:
        self.ready = max(self.ready, first + count - 1)
        if self.runs and self.runs[-1].last + 1 == first:
            self.runs[-1].last += count
        else:
            self.runs.append(_Run(first, first + count - 1))

    def take(self, first: int, last: int) -> str | None:
        """These are handed over next; the fault, if they do not stand first. It goes on behind them in any case."""
        fault = None
        if not self.runs or first < self.runs[0].first:
            fault = "which were not delivered, or handed over before"
        elif first > self.runs[0].first:
            fault = f"but {self.runs[0].first} stands before them and was not handed over"
        while self.runs and self.runs[0].first <= last:
            run = self.runs[0]
            if run.last > last:
                run.first = last + 1
                return fault
            at, first = run.last + 1, max(first, run.last + 1)
            self.runs.popleft()
            if first <= last and fault is None and (not self.runs or self.runs[0].first != at):
                fault = f"of which {run_text(at, last - at + 1)} were not delivered in one piece"
        return fault

    def drop(self, first: int, last: int) -> None:
        """These will not be handed over, wherever they stand."""
        kept: list[_Run] = []
        for run in self.runs:
            if run.last < first or run.first > last:
                kept.append(run)
                continue
            if run.first < first:
                kept.append(_Run(run.first, first - 1))
            if run.last > last:
                kept.append(_Run(last + 1, run.last))
        self.runs = deque(kept)


@dataclass(slots=True)
class _Ordered:
    """What was dequeued and is to be handed over, in the one order."""

    runs: deque[tuple[Address, _Run]] = field(default_factory=deque)
    spooled: dict[Address, int] = field(default_factory=dict)
    to_some: set[tuple[Address, int]] = field(default_factory=set)  # of what was spooled: sender and first

    def void(self, is_in_the_state: bool) -> None:
        """A state that comes may not have what went to some members only: each of them is named, if it has."""
        for peer, last in self.spooled.items():
            kept = [run for run in self.runs if is_in_the_state and (run[0], run[1].first) in self.to_some]
            self.runs = deque(run for run in self.runs if run in kept or run[0] != peer or run[1].first > last)

    def take(self, peer: Address, first: int, last: int) -> str | None:
        while first <= last:
            if not self.runs:
                return "which were not dequeued, or handed over before"
            sender, run = self.runs[0]
            if sender != peer or run.first != first:
                self.drop(peer, first, last)
                return f"but {run_text(run.first, run.last - run.first + 1)} of {sender} stand before them"
            first = min(run.last, last) + 1
            if first > run.last:
                self.runs.popleft()
            else:
                run.first = first
        return None

    def drop(self, peer: Address, first: int, last: int) -> None:
        kept = [(sender, run) for sender, run in self.runs if sender != peer or run.last < first or run.first > last]
        self.runs = deque(kept)


@dataclass(slots=True)
class _Member:
    streams: dict[tuple[Address, int], _Waiting] = field(default_factory=dict)
    ordered: _Ordered = field(default_factory=_Ordered)
    blamed: dict[tuple[Address, int], int] = field(default_factory=dict)  # TAKEN up to here was blamed already
    early: list[tuple[int, Event]] = field(default_factory=list)  # TAKEN ahead, before it is known that HANDED comes
    given_up: int | None = None  # where it first dropped something that is in no state
    says: bool = False  # it records what the application is given
    taken: tuple[int, Event] | None = None  # the first that acks report
    version: str = ""
    crashed: bool = False


class HandedChecker:
    guarantee = "G15"
    kinds = (Kind.START, Kind.DELIVER, Kind.DEQUEUE, Kind.TAKEN, Kind.HANDED, Kind.UNREAD, Kind.SPOOLED, Kind.CLOSED)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._on = {
            Kind.START: self._on_start,
            Kind.DELIVER: self._on_deliver,
            Kind.DEQUEUE: self._on_dequeue,
            Kind.TAKEN: self._on_taken,
            Kind.HANDED: self._on_handed,
            Kind.UNREAD: self._on_unread,
            Kind.SPOOLED: self._on_spooled,
            Kind.CLOSED: self._on_closed,
        }

    def on_event(self, member: Address, index: int, event: Event) -> None:
        state = self._members.get(member)
        if state is None:
            state = self._members[member] = _Member()
        self._on[event.kind](member, state, index, event)

    def _on_start(self, member: Address, state: _Member, index: int, event: Event) -> None:
        state.version = str(detail_of(event.detail).get("version"))

    # ---- what is to be handed over

    def _on_deliver(self, member: Address, state: _Member, index: int, event: Event) -> None:
        if _is_for_application(event.stream):
            _waiting(state, event).add(event.first, event.count)

    def _on_dequeue(self, member: Address, state: _Member, index: int, event: Event) -> None:
        if event.view is not None:  # On a bus, to dequeue is to be handed over.
            run = _Run(event.first, event.first + event.count - 1)
            state.ordered.runs.append((_peer(event), run))

    # ---- what became of it

    def _on_handed(self, member: Address, state: _Member, index: int, event: Event) -> None:
        peer, last = _peer(event), event.first + event.count - 1
        state.says = True
        self._report.examined += event.count
        if event.value:
            fault = state.ordered.take(peer, event.first, last)
        else:
            fault = _waiting(state, event).take(event.first, last)
        if fault is not None:
            what = "ordered messages" if event.value else "messages"
            run = run_text(event.first, event.count)
            sentence = f"{member} handed {what} {run} of {peer} to its application, {fault}"
            self._report.violated((member, peer), index, sentence, Evidence.of(member, index, event))
        if state.given_up is not None:
            run = run_text(event.first, event.count)
            sentence = f"{member} handed {run} of {peer} to its application after it had dropped others for good"
            self._report.violated((member, peer), index, sentence, Evidence.of(member, index, event))
            state.given_up = None

    def _on_unread(self, member: Address, state: _Member, index: int, event: Event) -> None:
        state.says = True
        if not (event.detail or {}).get("told"):
            sentence = f"{member} dropped what its application had not read, without an error that says so"
            self._report.violated((member,), index, sentence, Evidence.of(member, index, event))
        if event.peer is None:
            self._void_spool(state, (event.detail or {}).get("told") == _IN_THE_STATE)
            return
        if (event.detail or {}).get("told") != _IN_THE_STATE and state.given_up is None:
            state.given_up = index
        last = event.first + event.count - 1
        if event.value:
            state.ordered.drop(event.peer, event.first, last)
        else:
            _waiting(state, event).drop(event.first, last)

    def _void_spool(self, state: _Member, is_in_the_state: bool) -> None:
        """No state has what came to this member alone: that is handed over behind it."""
        for (_, stream), waiting in state.streams.items():
            if not (is_in_the_state and stream):
                waiting.drop(0, waiting.spooled)
        state.ordered.void(is_in_the_state)

    def _on_spooled(self, member: Address, state: _Member, index: int, event: Event) -> None:
        state.says = True
        peer, last = _peer(event), event.first + event.count - 1
        if event.value:
            state.ordered.spooled[peer] = last
            if event.other:
                state.ordered.to_some.add((peer, event.first))
        else:
            _waiting(state, event).spooled = last

    # ---- what acks report

    def _on_taken(self, member: Address, state: _Member, index: int, event: Event) -> None:
        if not _is_for_application(event.stream):
            return
        waiting, last = _waiting(state, event), event.first + event.count - 1
        key = (_peer(event), event.stream)
        if last > max(waiting.ready, state.blamed.get(key, 0)):
            state.blamed[key] = last
            state.early.append((index, event))
        if event.value:
            waiting.drop(event.first, last)
            return
        if state.taken is None:
            state.taken = index, event
        first = waiting.first
        if first is None or last < first or last <= waiting.spooled or last <= state.blamed.get(key, 0):
            return
        state.blamed[key] = last
        state.early.append((index, event))

    def _on_closed(self, member: Address, state: _Member, index: int, event: Event) -> None:
        state.crashed = is_crash(event)

    # ---- the end

    def finish(self, closed: Closed) -> Finding:
        speaking = {state.version for state in self._members.values() if state.says}
        for member, state in self._members.items():
            if not state.says:
                if state.taken is not None and state.version in speaking:
                    state.early[:] = [state.taken]
                elif state.taken is not None:
                    self._report.lacks(f"the recording of {member} does not say what its application was given")
                    continue
            for index, event in state.early:
                run = run_text(event.first, event.count)
                sentence = f"{member} counts {run} of {event.peer} as taken, which its application was not given"
                self._report.violated((member, _peer(event)), index, sentence, Evidence.of(member, index, event))
            if state.says and closed.get(member) and not state.crashed:
                self._ask_for_the_rest(member, state)
        return self._report.finding()

    def _ask_for_the_rest(self, member: Address, state: _Member) -> None:
        left = [(peer, run) for (peer, _), waiting in state.streams.items() for run in waiting.runs]
        for peer, run in [*left, *state.ordered.runs]:
            what = run_text(run.first, run.last - run.first + 1)
            sentence = f"{member} neither handed over nor reported as unread what it delivered: {what} of {peer}"
            self._report.violated((member, peer), 0, sentence)


def _is_for_application(stream: int) -> bool:
    return stream == 0 or stream % STREAMS_PER_EPOCH == _PRIVATE


def _waiting(state: _Member, event: Event) -> _Waiting:
    key = (_peer(event), event.stream)
    waiting = state.streams.get(key)
    if waiting is None:
        waiting = state.streams[key] = _Waiting()
    return waiting


def _peer(event: Event) -> Address:
    if event.peer is None:
        raise ValueError(f"a {event.kind.name} event without a sender")
    return event.peer
