"""The kernel of ordered messages: what each member dequeued, and what was queued to it. G12 and G16 compare its facts.

Facts, by blocks of places in the one order (BLOCK seqs; a seq means the same at every member) in each stay of a
segment: `dequeued`, per sender, with count, digest and the lowest and highest number; `queued`, at the sender, per
destination (`view` for all of it). `part`: where the seqs of a stay begin and end in the segment, and whether they
grow. A batch is queued with two events; where a segment's border lies between them, `open` (begun here) and `finished`
(begun before) are joined by the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.digest import salts_of, values_of
from ringcast.pipeline.rules.fact import Out, key_of
from ringcast.pipeline.rules.packed import pack
from ringcast.pipeline.rules.piece import Array, Piece, grouped, groups
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
    sender = piece.peer[at]
    digest = values_of(salts_of(piece.keys[:-1]), sender, piece.first[at], piece.last[at], piece.value[at])
    order, starts = grouped(piece.value[at] // BLOCK, sender, piece.stay[at])
    senders = [piece.keys[code] for code in sender[order[starts]].tolist()]
    _sums(piece, "dequeued", at, order, starts, senders, digest, out)


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
    done = finishes[is_here]
    if len(done):
        _, one, sets = np.unique(piece.detail[begun], return_index=True, return_inverse=True)
        _to_each(piece, done, sets, [destinations(piece, place) for place in begun[one].tolist()], out)
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
    own = np.zeros(len(done), dtype=np.int64)
    digest = values_of(salts_of([piece.member]), own, piece.first[done], piece.last[done], piece.value[done])
    order, starts = grouped(piece.value[done] // BLOCK, piece.stay[done])
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    chosen = is_in[sets[order]]
    for who, code in members.items():
        mine = np.flatnonzero(chosen[:, code])
        if len(mine) and who:  # nobody: a barrier
            begins = np.flatnonzero(np.append(True, np.diff(group[mine]) != 0))
            _sums(piece, "queued", done, order[mine], begins, [who] * len(begins), digest, out)


def _sums(
    piece: Piece,
    what: str,
    at: Array,
    order: Array,
    starts: Array,
    peers: Sequence[str],
    digest: tuple[Array, Array],
    out: Out,
) -> None:
    """One fact for each group of these events, which are in order and start where `starts` says."""
    places = at[order]
    columns = (
        places[starts],
        piece.value[places[starts]] // BLOCK,
        np.add.reduceat(piece.count[places], starts),
        np.minimum.reduceat(piece.first[places], starts),
        np.maximum.reduceat(piece.last[places], starts),
        *(np.add.reduceat(half[order], starts).view(np.int64) for half in digest),
    )
    for peer, place, block, count, first, last, low, high in zip(peers, *(c.tolist() for c in columns), strict=True):
        numbers = {"value": block, "count": count, "first": first, "last": last, "low": low, "high": high}
        out.fact(what, index=piece.index(place), peer=peer, **numbers)


def destinations(piece: Piece, place: int) -> str:
    """To whom a batch was queued: `view`, or members (on a bus: names) as text; `?` if it was not recorded."""
    to: Any = piece.detail_of(place).get("to")
    if to is None:
        return "?"
    if isinstance(to, str):
        return to
    return "\n".join(item if isinstance(item, str) else _key(*item) for item in to)


@lru_cache(maxsize=4096)
def _key(name: Any, incarnation: Any, endpoint: Any) -> str:
    """Of an address as it stands in a detail; few addresses, and many details that name them."""
    return key_of(as_address((name, incarnation, endpoint)))
