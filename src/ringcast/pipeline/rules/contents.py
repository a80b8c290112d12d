"""Digests of what runs carry (`Event.content`), joined so that a sender's and a receiver's can be compared (G1).

They add up over runs that follow each other. Kernel: the runs of one stream in a segment, joined into stretches; a
stretch ends where the next run does not follow, at the end of the segment, and at the ends of some runs: all of them
while they are few, else those whose seqno a fixed hash chooses. Both sides choose by the seqno alone, so wherever both
end a run at a chosen one, both end a stretch. Comparison: sums from one common end to the next.
Bounded: a fact holds at most `FEW` stretches, or one in `RARE` of the runs of a segment.
Sound: sums over the same seqnos differ only if some content does. Of many runs a difference behind the last common
end is not seen; the agreed cut of G5 covers the multicast there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ringcast.pipeline.rules.fact import Fact, Out
from ringcast.pipeline.rules.packed import pack_columns, unpack_columns
from ringcast.pipeline.rules.piece import Array, Piece

FEW = 1024
RARE = 64
_MIX = np.uint64(0x9E3779B97F4A7C15)
Stretch = tuple[int, int, int, int]  # first and last seqno, digest, index of its last event


def note_contents(piece: Piece, what: str, peer: str, at: Array, out: Out) -> None:
    """The runs at these places, of one stream in their own order, as one fact; nothing if they carry no digests."""
    at = at[piece.content[at] >= 0]  # below 0: not all was taken
    content = piece.content[at]
    if not content.any():
        return
    first, last = piece.first[at], piece.last[at]
    ends = np.append(first[1:] != last[:-1] + 1, True)
    ends |= True if len(at) <= FEW else _chosen(last)
    stops = np.flatnonzero(ends)
    starts = np.append(0, stops[:-1] + 1)
    sums = np.add.reduceat(content, starts)
    columns = (first[starts], last[stops], sums, piece.first_index + at[stops])
    out.fact(what, index=piece.index(at[0]), peer=peer, stream=int(piece.stream[at[0]]), data=pack_columns(*columns))


def _chosen(seqno: Array) -> Array:
    mixed: Array = (seqno.astype(np.uint64) * _MIX) >> np.uint64(32)
    chosen: Array = mixed % np.uint64(RARE) == 0
    return chosen


def stretches_of(facts: list[Fact]) -> list[Stretch]:
    """One member's facts of one stream, in the order of its recording, as stretches."""
    return [row for fact in facts for row in zip(*(c.tolist() for c in unpack_columns(fact.data, 4)), strict=True)]


def differing(sent: list[Stretch], got: list[Stretch]) -> Iterator[tuple[int, int, int]]:
    """(first, last, index at the receiver) of what differs, between seqnos at which both end a stretch."""
    upto: dict[int, int] = {}
    total = 0
    for first, last, content, _ in sent:
        upto.setdefault(first - 1, total)
        total += content
        upto[last] = total
    begin, mine, reached = None, 0, None
    for first, last, content, index in got:
        if begin is None or reached != first - 1:
            begin, mine = first if first - 1 in upto else None, 0
        mine, reached = mine + content, last
        if last in upto:
            if begin is not None and mine != upto[last] - upto[begin - 1]:
                yield begin, last, index
            begin, mine = last + 1, 0
