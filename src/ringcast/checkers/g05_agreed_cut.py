"""G5, agreed cut: members that go together from view V to W delivered the same there, in the view it was sent in.

Judged over the members that have V and directly after it W, each compared with the first of them. Who has installed W
has recorded everything it did in V, so a later cut does not matter. A member without self-delivery counts what it sent.
Where both recordings hold digests of what runs carry, the same is also the same content.
Only the multicast is judged here; nothing is promised to members that part.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ringcast.checkers.runs import Runs
from ringcast.checkers.shape import Closed, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.trace import detail_of

_UNKNOWN = -(1 << 200)  # stays below 0 whatever is added


@dataclass(slots=True)
class _Stay:
    """What one member did in one view."""

    member: Address
    view: Installed
    delivered: dict[Address, Runs] = field(default_factory=dict)
    contents: dict[Address, int] = field(default_factory=dict)
    last_index: int = 0

    def deliver(self, sender: Address, event: Event) -> None:
        self.delivered.setdefault(sender, Runs()).add(event.first, event.first + event.count - 1)
        content = event.content if event.content >= 0 else _UNKNOWN
        self.contents[sender] = self.contents.get(sender, 0) + content


@dataclass(slots=True)
class _Member:
    delivers_own: bool = True
    stay: _Stay | None = None
    stays: list[_Stay] = field(default_factory=list)
    sent: dict[ViewId, Runs] = field(default_factory=dict)


class CutChecker:
    guarantee = "G5"
    kinds = (Kind.START, Kind.VIEW, Kind.SEND, Kind.DELIVER)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}
        self._moves: defaultdict[tuple[ViewId, ViewId], list[tuple[int, _Stay]]] = defaultdict(list)
        self._on = {
            Kind.START: self._on_start,
            Kind.VIEW: self._on_view,
            Kind.SEND: self._on_send,
            Kind.DELIVER: self._on_deliver,
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
        view = installed(event)
        if state.stay is not None:
            self._moves[state.stay.view.id, view.id].append((index, state.stay))
        state.stay = _Stay(member, view)
        state.stays.append(state.stay)

    def _on_send(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream or state.stay is None:
            return
        last = event.first + event.count - 1
        state.sent.setdefault(state.stay.view.id, Runs()).add(event.first, last)
        if not state.delivers_own:
            state.stay.deliver(member, event)

    def _on_deliver(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.stream or state.stay is None:
            return
        if event.peer is None:
            raise ValueError("a DELIVER event without a sender")
        state.stay.deliver(event.peer, event)
        state.stay.last_index = index

    def finish(self, closed: Closed) -> Finding:
        for (before, after), moves in self._moves.items():
            _, reference = moves[0]
            for index, stay in moves[1:]:
                self._compare(before, after, index, reference, stay)
        for state in self._members.values():
            for stay in state.stays:
                self._check_sent_here(stay, closed)
        return self._report.finding()

    def _compare(self, before: ViewId, after: ViewId, index: int, reference: _Stay, stay: _Stay) -> None:
        self._report.examined += 1
        for sender in dict.fromkeys([*reference.delivered, *stay.delivered]):
            there = reference.delivered.get(sender, Runs())
            here = stay.delivered.get(sender, Runs())
            if here != there:
                pair = f"{stay.member} delivered {here} from {sender}, {reference.member} delivered {there}"
                sentence = f"in {before}, before both went to {after}, {pair}"
                self._report.violated((stay.member, reference.member), index, sentence)
            elif _differ(stay.contents.get(sender, 0), reference.contents.get(sender, 0)):
                pair = f"{stay.member} and {reference.member} delivered {here} from {sender} with different content"
                self._report.violated((stay.member, reference.member), index, f"in {before}, {pair}")

    def _check_sent_here(self, stay: _Stay, closed: Closed) -> None:
        for sender, runs in stay.delivered.items():
            if sender not in closed:
                self._report.lacks_recording_of(sender)
                continue
            state = self._members.get(sender) or _Member()
            sent = state.sent.get(stay.view.id, Runs())
            known_upto = max((r.last for r in state.sent.values()), default=0)
            for first, last in runs.pairs():
                missing = sent.first_missing(first, last)
                if missing is not None and (closed[sender] or missing <= known_upto):
                    self._blame_view(stay, sender, missing)

    def _blame_view(self, stay: _Stay, sender: Address, seqno: int) -> None:
        sentence = f"{stay.member} delivered {seqno} from {sender} in {stay.view.id}, but it was not sent in that view"
        self._report.violated((stay.member, sender), stay.last_index, sentence)


def _differ(here: int, there: int) -> bool:
    """0: not recorded; below 0: not all was taken."""
    return here != there and here > 0 and there > 0
