"""G13, causality by messages: what judges members on different clocks, whose times say nothing about each other.

A message carries what its sender knew: if x had been dequeued or its queueing was finished at a member before it sent a
message of the group or a private one, and another member delivered that before it began to queue y, then x was finished
before y was started, and y has the greater seq. Also through several messages, from member to member.

No kernel: only where a company has members on different clocks, their stays are read again as *trails*, the events
SEND, DELIVER, QUEUE_START, QUEUE_FINISH and DEQUEUE in their own order. Runs that follow each other on one stream are
one row: of what is sent without learning anything in between the first number stands for all, of what is delivered
the last. Comparison: what each member knows is a running maximum over what it dequeued or finished, and over what the
messages carried that it delivered; carried is what the sender knew. These equations are solved by repetition from below
(knowledge only grows, so it ends). Sound: each step follows the order of one recording, or a message from its sending
to its delivery. Complete for what is recorded: the least solution holds every chain of messages. Memory: at most TRAIL
rows of six numbers for a company (50 MB); longer ones are not judged by messages, and G13 says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from ringcast.model import STREAMS_PER_EPOCH, Kind
from ringcast.pipeline.rules.fact import Fact, Out, Wanted, name_of
from ringcast.pipeline.rules.g12_one_order import where
from ringcast.pipeline.rules.packed import pack_columns, unpack_columns
from ringcast.pipeline.rules.piece import Array, Piece
from ringcast.pipeline.rules.run import Run, Stay

GUARANTEE = "G13"
MESSAGES = "messages"  # in what is wanted: a trail
TRAIL = 1 << 20
PRIVATE = 1  # the channel of private messages in a stream's number
KINDS = (Kind.SEND, Kind.DELIVER, Kind.QUEUE_START, Kind.QUEUE_FINISH, Kind.DEQUEUE)


def compare(run: Run, out: Out) -> None:
    for stays in run.companies.values():
        clocks = {run.members_by_key[stay.member].clock for stay in stays}
        if len(clocks) > 1 and stays[0].view is not None and _has_order(run, stays):
            out.want(Wanted(GUARANTEE, stay.member, stay.start, stay.end, what=MESSAGES) for stay in stays)


def _has_order(run: Run, stays: list[Stay]) -> bool:
    """Did anybody of them begin to queue?"""
    starts = {(stay.member, stay.start) for stay in stays}
    facts = [*run.of(GUARANTEE, "started"), *run.of(GUARANTEE, "begun")]
    return any((f.member, run.members_by_key[f.member].stay_at(f.index).start) in starts for f in facts)


def read_again(piece: Piece, wanted: Iterable[Wanted], out: Out) -> None:
    places = [want for want in wanted if want.what == MESSAGES]
    if not places:
        return
    at = piece.where(*KINDS)
    moves = np.isin(piece.kind[at], [int(Kind.SEND), int(Kind.DELIVER)])
    is_read = (piece.stream[at] == 0) | (piece.stream[at] % STREAMS_PER_EPOCH == PRIVATE)
    at = at[~moves | is_read]
    index = at + piece.first_index
    for want in places:
        mine = at[(index >= want.first_index) & (index < want.end_index)]
        if len(mine):
            columns = _trail(piece, mine)
            text = "\n".join(piece.keys[:-1])
            out.fact("trail", index=piece.index(mine[0]), count=len(columns[0]), text=text, data=pack_columns(*columns))


def _trail(piece: Piece, at: Array) -> tuple[Array, ...]:
    """Kind, sender, stream, number, seq, place; of neighbours on one stream only one."""
    kind, stream = piece.kind[at].astype(np.int64), piece.stream[at].astype(np.int64)
    peer = np.where(kind == Kind.DELIVER, piece.peer[at], -1)  # who sends is the member itself
    same = (kind[1:] == kind[:-1]) & (peer[1:] == peer[:-1]) & (stream[1:] == stream[:-1])
    goes_on = np.r_[False, same & (kind[1:] == Kind.SEND)]
    is_followed = np.r_[same & (kind[1:] == Kind.DELIVER), False]
    kept = ~goes_on & ~is_followed
    number = np.where(kind == Kind.DELIVER, piece.last[at], piece.first[at])
    columns = (kind, peer, stream, number, piece.value[at], at + piece.first_index)
    return tuple(column[kept] for column in columns)


def compare_again(run: Run, out: Out) -> None:
    companies: defaultdict[object, dict[tuple[str, int], list[Fact]]] = defaultdict(dict)
    for fact in run.of(GUARANTEE, "trail"):
        stay = run.members_by_key[fact.member].stay_at(fact.index)
        if stay.company is not None:
            companies[stay.company].setdefault((fact.member, stay.start), []).append(fact)
    for by_stay in companies.values():
        if sum(fact.count for facts in by_stay.values() for fact in facts) > TRAIL:
            out.lacks("a view is too long to be judged by the messages between members on different clocks")
            continue
        trails = [_Trail(run.members_by_key[m].stay_at(start), facts) for (m, start), facts in by_stay.items()]
        _learn(trails)
        for trail in trails:
            trail.blame(out)


Stream = tuple[str, int]  # who sends, and the number of its stream


class _Trail:
    """One stay: what it did, and what it knew after each step."""

    def __init__(self, stay: Stay, facts: list[Fact]) -> None:
        self.stay = stay
        self.streams: dict[Stream, int] = {}
        parts = [self._read(fact) for fact in facts]
        self.kind, self.stream, self.number, self.seq, self.index = np.concatenate(parts, axis=1)
        knows = (self.kind == Kind.DEQUEUE) | (self.kind == Kind.QUEUE_FINISH)
        self.told = np.where(knows, self.seq, -1)
        self.own = self.known = np.maximum.accumulate(self.told)
        self.delivered = {key: np.flatnonzero(self._on(key, Kind.DELIVER)) for key in self.streams}
        self.sent = {key: np.flatnonzero(self._on(key, Kind.SEND)) for key in self.streams}

    def _read(self, fact: Fact) -> Array:
        keys = fact.text.split("\n")
        kind, peer, stream, number, seq, index = unpack_columns(fact.data, 6)
        code = np.full(len(kind), -1)
        moves = np.flatnonzero((kind == Kind.SEND) | (kind == Kind.DELIVER))
        pairs = zip(peer[moves].tolist(), stream[moves].tolist(), strict=True)
        names = [(keys[who] if who >= 0 else self.stay.member, line) for who, line in pairs]
        code[moves] = [self.streams.setdefault(name, len(self.streams)) for name in names]
        read: Array = np.stack([kind, code, number, seq, index])
        return read

    def _on(self, key: Stream, kind: Kind) -> Array:
        found: Array = (self.kind == kind) & (self.stream == self.streams[key])
        return found

    def carried(self, key: Stream, numbers: Array) -> Array:
        """What this member knew when it sent these of its stream, at most."""
        at = self.sent.get(key)
        if at is None or not len(at):
            return np.full(len(numbers), -1)
        place = np.searchsorted(self.number[at], numbers, side="right") - 1
        found: Array = np.where(place >= 0, self.known[at[place]], -1)
        return found

    def learn(self, senders: dict[str, _Trail]) -> bool:
        """What the messages bring; was anything new?"""
        heard = self.told.copy()
        for key, at in self.delivered.items():
            if len(at) and key[0] in senders and key[0] != self.stay.member:
                heard[at] = senders[key[0]].carried(key, self.number[at])
        known = np.maximum.accumulate(heard)
        is_new = bool((known > self.known).any())
        self.known = known
        return is_new

    def blame(self, out: Out) -> None:
        """The first start whose seq is not above what messages had brought; its own knowledge is judged elsewhere."""
        finished = np.flatnonzero(self.kind == Kind.QUEUE_FINISH)
        seqs = dict(zip(self.number[finished].tolist(), self.seq[finished].tolist(), strict=True))
        for i in np.flatnonzero(self.kind == Kind.QUEUE_START).tolist():
            seq, before = seqs.get(int(self.number[i])), int(self.known[i])
            if seq is not None and before >= seq > int(self.own[i]):
                who = name_of(self.stay.member)
                what = f"{who} began to queue its {self.number[i]} with a message of one who had seq {before}"
                out.violation(
                    self.index[i], f"{where(self.stay)} {what}, yet it got seq {seq}", member=self.stay.member
                )
                return


def _learn(trails: list[_Trail]) -> None:
    senders = {trail.stay.member: trail for trail in trails}
    while any(trail.learn(senders) for trail in trails):
        pass
