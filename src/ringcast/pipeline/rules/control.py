"""The kernel of control events: they are few, so each becomes a row, with its detail, and rules compare them whole.

Besides them one row for each segment: who recorded it, how many events it holds, and how it ends.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Fact, key_of
from ringcast.pipeline.rules.piece import Piece, grouped
from ringcast.pipeline.segment import Segment
from ringcast.trace import SIMULATED_CLOCK

KINDS = (
    Kind.CLOSED,
    Kind.OFFSET,
    Kind.VIEW,
    Kind.ROLL_CALL,
    Kind.SUSPEND,
    Kind.RESUME,
    Kind.SUSPECT,
    Kind.REQUESTED,
    Kind.MERGE,
    Kind.DIGEST,
    Kind.REUNION,
    Kind.STATE,
    Kind.NOTICE,
    Kind.FAULT,
    Kind.HEAL,
    Kind.WAIT_START,
    Kind.WAIT_END,
)


_encode = msgspec.msgpack.Encoder(enc_hook=repr).encode
values_in = msgspec.msgpack.decode


def segment_fact(piece: Piece, segment: Segment) -> Fact:
    """Who recorded the segment, which events it holds, and how it ends: closed, with so many lost, damaged."""
    header = {
        "group": piece.header.group,
        "clock": piece.header.clock,
        "config": dict(piece.header.config),
        "first_ns": int(piece.t_ns[0]) if len(piece) else 0,
    }
    last_ns = int(piece.t_ns.max()) if len(piece) else 0
    ran_ns = int(piece.t_ns[piece.kind != Kind.CLOSED].max(initial=0))
    return Fact(
        "",
        "segment",
        piece.member,
        piece.number,
        first=piece.first_index,
        count=len(piece),
        value=int(segment.closed),
        last=segment.lost,
        other=last_ns,
        high=ran_ns,
        text=segment.damage or "",
        data=_encode(header),
    )


def kernel(piece: Piece) -> list[Fact]:
    """Every control event as a row, and where clocks may disagree the first messages of each view."""
    places = piece.where(*KINDS)
    places = places[(piece.kind[places] != Kind.OFFSET) | (piece.stream[places] == 0)]
    return [*(_row(piece, place) for place in places.tolist()), *_first_messages(piece)]


def _first_messages(piece: Piece) -> list[Fact]:
    """When the first of a view was sent, and when the first of each sender was delivered (`Clocks`)."""
    if piece.header.clock == SIMULATED_CLOCK:
        return []
    found = []
    for what, kind in (("sent", Kind.SEND), ("delivered", Kind.DELIVER)):
        at = piece.where(kind)
        at = at[(piece.stream[at] == 0) & ((piece.peer[at] >= 0) | (kind == Kind.SEND))]
        order, starts = grouped(piece.stay[at], piece.peer[at])
        for place in at[order[starts]].tolist():
            peer = piece.keys[int(piece.peer[place])] if kind == Kind.DELIVER else ""
            found.append(
                Fact("", what, piece.member, piece.number, piece.index(place), peer, value=int(piece.t_ns[place]))
            )
    return found


def _row(piece: Piece, place: int) -> Fact:
    view = piece.view_of(place)
    data = [
        int(piece.t_ns[place]),
        int(piece.kind[place]),
        None if view is None else [view.number, key_of(view.creator)],
        *(int(column[place]) for column in (piece.first, piece.count, piece.value, piece.other)),
        piece.detail_of(place) or None,
    ]
    return Fact(
        "",
        "control",
        piece.member,
        piece.number,
        index=piece.index(place),
        peer=piece.keys[int(piece.peer[place])],
        stream=int(piece.stream[place]),
        data=_encode(data),
    )


def group_of(fact: Fact) -> str:
    """The group whose member recorded the segment that this row is about."""
    return str(values_in(fact.data)["group"])


def kind_and_detail(fact: Fact) -> tuple[Kind, Any]:
    """Of a control event."""
    values = values_in(fact.data)
    return Kind(values[1]), values[-1]
