"""G3, purged means delivered: a message leaves the send window only when each receiver has acked it or begins above it.

Kernel, per stretch in one view and per receiver: acks are a running maximum. With A what the receiver had acked before
the stretch, a purge up to p is early iff p > max(A, its acks in the stretch before the purge). A is the same for all
purges of a stretch, so the greatest p that its acks in the stretch do not cover decides (`need`): early iff need > A.
The same against what had been sent. Facts: `need` and the last ack per receiver, the last purge, and how far a member
took each stream (`taken`). Comparison: the members of the view are the receivers; who is new begins at the view's
digest or at its own OFFSET; an ack is true if its receiver took as much, judged where that recording is whole.
An ack of more than was sent is found as an early purge is. In a simulated world stamps are exact: there each ack is
compared with what its receiver had taken by then. Of both the steps travel (`data`), at most STEPS for a stream in a
segment; of more only each GRAIN-th, the acks at their last stamp and what was taken at its first, which accuses nobody
wrongly.
Complete: PURGE is the only way out of the send window, and each is weighed for each receiver.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Fact, Out, name_of
from ringcast.pipeline.rules.packed import pack_columns, unpack_columns
from ringcast.pipeline.rules.piece import Array, Piece, groups
from ringcast.pipeline.rules.run import Member, Run, Stay
from ringcast.trace import SIMULATED_CLOCK

GUARANTEE = "G3"
STEPS = 1 << 12
GRAIN = 16


def kernel(piece: Piece, out: Out) -> None:
    flow = piece.where(Kind.SEND, Kind.ACK, Kind.PURGE)
    multicast = flow[piece.stream[flow] == 0]
    for group in groups(piece.stay[multicast]):
        _stretch(piece, multicast[group], 0, out)
    others = flow[piece.stream[flow] != 0]
    for group in groups(piece.stream[others]):
        _stretch(piece, others[group], int(piece.stream[others[group[0]]]), out)
    taken = piece.where(Kind.TAKEN, Kind.OFFSET)
    ends = np.where(piece.kind[taken] == Kind.OFFSET, piece.value[taken], piece.last[taken])
    for group in groups(piece.stream[taken], piece.peer[taken]):
        place = taken[group[0]]
        peer, upto = piece.keys[int(piece.peer[place])], int(ends[group].max())
        data = _steps(piece, taken[group], ends[group], is_ack=False)
        out.fact("taken", index=piece.index(place), peer=peer, stream=int(piece.stream[place]), value=upto, data=data)


def _steps(piece: Piece, at: Array, upto: Array, *, is_ack: bool) -> bytes:
    """By when which number was reached, where stamps are exact."""
    if piece.header.clock != SIMULATED_CLOCK:
        return b""
    highest, times = np.maximum.accumulate(upto), piece.t_ns[at]
    rises = np.flatnonzero(np.append(True, np.diff(highest) > 0))
    times, highest, places = times[rises], highest[rises], at[rises] + piece.first_index
    if len(rises) > STEPS:
        heads = np.arange(0, len(rises), GRAIN)
        tails = np.minimum(heads + GRAIN, len(rises)) - 1
        if is_ack:
            times, highest, places = times[tails], highest[heads], places[tails]
        else:
            times, highest, places = times[heads], highest[tails], places[heads]
    return pack_columns(times, highest, places)


def _stretch(piece: Piece, at: Array, stream: int, out: Out) -> None:
    kind, value = piece.kind[at], piece.value[at]
    purges = np.flatnonzero(kind == Kind.PURGE)
    upto = value[purges]
    out.examined(int(piece.count[at[purges]].sum()))
    sends = np.flatnonzero(kind == Kind.SEND)
    _fact(piece, at, "sent", "", _need(sends, piece.last[at[sends]], purges, upto), purges, out, stream)
    acks = np.flatnonzero(kind == Kind.ACK)
    if len(acks):
        _fact(piece, at, "unsent", "", _need(sends, piece.last[at[sends]], acks, value[acks]), acks, out, stream)
    for group in groups(piece.peer[at[acks]]):
        mine = acks[group]
        receiver = piece.keys[int(piece.peer[at[mine[0]]])]
        found = _need(mine, value[mine], purges, upto)
        data = b"" if receiver == piece.member else _steps(piece, at[mine], value[mine], is_ack=True)
        _fact(piece, at, "acked", receiver, found, purges, out, stream, data)
    if len(purges):
        place = int(at[purges[-1]])
        peer = piece.keys[int(piece.peer[place])] if stream else ""
        out.fact("purged", index=piece.index(place), peer=peer, stream=stream, value=int(upto[-1]))


def _need(marks: Array, values: Array, purges: Array, upto: Array) -> tuple[int, int, int]:
    """The greatest purge that the marks before it do not cover, which one that is, and the highest mark."""
    highest = np.maximum.accumulate(values) if len(values) else values
    if not len(purges):
        return 0, -1, int(highest[-1]) if len(highest) else 0
    covered = np.r_[-1, highest][np.searchsorted(marks, purges)]
    needs = np.where(upto > covered, upto, 0)
    worst = int(needs.argmax())
    return int(needs[worst]), worst, int(highest[-1]) if len(highest) else 0


def _fact(
    piece: Piece,
    at: Array,
    what: str,
    peer: str,
    found: tuple[int, int, int],
    purges: Array,
    out: Out,
    stream: int,
    data: bytes = b"",
) -> None:
    need, worst, highest = found
    index = piece.index(at[purges[worst]]) if worst >= 0 and need else -1
    start = piece.index(at[0])
    out.fact(what, index=start, peer=peer, stream=stream, value=need, other=index, last=highest, data=data)


def compare(run: Run, out: Out) -> None:
    began = {(row.member, row.peer, row.view): row.value for row in _offsets(run)}
    facts: defaultdict[str, list[Fact]] = defaultdict(list)
    for what in ("unsent", "sent", "acked", "purged"):
        for fact in run.of(GUARANTEE, what):
            facts[fact.member].append(fact)
    highest: dict[tuple[str, str, int], tuple[int, int]] = {}
    for member in run:
        _Sender(run, member, began, highest, out).judge(facts.get(member.key, []))
    _false_acks(run, highest, out)
    _early_acks(run, out)


def _offsets(run: Run) -> list:  # type: ignore[type-arg]
    return [row for row in run.control(Kind.OFFSET) if row.view is not None]


class _Sender:
    """One sender's purges, stretch by stretch."""

    def __init__(self, run: Run, member: Member, began: dict, highest: dict, out: Out) -> None:  # type: ignore[type-arg]
        self.run, self.member, self.began, self.highest, self.out = run, member, began, highest, out
        self.acked: dict[str, int] = {}
        self.given: dict[str, int] = {}
        self.high: dict[int, int] = {}
        self.streams: dict[tuple[int, str], int] = {}

    def judge(self, facts: list[Fact]) -> None:
        entered = 0
        parts: defaultdict[tuple[int, int], list[Fact]] = defaultdict(list)
        stays = self.member.stays
        starts = [stay.start for stay in stays]
        numbers = np.searchsorted(starts, [fact.index for fact in facts], side="right") - 1
        for number, fact in zip(numbers.tolist(), facts, strict=True):
            parts[fact.segment, number if not fact.stream else -1].append(fact)
        for (_, number), rows in sorted(parts.items(), key=lambda item: item[0]):
            while number > entered:
                entered += 1
                self._enter(stays[entered - 1], stays[entered])
            self._judge_part(stays[number] if number >= 0 else None, stays[max(0, number - 1)], rows)

    def _enter(self, before: Stay, now: Stay) -> None:
        view = now.view
        assert view is not None
        stayed = set(before.view.members) if before.view is not None else set()
        if view.subgroups:
            stayed &= set(view.mates_of(self.member.key))  # who comes from another side begins where the view says
        self.acked = {who: upto for who, upto in self.acked.items() if who in stayed}
        kept = {who: offset for who, offset in self.given.items() if who in stayed and who in view.members}
        mine = view.digest.get(self.member.key)
        new = {} if mine is None else {who: mine[1] for who in view.members if who not in stayed}
        self.given = kept | new  # who stays keeps the offset it came with, as it keeps its acks

    def _judge_part(self, stay: Stay | None, before: Stay, rows: list[Fact]) -> None:
        acks = {fact.peer: fact for fact in rows if fact.what == "acked"}
        for fact in rows:
            if fact.what == "unsent" and fact.value > self.high.get(fact.stream, 0):
                high = self.high.get(fact.stream, 0)
                sentence = f"{self.member} was acked {fact.value}, but had sent only up to {high}"
                self.out.violation(fact.other, sentence, member=self.member.key)
            elif fact.what == "sent":
                high = self.high.get(fact.stream, 0)
                if fact.value > high:
                    sentence = f"{self.member} purged up to {fact.value}, but had sent only up to {high}"
                    self.out.violation(fact.other, sentence, member=self.member.key)
                self.high[fact.stream] = max(high, fact.last)
            elif fact.what == "purged":
                if fact.stream:
                    self._stream_purge(fact, rows)
                elif stay is None or stay.view is None:
                    self.out.lacks(f"the view in which {self.member} purged")
                else:
                    self._multicast_purge(stay, before, fact, acks)
        for fact in rows:
            if fact.what != "acked":
                continue
            key = (self.member.key, fact.peer, fact.stream)
            known = self.highest.get(key, (0, -1))
            self.highest[key] = max(known, (fact.last, fact.index))
            if fact.stream:
                stream = (fact.stream, fact.peer)
                self.streams[stream] = max(self.streams.get(stream, 0), fact.last)
            else:
                self.acked[fact.peer] = max(self.acked.get(fact.peer, 0), fact.last)

    def _multicast_purge(self, stay: Stay, before: Stay, purge: Fact, acks: dict[str, Fact]) -> None:
        view = stay.view
        assert view is not None
        for receiver in view.members:
            if receiver == self.member.key:
                continue
            fact = acks.get(receiver)
            need, index = (purge.value, purge.index) if fact is None else (fact.value, fact.other)
            known = max(self.acked.get(receiver, 0), self.given.get(receiver, 0))
            if need <= known:
                continue
            start = self.began.get((receiver, self.member.key, view.id))
            if start is not None and max(start, known) >= need:
                continue
            is_new = before.view is None or receiver not in before.view.members or bool(view.subgroups)
            if start is None and is_new and not self.run.is_whole(receiver):
                self.out.lacks(f"the offset that {name_of(receiver)} was given for {self.member} in {_text(view.id)}")
                continue
            self._blame(receiver, max(known, start or 0), need, index)

    def _stream_purge(self, purge: Fact, rows: list[Fact]) -> None:
        """A stream to one peer: nobody else acks it."""
        if not purge.peer:
            return
        known = self.streams.get((purge.stream, purge.peer), 0)
        fact = next((f for f in rows if f.what == "acked" and f.stream == purge.stream and f.peer == purge.peer), None)
        need, index = (purge.value, purge.index) if fact is None else (fact.value, fact.other)
        if need > known:
            self._blame(purge.peer, known, need, index)

    def _blame(self, receiver: str, acked: int, upto: int, index: int) -> None:
        sentence = f"{self.member} purged up to {upto}, but {name_of(receiver)} had acked only up to {acked}"
        self.out.violation(index, sentence, receiver, self.member.key)


def _text(view: tuple[int, str]) -> str:
    return f"{name_of(view[1])}|{view[0]}"


def _false_acks(run: Run, highest: dict[tuple[str, str, int], tuple[int, int]], out: Out) -> None:
    taken: dict[tuple[str, str, int], int] = {}
    for fact in run.of(GUARANTEE, "taken"):
        key = (fact.member, fact.peer, fact.stream)
        taken[key] = max(taken.get(key, 0), fact.value)
    for (sender, receiver, stream), (upto, _) in highest.items():
        reached = taken.get((receiver, sender, stream), 0)
        if receiver != sender and run.is_whole(receiver) and reached < upto:
            sentence = f"{name_of(receiver)} acked {upto} to {name_of(sender)}, but had taken only up to {reached}"
            index = run.members_by_key[receiver].events - 1
            out.violation(index, sentence, sender, receiver)


def _early_acks(run: Run, out: Out) -> None:
    """By the exact stamps of a simulated world: the first ack of a stream that its receiver had not yet taken."""
    steps = {what: _by_stream(run, what) for what in ("taken", "acked")}
    for (sender, receiver, stream), acks in steps["acked"].items():
        taken = steps["taken"].get((receiver, sender, stream))
        if taken is None or not run.is_whole(receiver):
            continue
        highest = np.append(0, np.maximum.accumulate(taken[1]))
        reached = highest[np.searchsorted(taken[0], acks[0], side="right")]
        for i in np.flatnonzero((reached < acks[1]) & (acks[1] <= highest[-1]))[:1].tolist():
            words = f"{name_of(receiver)} had acked {acks[1][i]} to {name_of(sender)}"
            sentence = f"{words} when it had taken only up to {reached[i]}"
            out.violation(int(acks[2][i]), sentence, receiver, sender)


def _by_stream(run: Run, what: str) -> dict[tuple[str, str, int], list[Array]]:
    found: defaultdict[tuple[str, str, int], list[list[Array]]] = defaultdict(list)
    for fact in run.of(GUARANTEE, what):
        if fact.data:
            found[fact.member, fact.peer, fact.stream].append(unpack_columns(fact.data, 3))
    return {key: [np.concatenate(columns) for columns in zip(*parts, strict=True)] for key, parts in found.items()}
