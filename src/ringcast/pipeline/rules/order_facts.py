"""The kernel of ordered messages: what each member dequeued, and what was queued to it. G12 and G16 compare its facts.

Facts, by blocks of places in the one order (BLOCK seqs; a seq means the same at every member) in each stay of a
segment: `dequeued`, per sender, with count, digest and the lowest and highest number; `queued`, at the sender, per
destination (`view` for all of it). `part`: where the seqs of a stay begin and end in the segment, and whether they
grow. A batch is queued with two events; where a segment's border lies between them, `open` (begun here) and `finished`
(begun before) are joined by the comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.digest import salt_of, total, values_of
from ringcast.pipeline.rules.fact import Out, key_of
from ringcast.pipeline.rules.packed import pack
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.trace import as_address

RULE = "G12"
BLOCK = 1 << 16
TO_VIEW = "view"


def kernel(piece: Piece, out: Out) -> None:
    dequeued = piece.where(Kind.DEQUEUE)
    nameless = int((piece.peer[dequeued] < 0).sum())
    if nameless:
        out.lacks(f"{nameless} DEQUEUE events without a sender")
        dequeued = dequeued[piece.peer[dequeued] >= 0]
    for group in groups(piece.stay[dequeued]):
        _part(piece, dequeued[group], out)
    if len(dequeued):
        _from_each(piece, dequeued, out)
    _queued(piece, out)


def _part(piece: Piece, at: Array, out: Out) -> None:
    """How the seqs of one stay go in this segment."""
    seq, sender = piece.value[at], piece.peer[at]
    goes_on = (seq[1:] == seq[:-1]) & (sender[1:] == sender[:-1]) & (piece.first[at[1:]] == piece.last[at[:-1]] + 1)
    falls = np.flatnonzero((seq[1:] <= seq[:-1]) & ~goes_on)
    spans = [(int(seq[i + 1]), int(seq[i])) for i in falls[:64].tolist()]
    if len(falls) > 64:
        spans.append((int(seq.min()), int(seq.max())))
    ends = [int(seq[0]), int(piece.first[at[0]]), int(seq[-1]), int(piece.last[at[-1]])]
    senders = f"{piece.keys[int(sender[0])]}\n{piece.keys[int(sender[-1])]}"
    out.fact(
        "part",
        index=piece.index(at[0]),
        other=piece.index(at[-1]),
        count=int(piece.count[at].sum()),
        value=int(seq.max()),
        text=senders,
        data=pack([*ends, *(number for span in spans for number in span)]),
    )


def _from_each(piece: Piece, at: Array, out: Out) -> None:
    """What was dequeued from each sender."""
    salts = np.array([salt_of(key) for key in piece.keys[:-1]], dtype=np.uint64)[piece.peer[at]]
    low, high = values_of(salts, piece.first[at], piece.last[at], piece.value[at])
    block = piece.value[at] // BLOCK
    for group in groups(block, piece.peer[at], piece.stay[at]):
        sender = piece.keys[int(piece.peer[at[group[0]]])]
        _sum(piece, at, group, "dequeued", sender, int(block[group[0]]), low, high, out)


def _queued(piece: Piece, out: Out) -> None:
    starts, finishes = piece.where(Kind.QUEUE_START), piece.where(Kind.QUEUE_FINISH)
    if not len(starts) and not len(finishes):
        return
    order = np.argsort(piece.first[starts], kind="stable")
    numbers = piece.first[starts][order]
    at = np.searchsorted(numbers, piece.first[finishes])
    is_here = at < len(numbers)
    is_here[is_here] = numbers[at[is_here]] == piece.first[finishes[is_here]]
    begun = starts[order[at[is_here]]]
    names: dict[str, int] = {}
    sets = np.array(
        [names.setdefault(destinations(piece, place), len(names)) for place in begun.tolist()], dtype=np.int64
    )
    done = finishes[is_here]
    if len(done):
        _to_each(piece, done, sets, list(names), out)
    for place in finishes[~is_here].tolist():
        numbers_ = {"first": int(piece.first[place]), "last": int(piece.last[place]), "value": int(piece.value[place])}
        out.fact("finished", index=piece.index(place), **numbers_)
    is_open = np.ones(len(starts), dtype=bool)
    is_open[order[at[is_here]]] = False
    for place in starts[is_open].tolist():
        ends = {"first": int(piece.first[place]), "last": int(piece.last[place])}
        out.fact("open", index=piece.index(place), peer=destinations(piece, place), **ends)


def _to_each(piece: Piece, done: Array, sets: Array, names: list[str], out: Out) -> None:
    """What was queued to each destination: sets of them may be many, members are few."""
    members = {name: code for code, name in enumerate(dict.fromkeys(who for to in names for who in to.split("\n")))}
    is_in = np.zeros((len(names), len(members)), dtype=bool)
    for number, to in enumerate(names):
        is_in[number, [members[who] for who in to.split("\n")]] = True
    salts = np.full(len(done), salt_of(piece.member), dtype=np.uint64)
    low, high = values_of(salts, piece.first[done], piece.last[done], piece.value[done])
    block = piece.value[done] // BLOCK
    for group in groups(block, piece.stay[done]):
        chosen = is_in[sets[group]]
        for who, code in members.items():
            mine = group[chosen[:, code]]
            if len(mine) and who:  # nobody: a barrier
                _sum(piece, done, mine, "queued", who, int(block[mine[0]]), low, high, out)


def _sum(
    piece: Piece, at: Array, mine: Array, what: str, peer: str, block: int, low: Array, high: Array, out: Out
) -> None:
    places = at[mine]
    out.fact(
        what,
        index=piece.index(places[0]),
        peer=peer,
        value=block,
        count=int(piece.count[places].sum()),
        first=int(piece.first[places].min()),
        last=int(piece.last[places].max()),
        low=total(low[mine]),
        high=total(high[mine]),
    )


def destinations(piece: Piece, place: int) -> str:
    """To whom a batch was queued: `view`, or members (on a bus: names) as text; `?` if it was not recorded."""
    to: Any = piece.detail_of(place).get("to")
    if to is None:
        return "?"
    if isinstance(to, str):
        return to
    return "\n".join(item if isinstance(item, str) else key_of(as_address(item)) for item in to)
