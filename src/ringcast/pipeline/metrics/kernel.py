"""What is measured in one segment, as facts: counts per kind and over time, and samples of when messages moved.

    kinds      columns kind, events, messages
    slots      columns slot, delivered, sent, occupancy; `value`: a slot is 2**value ns long
    repair     likewise slot, messages sent again to `peer`
    sent       columns seqno, t_ns of multicast messages; `value`: only seqnos that 2**value divides
    delivered  likewise, of those from `peer`
    dropped    `count` messages that were not used on arrival, `text` = why

Slots begin at multiples of their width and samples are taken by seqno, so facts of segments that chose different widths
still fit: the coarser one is a part of the finer one. A segment's facts are bounded: 256 slots, 4096 samples each way.
"""

from __future__ import annotations

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out
from ringcast.pipeline.rules.packed import pack_columns
from ringcast.pipeline.rules.piece import Array, Piece

GUARANTEE = "metrics"  # the name under which these facts travel
SLOTS = 256
SAMPLES = 4096


def kernel(piece: Piece, out: Out) -> None:
    if not len(piece):
        return
    events = np.bincount(piece.kind)
    kinds = np.flatnonzero(events)
    messages = np.bincount(piece.kind, weights=piece.count).astype(np.int64)
    out.fact("kinds", data=pack_columns(kinds, events[kinds], messages[kinds]))
    group = piece.stream == 0
    sent = np.flatnonzero((piece.kind == Kind.SEND) & group)
    delivered = np.flatnonzero((piece.kind == Kind.DELIVER) & group)
    width = _width(piece.t_ns)
    _slots(piece, sent, delivered, width, out)
    _sampled("sent", piece, sent, "", out)
    for code in np.unique(piece.peer[delivered]).tolist():
        _sampled("delivered", piece, delivered[piece.peer[delivered] == code], piece.keys[code], out)
    repairs = piece.where(Kind.REPAIR)
    for code in np.unique(piece.peer[repairs]).tolist():
        mine = repairs[piece.peer[repairs] == code]
        slots, place = np.unique(piece.t_ns[mine] >> width, return_inverse=True)
        out.fact(
            "repair", peer=piece.keys[code], value=width, data=pack_columns(slots, _sums(place, piece.count[mine]))
        )
    _dropped(piece, out)


def _width(t_ns: Array) -> int:
    """The smallest power of two that needs at most SLOTS slots."""
    span = int(t_ns.max()) - int(t_ns.min())
    return max(0, (span // (SLOTS - 1)).bit_length())


def _slots(piece: Piece, sent: Array, delivered: Array, width: int, out: Out) -> None:
    if not len(sent) and not len(delivered):
        return
    slots, place = np.unique(np.r_[piece.t_ns[sent], piece.t_ns[delivered]] >> width, return_inverse=True)
    of_sent, of_delivered = place[: len(sent)], place[len(sent) :]
    occupancy = np.zeros(len(slots), dtype=np.int64)
    np.maximum.at(occupancy, of_sent, piece.value[sent])
    columns = (
        slots,
        _sums(of_delivered, piece.count[delivered], len(slots)),
        _sums(of_sent, piece.count[sent], len(slots)),
    )
    out.fact("slots", value=width, data=pack_columns(*columns, occupancy))


def _sums(places: Array, values: Array, size: int = 0) -> Array:
    sums: Array = np.bincount(places, weights=values, minlength=size).astype(np.int64)
    return sums


def _sampled(what: str, piece: Piece, at: Array, peer: str, out: Out) -> None:
    """Every so many messages: their seqnos and when they moved."""
    if not len(at):
        return
    first, last = piece.first[at], piece.last[at]
    step = max(0, (int(piece.count[at].sum()) // SAMPLES).bit_length())
    begin = (first - 1 >> step) + 1
    taken = np.maximum(0, (last >> step) - begin + 1)
    total = int(taken.sum())
    within = np.arange(total) - np.repeat(np.cumsum(taken) - taken, taken)
    seqnos = np.repeat(begin, taken) + within << step
    out.fact(what, peer=peer, value=step, data=pack_columns(seqnos, np.repeat(piece.t_ns[at], taken)))


def _dropped(piece: Piece, out: Out) -> None:
    reasons: dict[str, int] = {}
    for place in piece.where(Kind.DROP).tolist():
        reason = str(piece.detail_of(place).get("reason") or "no reason given")
        reasons[reason] = reasons.get(reason, 0) + max(1, int(piece.count[place]))
    for reason, count in sorted(reasons.items())[:SLOTS]:
        out.fact("dropped", text=reason, count=count)
