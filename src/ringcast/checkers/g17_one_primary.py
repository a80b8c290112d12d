"""G17, one primary: primary views form one chain, and what a stale one sends stays in it.

The order of a chain is that of its view ids, for whoever makes a primary view knows the one before it. So the primary
views of a run are put in this order, and each must be carried by the one after it: a majority of its voters go on, or
half of them with the first. Two successors of one view are two neighbours of which the second does not carry the first.
With a fixed quorum each has that many voters, and any two share a member's name: processes may have forgotten all.
A message sent in a primary view is delivered in no later primary view. Needs VIEW events of the policy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, pairwise

from ringcast.checkers.runs import Runs
from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind, ViewId

MAX_NAME_SETS = 64  # of views with a fixed quorum, compared with each other


@dataclass(slots=True)
class _Primary:
    """A primary view, as its first recorded member installed it, and what was sent and delivered in it."""

    view: Installed
    evidence: Evidence
    sent: dict[Address, Runs] = field(default_factory=dict)
    delivered: dict[Address, tuple[Evidence, Runs]] = field(default_factory=dict)  # by sender; who was first


class PrimaryChecker:
    guarantee = "G17"
    kinds = (Kind.VIEW, Kind.SEND, Kind.DELIVER)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._primaries: dict[ViewId, _Primary] = {}
        self._current: dict[Address, _Primary | None] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        if event.kind is Kind.VIEW:
            self._on_view(member, index, event)
            return
        current = self._current.get(member)
        if current is None or event.stream:
            return
        last = event.first + event.count - 1
        if event.kind is Kind.SEND:
            current.sent.setdefault(member, Runs()).add(event.first, last)
        elif event.peer is not None:
            if event.peer not in current.delivered:
                current.delivered[event.peer] = (Evidence.of(member, index, event), Runs())
            current.delivered[event.peer][1].add(event.first, last)

    def _on_view(self, member: Address, index: int, event: Event) -> None:
        view = installed(event)
        self._current[member] = None
        if view.primary:
            evidence = Evidence.of(member, index, event)
            self._current[member] = self._primaries.setdefault(view.id, _Primary(view, evidence))

    def finish(self, closed: Closed) -> Finding:
        chain = [self._primaries[view_id] for view_id in sorted(self._primaries)]
        self._report.examined += len(chain)
        self._check_chain([one for one in chain if not one.view.quorum])
        self._check_quorum([one for one in chain if one.view.quorum])
        self._check_stale(chain)
        return self._report.finding()

    def _check_chain(self, chain: list[_Primary]) -> None:
        for before, after in pairwise(chain):
            votes, voters = after.view.votes, before.view.votes
            present = sum(vote in votes for vote in voters)
            is_half = 2 * present == len(voters) and voters[0] in votes
            if 2 * present <= len(voters) and not is_half:
                went = f"{present} of the {len(voters)} voters of {before.view.id}"
                self._violated(before, after, f"{after.view.id} is primary with {went}, the primary view before it")

    def _check_quorum(self, chain: list[_Primary]) -> None:
        by_names: dict[tuple[str, ...], _Primary] = {}
        for one in chain:
            if len(one.view.votes) < one.view.quorum:
                few = f"{len(one.view.votes)} voters, less than the quorum of {one.view.quorum}"
                self._violated(one, one, f"{one.view.id} is primary with {few}")
            if len(by_names) < MAX_NAME_SETS:
                by_names.setdefault(tuple(sorted(vote.name for vote in one.view.votes)), one)
        for (names, one), (others, other) in combinations(by_names.items(), 2):
            if not any(name in others for name in names):
                self._violated(one, other, f"{one.view.id} and {other.view.id} are primary and have nobody in common")

    def _check_stale(self, chain: list[_Primary]) -> None:
        for at, later in enumerate(chain):
            for sender, (evidence, runs) in later.delivered.items():
                for earlier in chain[:at]:
                    sent = earlier.sent.get(sender)
                    seqno = None if sent is None else _shared(sent, runs)
                    if seqno is not None:
                        what = f"{evidence.member} delivered {seqno} from {sender} in {later.view.id}"
                        sentence = f"{what}, a primary view later than {earlier.view.id}, in which it was sent"
                        self._report.violated((evidence.member, sender), evidence.index, sentence, evidence)

    def _violated(self, before: _Primary, after: _Primary, sentence: str) -> None:
        members = tuple(dict.fromkeys((after.evidence.member, before.evidence.member)))
        self._report.violated(members, after.evidence.index, sentence, after.evidence, before.evidence)


def _shared(sent: Runs, delivered: Runs) -> int | None:
    """The first seqno in both."""
    for first, last in sent.pairs():
        for other_first, other_last in delivered.pairs():
            if max(first, other_first) <= min(last, other_last):
                return max(first, other_first)
    return None
