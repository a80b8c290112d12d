"""G2, bounded: no window ever holds more than `capacity` messages.

Kernel, per stream: `low` is the running maximum of PURGE, `high` the end of each SEND; their difference after a SEND is
what the window held. Before the first PURGE of a segment the low is not known: there the end of the last SEND is kept,
and the low that the SENDs themselves claim, which must be one. A receive window says with each DELIVER what it holds
and its capacity. Facts, per stretch between two views (`window`): the most held before and after the window was empty
for the first time, and how low and high stood at its end. Comparison: the capacity of the multicast is agreed with the
view; a ring is not shrunk while it holds anything, so a smaller one binds from the first moment at which the window is
empty; a receive window may have the largest capacity of the views so far; and no view agrees on more messages or bytes
than its member was configured with. Complete: a window grows only by SEND, or by
an arrival, which the next DELIVER reports.
"""

from __future__ import annotations

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out, name_of
from ringcast.pipeline.rules.packed import pack, unpack
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.pipeline.rules.run import Member, Run

GUARANTEE = "G2"
UNKNOWN = -1


def kernel(piece: Piece, out: Out) -> None:
    moves = piece.where(Kind.SEND, Kind.PURGE)
    out.examined(int((piece.kind[moves] == Kind.SEND).sum()))
    for group in groups(piece.stream[moves]):
        _send_window(piece, moves[group], out)
    held = piece.where(Kind.DELIVER, Kind.WINDOW)
    held = held[piece.other[held] > 0]
    out.examined(len(held))
    for place in held[piece.value[held] > piece.other[held]].tolist():
        sentence = f"{_receive_window(piece, place)} held {piece.value[place]}, its capacity is {piece.other[place]}"
        out.violation(piece.index(place), sentence, piece.keys[int(piece.peer[place])])
    fitting = held[piece.value[held] <= piece.other[held]]
    for group in groups(piece.stream[fitting] > 0, piece.stay[fitting]):
        at = fitting[group]
        place = at[int(piece.other[at].argmax())]
        peer = piece.keys[int(piece.peer[place])]
        out.fact(
            "receiving",
            index=piece.index(place),
            peer=peer,
            stream=int(piece.stream[place]),
            value=int(piece.other[place]),
        )


def _receive_window(piece: Piece, place: int) -> str:
    return f"{name_of(piece.member)}'s receive window for {name_of(piece.keys[int(piece.peer[place])])}"


def _send_window(piece: Piece, at: Array, out: Out) -> None:
    is_send = piece.kind[at] == Kind.SEND
    purges = np.flatnonzero(~is_send)
    head = int(purges[0]) if len(purges) else len(at)
    end = piece.last[at]
    lows = np.maximum.accumulate(np.where(is_send, UNKNOWN, piece.value[at]))
    highs = np.maximum.accumulate(np.where(is_send, end, UNKNOWN))
    held = highs - lows
    stream = int(piece.stream[at[0]])
    _claims(piece, at, is_send, head, held, out)
    is_empty = ~is_send & (highs != UNKNOWN) & (held <= 0)
    for group in groups(piece.stay[at]):
        sends, known = group[is_send[group]], group[group >= head]
        early = sends[sends < head]
        empties = known[is_empty[known]]
        first_empty = int(empties[0]) if len(empties) else len(at)
        before, after = sends[(sends >= head) & (sends < first_empty)], sends[sends > first_empty]
        last = int(group[-1])
        headless = group[(highs[group] == UNKNOWN)]
        facts = [_most(end, early), _most(held, before), _most(held, after), int(lows[last]), int(highs[last])]
        places = [
            int(at[int(part[int(figures[part].argmax())])]) if len(part) else 0
            for figures, part in ((end, early), (held, before), (held, after))
        ]
        out.fact(
            "window",
            index=piece.index(at[int(group[0])]),
            stream=stream,
            first=piece.index(0),
            count=len(empties),
            other=_most(lows, headless),
            data=pack([*facts, *places]),
        )


def _most(figures: Array, part: Array) -> int:
    return int(figures[part].max()) if len(part) else UNKNOWN


def _claims(piece: Piece, at: Array, is_send: Array, head: int, held: Array, out: Out) -> None:
    """What the member says that its window holds, against what its events say."""
    sends = np.flatnonzero(is_send)
    claimed = piece.last[at[sends]] - piece.value[at[sends]]  # the low that each SEND implies
    is_early = sends < head
    wrong = sends[~is_early][piece.value[at[sends[~is_early]]] != held[sends[~is_early]]]
    for i in wrong.tolist():
        out.violation(piece.index(at[i]), _told_wrong(piece.member, int(piece.value[at[i]]), int(held[i])))
    early = claimed[is_early]
    if len(early):
        i = int(np.flatnonzero(early != early[0])[0]) if (early != early[0]).any() else 0
        place = int(at[sends[i]])
        out.fact(
            "claim",
            index=piece.index(place),
            stream=int(piece.stream[place]),
            first=int(early[0]),
            last=int(early[i]),
            value=int(piece.first[at[sends[0]]]) - 1,
        )


def _told_wrong(member: str, said: int, held: int) -> str:
    return f"{name_of(member)}'s send window claims to hold {said}, its events say {held}"


def compare(run: Run, out: Out) -> None:
    windows, claims = run.by_member(GUARANTEE, "window"), run.by_member(GUARANTEE, "claim")
    receiving = run.by_member(GUARANTEE, "receiving")
    for member in run:
        by_segment = {(claim.segment, claim.stream): claim for claim in claims.get(member.key, [])}
        streams: dict[int, _Window] = {}
        for fact in windows.get(member.key, []):
            window = streams.get(fact.stream)
            if window is None:
                window = streams[fact.stream] = _Window(member, fact.stream, out)
            claim = by_segment.pop((fact.segment, fact.stream), None)
            if claim is not None:
                window.on_claim(claim.index, (claim.first, claim.last), claim.value)
            window.on_stretch(fact.index, fact.first, unpack(fact.data), fact.count > 0, fact.other)
        _receive_capacities(member, receiving.get(member.key, []), out)
        _agreements(member, out)


def stream_capacity(member: Member) -> int:
    return max(int(member.config.get(name) or 0) for name in ("stream_capacity", "control_capacity"))


class _Window:
    """One send window from segment to segment."""

    def __init__(self, member: Member, stream: int, out: Out) -> None:
        self.member, self.stream, self.out = member, stream, out
        self.low = self.high = UNKNOWN
        self.in_force = 0
        self.view: object = self

    def on_claim(self, index: int, lows: tuple[int, int], begin: int) -> None:
        """The lows that SENDs before the first purge of a segment imply; a window begins below its first message."""
        if self.low == UNKNOWN:
            self.low = begin
        for claimed in dict.fromkeys(lows):
            if claimed != self.low:
                sentence = f"{self.member}'s send window claims to begin above {claimed}, its events say {self.low}"
                self.out.violation(index, sentence, member=self.member.key)
                return

    def on_stretch(self, index: int, base: int, figures: list[int], has_been_empty: bool, purged: int) -> None:
        early, before, after, low, high, *places = figures
        self.low = max(self.low, purged)  # what was purged before the first SEND of the segment
        self._agree(index)
        if early != UNKNOWN:
            self._judge(early - self.low, base + places[0])
        if before != UNKNOWN:
            self._judge(before, base + places[1])
        if has_been_empty:
            self.in_force = self._agreed(index)
        if after != UNKNOWN:
            self._judge(after, base + places[2])
        self.low, self.high = max(self.low, low), max(self.high, high)

    def _agreed(self, index: int) -> int:
        if self.stream:
            return stream_capacity(self.member)
        view = self.member.stay_at(index).view
        return (view.capacity if view is not None else 0) or int(self.member.config.get("capacity") or 0)

    def _agree(self, index: int) -> None:
        agreed = self._agreed(index)
        if agreed > self.in_force or self.high <= self.low:
            self.in_force = agreed
        if not self.in_force:
            self.out.lacks(f"the capacity of a send window of {self.member}")

    def _judge(self, held: int, index: int) -> None:
        if self.in_force and held > self.in_force:
            sentence = f"{self.member}'s send window held {held}, its capacity is {self.in_force}"
            self.out.violation(index, sentence, member=self.member.key)


def _receive_capacities(member: Member, facts: list, out: Out) -> None:  # type: ignore[type-arg]
    for fact in facts:
        if fact.stream:
            allowed = stream_capacity(member)
        else:
            views = [stay.view for stay in member.stays if stay.view is not None and stay.start <= fact.index]
            agreed = max((view.capacity for view in views), default=0)
            allowed = agreed or int(member.config.get("capacity") or 0)
        if allowed and fact.value > allowed:
            sentence = f"{member}'s receive window for {name_of(fact.peer)} has capacity {fact.value}"
            out.violation(fact.index, f"{sentence}, more than the agreed {allowed}", fact.peer, member.key)


def _agreements(member: Member, out: Out) -> None:
    """The group uses the smallest window of its members."""
    own = {
        unit: int(member.config.get(name) or 0) for unit, name in (("messages", "capacity"), ("bytes", "window_bytes"))
    }
    for view in [stay.view for stay in member.stays if stay.view is not None]:
        for unit, agreed in (("messages", view.capacity), ("bytes", view.window_bytes)):
            if own[unit] and agreed > own[unit]:
                sentence = f"{member}'s view agrees on a window of {agreed} {unit}, this member was configured with"
                out.violation(view.index, f"{sentence} {own[unit]}", member=member.key)
