"""G5, agreed cut: members that go together from view V to W delivered the same in V, in the view it was sent in.

Kernel: what a member multicast and delivered in each stretch of the segment, as maximal runs per sender. They are few
(one per sender, view and segment if G1 holds) and exact. Comparison: runs of all segments are joined per view; two
members delivered the same iff their joined runs are equal; members that have V and directly after it W are compared
with the first of them, and equality is transitive. A delivered run lies inside one joined run that its sender sent in
the same view. Digests of what runs carry (`Event.content`) add up, so the same runs have the same sum, or other content
was delivered. Who has installed W has recorded everything it did in V, so a later cut does not matter.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out, name_of
from ringcast.pipeline.rules.piece import Piece
from ringcast.pipeline.rules.run import Run, Stay

GUARANTEE = "G5"
OWN = -2
UNKNOWN = -(1 << 200)  # stays below 0 whatever is added
Runs = list[tuple[int, int]]


def kernel(piece: Piece, out: Out) -> None:
    at = piece.where(Kind.DELIVER, Kind.SEND)
    at = at[piece.stream[at] == 0]
    if not len(at):
        return
    sender = np.where(piece.kind[at] == Kind.SEND, OWN, piece.peer[at])
    order = np.lexsort((sender, piece.stretch[at]))
    at, sender = at[order], sender[order]
    first, last, stretch = piece.first[at], piece.last[at], piece.stretch[at]
    goes_on = (np.diff(stretch) == 0) & (np.diff(sender) == 0) & (first[1:] == last[:-1] + 1)
    starts = np.flatnonzero(np.r_[True, ~goes_on])
    ends = np.r_[starts[1:], len(at)] - 1
    content = piece.content[at]
    rows = zip(
        at[starts].tolist(),
        sender[starts].tolist(),
        first[starts].tolist(),
        last[ends].tolist(),
        at[ends].tolist(),
        np.where(np.minimum.reduceat(content, starts) < 0, -1, np.add.reduceat(content, starts)).tolist(),
        strict=True,
    )
    for place, who, low, high, end, carried in rows:
        what, peer = ("sent", "") if who == OWN else ("delivered", piece.keys[who])
        index, last_index = piece.index(place), piece.index(end)
        out.fact(what, index=index, peer=peer, first=low, last=high, other=last_index, value=carried)


Contents = dict[tuple[str, int, str], int]  # (member, where its stay starts, sender) -> sum of digests
Delivered = dict[tuple[str, int], dict[str, Runs]]  # (member, where its stay starts) -> sender -> runs


def compare(run: Run, out: Out) -> None:
    sent: defaultdict[tuple[str, object], Runs] = defaultdict(list)
    delivered: defaultdict[tuple[str, int], defaultdict[str, Runs]] = defaultdict(lambda: defaultdict(list))
    last_index: dict[tuple[str, int], int] = {}
    contents: Contents = defaultdict(int)
    for member in run:
        for what in ("sent", "delivered"):
            for fact in run.by_member(GUARANTEE, what).get(member.key, []):
                stay = member.stay_at(fact.index)
                if stay.view is None:
                    continue
                place = (member.key, stay.start)
                if what == "sent":
                    sent[member.key, stay.view.id].append((fact.first, fact.last))
                    if member.config.get("self_delivery", True):
                        continue
                # Without self-delivery a member counts as delivered what it sent.
                delivered[place][fact.peer or member.key].append((fact.first, fact.last))
                contents[*place, fact.peer or member.key] += fact.value if fact.value >= 0 else UNKNOWN
                last_index[place] = max(last_index.get(place, 0), fact.other)
    whole = {place: {sender: merged(runs) for sender, runs in by.items()} for place, by in delivered.items()}
    _different(run, whole, contents, out)
    _elsewhere(run, whole, {key: merged(runs) for key, runs in sent.items()}, last_index, out)


def merged(runs: Runs) -> Runs:
    """Sorted, disjoint, maximal."""
    joined: Runs = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _different(run: Run, delivered: Delivered, contents: Contents, out: Out) -> None:
    moves: defaultdict[object, list[Stay]] = defaultdict(list)
    for member in run:
        for stay in member.stays:
            if stay.view is not None and stay.next is not None:
                moves[stay.view.id, stay.next].append(stay)
    for stays in moves.values():
        reference = stays[0]
        there = delivered.get((reference.member, reference.start), {})
        for stay in stays[1:]:
            out.examined(1)
            here = delivered.get((stay.member, stay.start), {})
            for sender in dict.fromkeys([*there, *here]):
                if here.get(sender, []) != there.get(sender, []):
                    _blame(stay, reference, sender, here.get(sender, []), there.get(sender, []), out)
                    continue
                if _differ(stay, reference, sender, contents):
                    _blame_content(stay, reference, sender, here[sender], out)


def _differ(stay: Stay, reference: Stay, sender: str, contents: Contents) -> bool:
    """The digests of both sides, where both recorded them (0: not recorded, below 0: not all was taken)."""
    here = contents.get((stay.member, stay.start, sender), 0)
    there = contents.get((reference.member, reference.start, sender), 0)
    return here != there and here > 0 and there > 0


def _blame_content(stay: Stay, reference: Stay, sender: str, runs: Runs, out: Out) -> None:
    assert stay.view is not None
    both = f"{name_of(stay.member)} and {name_of(reference.member)} delivered {_text(runs)} from {name_of(sender)}"
    sentence = f"in view {stay.view.id[0]}, {both} with different content"
    out.violation(stay.end, sentence, reference.member, stay.member)


def _blame(stay: Stay, reference: Stay, sender: str, here: Runs, there: Runs, out: Out) -> None:
    assert stay.view is not None and stay.next is not None
    where = f"in view {stay.view.id[0]}, before both went to view {stay.next[0]}"
    did = f"{name_of(stay.member)} delivered {_text(here)} and {name_of(reference.member)} {_text(there)}"
    out.violation(stay.end, f"{where}, {did} from {name_of(sender)}", reference.member, stay.member)


def _text(runs: Runs) -> str:
    return ", ".join(f"{first}..{last}" for first, last in runs[:20]) or "nothing"


def _elsewhere(
    run: Run,
    delivered: Delivered,
    sent: dict[tuple[str, object], Runs],
    last_index: dict[tuple[str, int], int],
    out: Out,
) -> None:
    """Messages that were delivered in another view than the one they were sent in."""
    known_upto: dict[str, int] = {}
    for (sender, _), runs in sent.items():
        known_upto[sender] = max(known_upto.get(sender, 0), runs[-1][1])
    for (member, start), by_sender in delivered.items():
        stay = run.members_by_key[member].stay_at(start)
        if stay.view is None:
            continue
        for sender, runs in by_sender.items():
            if sender not in run.members_by_key:
                out.lacks(f"there is no recording of {name_of(sender)}")
                continue
            for first, last in runs:
                missing = first_missing(sent.get((sender, stay.view.id), []), first, last)
                if missing is not None and (run.is_whole(sender) or missing <= known_upto.get(sender, 0)):
                    what = f"{name_of(member)} delivered {missing} from {name_of(sender)} in view {stay.view.id[0]}"
                    sentence = f"{what}, but it was not sent in that view"
                    out.violation(last_index[member, start], sentence, sender, member)


def first_missing(runs: Runs, first: int, last: int) -> int | None:
    """The first number from `first` to `last` that no run holds. Runs are sorted, disjoint and maximal."""
    for low, high in runs:
        if low <= first <= high:
            return None if last <= high else high + 1
    return first
