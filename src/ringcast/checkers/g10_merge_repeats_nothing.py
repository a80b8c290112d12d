"""G10, merge repeats nothing: own entry never overwritten; a higher or equal local one kept; else reset to the digest.

Judged when the installation of a MergeView is over: at the first message, the next view, or the end. Between members of
the same subgroup nothing is reset at all: they were never apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind, ViewId


@dataclass(frozen=True, slots=True)
class _Reset:
    """An offset that was set, and how far the window had come before; -1 = there was none."""

    evidence: Evidence
    peer: Address
    view: ViewId | None
    before: int
    value: int


@dataclass(slots=True)
class _Member:
    ready: dict[Address, int] = field(default_factory=dict)
    resets: list[_Reset] = field(default_factory=list)
    installing: tuple[Evidence, Installed] | None = None


class MergeResetChecker:
    guarantee = "G10"
    kinds = (Kind.SEND, Kind.DELIVER, Kind.TAKEN, Kind.OFFSET, Kind.VIEW)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._members: dict[Address, _Member] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.stream:
            return
        state = self._members.setdefault(member, _Member())
        if event.kind is Kind.OFFSET:
            self._on_offset(member, index, event, state)
        elif event.kind is Kind.VIEW:
            view = installed(event)
            self._settle(member, state)
            state.installing = (Evidence.of(member, index, event), view)
        else:
            self._settle(member, state)
            if event.kind is Kind.DELIVER and event.peer is not None:
                state.ready[event.peer] = max(state.ready.get(event.peer, 0), event.first + event.count - 1)

    def _on_offset(self, member: Address, index: int, event: Event, state: _Member) -> None:
        if event.peer is None:
            raise ValueError("an OFFSET event without a sender")
        before = state.ready.get(event.peer, -1)
        reset = _Reset(Evidence.of(member, index, event), event.peer, event.view, before, event.value)
        state.resets.append(reset)
        state.ready[event.peer] = event.value

    def _settle(self, member: Address, state: _Member) -> None:
        if state.installing is None:
            return
        here, view = state.installing
        resets = [reset for reset in state.resets if reset.view == view.id]
        state.resets = [reset for reset in state.resets if reset.view != view.id]
        state.installing = None
        if view.is_merge:
            for reset in resets:
                self._judge_reset(member, view, reset)
            self._judge_kept(member, view, state, here)

    def _judge_reset(self, member: Address, view: Installed, reset: _Reset) -> None:
        peer, entry = reset.peer, view.digest.get(reset.peer)
        if peer == member:
            self._violated(member, reset, f"{member} overwrote its own entry with {reset.value} in {view.id}")
        elif reset.before >= reset.value:
            had = f"{member} had received up to {reset.before} from {peer}"
            self._violated(member, reset, f"{had} and reset its window to {reset.value} in {view.id}")
        elif reset.before >= 0 and peer in view.subgroup_of(member):
            together = f"{member} and {peer} come to {view.id} together"
            self._violated(member, reset, f"{together}, yet the window was reset from {reset.before} to {reset.value}")
        elif entry is not None and entry.delivered != reset.value:
            said = f"the digest of {view.id} says {entry.delivered} for {peer}"
            self._violated(member, reset, f"{said}, {member} reset its window to {reset.value}")

    def _judge_kept(self, member: Address, view: Installed, state: _Member, here: Evidence) -> None:
        apart = [peer for peer in view.members if peer != member and peer not in view.subgroup_of(member)]
        for peer in apart:
            self._report.examined += 1
            entry = view.digest.get(peer)
            ready = state.ready.get(peer, 0)
            if entry is not None and ready < entry.delivered:
                sentence = (
                    f"{member} stayed at {ready} for {peer}, though the digest of {view.id} says {entry.delivered}"
                )
                self._report.violated((member, peer), here.index, sentence, here)

    def _violated(self, member: Address, reset: _Reset, sentence: str) -> None:
        self._report.violated((member, reset.peer), reset.evidence.index, sentence, reset.evidence)

    def finish(self, closed: Closed) -> Finding:
        for member, state in self._members.items():
            if closed.get(member):
                self._settle(member, state)
        return self._report.finding()
