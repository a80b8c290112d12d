"""G1, FIFO.

Local half, on runs. Sort a member's DELIVER and OFFSET events by (sender, stream), keeping their order. The statement
holds for a stream iff each run begins one above the end of its predecessor (or above the offset between them): that
is one comparison of neighbours, exact, without looking at single messages. Where a neighbour does not fit, that one
stream is walked again event by event, to say what happened and to go on from where the member went on. Ordinals: the
same over all multicast runs; a sender's SEND runs: the same per stream. Joined half. What was delivered lies within
what its sender sent (both are single intervals by the above); an OFFSET has a VIEW of the same id at the same member
with no multicast message between, which is `moved` being equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import Tables, tell, without
from ringcast.pipeline.rules.member import Array, Batch, Member

GUARANTEE = "G1"
Stream = tuple[int, int]


class Local:
    """Positions in every stream that this member receives and sends, from batch to batch."""

    def __init__(self, member: Member, facts: Facts) -> None:
        self._me = member
        self._facts = facts
        self._high: dict[Stream, int] = {}
        self._lowest: dict[Stream, int] = {}
        self._last_index: dict[Stream, int] = {}
        self._sent: dict[int, tuple[int, int]] = {}
        self._next_ordinal: int | None = None

    def on_batch(self, batch: Batch) -> None:
        self._receive(batch.of(Kind.DELIVER, Kind.OFFSET))
        self._count_ordinals(batch.where((batch.kind == Kind.DELIVER) & (batch.stream == 0)))
        sends = batch.of(Kind.SEND)
        for stream in np.unique(sends.stream).tolist():
            self._send(stream, sends.where(sends.stream == stream))

    def _receive(self, runs: Batch) -> None:
        if not len(runs):
            return
        self._facts.examined(GUARANTEE, int(runs.count[runs.kind == Kind.DELIVER].sum()))
        order = np.lexsort((runs.stream, runs.peer)) if runs.stream.any() else np.argsort(runs.peer, kind="stable")
        runs = runs.where(order)
        is_offset = runs.kind == Kind.OFFSET
        end = np.where(is_offset, runs.value, runs.first + runs.count - 1)
        starts = np.flatnonzero(np.r_[True, (np.diff(runs.peer) != 0) | (np.diff(runs.stream) != 0)])
        before = np.r_[0, end[:-1]]
        streams = [(int(runs.peer[i]), int(runs.stream[i])) for i in starts]
        before[starts] = [self._high.get(stream, 0) for stream in streams]
        fits = np.where(is_offset, end >= before, runs.first == before + 1)
        bounds = np.r_[starts, len(end)]
        for stream, start, stop in zip(streams, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            part = slice(start, stop)
            if fits[part].all():
                self._high[stream] = int(end[stop - 1])
            else:
                self._walk(stream, runs, is_offset, range(start, stop))
            self._note(stream, runs, is_offset[part], start)

    def _note(self, stream: Stream, runs: Batch, is_offset: Array, start: int) -> None:
        delivered = np.flatnonzero(~is_offset)
        if len(delivered):
            self._lowest.setdefault(stream, int(runs.first[start + delivered[0]]))
            self._last_index[stream] = int(runs.index[start + delivered[-1]])

    def _walk(self, stream: Stream, runs: Batch, is_offset: Array, at: range) -> None:
        """One stream event by event: says what does not fit, and goes on from where the member went on."""
        high = self._high.get(stream, 0)
        for i in at:
            first, count = int(runs.first[i]), int(runs.count[i])
            if is_offset[i]:
                if runs.value[i] < high:
                    self._violated(stream, runs, i, f"set its offset back from {high} to {runs.value[i]} for")
                high = int(runs.value[i])
                continue
            if first != high + 1:
                what = f"{high + 1} to {first - 1} missing" if first > high else f"{first} again"
                self._violated(stream, runs, i, f"delivered {first} to {first + count - 1} after {high} ({what}) from")
            high = max(high, first + count - 1)
        self._high[stream] = high

    def _violated(self, stream: Stream, runs: Batch, i: int, did: str) -> None:
        me = self._me
        sentence = f"{me.name(me.code)} {did} {me.name(stream[0])}"
        self._facts.violation(GUARANTEE, me.code, stream[0], int(runs.index[i]), sentence)

    def _count_ordinals(self, runs: Batch) -> None:
        if not len(runs):
            return
        expected = np.r_[self._next_ordinal if self._next_ordinal is not None else runs.ordinal[0], runs.ordinal[:-1]]
        expected[1:] += runs.count[:-1]
        for i in np.flatnonzero(runs.ordinal != expected).tolist():
            sentence = f"{self._name} counted a delivery as {runs.ordinal[i]}, the next was {expected[i]}"
            self._facts.violation(GUARANTEE, self._me.code, -1, int(runs.index[i]), sentence)
        self._next_ordinal = int(runs.ordinal[-1] + runs.count[-1])

    def _send(self, stream: int, runs: Batch) -> None:
        end = runs.first + runs.count - 1
        lowest, last = self._sent.get(stream, (int(runs.first[0]), int(runs.first[0]) - 1))
        before = np.r_[last, np.maximum.accumulate(end)[:-1]]
        for i in np.flatnonzero(runs.first != before + 1).tolist():
            sentence = f"{self._name} sent {runs.first[i]} to {end[i]} after {before[i]}: not the next seqno"
            self._facts.violation(GUARANTEE, self._me.code, -1, int(runs.index[i]), sentence)
        self._sent[stream] = (lowest, max(last, int(end.max())))

    @property
    def _name(self) -> str:
        return self._me.name(self._me.code)

    def finish(self) -> None:
        me = self._me.code
        for stream, lowest in self._lowest.items():
            sender, number = stream
            run = {"first": lowest, "last": self._high[stream], "index": self._last_index[stream]}
            self._facts.add("reach", member=me, peer=sender, stream=number, **run)
        for number, (first, last) in self._sent.items():
            self._facts.add("sending", member=me, stream=number, first=first, last=last)


def joined(tables: Tables, facts: Facts) -> None:
    """Delivered beyond what was sent; offsets without their view."""
    sending = tables.fact("sending")[["member", "stream", "first", "last"]]
    sending = sending.rename(columns={"member": "peer", "first": "sent_first", "last": "sent_last"})
    reach = tables.fact("reach")[["member", "peer", "stream", "first", "last", "index"]]
    both = reach.merge(tables.traits("peer", is_whole="is_whole"), on="peer")
    both = both.merge(sending, on=["peer", "stream"], how="left")
    sent_last = both["sent_last"].fillna(0)
    unsent = both[(both["is_whole"] & (both["last"] > sent_last)) | (both["first"] < both["sent_first"])].fillna(0)
    tell(facts, GUARANTEE, unsent, lambda row: _unsent(tables, row))
    _offsets_without_view(tables, facts)


def _unsent(tables: Tables, row: Any) -> str:
    delivered = f"{tables.name(row.member)} delivered {row.first} to {row.last} from {tables.name(row.peer)}"
    return f"{delivered}, which sent {row.sent_first:.0f} to {row.sent_last:.0f}"


def _offsets_without_view(tables: Tables, facts: Facts) -> None:
    offsets = tables.control(Kind.OFFSET)
    place = ["member", "number", "number_creator", "moved"]
    orphans = without(offsets[offsets["stream"] == 0], tables.control(Kind.VIEW), place)
    orphans = orphans.merge(tables.traits("member", is_whole="is_whole"), on="member")
    # Behind the last message of a cut recording the view may just not have been written.
    last_moved = tables.all_control.groupby("member")["moved"].max().rename("last_moved")
    orphans = orphans.merge(last_moved, on="member")
    judged = orphans[orphans["is_whole"] | (orphans["moved"] < orphans["last_moved"])]
    tell(facts, GUARANTEE, judged, lambda row: f"{tables.name(row.member)} set an offset to {row.value} without a view")
