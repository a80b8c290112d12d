"""G1, FIFO: from its offset on, a receiver delivers a sender's messages in seqno order, without gap or duplicate.

Kernel, per (sender, stream): the events of a segment sorted by stream, in their own order; each run must begin one
above the end of the one before it, or above the offset between them. That is one comparison of neighbours, exact,
without looking at single messages. A stream in which something does not fit is walked event by event, to say what
happened and to go on from where the member went on. The same for the member's ordinals and for what it sends.
Facts: where each stream begins and ends in the segment (`piece`), the same for ordinals (`ordinal`) and sends
(`sending`), and offsets whose view is not in the segment (`offset`, with how the segment begins and ends: `edge`).
Comparison: a piece must begin where the one before it ended; what was delivered lies within what its sender sent.
Digests of what runs carry are compared between sender and receiver (contents.py).
Sound and complete: neighbours inside segments are compared by the kernel, neighbours across segments by the pieces.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.contents import differing, note_contents, stretches_of
from ringcast.pipeline.rules.fact import Fact, Out, name_of
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.pipeline.rules.run import Run

GUARANTEE = "G1"
OFFSET, RUN = 0, 1


def kernel(piece: Piece, out: Out) -> None:
    runs = piece.where(Kind.DELIVER, Kind.OFFSET)
    is_run = piece.kind[runs] == Kind.DELIVER
    nameless = int(((piece.peer[runs] < 0) | (is_run & (piece.count[runs] < 1))).sum())
    if nameless:
        out.lacks(f"{nameless} DELIVER or OFFSET events of {name_of(piece.member)} lack a sender or a run")
    out.examined(int(piece.count[runs[is_run]].sum()))
    for group in groups(piece.stream[runs], piece.peer[runs]):
        _received(piece, runs[group], out)
    multicast = runs[is_run & (piece.stream[runs] == 0)]
    _ordinals(piece, multicast, out)
    sends = piece.where(Kind.SEND)
    for group in groups(piece.stream[sends]):
        _sent(piece, sends[group], out)
    _offsets(piece, out)


def _received(piece: Piece, at: Array, out: Out) -> None:
    is_offset = piece.kind[at] == Kind.OFFSET
    end = np.where(is_offset, piece.value[at], piece.last[at])
    fits = np.where(is_offset[1:], end[1:] >= end[:-1], piece.first[at[1:]] == end[:-1] + 1)
    high = int(end[-1])
    if not fits.all():
        high = _walk(piece, at, is_offset, out)
    delivered = at[~is_offset]
    head = at[0]
    note_contents(piece, "got", piece.keys[int(piece.peer[head])], delivered, out)
    out.fact(
        "piece",
        index=piece.index(head),
        peer=piece.keys[int(piece.peer[head])],
        stream=int(piece.stream[head]),
        first=int(piece.value[head] if is_offset[0] else piece.first[head]),
        last=high,
        count=int(piece.count[head]),
        value=OFFSET if is_offset[0] else RUN,
        other=piece.index(delivered[-1]) if len(delivered) else -1,
        low=int(piece.first[delivered].min()) if len(delivered) else 0,
    )


def _walk(piece: Piece, at: Array, is_offset: Array, out: Out) -> int:
    """One stream event by event: says what does not fit, and goes on from where the member went on."""
    high = int(piece.value[at[0]] if is_offset[0] else piece.last[at[0]])
    for i, place in enumerate(at.tolist()[1:], 1):
        sender = piece.keys[int(piece.peer[place])]
        if is_offset[i]:
            if piece.value[place] < high:
                out.violation(piece.index(place), set_back(piece.member, sender, high, int(piece.value[place])), sender)
            high = int(piece.value[place])
            continue
        if piece.first[place] != high + 1:
            sentence = out_of_step(piece.member, sender, high, int(piece.first[place]), int(piece.count[place]))
            out.violation(piece.index(place), sentence, sender)
        high = max(high, int(piece.last[place]))
    return high


def out_of_step(member: str, sender: str, high: int, first: int, count: int) -> str:
    what = f"{high + 1} to {first - 1} missing" if first > high else f"{first} again"
    return f"{name_of(member)} delivered {first} to {first + count - 1} from {name_of(sender)} after {high}: {what}"


def set_back(member: str, sender: str, high: int, value: int) -> str:
    return f"{name_of(member)} set its offset for {name_of(sender)} back from {high} to {value}"


def _ordinals(piece: Piece, at: Array, out: Out) -> None:
    if not len(at):
        return
    ordinal, count = piece.ordinal[at], piece.count[at]
    expected = ordinal[:-1] + count[:-1]
    for i in np.flatnonzero(ordinal[1:] != expected).tolist():
        out.violation(piece.index(at[i + 1]), _miscounted(piece.member, int(ordinal[i + 1]), int(expected[i])))
    after = int(ordinal[-1] + count[-1])
    out.fact("ordinal", index=piece.index(at[0]), first=int(ordinal[0]), last=after)


def _miscounted(member: str, ordinal: int, expected: int) -> str:
    return f"{name_of(member)} counted a delivery as its number {ordinal}, the next was {expected}"


def _sent(piece: Piece, at: Array, out: Out) -> None:
    end = piece.last[at]
    before = np.maximum.accumulate(end)[:-1]
    for i in np.flatnonzero(piece.first[at[1:]] != before + 1).tolist():
        place = at[i + 1]
        out.violation(piece.index(place), _not_next(piece.member, int(piece.first[place]), int(before[i])))
    note_contents(piece, "carried", "", at, out)
    stream, first = int(piece.stream[at[0]]), int(piece.first[at[0]])
    out.fact("sending", index=piece.index(at[0]), stream=stream, first=first, last=int(end.max()))


def _not_next(member: str, first: int, before: int) -> str:
    return f"{name_of(member)} sent {first} after {before}: not the next seqno"


def _offsets(piece: Piece, out: Out) -> None:
    """An offset stands beside its view, no message between: the same view between the same two messages."""
    moved = ((piece.kind == Kind.SEND) | (piece.kind == Kind.DELIVER) | (piece.kind == Kind.TAKEN)) & (
        piece.stream == 0
    )
    moves = np.cumsum(moved)
    views, offsets = piece.where(Kind.VIEW), piece.where(Kind.OFFSET)
    offsets = offsets[piece.stream[offsets] == 0]
    total = int(moves[-1]) if len(moves) else 0
    beside: dict[int, set[int]] = {}
    for place in views.tolist():
        beside.setdefault(int(moves[place]), set()).add(int(piece.view[place]))
    for place in offsets.tolist():
        gap = int(moves[place])
        if int(piece.view[place]) in beside.get(gap, ()):
            continue
        if gap in (0, total):
            _edge(piece, place, "offset", gap, total, out)
        else:
            out.violation(
                piece.index(place), unviewed(piece.member, piece.keys[int(piece.peer[place])], int(piece.value[place]))
            )
    for place in views.tolist():
        if moves[place] in (0, total):
            _edge(piece, place, "edge", int(moves[place]), total, out)
    out.fact("moves", count=total)


def _edge(piece: Piece, place: int, what: str, gap: int, total: int, out: Out) -> None:
    """A view or an offset before the first message of the segment (`first`) or behind its last (`last`)."""
    view = piece.view_of(place)
    text = "" if view is None else f"{view.number}\t{view.creator!r}"
    peer, value = piece.keys[int(piece.peer[place])], int(piece.value[place])
    out.fact(
        what, index=piece.index(place), peer=peer, first=int(gap == 0), last=int(gap == total), value=value, text=text
    )


def unviewed(member: str, sender: str, value: int) -> str:
    return f"{name_of(member)} set its offset for {name_of(sender)} to {value} without a view that says so"


def compare(run: Run, out: Out) -> None:
    reach = _joined_streams(run, out)
    sent = _joined_sends(run, out)
    for facts in run.by_member(GUARANTEE, "ordinal").values():
        for before, after in itertools.pairwise(facts):
            if after.first != before.last:
                out.violation(after.index, _miscounted(after.member, after.first, before.last), member=after.member)
    _unsent(run, reach, sent, out)
    _other_content(run, out)
    _unviewed_edges(run, out)
    _never_apart(run, out)


Reach = dict[tuple[str, str, int], tuple[int, int, int]]  # member, sender, stream -> lowest, highest, last index


def _joined_streams(run: Run, out: Out) -> Reach:
    high: dict[tuple[str, str, int], int] = {}
    reach: Reach = {}
    for fact in run.of(GUARANTEE, "piece"):
        key = (fact.member, fact.peer, fact.stream)
        before = high.get(key, 0)
        if fact.value == OFFSET and fact.first < before:
            out.violation(fact.index, set_back(fact.member, fact.peer, before, fact.first), fact.peer, fact.member)
        elif fact.value == RUN and fact.first != before + 1:
            sentence = out_of_step(fact.member, fact.peer, before, fact.first, fact.count)
            out.violation(fact.index, sentence, fact.peer, fact.member)
        high[key] = fact.last if fact.value == OFFSET else max(before, fact.last)
        if fact.low:
            lowest, _, _ = reach.get(key, (fact.low, 0, 0))
            reach[key] = (lowest, high[key], fact.other)
        elif key in reach:
            reach[key] = (reach[key][0], high[key], reach[key][2])
    return reach


def _joined_sends(run: Run, out: Out) -> dict[tuple[str, int], tuple[int, int]]:
    sent: dict[tuple[str, int], tuple[int, int]] = {}
    for fact in run.of(GUARANTEE, "sending"):
        key = (fact.member, fact.stream)
        first, before = sent.get(key, (fact.first, fact.first - 1))
        if fact.first != before + 1:
            out.violation(fact.index, _not_next(fact.member, fact.first, before), member=fact.member)
        sent[key] = (first, max(before, fact.last))
    return sent


def _unsent(run: Run, reach: Reach, sent: dict[tuple[str, int], tuple[int, int]], out: Out) -> None:
    for (member, sender, stream), (lowest, highest, index) in reach.items():
        if sender not in run.members_by_key:
            out.lacks(f"there is no recording of {name_of(sender)}")
            continue
        known = sent.get((sender, stream))
        last = 0 if known is None else known[1]
        who = f"{name_of(member)} delivered"
        if highest > last and run.is_whole(sender):
            sentence = f"{who} up to {highest} from {name_of(sender)}, which sent only up to {last}"
            out.violation(index, sentence, sender, member)
        elif known is not None and lowest < known[0]:
            sentence = f"{who} {lowest} from {name_of(sender)}, whose first message was {known[0]}"
            out.violation(index, sentence, sender, member)


def _other_content(run: Run, out: Out) -> None:
    carried: defaultdict[tuple[str, int], list[Fact]] = defaultdict(list)
    for fact in run.of(GUARANTEE, "carried"):
        carried[fact.member, fact.stream].append(fact)
    got: defaultdict[tuple[str, str, int], list[Fact]] = defaultdict(list)
    for fact in run.of(GUARANTEE, "got"):
        got[fact.member, fact.peer, fact.stream].append(fact)
    for (member, sender, stream), facts in got.items():
        sent = carried.get((sender, stream))
        for first, last, index in differing(stretches_of(sent), stretches_of(facts)) if sent else ():
            what = f"{name_of(member)} delivered {first} to {last} from {name_of(sender)}"
            out.violation(index, f"{what} with other content than was sent", sender, member)


def _unviewed_edges(run: Run, out: Out) -> None:
    """Offsets at the border of segments: their view may stand on the other side, no message between."""
    moves = {(f.member, f.segment): f.count for f in run.of(GUARANTEE, "moves")}
    edges = run.by_member(GUARANTEE, "edge")
    for member, offsets in run.by_member(GUARANTEE, "offset").items():
        gaps = _gaps(member, moves)
        beside = {(_gap(fact, gaps), fact.text) for fact in edges.get(member, [])}
        final = max(gaps[1].values(), default=0)
        for fact in offsets:
            gap = _gap(fact, gaps)
            if (gap, fact.text) in beside or (gap == final and not run.is_whole(member)):
                continue
            out.violation(fact.index, unviewed(member, fact.peer, fact.value), member=member)


def _never_apart(run: Run, out: Out) -> None:
    """An offset is for somebody who joined or was on another side of the merge, not for one of the view before."""
    for key, offsets in run.control_by_member(Kind.OFFSET).items():
        stays = run.members_by_key[key].stays
        views = {stay.view.id: (before.view, stay.view) for before, stay in itertools.pairwise(stays) if stay.view}
        for row in offsets:
            before, view = views.get(row.view, (None, None)) if row.view else (None, None)
            if before is None or view is None or row.stream or row.peer not in before.members:
                continue
            if not view.subgroups or row.peer in view.mates_of(key):
                sentence = f"{name_of(key)} set its offset for {name_of(row.peer)} to {row.value} in view {view.id[0]}"
                out.violation(row.index, f"{sentence}; both came from view {before.id[0]}", row.peer, key)


Gaps = tuple[dict[int, int], dict[int, int]]  # messages moved before each segment, and up to its end


def _gaps(member: str, moves: dict[tuple[str, int], int]) -> Gaps:
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    total = 0
    for number in sorted(number for who, number in moves if who == member):
        before[number] = total
        total += moves[member, number]
        after[number] = total
    return before, after


def _gap(fact: Fact, gaps: Gaps) -> int:
    return gaps[0][fact.segment] if fact.first else gaps[1][fact.segment]
