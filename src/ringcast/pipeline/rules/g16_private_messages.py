"""G16, private messages: each reaches its destination, or its sender is told which ones did not; none is made up.

When a view removes a destination that had not acked everything, an UNDELIVERED names the rest before the next view; a
stream is given up for no other reason, and one that begins anew while its destination stays carries everything that
was not acked. Nothing is delivered that was not sent to that destination.

Kernel: the sends to a destination and the acks of that stream, in parts that end with a view, an UNDELIVERED of that
destination or another stream; of each part how many messages its first send has (`count`), how high it sent (`last`),
and the acks: the highest (`value`), and the highest that was sent in the part before it came (`other`). With H the
unknown height at the beginning, a stream is acked up to max(min(value, H), other), because an ack counts for no more
than was sent; so parts are joined exactly. Besides them what was sent and delivered, as maximal runs per stream, and
each UNDELIVERED.
Comparison: per member a fold over its parts, views and UNDELIVERED in the order of its recording; and what was
delivered lies inside what its sender sent to that member on that stream. Sound and complete: the fold is that of single
events, of which the parts lose nothing. What a sender with a cut recording did last is unknown; one
that crashed in the moment of the view had no time to say anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ringcast.checkers import run_text
from ringcast.model import STREAMS_PER_EPOCH, Kind
from ringcast.pipeline.rules.fact import Fact, Out, name_of
from ringcast.pipeline.rules.g05_agreed_cut import Runs, merged
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.pipeline.rules.run import Installed, Member, Run

GUARANTEE = "G16"
PRIVATE = 1  # the channel of private messages in a stream's number
PART, SENT, GOT, UNDELIVERED = "part", "private sent", "private got", "undelivered"


def kernel(piece: Piece, out: Out) -> None:
    for what, kind in ((SENT, Kind.SEND), (GOT, Kind.DELIVER)):
        at = _private(piece, kind)
        for group in groups(piece.stream[at], piece.peer[at]):
            _runs(piece, at[group], what, out)
        if kind is Kind.SEND:
            out.examined(int(piece.count[at].sum()))
    given_up = piece.where(Kind.UNDELIVERED)
    nameless = int((piece.peer[given_up] < 0).sum())
    if nameless:
        out.lacks(f"{nameless} UNDELIVERED events of {name_of(piece.member)} lack a destination")
    given_up = given_up[piece.peer[given_up] >= 0]
    for place in given_up.tolist():
        run = {name: int(getattr(piece, name)[place]) for name in ("stream", "first", "count")}
        out.fact(UNDELIVERED, index=piece.index(place), peer=piece.keys[int(piece.peer[place])], **run)
    moves = np.sort(np.concatenate([_private(piece, Kind.SEND), _private(piece, Kind.ACK)]))
    for group in groups(piece.peer[moves]):
        at = moves[group]
        ends = given_up[piece.peer[given_up] == piece.peer[at[0]]]
        for part in _parts(piece, at, ends):
            _part(piece, part, out)


def _private(piece: Piece, kind: Kind) -> Array:
    at = piece.where(kind)
    found: Array = at[(piece.stream[at] % STREAMS_PER_EPOCH == PRIVATE) & (piece.peer[at] >= 0)]
    return found


def _runs(piece: Piece, at: Array, what: str, out: Out) -> None:
    first, last = piece.first[at], piece.last[at]
    breaks = np.flatnonzero(first[1:] != last[:-1] + 1)
    peer, stream, index = piece.keys[int(piece.peer[at[0]])], int(piece.stream[at[0]]), piece.index(at[0])
    lows, highs = first[np.append(0, breaks + 1)], last[np.append(breaks, len(last) - 1)]
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        out.fact(what, index=index, peer=peer, stream=stream, first=low, last=high)


def _parts(piece: Piece, at: Array, ends: Array) -> Iterator[Array]:
    """What was sent to one destination and acked by it: one stream each, without a view or an UNDELIVERED inside.

    Acks of a stream that is no longer the last one count for nothing; before the first send of the segment it is not
    known which is the last one, so there each stream has a part of its own.
    """
    is_send = piece.kind[at] == Kind.SEND
    latest = np.maximum.accumulate(np.where(is_send, np.arange(len(at)), -1))
    stream = np.where(latest < 0, piece.stream[at], piece.stream[at][latest])
    changes = np.where(latest < 0, 0, np.cumsum(np.append(True, stream[1:] != stream[:-1])))
    kept = piece.stream[at] == stream
    at, stream, changes = at[kept], stream[kept], changes[kept]
    for group in groups(stream, changes, np.searchsorted(ends, at), piece.stay[at]):
        yield at[group]


def _part(piece: Piece, at: Array, out: Out) -> None:
    is_send = piece.kind[at] == Kind.SEND
    sends, acks = at[is_send], piece.value[at[~is_send]]
    sent = np.maximum.accumulate(np.where(is_send, piece.last[at], 0))
    out.fact(
        PART,
        index=piece.index(sends[0] if len(sends) else at[0]),
        peer=piece.keys[int(piece.peer[at[0]])],
        stream=int(piece.stream[at[0]]),
        count=int(piece.count[sends[0]]) if len(sends) else 0,
        last=int(sent[-1]),
        value=int(acks.max(initial=0)),
        other=int(np.minimum(acks, sent[~is_send]).max(initial=0)),
    )


@dataclass(slots=True)
class _Stream:
    """From a sender to one destination."""

    number: int
    index: int
    high: int = 0
    acked: int = 0

    @property
    def rest(self) -> tuple[int, int]:
        """First and count of what was not acked."""
        return self.acked + 1, self.high - self.acked

    def add(self, part: Fact) -> None:
        self.acked = max(self.acked, min(part.value, self.high), part.other)
        self.high = max(self.high, part.last)


@dataclass(slots=True)
class _Sender:
    key: str
    out: Out
    view: Installed | None = None
    to: dict[str, _Stream] = field(default_factory=dict)
    owed: dict[str, _Stream] = field(default_factory=dict)  # destinations that left and were not named yet

    def install(self, view: Installed) -> None:
        self.blame_owed()
        for gone in self.view.members if self.view is not None else ():
            stream = self.to.pop(gone, None) if gone not in view.members else None
            if stream is not None and stream.rest[1]:
                self.owed[gone] = stream
        self.view = view

    def move(self, part: Fact) -> None:
        stream = self.to.get(part.peer)
        if part.count and (stream is None or stream.number != part.stream):
            if stream is not None and stream.rest[1] > part.count:
                self._silent(part.peer, stream, "began another stream", part.index)
            stream = self.to[part.peer] = _Stream(part.stream, part.index)
        if stream is not None and stream.number == part.stream:
            stream.add(part)

    def give_up(self, fact: Fact) -> None:
        who, peer, named = name_of(self.key), name_of(fact.peer), run_text(fact.first, fact.count)
        if self.view is not None and fact.peer in self.view.members:
            sentence = f"{who} gave up {named} to {peer}, which is a member of its view"
            self.out.violation(fact.index, sentence, fact.peer, self.key)
        stream = self.owed.pop(fact.peer, None) or self.to.pop(fact.peer, None)
        if stream is not None and (stream.number, *stream.rest) != (fact.stream, fact.first, fact.count):
            sentence = f"{peer} left, and to {who} {named} were named, {run_text(*stream.rest)} were not acked"
            self.out.violation(fact.index, sentence, fact.peer, self.key)

    def blame_owed(self) -> None:
        for gone, stream in self.owed.items():
            self._silent(gone, stream, "said nothing when it left", stream.index)
        self.owed.clear()

    def _silent(self, peer: str, stream: _Stream, how: str, index: int) -> None:
        what = f"{run_text(*stream.rest)} of the private messages of {name_of(self.key)}, which {how}"
        self.out.violation(index, f"{name_of(peer)} had not acked {what}", peer, self.key)


def compare(run: Run, out: Out) -> None:
    parts, ends = run.by_member(GUARANTEE, PART), run.by_member(GUARANTEE, UNDELIVERED)
    for member in run:
        facts = [*parts.get(member.key, []), *ends.get(member.key, [])]
        if facts:
            _fold(member, facts, out)
    _unsent(run, out)


def _fold(member: Member, facts: list[Fact], out: Out) -> None:
    sender = _Sender(member.key, out)
    moves: list[tuple[int, Fact | Installed]] = [(fact.index, fact) for fact in facts]
    moves += [(stay.view.index, stay.view) for stay in member.stays if stay.view is not None]
    for _, move in sorted(moves, key=lambda one: one[0]):
        if isinstance(move, Installed):
            sender.install(move)
        elif move.what == PART:
            sender.move(move)
        else:
            sender.give_up(move)
    if member.is_whole and not _died_with_view(member):
        sender.blame_owed()


def _died_with_view(member: Member) -> bool:
    """It had no time to say anything."""
    view = member.stays[-1].view
    return member.how == "crashed" and view is not None and view.t_ns == member.last_ns


def _unsent(run: Run, out: Out) -> None:
    sent: defaultdict[tuple[str, str, int], Runs] = defaultdict(list)
    got: defaultdict[tuple[str, str, int], Runs] = defaultdict(list)
    indexes: dict[tuple[str, str, int], int] = {}
    for fact in run.of(GUARANTEE, SENT):
        sent[fact.member, fact.peer, fact.stream].append((fact.first, fact.last))
    for fact in run.of(GUARANTEE, GOT):
        got[fact.peer, fact.member, fact.stream].append((fact.first, fact.last))
        indexes.setdefault((fact.peer, fact.member, fact.stream), fact.index)
    for key, runs in got.items():
        sender, member, _ = key
        if sender not in run.members_by_key:
            out.lacks(f"there is no recording of {name_of(sender)}")
            continue
        there = merged(sent[key])
        for first, last in merged(runs):
            missing = _first_missing(there, first, last)
            if missing is not None and (run.is_whole(sender) or (there and missing < there[-1][1])):
                what = f"{missing} of a stream of {name_of(sender)} that {name_of(sender)} never sent to it"
                out.violation(indexes[key], f"{name_of(member)} delivered {what}", sender, member)


def _first_missing(runs: Runs, first: int, last: int) -> int | None:
    """The smallest number of this run that lies in none of these, which are sorted and maximal."""
    for low, high in runs:
        if low <= first <= high:
            first = high + 1
    return first if first <= last else None
