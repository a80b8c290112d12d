"""G11, local order: queue order at a sender and dequeue order at a receiver are respected.

Kernel: at a sender the numbers of queued runs grow, and their places with them. At a receiver, sorted by sender and
otherwise left in place, each dequeued run begins above the end of the one before it: a receiver gets only some of a
sender's messages, so there may be gaps but never a step back. Facts: where each of these sequences begins and ends in
the segment (`queued`, `dequeued`, `placed`). Comparison: the same between the ends of segments.
That dequeue order agrees with one order over all is G12's matter.
"""

from __future__ import annotations

import itertools

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Fact, Out, name_of
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.pipeline.rules.run import Run

GUARANTEE = "G11"


def kernel(piece: Piece, out: Out) -> None:
    dequeued, queued = piece.where(Kind.DEQUEUE), piece.where(Kind.QUEUE_START)
    out.examined(int(piece.count[dequeued].sum()) + int(piece.count[queued].sum()))
    for group in groups(piece.peer[dequeued]):
        at = dequeued[group]
        _grows(piece, at, "dequeued", piece.keys[int(piece.peer[at[0]])], out)
    if len(queued):
        _grows(piece, queued, "queued", "", out)
    _places(piece, piece.where(Kind.QUEUE_FINISH), out)


def _grows(piece: Piece, at: Array, what: str, peer: str, out: Out) -> None:
    before = np.maximum.accumulate(piece.last[at])
    for i in np.flatnonzero(piece.first[at[1:]] <= before[:-1]).tolist():
        place = at[i + 1]
        sentence = _step_back(piece.member, what, peer, int(piece.first[place]), int(before[i]))
        out.violation(piece.index(place), sentence, peer)
    ends = {"first": int(piece.first[at[0]]), "last": int(before[-1])}
    out.fact(what, index=piece.index(at[0]), peer=peer, **ends)


def _step_back(member: str, what: str, peer: str, number: int, before: int) -> str:
    whose = f"of {name_of(peer)}" if peer else "of its own"
    return f"{name_of(member)} {what} number {number} {whose} after {before}"


def _places(piece: Piece, at: Array, out: Out) -> None:
    """A later number has a later place: the sender's own order is part of the one order."""
    if not len(at):
        return
    codes = piece.view[at]
    epochs = np.array([*(view.number for view in piece.views), 0], dtype=np.int64)[codes]
    numbers, seqs = piece.first[at], piece.value[at]
    step, turn, move = np.diff(numbers), np.diff(epochs), np.diff(seqs)
    is_later, is_same = (turn > 0) | ((turn == 0) & (move > 0)), (turn == 0) & (move == 0)
    for i in np.flatnonzero(((step > 0) != is_later) & ~is_same).tolist():
        out.violation(piece.index(at[i + 1]), _misplaced(piece.member, int(numbers[i + 1])))
    out.fact(
        "placed",
        index=piece.index(at[0]),
        first=int(numbers[0]),
        last=int(numbers[-1]),
        value=int(seqs[0]),
        other=int(seqs[-1]),
        low=int(epochs[0]),
        high=int(epochs[-1]),
    )


def _misplaced(member: str, number: int) -> str:
    return f"{name_of(member)}'s number {number} has a place that does not fit its order"


def compare(run: Run, out: Out) -> None:
    last: dict[tuple[str, str, str], int] = {}
    for what in ("queued", "dequeued"):
        for fact in run.of(GUARANTEE, what):
            key = (what, fact.member, fact.peer)
            before = last.get(key, 0)
            if fact.first <= before:
                sentence = _step_back(fact.member, what, fact.peer, fact.first, before)
                out.violation(fact.index, sentence, fact.peer, fact.member)
            last[key] = max(before, fact.last)
    for facts in run.by_member(GUARANTEE, "placed").values():
        for a, b in itertools.pairwise(facts):
            _joint(a, b, out)


def _joint(a: Fact, b: Fact, out: Out) -> None:
    before, after = (a.high, a.other), (b.low, b.value)
    if (b.first > a.last) != (after > before) and after != before:
        out.violation(b.index, _misplaced(b.member, b.first), member=b.member)
