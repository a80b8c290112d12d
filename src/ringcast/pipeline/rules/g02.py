"""G2, bounded.

Local half, on runs. Per stream, `low` is the running maximum of PURGE and `high` that of SEND; their difference after
each SEND is what the window held: it must fit the capacity and equal what the member claims. A receive window says
with each DELIVER what it holds and its capacity. The capacity of the multicast is agreed with the view; a ring is not
shrunk while it holds anything, so a smaller agreement binds from the first moment at which the window is empty: where
agreements differ, the capacities in force are found by one walk over the events. Complete, because a window only
grows by SEND (or by an arrival, reported at the next DELIVER).
"""

from __future__ import annotations

import numpy as np

from ringcast.model import Kind
from ringcast.pipeline.rules.facts import Facts
from ringcast.pipeline.rules.member import Array, Batch, Member

GUARANTEE = "G2"


class Local:
    """The send windows of one member, recomputed."""

    def __init__(self, member: Member, facts: Facts) -> None:
        self._me = member
        self._facts = facts
        self._bounds: dict[int, tuple[int, int]] = {}  # stream -> low, high
        agreed = {view.view: view.capacity or member.capacity for view in member.installed}
        self._agreed = agreed
        self._is_constant = len(set(agreed.values()) | {member.capacity}) == 1
        self._largest = max([member.capacity, *agreed.values()])
        self._in_force = member.capacity

    def on_batch(self, batch: Batch) -> None:
        moves = batch.of(Kind.SEND, Kind.PURGE)
        for stream in np.unique(moves.stream).tolist():
            self._send_window(stream, moves.where(moves.stream == stream))
        self._receive_windows(batch.where(np.isin(batch.kind, (Kind.DELIVER, Kind.WINDOW)) & (batch.other > 0)))

    def _send_window(self, stream: int, moves: Batch) -> None:
        is_send = moves.kind == Kind.SEND
        first = int(moves.first[0]) - 1
        low, high = self._bounds.get(stream, (first, first))
        lows = np.maximum(low, np.maximum.accumulate(np.where(is_send, low, moves.value)))
        highs = np.maximum(high, np.maximum.accumulate(np.where(is_send, moves.first + moves.count - 1, high)))
        held = highs - lows
        self._bounds[stream] = (int(lows[-1]), int(highs[-1]))
        capacity = self._capacities(stream, moves, held)
        self._facts.examined(GUARANTEE, int(is_send.sum()))
        for i in np.flatnonzero(is_send & (held > capacity)).tolist():
            self._violated(moves, i, f"held {held[i]} in a send window of capacity {capacity[i]}")
        for i in np.flatnonzero(is_send & (held <= capacity) & (held != moves.value)).tolist():
            self._violated(moves, i, f"claims to hold {moves.value[i]} in its send window, its events say {held[i]}")
        if not capacity.all():
            self._facts.lacks(GUARANTEE, f"the capacity of a send window of {self._me.name(self._me.code)}")

    def _capacities(self, stream: int, moves: Batch, held: Array) -> Array:
        if stream:
            return np.full(len(held), self._me.stream_capacity)
        if self._is_constant:
            return np.full(len(held), self._me.capacity)
        capacities = np.empty(len(held), dtype=np.int64)
        rows = zip(moves.epoch.tolist(), moves.creator.tolist(), moves.kind.tolist(), held.tolist(), strict=True)
        before = 0
        for i, (epoch, creator, kind, now) in enumerate(rows):
            agreed = self._agreed.get((epoch, creator), self._in_force)
            if agreed > self._in_force or before == 0 or (kind == Kind.PURGE and now == 0):
                self._in_force = agreed
            capacities[i] = self._in_force
            before = now
        return capacities

    def _receive_windows(self, windows: Batch) -> None:
        self._facts.examined(GUARANTEE, len(windows))
        for i in np.flatnonzero(windows.value > windows.other).tolist():
            self._violated(windows, i, f"held {windows.value[i]} in a receive window of capacity {windows.other[i]}")
        allowed = np.where(windows.stream > 0, self._me.stream_capacity, self._largest)
        too_large = (windows.other > allowed) & (allowed > 0) & (windows.value <= windows.other)
        for i in np.flatnonzero(too_large).tolist():
            self._violated(windows, i, f"has a receive window of {windows.other[i]}, agreed were {allowed[i]}")

    def _violated(self, events: Batch, i: int, did: str) -> None:
        me = self._me
        self._facts.violation(
            GUARANTEE, me.code, int(events.peer[i]), int(events.index[i]), f"{me.name(me.code)} {did}"
        )

    def finish(self) -> None:
        return
