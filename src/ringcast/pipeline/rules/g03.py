"""G3, purged means delivered.

Local half, on runs, view by view. For each receiver of the view the running maximum of its ACKs at the place of each
PURGE must reach what is purged; that is one search per receiver and view. A PURGE that lacks an ack is not yet a
violation: the receiver may be new and begin above it. Joined half: it does, if the receiver's own OFFSET for this
view says so; and an ack is true if its receiver took as much (TAKEN, or an OFFSET), judged where that recording is
whole. Complete: PURGE is the only way out of the send window, and each is looked at for each receiver.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.joined import ITS_OWN_ID, VIEW_ID, Tables, tell
from ringcast.pipeline.rules.member import Array, Batch, Installed, Member, View

GUARANTEE = "G3"
Stream = tuple[int, int]


class Local:
    """Acks and purges of one sender; and, as a receiver, how far it has taken each stream."""

    def __init__(self, member: Member, facts: Facts) -> None:
        self._me = member
        self._facts = facts
        self._views = {view.view: view for view in member.installed}
        self._before = {
            after.view: before for before, after in zip(member.installed, member.installed[1:], strict=False)
        }
        self._current: View | None = None
        self._acked: dict[int, int] = {}  # in the multicast, by receiver, as far as it counts in this view
        self._given: dict[int, int] = {}
        self._stream_acked: dict[Stream, int] = {}
        self._highest: dict[Stream, int] = {}
        self._taken: dict[Stream, int] = {}
        self._high: dict[int, int] = {}

    def on_batch(self, batch: Batch) -> None:
        self._note_taken(batch.of(Kind.TAKEN, Kind.OFFSET))
        flow = batch.of(Kind.SEND, Kind.ACK, Kind.PURGE)
        multicast = flow.where(flow.stream == 0)
        change = (np.diff(multicast.epoch) != 0) | (np.diff(multicast.creator) != 0)
        cuts = np.r_[0, np.flatnonzero(change) + 1, len(multicast)]
        for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if start < stop:
                self._in_view(multicast.between(start, stop))
        streams = flow.where(flow.stream != 0)
        for stream in np.unique(streams.stream).tolist():
            self._other_stream(stream, streams.where(streams.stream == stream))

    def _note_taken(self, events: Batch) -> None:
        end = np.where(events.kind == Kind.OFFSET, events.value, events.first + events.count - 1)
        for (sender, stream), upto in _highest_by(events.peer, events.stream, end):
            self._taken[sender, stream] = max(self._taken.get((sender, stream), 0), upto)

    def _in_view(self, events: Batch) -> None:
        view = (int(events.epoch[0]), int(events.creator[0]))
        if view != self._current:
            self._enter(view)
        acks, purges = events.of(Kind.ACK), events.of(Kind.PURGE)
        self._check_sent(events)
        installed = self._views.get(view)
        if installed is None and len(purges):
            self._facts.lacks(GUARANTEE, f"the view in which {self._me.name(self._me.code)} purged")
        elif installed is not None:
            self._facts.examined(GUARANTEE, int(purges.count.sum()))
            self._check_receivers(installed, acks, purges)
        for (receiver, _), upto in _highest_by(acks.peer, acks.stream, acks.value):
            self._highest[receiver, 0] = max(self._highest.get((receiver, 0), 0), upto)
            self._acked[receiver] = max(self._acked.get(receiver, 0), upto)

    def _enter(self, view: View) -> None:
        installed, before = self._views.get(view), self._before.get(view)
        stayed = set(before.members) if before else set()
        if installed is not None and installed.is_merge:
            stayed &= set(installed.mates)  # who comes from another side begins where the view says
        self._acked = {receiver: upto for receiver, upto in self._acked.items() if receiver in stayed}
        kept = {receiver: offset for receiver, offset in self._given.items() if receiver in stayed}
        new = [m for m in installed.members if m not in stayed] if installed else []
        given = dict.fromkeys(new, installed.offset) if installed and installed.offset >= 0 else {}
        self._given = kept | given  # who stays keeps the offset it came with, as it keeps its acks
        self._current = view

    def _check_receivers(self, installed: Installed, acks: Batch, purges: Batch) -> None:
        """What each receiver had acked at each purge: one search in all acks, sorted by (receiver, place)."""
        receivers = np.array(sorted(m for m in installed.members if m != self._me.code), dtype=np.int64)
        if not len(purges) or not len(receivers):
            return
        acked = _acked_at(receivers, acks, purges)
        start = [max(self._acked.get(int(r), 0), self._given.get(int(r), 0)) for r in receivers]
        acked = np.maximum(acked, np.array(start, dtype=np.int64)[:, None])
        before = self._before.get(installed.view)
        for at, i in np.argwhere(acked < purges.value).tolist():
            receiver = int(receivers[at])
            is_new = before is None or receiver not in before.members or installed.is_merge
            self._note_early(installed.view, receiver, int(acked[at, i]), purges, i, is_new)

    def _note_early(self, view: View, receiver: int, acked: int, purges: Batch, i: int, is_new: bool) -> None:
        where = {"epoch": view[0], "creator": view[1], "index": int(purges.index[i])}
        upto = int(purges.value[i])
        numbers = {"first": acked, "last": int(is_new), "value": upto}
        me, them = self._me.name(self._me.code), self._me.name(receiver)
        sentence = f"{me} purged up to {upto}, but {them} had acked only up to {acked}"
        self._facts.add("early", member=self._me.code, peer=receiver, sentence=sentence, **where, **numbers)

    def _check_sent(self, events: Batch) -> None:
        stream = int(events.stream[0])
        high = self._high.get(stream, 0)
        is_send = events.kind == Kind.SEND
        ends = np.where(is_send, events.first + events.count - 1, high)
        highs: Array = np.maximum(high, np.maximum.accumulate(ends))
        for i in np.flatnonzero((events.kind == Kind.PURGE) & (events.value > highs)).tolist():
            name = self._me.name(self._me.code)
            sentence = f"{name} purged up to {events.value[i]}, but had sent only up to {highs[i]}"
            self._facts.violation(GUARANTEE, self._me.code, -1, int(events.index[i]), sentence)
        self._high[stream] = int(highs[-1])

    def _other_stream(self, stream: int, events: Batch) -> None:
        """A stream to one peer: nobody else acks it, so one running maximum is enough."""
        self._check_sent(events)
        purges = (events.kind == Kind.PURGE) & (events.peer >= 0)
        if not len(events):
            return
        peer = int(events.peer[0])
        start = self._stream_acked.get((peer, stream), 0)
        acked = np.maximum(start, np.maximum.accumulate(np.where(events.kind == Kind.ACK, events.value, start)))
        self._facts.examined(GUARANTEE, int(events.count[purges].sum()))
        for i in np.flatnonzero(purges & (acked < events.value)).tolist():
            me, them = self._me.name(self._me.code), self._me.name(peer)
            sentence = f"{me} purged up to {events.value[i]}, but {them} had acked only up to {acked[i]}"
            self._facts.violation(GUARANTEE, self._me.code, peer, int(events.index[i]), sentence)
        self._stream_acked[peer, stream] = self._highest[peer, stream] = int(acked[-1])

    def finish(self) -> None:
        me = self._me.code
        for (peer, stream), upto in self._highest.items():
            self._facts.add("acked", member=me, peer=peer, stream=stream, value=upto)
        for (peer, stream), upto in self._taken.items():
            self._facts.add("taken", member=me, peer=peer, stream=stream, value=upto)


def _acked_at(receivers: Array, acks: Batch, purges: Batch) -> Array:
    """[receiver][purge]: the highest ack of this receiver that stands before this purge, -1 if there is none."""
    rank = np.searchsorted(receivers, acks.peer)
    known = np.flatnonzero(receivers[np.minimum(rank, len(receivers) - 1)] == acks.peer)
    ranks = np.arange(len(receivers), dtype=np.int64)[:, None]
    if not len(known):
        return np.full((len(receivers), len(purges)), -1, dtype=np.int64)
    base = int(min(acks.index[0], purges.index[0]))
    places = int(max(acks.index[-1], purges.index[-1])) - base + 1
    key = rank[known] * places + acks.index[known] - base
    order = np.argsort(key, kind="stable")
    key, rank, value = key[order], rank[known][order], acks.value[known][order]
    # A running maximum that begins anew with each receiver: later receivers are lifted above all earlier ones.
    lift = rank * (int(value.max()) + 1)
    highest = np.maximum.accumulate(value + lift) - lift
    at = np.searchsorted(key, ranks * places + (purges.index - base)) - 1
    found: Array = np.where((at >= 0) & (rank[at] == ranks), highest[at], -1)
    return found


def _highest_by(peers: Array, streams: Array, values: Array) -> list[tuple[Stream, int]]:
    """The highest value of each (peer, stream)."""
    if not len(peers):
        return []
    order = np.lexsort((values, streams, peers))
    peers, streams, values = peers[order], streams[order], values[order]
    last = np.r_[(np.diff(peers) != 0) | (np.diff(streams) != 0), True]
    pairs = zip(peers[last].tolist(), streams[last].tolist(), strict=True)
    return list(zip(pairs, values[last].tolist(), strict=True))


def joined(tables: Tables, facts: Facts) -> None:
    """Purges without an ack that no offset excuses; acks that their receiver did not keep."""
    offsets = tables.control(Kind.OFFSET)
    began = offsets[offsets["stream"] == 0][["member", "peer", "number", "number_creator", "value"]]
    began = began.rename(columns={"member": "peer", "peer": "member", "value": "began", **ITS_OWN_ID})
    began = began.groupby(["member", "peer", *VIEW_ID], as_index=False)["began"].max()
    early = tables.fact("early").merge(began, on=["member", "peer", *VIEW_ID], how="left")
    early = early.merge(tables.traits("peer", is_whole="peer_is_whole"), on="peer", how="left")
    early = early[early["began"].fillna(-1) < early["value"]]
    is_whole = early["peer_is_whole"].eq(True)
    is_unknown = early["began"].isna() & (early["last"] == 1) & ~is_whole
    tell(facts, GUARANTEE, early[~is_unknown], lambda row: str(row.sentence))
    if is_unknown.any():
        facts.lacks(GUARANTEE, "the offset of a new receiver")
    _false_acks(tables, facts)


def _false_acks(tables: Tables, facts: Facts) -> None:
    taken = tables.fact("taken")[["member", "peer", "stream", "value"]]
    taken = taken.rename(columns={"member": "peer", "peer": "member", "value": "taken"})
    acked = tables.fact("acked")[["member", "peer", "stream", "value", "index"]]
    acked = acked[acked["peer"] != acked["member"]].merge(tables.traits("peer", is_whole="is_whole"), on="peer")
    acked = acked[acked["is_whole"]].merge(taken, on=["member", "peer", "stream"], how="left").fillna({"taken": 0})
    false = acked[acked["taken"] < acked["value"]].assign(index=0)
    tell(facts, GUARANTEE, false, lambda row: _false_ack(tables, row))


def _false_ack(tables: Tables, row: Any) -> str:
    who = f"{tables.name(row.peer)} acked {row.value} to {tables.name(row.member)}"
    return f"{who}, but had taken only up to {row.taken:.0f}"
