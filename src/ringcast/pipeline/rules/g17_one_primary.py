"""G17, one primary: primary views form one chain, and what a stale one sends stays in it.

No kernel of its own: views are control events, and what was sent and delivered in each is in G5's facts. The chain is
the order of view ids: each primary view must be carried by the one after it, by a majority of its voters or half of
them with the first. With a fixed quorum each has that many voters, and any two share a member's name. Nothing that was
sent in a primary view is delivered in a later one: two runs meet iff the later begin is not behind the earlier end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, pairwise

from ringcast.model import Kind
from ringcast.pipeline.rules import g05_agreed_cut
from ringcast.pipeline.rules.fact import Out, address_of, name_of
from ringcast.pipeline.rules.run import Run, View, keys_of

GUARANTEE = "G17"
NAME_SETS = 64
Runs = list[tuple[int, int]]


@dataclass(slots=True)
class _Primary:
    id: View
    member: str
    index: int
    votes: list[str]
    quorum: int
    sent: dict[str, Runs] = field(default_factory=dict)
    delivered: dict[str, list[tuple[int, int, str, int]]] = field(default_factory=dict)  # with member and index

    def __str__(self) -> str:
        return f"{name_of(self.id[1])}|{self.id[0]}"


def compare(run: Run, out: Out) -> None:
    primaries = _primaries(run)
    chain = sorted(primaries.values(), key=lambda one: (one.id[0], address_of(one.id[1])))
    out.examined(len(chain))
    for before, after in pairwise([one for one in chain if not one.quorum]):
        present = sum(vote in after.votes for vote in before.votes)
        is_half = 2 * present == len(before.votes) and before.votes[0] in after.votes
        if 2 * present <= len(before.votes) and not is_half:
            went = f"{present} of the {len(before.votes)} voters of {before}, the primary view before it"
            out.violation(after.index, f"{after} is primary with {went}", before.member, after.member)
    _judge_quorum([one for one in chain if one.quorum], out)
    if chain:
        _add_messages(run, primaries)
        _judge_stale(chain, out)


def _primaries(run: Run) -> dict[View, _Primary]:
    found: dict[View, _Primary] = {}
    for row in sorted(run.control(Kind.VIEW), key=lambda row: (address_of(row.member), row.index)):
        if row.view is None or not row.detail.get("primary"):
            continue
        as_whom = {pair[0]: pair[1] for pair in map(keys_of, row.detail.get("votes") or ())}
        observers = keys_of(row.detail.get("observers"))
        members = [who for who in keys_of(row.detail["members"]) if who not in observers]
        votes = list(dict.fromkeys(as_whom.get(who, who) for who in members))
        quorum = int(row.detail.get("quorum") or 0)
        found.setdefault(row.view, _Primary(row.view, row.member, row.index, votes, quorum))
    return found


def _judge_quorum(chain: list[_Primary], out: Out) -> None:
    by_names: dict[tuple[str, ...], _Primary] = {}
    for one in chain:
        if len(one.votes) < one.quorum:
            few = f"{len(one.votes)} voters, less than the quorum of {one.quorum}"
            out.violation(one.index, f"{one} is primary with {few}", member=one.member)
        if len(by_names) < NAME_SETS:
            by_names.setdefault(tuple(sorted(address_of(vote).name for vote in one.votes)), one)
    for (names, one), (others, other) in combinations(by_names.items(), 2):
        if not set(names) & set(others):
            sentence = f"{one} and {other} are primary and have nobody in common"
            out.violation(other.index, sentence, one.member, other.member)


def _add_messages(run: Run, primaries: dict[View, _Primary]) -> None:
    for what in ("sent", "delivered"):
        for fact in run.of(g05_agreed_cut.GUARANTEE, what):
            view = run.members_by_key[fact.member].stay_at(fact.index).view
            one = None if view is None else primaries.get(view.id)
            if one is None:
                continue
            if what == "sent":
                one.sent.setdefault(fact.member, []).append((fact.first, fact.last))
            else:
                one.delivered.setdefault(fact.peer, []).append((fact.first, fact.last, fact.member, fact.index))


def _judge_stale(chain: list[_Primary], out: Out) -> None:
    for at, later in enumerate(chain):
        for sender, runs in later.delivered.items():
            for earlier in chain[:at]:
                met = [
                    (max(first, low), member, index)
                    for low, high in earlier.sent.get(sender, [])
                    for first, last, member, index in runs
                    if max(first, low) <= min(last, high)
                ]
                if met:
                    seqno, member, index = min(met)
                    what = f"{name_of(member)} delivered {seqno} from {name_of(sender)} in {later}"
                    sentence = f"{what}, a primary view later than {earlier}, in which it was sent"
                    out.violation(index, sentence, sender, member)
